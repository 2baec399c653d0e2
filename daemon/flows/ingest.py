"""Take in what a phone read: store every part, and when a message is whole, let it be money or not.

One call is one write transaction. Only when it has returned may the slots be emptied (invariant 1). A message that
trips a fault of ours is stored raw and shown as unparsed: it must neither be lost nor stop the ones behind it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daemon.core.requests import ReadPart, Source
from daemon.env import Env
from daemon.intake import parts as intake
from daemon.intake.conclude import conclude, conclude_unread
from daemon.intake.desk import Desk
from daemon.intake.outcome import OUR_FAULTS
from daemon.store.engine import Tx
from daemon.wire import MessageState
from privacy.faults import fault as described


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one call took in, for the log.

    Attributes:
        new_parts: Parts not seen before.
        concluded: (message id, state) of each message that became whole.
        faults: Sentences about faults of ours; the messages are stored and unparsed.
        sent_at: The networks' times of those that became whole.
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
    """Store parts durably and conclude the messages they complete.

    Args:
        env: The doors.
        source: Where they come from.
        parts: In the order in which they were read.
        also: What is to be kept with them, in the same transaction.

    Raises:
        Unavailable: The disk is full; nothing was stored and nothing may be deleted from the phone.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Ingested:
        found = _take_all(Desk.lay(env, tx, source, now), parts)
        if also is not None:
            also(tx, found)
        return found

    try:
        taken = await env.store.write(job)
    except OUR_FAULTS as fault:
        taken = slowly = await _one_by_one(env, source, parts, now, fault)
        if also is not None:
            await env.store.write(lambda tx: also(tx, slowly))
    if not source.test:
        for sent_at in taken.sent_at:
            env.clock_watch.heard(source.sim_key, sent_at, now, env.clock.boottime())
    return taken


async def _one_by_one(
    env: Env, source: Source, parts: Sequence[ReadPart], now: int, fault: Exception
) -> Ingested:
    """Store each part alone, the one that trips a fault without reading it."""
    results, faults = list[Ingested](), [described(fault)]
    for part in parts:

        def job(tx: Tx, part: ReadPart = part) -> Ingested:
            return _take_all(Desk.lay(env, tx, source, now), [part])

        def store_only(tx: Tx, part: ReadPart = part) -> Ingested:
            return _take_all(Desk.lay(env, tx, source, now), [part], read=False)

        try:
            results.append(await env.store.write(job))
        except OUR_FAULTS as error:
            faults.append(described(error))
            results.append(await env.store.write(store_only))
    return Ingested(
        sum(result.new_parts for result in results),
        tuple(one for result in results for one in result.concluded),
        tuple(faults),
        tuple(at for result in results for at in result.sent_at),
    )


def _take_all(desk: Desk, parts: Sequence[ReadPart], *, read: bool = True) -> Ingested:
    new_parts, concluded, sent_at = 0, list[tuple[str, MessageState]](), list[int]()
    for part in parts:
        if read:
            taken = intake.take(desk, part)
        else:
            taken = intake.take_unread(desk, part, "internal_error")
        new_parts += taken is not None
        if isinstance(taken, intake.Whole):
            concluded.append((taken.message_id, conclude(desk, taken)))
            if taken.sent_at is not None:
                sent_at.append(taken.sent_at)
        elif isinstance(taken, intake.Unread):
            concluded.append((taken.message_id, conclude_unread(desk, taken)))
    return Ingested(new_parts, tuple(concluded), sent_at=tuple(sent_at))
