"""Erase a payer's personal data on request (docs/decisions/0020), and delete old rows.

Old rows are deleted in small batches, so that no payment waits. The journal, payments, transactions and reviews are kept for
ever. Nothing is deleted while our clock is in doubt: a machine that starts in the wrong year must not delete the records.
"""

import asyncio
import contextlib
import hashlib
import hmac
from collections import Counter
from typing import Final

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, Unavailable
from daemon.core.limits import DAY_US, LATE_WINDOW_US, MINUTE_US, PRUNE_BATCH
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.runtime.config import Retention
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.messages import messages
from daemon.store.payments import search_index
from daemon.store.upkeep import payer_data, retention
from daemon.store.upkeep.payer_data import OpenRow, PayerRows
from daemon.store.upkeep.retention import PrunedKind
from daemon.wire import ErrorCode

MARK_CHARACTERS: Final = 16
JOURNAL_AHEAD_US_MAX: Final = 10 * MINUTE_US
"""Tolerance for a journal that is ahead of our clock: NTP may correct the clock by this much at a start."""
NETWORK_TIME_AGE_US_MAX: Final = 7 * DAY_US
"""Tolerance for our clock ahead of the newest network message. Without a newer message nothing is deleted, but a shop
without payments also stores little."""
NETWORK_TIMES_COMPARED: Final = 200
"""Newest messages compared, so that one wrong network time does not confirm our clock."""


class Pruned(Struct, frozen=True):
    """Result of one round, or of a dry run.

    `counts` has the number of rows by kind; with `more` there is more to delete. `doubt` is why nothing was deleted:
    the clock is in doubt or the database is damaged.
    """

    counts: dict[str, int]
    more: bool
    doubt: str


async def prune(env: Env) -> Pruned:
    """Delete one batch of each kind, each in its own database transaction."""
    times = env.times()
    doubt = await env.store.read(lambda reader: _doubt(env, reader, times))
    if doubt:
        return Pruned({}, False, doubt)
    counts = {}
    for kind, before in limits(env.config.retention, times.lower_bound_us).items():

        def job(tx: Tx, kind: PrunedKind = kind, before: int = before) -> int:
            return retention.prune(tx, kind, before, PRUNE_BATCH)

        counts[kind.name] = await env.store.write(job)
    await _prune_journal(env, times.lower_bound_us)
    return Pruned(counts, PRUNE_BATCH in counts.values(), "")


async def _prune_journal(env: Env, now: int) -> None:
    """Remove the files of the message journal with texts that the database does not keep either."""
    if env.message_journal is not None:
        before = now - env.config.retention.messages_days * DAY_US
        with contextlib.suppress(OSError):  # the next round tries again
            await asyncio.to_thread(env.message_journal.prune, before)


async def preview_prune(env: Env) -> Pruned:
    """Return the number of rows that are too old, without changing anything."""
    times = env.times()
    kinds = limits(env.config.retention, times.lower_bound_us)

    def job(reader: Reader) -> Pruned:
        counts = {kind.name: retention.count(reader, kind, at) for kind, at in kinds.items()}
        return Pruned(counts, any(counts.values()), _doubt(env, reader, times))

    return await env.store.read(job)


def limits(settings: Retention, now: int) -> dict[PrunedKind, int]:
    """Return for each kind the time before which its rows are deleted, in the order of deletion."""
    attempts = now - settings.attempts_days * DAY_US
    messages = now - settings.messages_days * DAY_US
    return {
        retention.ATTEMPTS: attempts,
        retention.RESPONSES: attempts,
        retention.DEAD_LETTER_RESPONSES: attempts,
        retention.NOTICES: attempts,
        retention.DELIVERIES: now - settings.deliveries_days * DAY_US,
        retention.MESSAGES: messages,
        retention.SENT_MESSAGES: messages,
        retention.CLAIMS: messages,
    }


def _doubt(env: Env, reader: Reader, times: Times) -> str:
    """Return why nothing may be deleted: the clock is in doubt, or the database is damaged and all of it may be needed.

    "" if deletion is allowed. It cannot be undone, so it needs more evidence for the clock than other work.
    """
    if env.store.is_damaged:
        return "the database is damaged; nothing in it is deleted"
    if times.doubt is not None:
        return str(times.doubt.why)
    now = times.wall_us
    newest = retention.newest_event_at(reader)
    if newest is not None and newest > now + JOURNAL_AHEAD_US_MAX:
        return "the clock of this machine has gone backwards"
    heard = retention.newest_network_time(reader, NETWORK_TIMES_COMPARED)
    if heard is not None and now > heard + NETWORK_TIME_AGE_US_MAX:
        return "no message of the last seven days confirms the clock of this machine"
    return ""


class Forgotten(Struct, frozen=True):
    """Rows that were, or would be, erased.

    `counts` has the number of rows by kind. If any row is `unfinished`, nothing is erased. `mark` is a keyed hash that
    stands for the number in the journal.
    """

    counts: dict[str, int]
    unfinished: list[OpenRow]
    mark: str

    @property
    def still_open(self) -> dict[str, int]:
        """The number of unfinished rows by kind."""
        return _by_kind(self.unfinished)


async def preview_forget(env: Env, number: str) -> Forgotten:
    """Return the rows that would be erased and those that prevent it, without changing anything."""
    found = await _found(env, number)
    late_since = env.times().lower_bound_us - LATE_WINDOW_US
    return await env.store.read(
        lambda reader: Forgotten(
            payer_data.counts(reader, found), payer_data.unfinished(reader, found, late_since), payer_hash(env, number)
        )
    )


async def forget(env: Env, caller: Caller, number: str) -> Forgotten:
    """Erase a payer from all rows, in one database transaction, and record it in the journal.

    `number` is E.164.

    Raises:
        Refusal: PAYER_STILL_OPEN, with `open`: the number of rows by kind. Nothing was changed.
    """
    require(caller, Operation.ERASE)
    found, times = await _found(env, number), env.times()
    now, late_since = times.wall_us, times.lower_bound_us - LATE_WINDOW_US
    await _erase_in_journal(env, found, late_since)

    def job(tx: Tx) -> Forgotten:
        _check_finished(tx, found, late_since)
        counts = payer_data.counts(tx, found)
        done = Forgotten(counts, [], payer_hash(env, number))
        if any(counts.values()):
            payer_data.erase(tx, found)
            data = {"payer": done.mark, **counts}
            journal.add(tx, "payer.forgotten", now, actor=caller.name, data=data)
        return done

    done = await env.store.write(job)
    await index_for_search(env)
    return done


async def index_for_search(env: Env) -> None:
    """Add the newest transactions and payments to the search index, and overwrite erased text in it.

    Raises:
        Unavailable: Nothing could be written; the next call goes on.
    """
    more = await env.store.read(search_index.is_behind)
    while more:
        more = await env.store.write(search_index.catch_up)


async def _erase_in_journal(env: Env, found: PayerRows, late_since: int) -> None:
    """Erase the payer's messages from the message journal, before the database forgets which ones they are.

    If the process ends in between, another call finds them again.

    Raises:
        Refusal: PAYER_STILL_OPEN.
    """
    if env.message_journal is None:
        return

    def look(reader: Reader) -> set[tuple[str, str]]:
        _check_finished(reader, found, late_since)
        return messages.part_keys(reader, found.messages)

    keys = await env.store.read(look)
    try:
        await asyncio.to_thread(env.message_journal.erase, keys)
    except OSError as error:
        raise Unavailable(
            f"the message journal in {env.message_journal.folder} cannot be written ({error.strerror}); nothing was erased",
            30,
        ) from error


def _check_finished(reader: Reader, found: PayerRows, late_since: int) -> None:
    if waiting := payer_data.unfinished(reader, found, late_since):
        raise Refusal(ErrorCode.PAYER_STILL_OPEN, open=_by_kind(waiting))


def _by_kind(rows: list[OpenRow]) -> dict[str, int]:
    return dict(Counter(row.kind for row in rows))


def payer_hash(env: Env, number: str) -> str:
    """Return a keyed hash of a number: it can only be recognised with both the number and the shop's key."""
    key = b"payer:" + env.account_key
    return hmac.new(key, number.encode(), hashlib.sha256).hexdigest()[:MARK_CHARACTERS]


async def _found(env: Env, number: str) -> PayerRows:
    return await env.store.read(lambda reader: payer_data.find(reader, number))
