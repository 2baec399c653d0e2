"""The SMSCs of a SIM, the owner's test payment, and trust in one message."""

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.limits import HOUR_US
from daemon.core.model import Sim
from daemon.env import Env
from daemon.steps.context import Context
from daemon.steps.judge import apply_decision
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import KnownSmsc
from daemon.store.payments import reviews
from daemon.wire import ErrorCode, MessageState, Mode
from parsers.providers import PROVIDERS, Provider

TEST_PAYMENT_US = HOUR_US
"""A test payment is expected for this long."""


class TestPayment(Struct, frozen=True):
    """The payment that the owner is to make; the amount in minor units, the time in microseconds."""

    amount_minor: int
    currency: str
    expires_at: int


class SimSmscs(Struct, frozen=True):
    """The SMSCs of a SIM, whether its balance chain has begun, and the test payment that is expected."""

    sim: Sim
    smscs: list[KnownSmsc]
    has_chain: bool
    test_payment: TestPayment | None


async def smscs_of(env: Env, device_id: str, slot_index: int) -> SimSmscs:
    """Return the SMSCs of a SIM.

    Raises:
        Refusal: SIM_NOT_FOUND.
    """
    now = env.clock.now_us()

    def job(reader: Reader) -> SimSmscs:
        sim = _sim(reader, device_id, slot_index)
        found = balances.smscs(reader, sim.sim_key)
        begun = balances.has_chain(reader, sim.sim_key)
        return SimSmscs(sim, found, begun, expected(reader, sim, now))

    return await env.store.read(job)


def expected(reader: Reader, sim: Sim, now: int) -> TestPayment | None:
    """Return the test payment that is expected on a SIM now."""
    found, provider = balances.expected_test_payment(reader, sim.sim_key, now), _provider(sim)
    if found is None or provider is None:
        return None
    return TestPayment(found[0], provider.currency, found[1])


async def trust_message(env: Env, caller: Caller, device_id: str, slot_index: int, message_id: str) -> int:
    """Accept a held message of a SIM: its SMSC becomes home if its balance joins, and its row is accepted.

    Return the number of other held messages that it settled.

    Raises:
        Refusal: SIM_NOT_FOUND, MESSAGE_NOT_FOUND; REVIEW_ALREADY_DECIDED if the message is not held;
            VALIDATION_ERROR if there are other doubts about it than its SMSC and its balance: a review shows those.
    """
    require(caller, Operation.MANAGE_LINES)
    times = env.times()

    def job(tx: Tx) -> int:
        sim = _sim(tx, device_id, slot_index)
        row = messages.get(tx, message_id)
        known = balances.of_message(tx, message_id)
        if row is None or row.sim_key != sim.sim_key:
            raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
        if row.state is not MessageState.HELD:
            raise Refusal(ErrorCode.REVIEW_ALREADY_DECIDED)
        if known is None or known.entry.doubts:
            why = "there are other doubts about this message: decide its review"
            raise invalid([FieldError("message_id", "invalid", why)])
        context = Context.for_message(env, tx, row, times)
        review = reviews.open_for_message(tx, message_id)
        settled = apply_decision(context, message_id, genuine=True, actor=caller.name)
        if review is not None:
            reviews.close(tx, review.id, "approved", by=caller.name, now=times.wall_us)
        data = {"smsc": row.smsc, "settled": settled}
        journal.add(tx, "message.trusted", times.wall_us, row, actor=caller.name, data=data)
        return settled

    return await env.store.write(job)


async def expect_test_payment(env: Env, caller: Caller, device_id: str, slot_index: int) -> TestPayment:
    """Expect a payment of an odd amount from the owner; its receipt proves the SMSC and the balance of the SIM.

    The amount is drawn at random, so that an attacker cannot send a forged receipt of it first.

    Raises:
        Refusal: SIM_NOT_FOUND; NETWORK_MISMATCH if the network of the SIM is not known.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()
    amount = 101 + int.from_bytes(env.entropy.bytes(4)) % 399

    def job(tx: Tx) -> TestPayment:
        sim = _sim(tx, device_id, slot_index)
        provider = needed(_provider(sim), ErrorCode.NETWORK_MISMATCH)
        balances.expect_test_payment(tx, sim.sim_key, amount, now + TEST_PAYMENT_US)
        data = {"device_id": device_id, "slot_index": slot_index}
        journal.add(tx, "sim.test_payment", now, actor=caller.name, data=data)
        return TestPayment(amount, provider.currency, now + TEST_PAYMENT_US)

    return await env.store.write(job)


def _sim(reader: Reader, device_id: str, slot_index: int) -> Sim:
    return needed(devices.sim_in_slot(reader, device_id, slot_index, Mode.LIVE), ErrorCode.SIM_NOT_FOUND)


def _provider(sim: Sim) -> Provider | None:
    return next((one for one in PROVIDERS.values() if one.network == sim.network), None)
