"""The intake of SMS parts into the database: one write transaction stores them and processes the messages they complete.

A message that causes an internal error is stored and shown as unparsed: it must neither be lost nor stop the later ones.
"""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.inputs import ReadPart, Source
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_fields import Deliver
from daemon.steps.context import INTERNAL_ERROR, Context, JoinedMessage, internal_errors, microseconds
from daemon.steps.process_message import process_message, record_fault, record_unreadable
from daemon.steps.store_parts import Unread, store_part, store_unread
from daemon.store.engine import Tx
from daemon.store.lines import devices
from daemon.wire import MessageState
from parsers.masking import describe_error


class Ingested(Struct, frozen=True):
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


async def take_in(
    env: Env,
    source: Source,
    parts: Sequence[ReadPart],
    times: Times,
    also: Callable[[Tx, Ingested], None] | None = None,
    *,
    recovered: bool = False,
) -> Ingested:
    """Store parts durably and process the messages that they complete, in one write transaction.

    `also` writes further data in the same database transaction. With `recovered` the parts come from the message
    journal, and their SIM may be unknown.
    """

    def opened(tx: Tx) -> Context:
        if recovered:
            devices.restore_sim(tx, source)
        return replace(Context.open(env, tx, source, times), recovered=recovered)

    def job(tx: Tx) -> Ingested:
        found = _take_all(opened(tx), parts, process_message)
        if also is not None:
            also(tx, found)
        return found

    try:
        return await env.store.write(job)
    except internal_errors(env) as fault:
        slowly = await _one_by_one(env, opened, parts, fault)
        if also is not None:
            await env.store.write(lambda tx: also(tx, slowly))
        return slowly


async def _one_by_one(
    env: Env, opened: Callable[[Tx], Context], parts: Sequence[ReadPart], fault: Exception
) -> Ingested:
    """Store each part alone; a message that causes an internal error is stored without reading it.

    A part that cannot even be stored as one of a message is stored as a message of its own.
    """
    results, faults = list[Ingested](), [describe_error(fault)]

    def take(tx: Tx, part: ReadPart) -> Ingested:
        return _take_all(opened(tx), [part], process_message)

    def store_whole(tx: Tx, part: ReadPart) -> Ingested:
        return _take_all(opened(tx), [part], record_fault)

    def store_only(tx: Tx, part: ReadPart) -> Ingested:
        return _take_all(opened(tx), [part], record_fault, read=False)

    for part in _in_order(env, parts):
        for work in (take, store_whole):
            try:
                results.append(await env.store.write(partial(work, part=part)))
                break
            except internal_errors(env) as error:
                faults.append(describe_error(error))
        else:
            results.append(await env.store.write(partial(store_only, part=part)))
    return Ingested(
        sum(result.new_parts for result in results),
        tuple(one for result in results for one in result.concluded),
        tuple(faults),
        tuple(at for result in results for at in result.sent_at),
    )


def _in_order(env: Env, parts: Sequence[ReadPart]) -> Sequence[ReadPart]:
    """Return the parts in the order in which the network sent them: `_take_all` of one part alone cannot sort."""
    try:
        return sorted(parts, key=_sent_at)
    except internal_errors(env):
        return parts


def _sent_at(part: ReadPart) -> int:
    value = codec.decode(part.pdu, tpdu_length=part.tpdu_length)
    return (microseconds(value.sent_at) or 0) if isinstance(value, Deliver) else 0


def _take_all(
    context: Context,
    parts: Sequence[ReadPart],
    process: Callable[[Context, JoinedMessage], MessageState],
    *,
    read: bool = True,
) -> Ingested:
    new_parts, concluded, joined = 0, list[tuple[str, MessageState]](), list[JoinedMessage]()
    for part in parts:
        taken = store_part(context, part) if read else store_unread(context, part, INTERNAL_ERROR)
        new_parts += taken is not None
        if isinstance(taken, JoinedMessage):
            joined.append(taken)
        elif isinstance(taken, Unread):
            concluded.append((taken.message_id, record_unreadable(context, taken)))
    # After an absence a phone hands over its slots in any order. In the network's order the balances join at once.
    joined.sort(key=lambda whole: whole.sent_at or 0)
    for whole in joined:
        concluded.append((whole.message_id, process(context, whole)))
    times = (whole.sent_at for whole in joined if whole.sent_at is not None)
    return Ingested(new_parts, tuple(concluded), sent_at=tuple(times))
