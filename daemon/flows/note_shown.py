"""Write down in the journal who was shown the text of SMS (cli.md section 4.9)."""

from typing import Any

from daemon.core.access import Caller
from daemon.env import Env
from daemon.store import events
from daemon.wire import Mode


async def note_shown(
    env: Env,
    caller: Caller,
    facts: dict[str, Any],
    *,
    mode: Mode = Mode.LIVE,
    message_id: str | None = None,
) -> None:
    """Append `messages.shown` to the journal.

    Args:
        env: The doors.
        caller: Who asked.
        facts: What was asked for, and how many texts were shown.
        mode: Of the one message; a list is of both.
        message_id: The one message; None for a list.

    Raises:
        Unavailable: It cannot be written down now; then no text may be shown.
    """
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: events.add(
            tx,
            type="messages.shown",
            mode=mode,
            at=now,
            actor=caller.name,
            message_id=message_id,
            data=facts,
        )
    )
