"""Simulated payments of the sandbox: the SMS that the network would send."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field

from daemon.core.errors import Refusal
from daemon.core.inputs import ReadPart, Source
from daemon.core.limits import SECOND_US
from daemon.core.messages import sandbox
from daemon.core.messages.message_journal import digest
from daemon.core.model import Transaction
from daemon.core.payments import transaction_json
from daemon.core.reading import Wrong
from daemon.core.shape import about, marked, sample
from daemon.env import Env
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.modem.codec.pdu_fields import write_address, write_time
from daemon.steps import settle
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, transactions
from daemon.wire import ErrorCode, Mode, TransactionStatus
from parsers.pasted import MESSAGE_CHARACTERS_MAX

EXPIRED_BEFORE_US: Final = 10 * SECOND_US


SENDER_CHARACTERS_MAX: Final = 20
TYPED_CHARACTERS_MAX: Final = 60
NAME_CHARACTERS_MAX: Final = 60


def _sender(sender: str) -> str | Wrong:
    why = "must be a name of up to 11 GSM 7-bit characters, or a number of up to 20 digits"
    return sender if _fits(lambda: write_address(sender)) else Wrong("invalid", why)


def _sent_at(at: int) -> int | Wrong:
    why = "must be from 1990 to 2089: an SMS cannot hold another year"
    return at if _fits(lambda: write_time(sandbox.sent_at(at))) else Wrong("out_of_range", why)


class SimulateRequest(Struct, frozen=True):
    """A payment of the sandbox: from its parts, or the text of its SMS. The code of `reference` is the typed one by default."""

    provider: Annotated[
        str, sample("momo_mtn", "the mobile-money service"), marked(read="provider", words=sandbox.PROVIDERS)
    ] = sandbox.PROVIDERS[0]
    text: (
        Annotated[
            str,
            about("the complete text of the SMS, instead of one built from the other fields"),
            Meta(max_length=MESSAGE_CHARACTERS_MAX),
            marked(lines=True),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            str,
            sample("svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f", "the transaction to pay: its reference or payment code"),
        ]
        | None
    ) = None
    amount_minor: (
        Annotated[int, sample("25.00", "the amount to pay; default: the amount of `reference`"), marked(read="amount")]
        | None
    ) = field(name="amount", default=None)
    payer_name: Annotated[str, sample("Ama Mensah", "the payer's name", max_length=NAME_CHARACTERS_MAX)] = sandbox.PAYER
    payer_phone: Annotated[str, sample("0241234567", "the payer's number"), marked(read="phone")] | None = None
    reference_text: (
        Annotated[
            str,
            sample(
                "A7K2M9",
                "the payment reference typed by the payer; default: the payment code of `reference`",
                max_length=TYPED_CHARACTERS_MAX,
            ),
        ]
        | None
    ) = None
    transaction_id: (
        Annotated[
            str,
            sample("0012345678", "the network's transaction ID; default: a new one", max_length=TYPED_CHARACTERS_MAX),
        ]
        | None
    ) = None
    late: Annotated[bool, sample(False, "pay as if the transaction had already expired")] = False
    sender: (
        Annotated[
            str,
            sample(
                "MobileMoney",
                "the sender name of the SMS; a name other than the network's is not trusted",
                max_length=SENDER_CHARACTERS_MAX,
            ),
            marked(then=_sender),
        ]
        | None
    ) = None
    sent_at: (
        Annotated[
            int,
            sample("2026-11-21T06:31:00Z", "the time at which the network sent it; default now"),
            marked(read="time", then=_sent_at),
        ]
        | None
    ) = None

    @staticmethod
    def check(given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Refuse a payment without an amount."""
        if not {"text", "reference"} & given.keys() and body.get("amount") is None:
            fail("amount", "required", "this field is required")


def _fits(write: Callable[[], bytes]) -> bool:
    try:
        write()
    except ValueError:
        return False
    return True


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
            currency="GHS" if transaction is None else transaction.currency,
            telco_id=request.transaction_id or await _telco_id(env, request.provider),
            reference_text=_typed(request, transaction),
            payer_name=request.payer_name,
            payer_phone=request.payer_phone,
            at_us=at,
        )
        text = sandbox.text(payment)
    pdus = encode_deliver(
        sender,
        text,
        sandbox.sent_at(at),
        smsc=sandbox.SMSC,
        reference=env.sandbox_cycles.references.next(env.entropy.below),
        width=16,
    )
    # As a phone would list them.
    parts = []
    for slot, pdu in enumerate(pdus, 1):
        octets = bytes.fromhex(pdu)
        parts.append(ReadPart("SM", slot, len(octets) - 1 - octets[0], pdu))
    device_id = sandbox.device_id(request.provider)
    source = Source(sandbox.sim_key(request.provider), device_id, 0, test=True)
    about = None if transaction is None else transaction.id
    return SimulatedSms(request.provider, source, tuple(parts), sender, text, about)


async def received_message_id(env: Env, source: Source, pdu: str) -> str | None:
    """Return the id of the message that a part started or completed; None if the part was a repetition."""
    sha256 = digest(pdu)
    return await env.store.read(lambda reader: messages.message_of_part(reader, source.sim_key, sha256))


def _find(tx: Tx, env: Env, request: SimulateRequest, now: int) -> Transaction:
    """Return the transaction to pay; let it expire first if requested."""
    assert request.reference is not None
    found = transactions.by_reference(tx, request.reference)
    if found is None or found.mode is not Mode.TEST or found.origin != "request":
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND, "There is no such transaction in the sandbox.")
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
    return bool(await env.store.read(lambda reader: payments.with_telco_id(reader, Mode.TEST, telco_id)))


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
