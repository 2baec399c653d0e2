"""Change one setting in the shop's own file for a user, and take over changed files in the running daemon."""

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Unavailable
from daemon.core.json_values import Json
from daemon.core.upkeep.notice_rules import SETTINGS_CAUSE
from daemon.env import Env
from daemon.runtime import config_file
from daemon.runtime.config import LOGO_BYTES_MAX, ChangedBy, Config, SettingRow, logo_type, merged
from daemon.runtime.config_file import ConfigError, check_writers, load_config
from daemon.runtime.files import open_own
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.upkeep import notices
from daemon.wire import Places

SETTLE_S: Final = 0.5
SETTLE_TRIES: Final = 10
"""Of a file that changes all the time, the last state seen counts."""


def may_change(row: SettingRow) -> Operation | None:
    """Return the operation that a user must be allowed to change a setting; None if nobody may from here."""
    if row.setting.by is ChangedBy.MACHINE:
        return None
    if row.setting.by is ChangedBy.MANAGER:
        return Operation.CHANGE_SETTINGS
    return Operation.CHANGE_OWNERS_SETTINGS


def _require_change(caller: Caller, key: str) -> None:
    """Reject a change that the user may not make, or that nobody may make from here.

    Raises:
        NoSuchKey: There is no such setting.
        CannotEdit: Only a person at the machine may change it.
    """
    operation = may_change(config_file.find_row(key))
    require(caller, operation or Operation.CHANGE_SETTINGS)
    if operation is None:
        raise config_file.CannotEdit(
            f"{key} is changed only on the shop's machine, because it decides where webhooks may go: "
            f"momo config set {key} VALUE"
        )


async def preview(caller: Caller, places: Places, key: str, value: str | None) -> Json:
    """Check a change without writing it; the result and the errors are those of `change`."""
    _require_change(caller, key)
    return await asyncio.to_thread(config_file.change_setting, places, key, value, dry_run=True)


async def change(env: Env, caller: Caller, places: Places, key: str, value: str | None) -> Json:
    """Change a setting; with None remove it, so that its default holds. The result is that of `change_setting`.

    What acts at once is in use when this returns.

    Raises:
        NoSuchKey, ConfigError, CannotEdit: As for `change_setting`.
        OSError: The file cannot be written.
    """
    _require_change(caller, key)
    done = await asyncio.to_thread(config_file.change_setting, places, key, value)
    now = env.clock.now_us()
    data = {"key": key, "value": done["value"], "before": done["old"]}

    def job(tx: Tx) -> None:
        journal.add(tx, "setting.changed", now, actor=caller.name, data=data)

    if done["changed"]:
        await env.store.write(job)
        await take_over(env, places, os.environ, settle=False)
        if key == "pages.logo":
            await asyncio.to_thread(_drop_logos, env, done["value"])
    return done


def _drop_logos(env: Env, kept: str) -> None:
    """Remove the files that `change_picture` made before."""
    for file in Path(env.home).glob(f"logo-{'[0-9a-f]' * 12}.*"):
        if str(file) != kept:
            file.unlink(missing_ok=True)


async def change_picture(env: Env, caller: Caller, places: Places, key: str, data: bytes) -> Json:
    """Store a picture as a file of the shop, and name it in a setting.

    Raises:
        ConfigError: It is no picture, or too large.
        OSError: A file cannot be written.
    """
    _require_change(caller, key)
    kind = logo_type(data)
    if not kind or len(data) > LOGO_BYTES_MAX:
        raise ConfigError(
            f"takes a PNG, JPEG, WebP or SVG picture of at most {LOGO_BYTES_MAX} bytes; this file has {len(data)}"
        )
    ending = kind.partition("/")[2].partition("+")[0]
    path = Path(env.home) / f"logo-{hashlib.sha256(data).hexdigest()[:12]}.{ending}"

    def write() -> None:
        with os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(data)

    await asyncio.to_thread(write)
    return await change(env, caller, places, key, str(path))


async def take_over(env: Env, places: Places, environ: Mapping[str, str], *, settle: bool = True) -> bool:
    """Read the settings files, and use the changed settings that act at once; return whether the files have changed.

    Files that cannot be used change nothing but `env.settings`. With `settle`, a changed file counts once it stays the same
    for a moment: an editor may be writing it.
    """
    state = env.settings
    found = await asyncio.to_thread(_read, places, environ)
    for _ in range(SETTLE_TRIES if settle else 0):
        if found == state.found:
            return False
        before = found
        await asyncio.sleep(SETTLE_S)
        found = await asyncio.to_thread(_read, places, environ)
        if found == before:
            break
    if found == state.found:
        return False
    state.found = found
    if isinstance(found, str):
        return True
    new = found

    def job(_tx: object) -> None:
        env.config, state.waiting = merged(env.config, new)

    try:
        # In the thread that writes, so that no decision about money is made by two settings.
        await env.store.write(job)
    except Unavailable:
        job(None)
    return True


def _read(places: Places, environ: Mapping[str, str]) -> Config | str:
    """Return the settings of the files, or why they cannot be used."""
    try:
        check_writers(places.config, environ)
        return load_config(places.config, environ)
    except ConfigError as error:
        return str(error)


async def report_broken(env: Env) -> None:
    """Notify the owner of settings files that cannot be used, and of their end."""
    state, problem = env.settings, env.settings.problem
    if state.notified is None:
        # After a start: of a file that was mended while the daemon was off.
        state.notified = await env.store.read(lambda reader: notices.is_open(reader, SETTINGS_CAUSE))
    if bool(problem) == state.notified:
        return
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        kind, data = "settings.broken" if problem else "settings.mended", {"why": problem}
        journal.add(tx, kind, now, data=data)

    await env.store.write(job)
    state.notified = bool(problem)
