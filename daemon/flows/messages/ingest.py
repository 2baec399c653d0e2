"""Intake of SMS parts from a phone, and a second reading of messages that could not be parsed.

One intake is one write transaction. The slots on the phone may be deleted only after it has returned (invariant 1). A
message that causes an internal error is stored raw and shown as unparsed: it must neither be lost nor stop the later ones.

The second reading decides trust by the same rules: an old message stays history, and a message of an unknown sender stays
untrusted. A message that still cannot be parsed is left unchanged, so another run changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.inputs import ReadPart, Source
from daemon.core.model import Message
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.context import INTERNAL_ERRORS, Context, JoinedMessage
from daemon.steps.process_message import (
    process_message,
    read_message,
    record_unreadable,
    reload_joined,
)
from daemon.steps.store_parts import Unread, store_part, store_unread
from daemon.store.engine import Tx
from daemon.store.messages import balances, messages
from daemon.wire import MessageState
from parsers.masking import describe_error
from parsers.reading import Unreadable

BATCH: Final = 50
"""Messages in one database transaction; other writers wait for it, so it is short."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """Result of one call, for the log.

    Attributes:
        new_parts: Number of parts not seen before.
        concluded: (message id, state) of each message that became complete.
        faults: Descriptions of internal errors; their messages are stored as unparsed.
        sent_at: The network times of the messages that became complete.
    """

    new_parts: int
    concluded: tuple[tuple[str, MessageState], ...]
    faults: tuple[str, ...] = ()
    sent_at: tuple[int, ...] = ()


async def ingest(
    env: Env,
    source: Source,
    parts: Sequence[ReadPart],
    also: Callable[[Tx, Ingested], None] | None = None,
) -> Ingested:
    """Store parts durably and process the messages that they complete.

    Args:
        env: The environment.
        source: The SIM that received them.
        parts: The parts in the order of reading.
        also: Writes further data in the same database transaction.

    Raises:
        Unavailable: The disk is full; nothing was stored and nothing may be deleted from the phone.
    """
    times = env.times()

    def job(tx: Tx) -> Ingested:
        found = _take_all(Context.open(env, tx, source, times), parts)
        if also is not None:
            also(tx, found)
        return found

    try:
        taken = await env.store.write(job)
    except INTERNAL_ERRORS as fault:
        taken = slowly = await _one_by_one(env, source, parts, times, fault)
        if also is not None:
            await env.store.write(lambda tx: also(tx, slowly))
    if not source.test:
        for sent_at in taken.sent_at:
            env.clock_check.note_network_time(source.sim_key, sent_at, times)
    return taken


async def _one_by_one(
    env: Env, source: Source, parts: Sequence[ReadPart], times: Times, fault: Exception
) -> Ingested:
    """Store each part alone; a part that causes an internal error is stored without parsing it."""
    results, faults = list[Ingested](), [describe_error(fault)]
    for part in parts:

        def job(tx: Tx, part: ReadPart = part) -> Ingested:
            return _take_all(Context.open(env, tx, source, times), [part])

        def store_only(tx: Tx, part: ReadPart = part) -> Ingested:
            return _take_all(Context.open(env, tx, source, times), [part], read=False)

        try:
            results.append(await env.store.write(job))
        except INTERNAL_ERRORS as error:
            faults.append(describe_error(error))
            results.append(await env.store.write(store_only))
    return Ingested(
        sum(result.new_parts for result in results),
        tuple(one for result in results for one in result.concluded),
        tuple(faults),
        tuple(at for result in results for at in result.sent_at),
    )


def _take_all(context: Context, parts: Sequence[ReadPart], *, read: bool = True) -> Ingested:
    new_parts, concluded, joined = 0, list[tuple[str, MessageState]](), list[JoinedMessage]()
    for part in parts:
        taken = store_part(context, part) if read else store_unread(context, part, "internal_error")
        new_parts += taken is not None
        if isinstance(taken, JoinedMessage):
            joined.append(taken)
        elif isinstance(taken, Unread):
            concluded.append((taken.message_id, record_unreadable(context, taken)))
    # After an absence a phone hands over its slots in any order. In the network's order the balances join at once.
    joined.sort(key=lambda whole: whole.sent_at or 0)
    for whole in joined:
        concluded.append((whole.message_id, process_message(context, whole)))
    times = (whole.sent_at for whole in joined if whole.sent_at is not None)
    return Ingested(new_parts, tuple(concluded), sent_at=tuple(times))


@dataclass(frozen=True, slots=True)
class ReparseSelection:
    """Selection of the messages.

    Attributes:
        ids: Only these messages; empty means all unread messages.
        after: Start after this sequence number.
        dry_run: Return the result without changing anything.
    """

    ids: Sequence[str] = ()
    after: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Reparsed:
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
    """Parse one batch again.

    Raises:
        Unavailable: Nothing could be written.
    """
    times = env.times()

    def job(tx: Tx) -> Reparsed:
        batch = messages.unparsed(tx, wanted.ids, after=wanted.after, limit=BATCH)
        read = [one for row in batch if (one := _again(env, tx, row, times, wanted)) is not None]
        rest = batch[-1].seq if len(batch) == BATCH else None
        return Reparsed(len(batch), tuple(read), rest)

    return await env.store.write(job)


def _again(
    env: Env, tx: Tx, row: Message, times: Times, wanted: ReparseSelection
) -> dict[str, Any] | None:
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
