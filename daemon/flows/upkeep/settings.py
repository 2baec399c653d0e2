"""Change one setting in the shop's own file for a user, with a journal entry. It takes effect at the next start."""

import asyncio

from daemon.core.access.callers import Caller
from daemon.core.access.roles import Operation, require
from daemon.core.json_values import Json
from daemon.env import Env
from daemon.runtime import config_edit
from daemon.runtime.config import ChangedBy, Row
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.wire import Mode, Places


def may_change(row: Row) -> Operation | None:
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
        Refusal: ROLE_REQUIRED.
        CannotEdit: Only a person at the machine may change it.
    """
    operation = may_change(config_edit.find_row(key))
    require(caller, operation or Operation.CHANGE_SETTINGS)
    if operation is None:
        raise config_edit.CannotEdit(
            f"{key} is changed only on the shop's machine, because it decides where webhooks may go: "
            f"momo config set {key} VALUE"
        )


async def preview(caller: Caller, places: Places, key: str, value: str | None) -> Json:
    """Check a change without writing it; the result and the errors are those of `change`."""
    _require_change(caller, key)
    return await asyncio.to_thread(config_edit.change_setting, places, key, value, dry_run=True)


async def change(env: Env, caller: Caller, places: Places, key: str, value: str | None) -> Json:
    """Change a setting; with None remove it, so that its default holds. The result is that of `change_setting`.

    Raises:
        Refusal: ROLE_REQUIRED.
        NoSuchKey, ConfigError, CannotEdit: As for `change_setting`.
        OSError: The file cannot be written.
    """
    _require_change(caller, key)
    done = await asyncio.to_thread(config_edit.change_setting, places, key, value)
    now = env.clock.now_us()
    data = {"key": key, "value": done["value"], "before": done["old"]}

    def job(tx: Tx) -> None:
        journal.add(
            tx, type="setting.changed", mode=Mode.LIVE, at=now, actor=caller.name, data=data
        )

    if done["changed"]:
        await env.store.write(job)
    return done
