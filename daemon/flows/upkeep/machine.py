"""Watch the clock, the free disk space and the database file; one journal event when a doubt, a level or damage begins or ends.

The file is checked once a day, and all its indexes once a week. A damaged database stores no payments until a backup is
restored (docs/decisions/0023).
"""

import asyncio
import threading
from functools import partial
from typing import Final

from msgspec import Struct, field

from daemon.core.errors import Unavailable
from daemon.core.upkeep.notice_rules import disk_cause
from daemon.core.upkeep.self_check import CAUSE, DatabaseState, SpaceStep
from daemon.env import Env
from daemon.runtime import files
from daemon.store import idempotency, journal, open_store
from daemon.store.engine import Reader, Tx
from daemon.store.upkeep import inspect, ledger_check, notices, retention

JOURNAL_LINES = 100
"""Newest events used to check the time at the start; older ones are ignored, so that one wrong day does not count for ever."""


async def begin_clock(env: Env) -> None:
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


async def watch_clock(env: Env) -> str | None:
    """Record the begin or end of a clock doubt, and correct the times that a wrong clock has set.

    Transactions created with the wrong clock get the expiry of the right one; else they would all expire when the clock
    is corrected. Retries are brought forward if a clock that was ahead scheduled them too late. Stored idempotent
    answers are moved with the clock, so that they do not expire early.

    Return the reason of a new doubt, "" if the doubt has ended, None if nothing changed.
    """
    check, times = env.clock_check, env.times()
    now, doubt = times.wall_us, times.doubt
    # A doubt ends with evidence for the clock, not already without evidence against it.
    turned = times.confirmed if check.doubted else doubt is not None
    set_by, misdated = check.step_us(times), check.misdated(times)

    def job(tx: Tx) -> None:
        if set_by < 0:
            retention.shorten_waits(tx, set_by, now)
        if set_by:
            idempotency.shift_ages(tx, set_by, now)
        moved = sum(retention.shift_times(tx, order.transaction_id, order.by_us) for order in misdated)
        if turned and doubt is not None:
            facts = {"why": doubt.why, "ahead_us": doubt.ahead_us}
            journal.add(tx, "clock.suspect", now, data=facts)
        elif turned or moved:
            journal.add(tx, "clock.right", now, data={"orders_moved": moved})

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


class LevelChange(Struct, frozen=True):
    """A change of the level.

    `worse` says that a level began; else one has ended.
    """

    room: SpaceStep
    free: int
    worse: bool


async def begin_space(env: Env) -> None:
    """Load at the start the levels with an open notice, so that their end gives a notice too."""

    def read(reader: Reader) -> list[SpaceStep]:
        return [step for step in SpaceStep if notices.is_open(reader, disk_cause(step))]

    env.disk.told = await env.store.read(read)


async def watch_space(env: Env) -> LevelChange | None:
    """Check the free space, release or recreate the reserve file, and record a change; return None if there is none.

    The level takes effect before anything is written.
    """
    try:
        free = env.free_bytes(env.home)
    except OSError:
        return None  # the next write there reports the error
    seen = env.disk
    seen.see(free)
    await asyncio.to_thread(_adjust_reserve, env.home, seen.room)
    began, over = seen.turns()
    if began is None and not over:
        return None
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        for step in over:
            facts = {"room": step, "free_bytes": free}
            journal.add(tx, "disk.has_room", now, data=facts)
        if began is not None:
            facts = {"room": began, "free_bytes": free}
            journal.add(tx, f"disk.{began}", now, data=facts)

    await env.store.write(job)
    seen.noted(began, over)
    return LevelChange(seen.room, free, worse=began is not None)


def _adjust_reserve(folder: str, room: SpaceStep) -> None:
    try:
        if room is SpaceStep.FULL:
            files.drop_ballast(folder)
        elif room is not SpaceStep.TIGHT:
            files.keep_ballast(folder)
    except OSError:
        return  # the shop works without its reserve too


_STATES: Final = {"db.damaged": DatabaseState.DAMAGED, "db.findings": DatabaseState.FINDINGS}
"""The notice of each result."""


class _Seen(Struct, frozen=True):
    """Result of one check: `what` lists the findings, `whole` is True if all indexes were checked."""

    found: DatabaseState
    what: list[str] = field(default_factory=list)
    whole: bool = False


async def begin_database(env: Env) -> None:
    """Load the result of the last check at the start. A restart must not clear it, so a full check is due at once."""

    def read(reader: Reader) -> DatabaseState:
        return _STATES.get(notices.open_kind(reader, CAUSE) or "", DatabaseState.OK)

    check = env.self_check
    check.found = await env.store.read(read)
    if check.found is DatabaseState.DAMAGED:
        env.store.distrust_file("found by an earlier check")
    check.begin(env.clock.boottime(), whole=env.store.was_left_open)


async def watch_database(env: Env) -> DatabaseState | None:
    """Run a check if it is due; return its result if the owner must get a notice, else None.

    The result takes effect before anything is written.

    Raises:
        Unavailable: There is no result, because the database could not be read now: the state stays, and the check is
            tried again soon. Or the result was not written; the next day's check writes it.
    """
    check = env.self_check
    if env.store.is_lost or (env.store.server and not env.store.is_open):
        return None  # there is no database to check
    met_damage = env.store.is_damaged and check.found is not DatabaseState.DAMAGED and not check.waits_to_retry
    if not check.is_due(env.clock.boottime()) and not met_damage:
        return None
    try:
        seen = await _look(env, whole=met_damage)
    except inspect.UnreadableShop as error:
        # A full disk or a lack of descriptors must not stop payments: the file may be sound.
        check.failed(env.clock.boottime(), whole=met_damage)
        raise Unavailable(f"the check has no result yet: {error}") from error
    check.ended()
    before, check.found = check.found, seen.found
    if seen.found is DatabaseState.DAMAGED:
        env.store.distrust_file("; ".join(seen.what))
    else:
        env.store.trust_file()
    notified = await env.store.read(lambda reader: notices.is_open(reader, CAUSE))
    news = notified if seen.found is DatabaseState.OK else seen.found is not before or not notified
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        if seen.found is DatabaseState.OK and seen.whole:
            journal.add(tx, inspect.FULL_CHECK_EVENT, now)
        if news:
            kind = "db.sound" if seen.found is DatabaseState.OK else f"db.{seen.found}"
            journal.add(tx, kind, now, data={"what": seen.what})

    if news or seen.whole:
        await env.store.write(job)
    return seen.found if news else None


def _look_at_server(env: Env) -> _Seen:
    """Check the invariants between rows; the server checks its pages itself."""
    with open_store.open_readonly(env.store.path, env.config.store.url) as reader:
        found = [name for name, _, _ in ledger_check.findings(reader.all)]
    return _Seen(DatabaseState.FINDINGS if found else DatabaseState.OK, found)


async def _look(env: Env, *, whole: bool = False) -> _Seen:
    """Run the check in its own thread and with its own connection, so that other work does not wait.

    Raises:
        Unreadable: The database could not be read, which is no damage.
    """
    stopping, readers = threading.Event(), list[Reader]()

    def pause(seconds: float) -> None:
        if stopping.wait(seconds):
            raise inspect.UnreadableShop("the daemon is stopping")

    # The cached pages of another connection could be intact where the file is damaged.
    def look() -> _Seen:
        try:
            with inspect.open_readonly(env.store.path) as reader:
                readers.append(reader)
                last = inspect.last_full_check(reader)
                at_all = env.self_check.is_full_check(env.clock.now_us(), last) or whole
                if damage := inspect.damage(reader, whole=at_all, pause=pause):
                    return _Seen(DatabaseState.DAMAGED, [damage], at_all)
                findings = [name for name, _, _ in ledger_check.findings(reader.all)]
        except inspect.UnreadableShop as error:
            if not error.is_damage:
                raise
            return _Seen(DatabaseState.DAMAGED, [str(error)])
        if set(findings) & ledger_check.SCHEMA_ENFORCED:
            # The schema forbids these rows, so table and index disagree, even if SQLite reports intact pages.
            return _Seen(DatabaseState.DAMAGED, findings, at_all)
        return _Seen(DatabaseState.FINDINGS if findings else DatabaseState.OK, findings, at_all)

    try:
        return await asyncio.to_thread(partial(_look_at_server, env) if env.store.server else look)
    except asyncio.CancelledError:
        # The check of a large file takes minutes, and the process waits for its threads at the end.
        stopping.set()
        for reader in readers:
            reader.interrupt()
        raise
