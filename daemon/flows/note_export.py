"""Write down in the journal who took which of the shop's books out of it."""

from typing import Any

from daemon.core.access import Caller
from daemon.env import Env
from daemon.store import events
from daemon.wire import Mode


async def note_export(env: Env, caller: Caller, facts: dict[str, Any]) -> None:
    """Append `export.made` to the journal.

    Raises:
        Unavailable: It cannot be written down now; then nothing may be shown.
    """
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: events.add(
            tx, type="export.made", mode=Mode.LIVE, at=now, actor=caller.name, data=facts
        )
    )
