"""Change one setting in the shop's own file for a user, with a journal entry. It takes effect at the next start."""

import asyncio

from daemon.core.access.callers import Caller
from daemon.core.access.roles import Operation, require
from daemon.core.json_values import Json
from daemon.env import Env
from daemon.runtime import config_edit
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.wire import Mode, Places

_USERS = "access."
"""The settings that give other users of this machine the rights of the owner."""


def require_change(caller: Caller, key: str) -> None:
    """Reject a user without the permission to change a setting.

    Raises:
        Refusal: ROLE_REQUIRED.
    """
    require(
        caller,
        Operation.MANAGE_USERS if key.startswith(_USERS) else Operation.CHANGE_SETTINGS,
    )


async def preview(caller: Caller, places: Places, key: str, value: str | None) -> Json:
    """Check a change without writing it; the result and the errors are those of `change`."""
    require_change(caller, key)
    return await asyncio.to_thread(config_edit.change_setting, places, key, value, dry_run=True)


async def change(env: Env, caller: Caller, places: Places, key: str, value: str | None) -> Json:
    """Change a setting; with None remove it, so that its default holds. The result is that of `change_setting`.

    Raises:
        Refusal: ROLE_REQUIRED.
        NoSuchKey, ConfigError, CannotEdit: As for `change_setting`.
        OSError: The file cannot be written.
    """
    require_change(caller, key)
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
