"""Check of the database once a day, and of all its indexes once a week, so that a long-running shop is checked too.

A damaged database stores no payments until a backup is restored (docs/decisions/0023).
"""

import asyncio
import threading
from functools import partial
from typing import Final

from msgspec import Struct, field

from daemon.core.errors import Unavailable
from daemon.core.upkeep.self_check import CAUSE, DatabaseState
from daemon.env import Env
from daemon.store import journal, open_store
from daemon.store.engine import Reader, Tx
from daemon.store.upkeep import inspect, ledger_check, notices
from daemon.wire import Mode

_STATES: Final = {
    "db.damaged": DatabaseState.DAMAGED,
    "db.findings": DatabaseState.FINDINGS,
}
"""The notice of each result."""


class _Seen(Struct, frozen=True):
    """Result of one check: `what` lists the findings, `whole` is True if all indexes were checked."""

    found: DatabaseState
    what: list[str] = field(default_factory=list)
    whole: bool = False


async def begin(env: Env) -> None:
    """Load the result of the last check at the start. A restart must not clear it, so a full check is due at once."""

    def read(reader: Reader) -> DatabaseState:
        return _STATES.get(notices.open_kind(reader, CAUSE) or "", DatabaseState.OK)

    check = env.self_check
    check.found = await env.store.read(read)
    if check.found is DatabaseState.DAMAGED:
        env.store.distrust_file("found by an earlier check")
    check.begin(env.clock.boottime(), whole=env.store.was_left_open)


async def watch(env: Env) -> DatabaseState | None:
    """Run a check if it is due; return its result if the owner must get a notice, else None.

    The result takes effect before anything is written.

    Raises:
        Unavailable: There is no result, because the database could not be read now: the state stays, and the check is
            tried again soon. Or the result was not written; the next day's check writes it.
    """
    check = env.self_check
    if env.store.is_lost or (env.store.server and not env.store.is_open):
        return None  # there is no database to check
    met_damage = (
        env.store.is_damaged
        and check.found is not DatabaseState.DAMAGED
        and not check.waits_to_retry
    )
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
            journal.add(tx, type=inspect.FULL_CHECK_EVENT, mode=Mode.LIVE, at=now)
        if news:
            kind = "db.sound" if seen.found is DatabaseState.OK else f"db.{seen.found}"
            journal.add(tx, type=kind, mode=Mode.LIVE, at=now, data={"what": seen.what})

    if news or seen.whole:
        await env.store.write(job)
    return seen.found if news else None


def _look_at_server(env: Env) -> _Seen:
    """Check the invariants between rows; the server checks its pages itself."""
    with open_store.open_readonly(env.store.path, env.config.store.url) as reader:
        found = [name for name, _, _ in inspect.findings(reader)]
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
                findings = [name for name, _, _ in inspect.findings(reader)]
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
