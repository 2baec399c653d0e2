"""Intake of SMS parts from a phone, and a second reading of messages that could not be parsed.

One intake is one write transaction (`steps.intake`), and beside it one write to the message journal. The slots on the phone
may be deleted only after both have returned (invariant 1).

The second reading decides trust by the same rules: an old message stays history, and a message of an unknown sender stays
untrusted. A message that still cannot be parsed is left unchanged, so another run changes nothing.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.errors import NotJournaled
from daemon.core.inputs import ReadPart, Source
from daemon.core.messages.message_journal import Record
from daemon.core.model import Message
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.context import Context, internal_errors
from daemon.steps.intake import Ingested, take_in
from daemon.steps.process_message import process_message, read_message, reload_joined
from daemon.steps.store_parts import missing
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.messages import balances, messages
from daemon.wire import MessageState, TrustLevel
from parsers.reading import Unreadable

BATCH: Final = 50
"""Messages in one database transaction; other writers wait for it, so it is short."""
_STATUS_REPORT: Final = 2
"""TP-Message-Type-Indicator (3GPP TS 23.040, 9.2.3.1)."""


async def ingest(
    env: Env, source: Source, parts: Sequence[ReadPart], also: Callable[[Tx, Ingested], None] | None = None
) -> Ingested:
    """Store parts durably and process the messages that they complete.

    `parts` are in the order of reading; `also` writes further data in the same database transaction.

    Raises:
        Unavailable: The database or the message journal cannot be written; nothing may be deleted from the phone.
    """
    times = env.times()
    # Both take one sync of the disk, so they run at the same time. Neither needs the other: a part that only one has is
    # read again, from the phone or at the next start from the message journal.
    taken, journaled = await asyncio.gather(
        take_in(env, source, parts, times, _noting_time(env, source, times, also)),
        _journal(env, source, parts, times),
        return_exceptions=True,
    )
    if isinstance(taken, BaseException):
        raise taken
    if journaled is not None:
        raise journaled
    return taken


def _noting_time(
    env: Env, source: Source, times: Times, also: Callable[[Tx, Ingested], None] | None
) -> Callable[[Tx, Ingested], None] | None:
    """Return `also` with a note of the network's time.

    It is noted before the commit wakes the outbox: the webhook of this message must not be signed at the wrong time.
    """
    if source.test or source.level is not TrustLevel.FULL:
        # Other sources give a time without a zone, or one that an app has made up.
        return also

    def note(tx: Tx, taken: Ingested) -> None:
        for sent_at in taken.sent_at:
            env.clock_check.note_network_time(source.sim_key, sent_at, times)
        if also is not None:
            also(tx, taken)

    return note


async def _journal(env: Env, source: Source, parts: Sequence[ReadPart], times: Times) -> None:
    """Append the parts to the message journal; they are on the disk when it returns."""
    journal = env.message_journal
    if journal is None or source.test:
        return
    records = [
        Record(
            times.wall_us, source.sim_key, source.device_id, source.slot_index, source.network,
            source.since, part.storage, part.slot, part.tpdu_length, part.pdu, part.synthesised,
            source.name, source.level.value, source.history,
        )
        for part in parts
        if not _is_status_report(part)
    ]  # fmt: skip
    if not records:
        return
    try:
        await asyncio.to_thread(journal.append, records, times.lower_bound_us)
    except OSError as error:
        raise NotJournaled(
            f"the message journal in {journal.folder} cannot be written ({error.strerror}); payments are booked, and "
            "their messages stay on the SIM until it can",
            30,
        ) from error


def _is_status_report(part: ReadPart) -> bool:
    """Return whether a part reports on an SMS of ours: it holds no payment, and the database does not keep it."""
    try:
        octets = bytes.fromhex(part.pdu)
        return octets[len(octets) - part.tpdu_length] & 3 == _STATUS_REPORT
    except (ValueError, IndexError):
        return False


class ReparseSelection(Struct, frozen=True):
    """Selection of the messages.

    Attributes:
        ids: Only these messages; empty means all unread messages.
        after: Start after this sequence number.
        dry_run: Return the result without changing anything.
    """

    ids: Sequence[str] = ()
    after: int = 0
    dry_run: bool = False


class Reparsed(Struct, frozen=True):
    """Result of one call.

    Attributes:
        looked_at: Number of messages in this batch.
        read: The messages that can be parsed now: id, wording, kind and new state (None in a dry run).
        next: Start of the next call; None if no messages are left.
    """

    looked_at: int
    read: tuple[dict[str, Any], ...]
    next: int | None

    @property
    def counts(self) -> dict[str, int]:
        """Number of parsed messages by new state, or in total in a dry run."""
        return dict(Counter(str(one["state"] or "would_be_read") for one in self.read))


async def reparse(env: Env, wanted: ReparseSelection) -> Reparsed:
    """Parse one batch again. A message that still causes an internal error is left as it is."""
    times = env.times()

    def batch(reader: Reader) -> list[Message]:
        return messages.unparsed(reader, wanted.ids, after=wanted.after, limit=BATCH)

    def job(tx: Tx) -> Reparsed:
        rows = batch(tx)
        return _reparsed(rows, [_again(env, tx, row, times, wanted) for row in rows])

    try:
        return await env.store.write(job)
    except internal_errors(env):
        rows, read = await env.store.read(batch), list[dict[str, Any] | None]()
    for row in rows:

        def alone(tx: Tx, row: Message = row) -> dict[str, Any] | None:
            return _again(env, tx, row, times, wanted)

        with contextlib.suppress(*internal_errors(env)):
            read.append(await env.store.write(alone))
    return _reparsed(rows, read)


def _reparsed(rows: Sequence[Message], read: Sequence[dict[str, Any] | None]) -> Reparsed:
    found = tuple(one for one in read if one is not None)
    return Reparsed(len(rows), found, rows[-1].seq if len(rows) == BATCH else None)


def _again(env: Env, tx: Tx, row: Message, times: Times, wanted: ReparseSelection) -> dict[str, Any] | None:
    context = Context.for_message(env, tx, row, times)
    whole = reload_joined(context, row)
    if whole is None:
        return None
    reading = read_message(context, whole)
    if isinstance(reading, Unreadable):
        return None
    state: MessageState | None = None
    if not wanted.dry_run:
        # As an unread message it could only explain a change of the balance; `process_message` adds its own balance entry.
        balances.remove(tx, row.id)
        state = process_message(context, whole)
        messages.keep_received_at(tx, row.id, row.received_at)
    return {"id": row.id, "wording": reading.wording, "kind": reading.kind, "state": state}


_PAID: Final = frozenset({MessageState.PAYMENT, MessageState.HISTORICAL})


class Recovered(Struct):
    """The recovered messages: the number of complete ones, and how many of them are payments."""

    messages: int = 0
    payments: int = 0


async def recover(env: Env) -> Recovered:
    """Process the parts of the message journal that the database lacks, for example after a restore; return their number.

    The ordinary intake takes them in, in their order and as of the time of arrival. One call to the intake is one
    transaction, so a killed recovery goes on at the next start.

    Raises:
        OSError: The journal cannot be read.
        Unavailable: The database cannot be read or written; the next call goes on.
    """
    message_journal = env.message_journal
    assert message_journal is not None, "the caller has opened it"
    lacking = await missing(env.store, message_journal)
    done = Recovered()
    intakes = groupby(
        lacking,
        lambda one: (one.received_at, one.sim_key, one.device_id, one.slot_index, one.source, one.level, one.history),
    )
    batches = [list(intake) for _, intake in intakes]
    for place, batch in enumerate(batches, 1):
        last = place == len(batches)

        def also(tx: Tx, taken: Ingested, *, last: bool = last) -> None:
            done.messages += len(taken.concluded)
            done.payments += sum(state in _PAID for _, state in taken.concluded)
            if last and done.messages:
                # In the transaction of the last intake, so that it is recorded once.
                now = env.clock.now_us()
                data = {"messages": done.messages, "payments": done.payments}
                journal.add(tx, "messages.recovered", now, data=data)

        first = batch[0]
        source = Source(
            first.sim_key, first.device_id, first.slot_index,
            network=first.network, since=first.since, name=first.source,
            level=TrustLevel(first.level), history=first.history,
        )  # fmt: skip
        parts = [ReadPart(one.storage, one.slot, one.tpdu_length, one.pdu, one.synthesised) for one in batch]
        await take_in(env, source, parts, _as_of(env, first.received_at), also, recovered=True)
    message_journal.searched()
    return done


def _as_of(env: Env, received_at: int) -> Times:
    """Return the times of an intake that was interrupted then."""
    now = env.times()
    at = min(received_at, now.wall_us)  # a clock that was ahead then must not date a payment in the future
    return replace(now, wall_us=at, lower_bound_us=min(at, now.lower_bound_us), best_us=min(at, now.best_us))
