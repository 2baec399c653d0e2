"""Tell the owner that nothing outside is reached, and that it is again (decisions.md section 7)."""

from daemon.core.notice_rules import LINK
from daemon.env import Env
from daemon.store import events, notice_outbox
from daemon.wire import Mode


async def lost(env: Env) -> None:
    """Write down that for long no receiver was reached, and nothing else that could have answered."""
    await _tell(env, "link.lost")


async def returned(env: Env) -> None:
    """Write down that something answers again; the owner is told if the outage was."""
    await _tell(env, "link.returned")


async def is_lost(env: Env) -> bool:
    """Say whether the owner was told of an outage whose end is not on record: it may have been before a restart."""
    return await env.store.read(lambda reader: notice_outbox.is_open(reader, LINK))


async def _tell(env: Env, what: str) -> None:
    now = env.clock.now_us()
    await env.store.write(lambda tx: events.add(tx, type=what, mode=Mode.LIVE, at=now))
