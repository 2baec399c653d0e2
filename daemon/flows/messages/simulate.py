"""Simulated payments of the sandbox: the SMS that the network would send."""

from typing import Final

from msgspec import Struct

from daemon.core.errors import Refusal
from daemon.core.inputs import ReadPart, Source
from daemon.core.limits import SECOND_US
from daemon.core.messages import sandbox
from daemon.core.messages.message_journal import digest
from daemon.core.model import Transaction
from daemon.core.payments import transaction_json
from daemon.env import Env
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.steps import settle
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, transactions
from daemon.wire import ErrorCode, Mode, TransactionStatus

EXPIRED_BEFORE_US: Final = 10 * SECOND_US


class SimulateRequest(Struct, frozen=True):
    """Description of the payment.

    Attributes:
        provider: Canonical; one of `sandbox.PROVIDERS`.
        reference: The transaction to pay; its code is the typed reference unless `reference_text` is given.
        amount_minor: None means the amount that the transaction expects.
        currency: Currency of a payment without a transaction.
        late: Let the transaction expire first.
        sender: None means the network's own sender.
        text: A complete SMS, instead of a receipt made from the other values.
        sent_at: None means now.
    """

    provider: str
    reference: str | None = None
    amount_minor: int | None = None
    currency: str = "GHS"
    payer_name: str = sandbox.PAYER
    payer_phone: str | None = None
    reference_text: str | None = None
    transaction_id: str | None = None
    late: bool = False
    sender: str | None = None
    text: str | None = None
    sent_at: int | None = None


class SimulatedSms(Struct, frozen=True):
    """One SMS, ready for the intake.

    Attributes:
        text: Its text.
        transaction_id: The transaction to pay; None if there is none.
    """

    provider: str
    source: Source
    parts: tuple[ReadPart, ...]
    sender: str
    text: str
    transaction_id: str | None


async def simulate_sms(env: Env, request: SimulateRequest) -> SimulatedSms:
    """Make the SMS.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND, also for a live transaction.
    """
    now = env.clock.now_us()
    transaction = None
    if request.reference is not None:
        transaction = await env.store.write(lambda tx: _find(tx, env, request, now))
    sender = request.sender or sandbox.sender(request.provider)
    at = now if request.sent_at is None else request.sent_at
    text = request.text
    if text is None:
        payment = sandbox.SandboxPayment(
            provider=request.provider,
            amount_minor=_amount(request, transaction),
            currency=request.currency if transaction is None else transaction.currency,
            telco_id=request.transaction_id or await _telco_id(env, request.provider),
            reference_text=_typed(request, transaction),
            payer_name=request.payer_name,
            payer_phone=request.payer_phone,
            at_us=at,
        )
        text = sandbox.text(payment)
    parts = _parts(env, sender, text, at)
    device_id = sandbox.device_id(request.provider)
    source = Source(sandbox.sim_key(request.provider), device_id, 0, test=True)
    about = None if transaction is None else transaction.id
    return SimulatedSms(request.provider, source, parts, sender, text, about)


async def received_message_id(env: Env, source: Source, pdu: str) -> str | None:
    """Return the id of the message that a part started or completed; None if the part was a repetition."""
    sha256 = digest(pdu)
    return await env.store.read(
        lambda reader: messages.message_of_part(reader, source.sim_key, sha256)
    )


def _find(tx: Tx, env: Env, request: SimulateRequest, now: int) -> Transaction:
    """Return the transaction to pay; let it expire first if requested."""
    assert request.reference is not None
    found = transactions.by_reference(tx, request.reference)
    if found is None or found.mode is not Mode.TEST or found.origin != "request":
        raise Refusal(
            ErrorCode.TRANSACTION_NOT_FOUND, "There is no such transaction in the sandbox."
        )
    if request.late and transaction_json.status_at(found, now) is TransactionStatus.PENDING:
        # A receipt contains whole seconds, sometimes from just before it is sent.
        expired = transactions.expire_now(tx, found.id, now - EXPIRED_BEFORE_US)
        if expired is not None:
            settle.record_expiry(tx, env.outbox, expired, now)
    return found


async def _telco_id(env: Env, provider: str) -> str:
    """Return an ID that no payment of the sandbox has, from this or an earlier run."""
    while True:
        number = env.sandbox_cycles.telco_ids.next(env.entropy.below)
        found = sandbox.telco_id(provider, number)
        if not await _has_payment(env, found):
            return found


async def _has_payment(env: Env, telco_id: str) -> bool:
    return bool(
        await env.store.read(lambda reader: payments.with_telco_id(reader, Mode.TEST, telco_id))
    )


def _amount(request: SimulateRequest, transaction: Transaction | None) -> int:
    if request.amount_minor is not None:
        return request.amount_minor
    assert transaction is not None, "the API requires one of the two"
    assert transaction.expected_minor is not None, "a payment request expects an amount"
    return transaction.expected_minor


def _typed(request: SimulateRequest, transaction: Transaction | None) -> str:
    if request.reference_text is not None:
        return request.reference_text
    return "" if transaction is None else transaction.svc_code or ""


def _parts(env: Env, sender: str, text: str, at: int) -> tuple[ReadPart, ...]:
    """Return the parts of the SMS as a phone would list them."""
    pdus = encode_deliver(
        sender,
        text,
        sandbox.sent_at(at),
        smsc=sandbox.SMSC,
        reference=env.sandbox_cycles.references.next(env.entropy.below),
        width=16,
    )
    found = []
    for slot, pdu in enumerate(pdus, 1):
        octets = bytes.fromhex(pdu)
        found.append(ReadPart("SM", slot, len(octets) - 1 - octets[0], pdu))
    return tuple(found)
