"""Notice when the machine's clock is wrong, and when it is right again: told once each way, once a minute at most."""

import asyncio

from daemon import clock_memory
from daemon.env import Env
from daemon.store import events, expiry, idempotency
from daemon.store.engine import Tx
from daemon.wire import Mode

JOURNAL_LINES = 100
"""Newest lines that speak for the time at the start, so that one wrong day long ago is no witness for ever."""


async def begin(env: Env) -> None:
    """Take up, at the start, what was known of the clock before: it cannot be earlier now, and may be much later.

    Where the last run left nothing, the shop's journal says how far it had come. A journal that is ahead of what that run
    knew was written by a clock that nothing spoke for.
    """
    seen, clock = env.clock_watch, env.clock
    memory = await asyncio.to_thread(clock_memory.read, env.home)
    if not seen.remember(memory, clock.now_us(), clock.boottime(), clock.boot_id()):
        at = await env.store.read(lambda reader: events.latest_at(reader, JOURNAL_LINES))
        if at is not None:
            seen.written_before(at, clock.boottime())


async def watch(env: Env) -> str | None:
    """Write down that a doubt began or ended, and put right what a wrong clock has dated.

    Orders that were made by the wrong clock get the end that they would have had by the right one; else they would all
    expire in the moment in which the clock is put right. What waits for its time to be tried again does not wait for a
    time that only a clock which was ahead would have reached. An answer that is kept does not grow old by a clock that is set.

    Returns:
        Why the clock is in doubt since now, "" when it is right again since now, None when nothing changed.

    Raises:
        Unavailable: Nothing was written; the next call finds the same.
    """
    seen, doubt = env.clock_watch, env.clock_doubt()
    now, boot_s = env.clock.now_us(), env.clock.boottime()
    # A doubt ends when something speaks for the clock, not already when nothing speaks against it any more.
    turned = doubt is not None if not seen.doubted else seen.vouched(now, boot_s)
    set_by, misdated = seen.step(now, boot_s), seen.misdated(now, boot_s)

    def job(tx: Tx) -> None:
        if set_by < 0:
            expiry.bring_forward(tx, set_by, now)
        if set_by:
            idempotency.move(tx, set_by, now)
        moved = sum(expiry.move(tx, order.transaction_id, order.by_us) for order in misdated)
        if turned and doubt is not None:
            facts = {"why": doubt.why, "ahead_us": doubt.ahead_us}
            events.add(tx, type="clock.suspect", mode=Mode.LIVE, at=now, data=facts)
        elif turned or moved:
            events.add(tx, type="clock.right", mode=Mode.LIVE, at=now, data={"orders_moved": moved})

    if turned or misdated or set_by:
        await env.store.write(job)
    seen.look(now, boot_s)
    seen.dated(misdated)
    seen.doubted ^= turned
    memory = seen.memory(now, boot_s, env.clock.boot_id())
    await asyncio.to_thread(clock_memory.write, env.home, memory)
    if not turned:
        return None
    return "" if doubt is None else doubt.why
