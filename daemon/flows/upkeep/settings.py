"""Change one setting in the shop's own file for a user, with a journal entry. It takes effect at the next start."""

import asyncio
from typing import Final

from daemon.core.access.callers import Caller
from daemon.core.access.roles import Operation, require
from daemon.core.json_values import Json
from daemon.env import Env
from daemon.runtime import config_edit
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.wire import Mode, Places

ON_THE_MACHINE: Final = frozenset(
    f"webhooks.{name}" for name in ("allow_private_hosts", "allow_private_cidrs", "ca_file")
)
"""The settings of the guard of webhook addresses: in the daemon's own file only."""
_OPERATIONS: Final = {
    "access": Operation.MANAGE_USERS,  # gives other users of this machine the rights of the owner
    "store": Operation.MANAGE_USERS,  # another database has other users
    "secrets": Operation.MANAGE_SECRETS,
    "smtp": Operation.MANAGE_SECRETS,  # the stored password is sent to this server
}
"""What a user must be allowed to change a setting of a section, beside those that a manager may change."""


def operation_of(key: str) -> Operation:
    """Return the operation that a user must be allowed to change a setting."""
    return _OPERATIONS.get(key.partition(".")[0], Operation.CHANGE_SETTINGS)


def _require_change(caller: Caller, key: str) -> None:
    """Reject a change that the user may not make, or that nobody may make from here.

    Raises:
        Refusal: ROLE_REQUIRED.
        CannotEdit: Only a person at the machine may change it.
    """
    require(caller, operation_of(key))
    if key in ON_THE_MACHINE:
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
