"""Clock check: detect a wrong clock and its correction; one journal event each, at most one check a minute."""

import asyncio

from daemon.env import Env
from daemon.runtime import files
from daemon.store import idempotency, journal
from daemon.store.engine import Tx
from daemon.store.upkeep import clock_step
from daemon.wire import Mode

JOURNAL_LINES = 100
"""Newest events used to check the time at the start; older ones are ignored, so that one wrong day does not count for ever."""


async def begin(env: Env) -> None:
    """Load the stored clock state at the start: the present time cannot be earlier than it, but may be much later.

    Without a stored state the journal's newest time is used. A journal that is ahead of the stored state was written with an
    unconfirmed clock.
    """
    check, clock = env.clock_check, env.clock
    state = await asyncio.to_thread(files.read_clock, env.home)
    if not check.restore(state, clock.now_us(), clock.boottime(), clock.boot_id()):
        at = await env.store.read(lambda reader: journal.latest_at(reader, JOURNAL_LINES))
        if at is not None:
            check.note_latest(at, clock.boottime())


async def watch(env: Env) -> str | None:
    """Record the begin or end of a clock doubt, and correct the times that a wrong clock has set.

    Transactions created with the wrong clock get the expiry of the right one; else they would all expire when the clock is
    corrected. Retries are brought forward if a clock that was ahead scheduled them too late. Stored idempotent answers are
    moved with the clock, so that they do not expire early.

    Returns:
        The reason of a new doubt, "" if the doubt has ended, None if nothing changed.

    Raises:
        Unavailable: Nothing was written; the next call finds the same.
    """
    check, times = env.clock_check, env.times()
    now, doubt = times.wall_us, times.doubt
    # A doubt ends with evidence for the clock, not already without evidence against it.
    turned = times.confirmed if check.doubted else doubt is not None
    set_by, misdated = check.step_us(times), check.misdated(times)

    def job(tx: Tx) -> None:
        if set_by < 0:
            clock_step.shorten_waits(tx, set_by, now)
        if set_by:
            idempotency.shift_ages(tx, set_by, now)
        moved = sum(
            clock_step.shift_times(tx, order.transaction_id, order.by_us) for order in misdated
        )
        if turned and doubt is not None:
            facts = {"why": doubt.why, "ahead_us": doubt.ahead_us}
            journal.add(tx, type="clock.suspect", mode=Mode.LIVE, at=now, data=facts)
        elif turned or moved:
            journal.add(
                tx, type="clock.right", mode=Mode.LIVE, at=now, data={"orders_moved": moved}
            )

    if turned or misdated or set_by:
        await env.store.write(job)
    check.note_reading(times)
    check.note_corrected(misdated)
    check.doubted ^= turned
    state = check.dump(times, env.clock.boot_id())
    await asyncio.to_thread(files.write_clock, env.home, state)
    if not turned:
        return None
    return "" if doubt is None else str(doubt.why)
