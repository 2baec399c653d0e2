"""Notice when the machine's clock is wrong, and when it is right again: told once each way, once a minute at most."""

from daemon.env import Env
from daemon.store import events, expiry
from daemon.store.engine import Tx
from daemon.wire import Mode

JOURNAL_LINES = 100
"""Newest lines that speak for the time at the start, so that one wrong day long ago is no witness for ever."""


async def begin(env: Env) -> None:
    """Note, at the start, how far the shop's journal had come: it cannot be earlier now."""
    env.clock_watch.look(env.clock.now_us(), env.clock.boottime())
    at = await env.store.read(lambda reader: events.latest_at(reader, JOURNAL_LINES))
    if at is not None:
        env.clock_watch.written_before(at, env.clock.boottime())


async def watch(env: Env) -> str | None:
    """Write down that a doubt began or ended.

    Orders that were made by the wrong clock get the end that they would have had by the right one; else they would all
    expire in the moment in which the clock is put right.

    Returns:
        Why the clock is in doubt since now, "" when it is right again since now, None when nothing changed.

    Raises:
        Unavailable: Nothing was written; the next call finds the same.
    """
    seen, doubt = env.clock_watch, env.clock_doubt()
    now = env.clock.now_us()
    seen.look(now, env.clock.boottime())
    if (doubt is not None) == seen.doubted:
        return None
    if doubt is not None:
        facts = {"why": doubt.why, "ahead_us": doubt.ahead_us}
        await env.store.write(
            lambda tx: events.add(tx, type="clock.suspect", mode=Mode.LIVE, at=now, data=facts)
        )
        seen.turned(doubted=True)
        return doubt.why

    def job(tx: Tx) -> None:
        moved = sum(
            expiry.move(tx, stretch.from_us, stretch.until_us, stretch.step_us)
            for stretch in seen.wrong()
        )
        events.add(tx, type="clock.right", mode=Mode.LIVE, at=now, data={"orders_moved": moved})

    await env.store.write(job)
    seen.turned(doubted=False)
    return ""
