"""Make up a payment of the sandbox (decisions.md section 8): what its network would send, and to whom."""

from dataclasses import dataclass
from typing import Final

from daemon.core import sandbox, transaction_shapes
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.core.limits import SECOND_US
from daemon.core.model import Transaction
from daemon.core.requests import ReadPart, Source
from daemon.env import Env
from daemon.intake.parts import digest
from daemon.modem.pdu_encode import encode_deliver
from daemon.store import expiry, lists, payments, transactions
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode, TransactionStatus

EXPIRED_BEFORE_US: Final = 10 * SECOND_US


@dataclass(frozen=True, slots=True)
class SimulateRequest:
    """What is to be made up.

    Attributes:
        provider: Canonical; one of `sandbox.PROVIDERS`.
        reference: The request that is paid; its code is what the payer types, unless `reference_text` says otherwise.
        amount_minor: None is what the request expects.
        currency: Of a payment for no request.
        late: Let the request expire first.
        sender: None is the network's own.
        text: An SMS as it is, instead of a receipt made from the rest.
        sent_at: None is now.
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


@dataclass(frozen=True, slots=True)
class MadeUp:
    """One SMS, ready to be taken in.

    Attributes:
        text: What it says.
        transaction_id: The request that it names, None when it names none.
    """

    provider: str
    source: Source
    parts: tuple[ReadPart, ...]
    sender: str
    text: str
    transaction_id: str | None


async def make_up(env: Env, request: SimulateRequest) -> MadeUp:
    """Make the SMS.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND, for one that is not of the sandbox too.
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
    source = Source(sandbox.sim_key(request.provider), sandbox.DEVICE_ID, 0, test=True)
    about = None if transaction is None else transaction.id
    return MadeUp(request.provider, source, parts, sender, text, about)


async def taken_in(env: Env, source: Source, pdu: str) -> str | None:
    """Return the message that a part made or completed, None when it came as a repetition."""
    sha256 = digest(pdu)
    return await env.store.read(
        lambda reader: lists.message_of_part(reader, source.sim_key, sha256)
    )


def _find(tx: Tx, env: Env, request: SimulateRequest, now: int) -> Transaction:
    """Return the request that is to be paid, expired when that is wanted."""
    assert request.reference is not None
    transaction_id = split_reference(request.reference)
    found = None if transaction_id is None else transactions.get(tx, transaction_id)
    if found is None or found.mode is not Mode.TEST or found.origin != "request":
        raise Refusal(
            ErrorCode.TRANSACTION_NOT_FOUND, "There is no such payment request in the sandbox."
        )
    if request.late and transaction_shapes.status_at(found, now) is TransactionStatus.PENDING:
        # A receipt names whole seconds, some of them a moment before it is sent.
        expired = transactions.expire_now(tx, found.id, now - EXPIRED_BEFORE_US)
        if expired is not None:
            expiry.tell(tx, env.outbox, expired, now)
    return found


async def _telco_id(env: Env, provider: str) -> str:
    """Return an ID that no payment of the sandbox has, of this run or of one before."""
    while True:
        number = env.made_up.telco_ids.next(env.entropy.below)
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
    assert transaction is not None, "one of the two was asked for"
    assert transaction.expected_minor is not None, "a request expects an amount"
    return transaction.expected_minor


def _typed(request: SimulateRequest, transaction: Transaction | None) -> str:
    if request.reference_text is not None:
        return request.reference_text
    return "" if transaction is None else transaction.svc_code or ""


def _parts(env: Env, sender: str, text: str, at: int) -> tuple[ReadPart, ...]:
    """Return the SMS as a phone would give it, part by part."""
    pdus = encode_deliver(
        sender,
        text,
        sandbox.sent_at(at),
        smsc=sandbox.SMSC,
        reference=env.made_up.references.next(env.entropy.below),
        width=16,
    )
    found = []
    for slot, pdu in enumerate(pdus, 1):
        octets = bytes.fromhex(pdu)
        found.append(ReadPart("SM", slot, len(octets) - 1 - octets[0], pdu))
    return tuple(found)
