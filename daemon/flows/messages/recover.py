"""Take in again the messages that the message journal has and the database lacks, for example after a restore.

The missing parts are taken in by the ordinary intake, in their order and as of the time of arrival. One call to the intake is
one transaction, so a killed recovery goes on at the next start.
"""

from itertools import groupby
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.inputs import ReadPart, Source
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.intake import Ingested, take_in
from daemon.steps.store_parts import missing
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.wire import MessageState, Mode, TrustLevel

_PAID: Final = frozenset({MessageState.PAYMENT, MessageState.HISTORICAL})


class Recovered(Struct):
    """The recovered messages: the number of complete ones, and how many of them are payments."""

    messages: int = 0
    payments: int = 0


async def recover(env: Env) -> Recovered:
    """Process the parts of the message journal that the database lacks; return the number of recovered messages.

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
        lambda one: (
            one.received_at,
            one.sim_key,
            one.device_id,
            one.slot_index,
            one.source,
            one.level,
            one.history,
        ),
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
                journal.add(tx, type="messages.recovered", mode=Mode.LIVE, at=now, data=data)

        first = batch[0]
        source = Source(
            first.sim_key, first.device_id, first.slot_index,
            network=first.network, since=first.since, name=first.source,
            level=TrustLevel(first.level), history=first.history,
        )  # fmt: skip
        parts = [
            ReadPart(one.storage, one.slot, one.tpdu_length, one.pdu, one.synthesised)
            for one in batch
        ]
        await take_in(env, source, parts, _as_of(env, first.received_at), also, recovered=True)
    message_journal.searched()
    return done


def _as_of(env: Env, received_at: int) -> Times:
    """Return the times of an intake that was interrupted then."""
    now = env.times()
    at = min(
        received_at, now.wall_us
    )  # a clock that was ahead then must not date a payment in the future
    return replace(
        now, wall_us=at, lower_bound_us=min(at, now.lower_bound_us), best_us=min(at, now.best_us)
    )
