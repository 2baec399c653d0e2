"""Write down in the journal that somebody compared a statement, once for each file."""

from typing import Any

from daemon.core.access import Caller
from daemon.env import Env
from daemon.store import events, statement
from daemon.store.engine import Tx
from daemon.wire import Mode


async def note_statement(env: Env, caller: Caller, digest: str, facts: dict[str, Any]) -> bool:
    """Append `statement.compared`; False when this file was noted before.

    Raises:
        Unavailable: It cannot be written down now.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        if statement.is_noted(tx, digest):
            return False
        data = {"sha256": digest, **facts}
        line = events.Line(
            type="statement.compared", mode=Mode.LIVE, at=now, actor=caller.name, data=data
        )
        events.add_at_once(tx, line)
        return True

    return await env.store.write(job)
