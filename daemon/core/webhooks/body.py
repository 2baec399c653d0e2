"""Bodies of webhooks, stored once and sent byte for byte, and the made-up payment of a test send."""

from typing import Annotated, Any, Final, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from daemon.core import shape
from daemon.core.json_values import Payer, PayerSources, amount_or_none, dump, payer_of, timestamp, timestamp_or_none
from daemon.core.limits import SECOND_US
from daemon.core.model import Payment, PaymentMethod, Reversal, Transaction
from daemon.core.names import network_of
from daemon.core.payments.transaction_json import (
    ActualAmount,
    Difference,
    DifferenceType,
    ExpectedAmount,
    MatchedBy,
    MetaObject,
    SettlementAnswer,
    TransactionAnswer,
    amounts,
    settled,
)
from daemon.core.shape import FLAT, STORED_JSON, about, const, flat, marked, sample, stored_json
from daemon.core.webhooks.endpoint_json import WebhookId
from daemon.wire import API_VERSION, EventKind, Mode, ReviewReason, TransactionStatus
from parsers.money import render

PAYLOAD_BYTES_MAX: Final = 20_000
"""Size of one envelope."""
Row = TypeVar("Row", Transaction, Payment, PaymentMethod)

ZERO_REFERENCE: Final = "svc_trx_" + "0" * 32
"""The reference of test sends, which belong to no transaction."""
RAW_BYTES_MAX: Final = 7_000
"""Limit of the SMS text in a payload: ten parts in any script."""
ZERO_ID = "00000000-0000-0000-0000-000000000000"
"""The id of all its objects: it belongs to no transaction, and its reference is all zeros."""
_TEXT = "Payment received for GHS 25.00 from TEST PAYER. Reference: A7K2M9. Transaction ID: 0000000000."


class TelcoOfPayment(Struct, frozen=True):
    """The payment in the network's own words."""

    provider: Annotated[str, sample("mtn")]
    transaction_id: shape.TelcoId
    timestamp: shape.Time
    reference_text: Annotated[str, sample("A7K2M9")] | None


class MethodOfPayment(Struct, frozen=True):
    """The merchant number that a payment came to."""

    id: shape.Id
    phone_number: shape.Phone
    account_name: shape.AccountName
    provider: shape.Provider


class PlaceOfPayment(Struct, frozen=True):
    """The SIM that received a payment."""

    device_id: shape.Id | None
    slot_index: shape.Count | None


class BranchOfPayment(Struct, frozen=True):
    """The branch that received a payment, at a hub."""

    id: shape.BranchId


class _PaymentData(Struct, frozen=True, kw_only=True):
    """A payment with the transaction that it pays."""

    transaction_id: shape.Id
    reference: shape.Reference
    svc_code: shape.Code | None
    status: shape.Status
    amount: shape.Amount
    currency: shape.Currency
    expected_amount: ExpectedAmount
    actual_amount: ActualAmount
    difference: Difference
    difference_type: DifferenceType
    client_reference: shape.OrderReference | None
    meta: Annotated[MetaObject, STORED_JSON]
    payer: Payer
    payer_source: PayerSources
    telco: TelcoOfPayment
    payment_method: MethodOfPayment | None
    sim: PlaceOfPayment
    branch: BranchOfPayment | UnsetType = UNSET
    received_at: shape.Time
    completed_at: shape.Time | None
    placed: Annotated[shape.On, about("it came to one of the merchant's numbers")]
    late: shape.Flag
    matched_by: MatchedBy
    reversed_at: shape.Time | UnsetType = UNSET
    settled_at: shape.Time | UnsetType = UNSET
    settlement: SettlementAnswer | UnsetType = UNSET
    settles: (
        Annotated[shape.Reference, about("the short transaction that this payment settles: no sale of its own")]
        | UnsetType
    ) = UNSET


class ForwardedData(_PaymentData, frozen=True, kw_only=True):
    """The data of `transaction.forwarded`."""

    raw: (
        Annotated[str | None, sample("Payment received ...", "the SMS, for an endpoint with `include_raw`")] | UnsetType
    ) = UNSET


class UpdatedData(_PaymentData, frozen=True, kw_only=True):
    """The data of `transaction.updated`."""

    changed: Annotated[list[Annotated[str, sample("payment_method")]], about("the changed members")]
    supersedes_reference: shape.Reference | UnsetType = UNSET


class Match(Struct, frozen=True):
    """How a payment was matched; `reconciliation_id` is null unless an operator did it."""

    matched_by: Annotated[str, sample("code")] | None
    late: shape.Flag
    reconciliation_id: Annotated[str | None, sample(None)]


class CompletedData(Struct, frozen=True):
    """The data of `transaction.completed`."""

    transaction_id: shape.Id
    transaction: Annotated[TransactionAnswer, FLAT]
    match: Match
    supersedes_reference: shape.Reference | UnsetType = UNSET


class ExpiredData(Struct, frozen=True):
    """The data of `transaction.expired`."""

    transaction_id: shape.Id
    transaction: Annotated[TransactionAnswer, FLAT]
    expires_at: shape.Time | None


class HeldPayment(Struct, frozen=True):
    """The review of a payment, and the payment, if the message has become one."""

    id: shape.Id
    reason: Annotated[ReviewReason, sample(ReviewReason.PAYER_MISMATCH)]
    amount: Annotated[shape.Amount | None, about("held amount; it has paid nothing yet")]
    currency: shape.Currency | None
    telco_transaction_id: shape.TelcoId | None


class ReviewRequiredData(Struct, frozen=True):
    """The data of `transaction.review_required`."""

    transaction_id: shape.Id
    transaction: Annotated[TransactionAnswer, FLAT]
    review: HeldPayment


class ReversalAnswer(Struct, frozen=True):
    """What was taken back, by the network, which may not say how much, or with a person's decision."""

    kind: Annotated[str, sample("network"), marked(words=("network", "decision_taken_back"))]
    amount: shape.Amount | None
    currency: shape.Currency
    timestamp: shape.Time


class ReversedData(Struct, frozen=True):
    """The data of `transaction.reversed`."""

    transaction_id: shape.Id
    transaction: Annotated[TransactionAnswer, FLAT]
    reversal: ReversalAnswer


class EventBody(Struct, frozen=True):
    """A webhook body."""

    webhook_id: WebhookId
    type: EventKind
    timestamp: shape.Time
    api_version: Annotated[str, const(API_VERSION)]
    test: shape.Test
    livemode: shape.On
    data: Any


EVENTS: Final[dict[EventKind, tuple[str, type[Struct]]]] = {
    EventKind.FORWARDED: ("A verified payment is forwarded to an endpoint that claims it.", ForwardedData),
    EventKind.COMPLETED: ("A transaction was paid.", CompletedData),
    EventKind.EXPIRED: ("A transaction expired without a payment.", ExpiredData),
    EventKind.REVIEW_REQUIRED: (
        "A payment came for a transaction, and an operator must decide whether it counts.",
        ReviewRequiredData,
    ),
    EventKind.UPDATED: ("Forwarded data of a payment has changed.", UpdatedData),
    EventKind.REVERSED: ("The network took a payment back.", ReversedData),
}
"""What each kind of event says, and the `data` of its body."""


def payload(kind: EventKind, webhook_id: str, at_us: int, mode: Mode, data: Struct) -> bytes:
    """Return the bytes of an event to store and to send, at most 20 kB.

    `webhook_id` is `ocl_...`, `at_us` the time of the event, `data` the result of the function for this kind.
    """
    test = mode is Mode.TEST
    body = dump(EventBody(webhook_id, kind, timestamp(at_us), API_VERSION, test, not test, flat(data)))
    assert len(body) <= PAYLOAD_BYTES_MAX, "every part of a payload is bounded where it is read"
    return body


def forwarded(
    transaction: Transaction, payment: Payment, method: PaymentMethod | None, raw: str | None = None
) -> ForwardedData:
    """Return the data of `transaction.forwarded`.

    `method` is the merchant number that received the payment, None if unplaced. `raw` is the text of the SMS, only for
    an endpoint with `include_raw`; null in the data if it exceeds `RAW_BYTES_MAX`.
    """
    found = ForwardedData(**_payment_data(transaction, payment, method))
    if raw is None:
        return found
    # A text of control characters grows sixfold in JSON; the payment itself must be sent in any case.
    return replace(found, raw=raw if len(dump(raw)) <= RAW_BYTES_MAX else None)


def _payment_data(transaction: Transaction, payment: Payment, method: PaymentMethod | None) -> dict[str, Any]:
    payer, source = payer_of(transaction, payment)
    return {
        "transaction_id": transaction.id,
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": transaction.status,
        "amount": render(payment.amount_minor, payment.currency),
        "currency": payment.currency,
        **amounts(transaction, payment),
        "client_reference": transaction.client_reference,
        "meta": stored_json(transaction.meta),
        "payer": payer,
        "payer_source": source,
        "telco": TelcoOfPayment(
            network_of(payment.provider), payment.telco_id_as_read, timestamp(payment.telco_at), payment.reference_text
        ),
        "payment_method": method
        and MethodOfPayment(method.id, method.phone_number, method.account_name, method.provider),
        "sim": PlaceOfPayment(payment.device_id, payment.slot_index),
        "branch": UNSET if payment.branch_id is None else BranchOfPayment(payment.branch_id),
        "received_at": timestamp(payment.stored_at),
        "completed_at": timestamp_or_none(transaction.completed_at),
        "placed": payment.placed,
        "late": transaction.late,
        "matched_by": transaction.matched_by,
        "reversed_at": UNSET if payment.reversed_at is None else timestamp(payment.reversed_at),
        **{
            name: UNSET if value is None else value
            for name, value in settled(transaction).items()
            if name != "settled_by"
        },
    }


def updated(
    now: tuple[Transaction, Payment, PaymentMethod | None], before: tuple[Transaction, Payment, PaymentMethod | None]
) -> UpdatedData:
    """Return the data of `transaction.updated`: the present data of `transaction.forwarded` and the changed members.

    `changed` names the members that are different; `supersedes_reference` is present if the same payment was forwarded
    under another reference. Both arguments are transaction, payment and method.
    """
    data, old = _payment_data(*now), _payment_data(*before)
    changed = [name for name, value in data.items() if value != old[name]]
    supersedes = UNSET if before[0].id == now[0].id else before[0].reference
    return UpdatedData(**data, changed=changed, supersedes_reference=supersedes)


def expired(transaction: Transaction, at_us: int) -> ExpiredData:
    """Return the data of `transaction.expired`."""
    about_it = TransactionAnswer.of(transaction, None, at_us)
    return ExpiredData(transaction.id, about_it, timestamp_or_none(transaction.expires_at))


def review_required(
    transaction: Transaction, payment: Payment | None, at_us: int, *, review_id: str, reason: str
) -> ReviewRequiredData:
    """Return the data of `transaction.review_required`.

    The held payment does not pay the transaction: its amounts are unchanged, and the held amount is in `review`.
    `payment` is None if a message is held that has not become a payment. `reason` is a review reason.
    """
    held = HeldPayment(
        review_id,
        ReviewReason(reason),
        None if payment is None else render(payment.amount_minor, payment.currency),
        None if payment is None else payment.currency,
        None if payment is None else payment.telco_id_as_read,
    )
    about_it = TransactionAnswer.of(transaction, None, at_us)
    return ReviewRequiredData(transaction.id, about_it, held)


def completed(
    transaction: Transaction,
    payment: Payment,
    at_us: int,
    *,
    reconciliation_id: str | None = None,
    supersedes_reference: str | None = None,
) -> CompletedData:
    """Return the data of `transaction.completed`.

    `reconciliation_id` is `rec_...` if an operator matched it. `supersedes_reference` is the holder under which the
    same payment was forwarded before.
    """
    return CompletedData(
        transaction.id,
        TransactionAnswer.of(transaction, payment, at_us),
        Match(transaction.matched_by, transaction.late, reconciliation_id),
        UNSET if supersedes_reference is None else supersedes_reference,
    )


def reversed_(transaction: Transaction, payment: Payment, at_us: int, reversal: Reversal) -> ReversedData:
    """Return the data of `transaction.reversed`.

    The status in it is still that of the verification; `reversed_at` shows that the money is gone. The amount of the
    network's reversal may be unknown.
    """
    taken_back = ReversalAnswer(
        "network", amount_or_none(reversal.amount_minor, payment.currency), payment.currency, timestamp(reversal.at)
    )
    about_it = TransactionAnswer.of(transaction, payment, at_us)
    return ReversedData(transaction.id, about_it, taken_back)


def taken_back(transaction: Transaction, payment: Payment, at_us: int) -> ReversedData:
    """Return the data of `transaction.reversed` for an approval that a person took back.

    The transaction is as it was before the approval, and `reversed_at` stays null: the network has moved nothing.
    """
    reversal = ReversalAnswer(
        "decision_taken_back", render(payment.amount_minor, payment.currency), payment.currency, timestamp(at_us)
    )
    return ReversedData(transaction.id, TransactionAnswer.of(transaction, None, at_us), reversal)


def sample_forwarded_body(webhook_id: str, now_us: int, *, include_raw: bool) -> bytes:
    """Return the body of `transaction.forwarded` with made-up data, `test: true` and an all-zero reference."""
    raw = _TEXT if include_raw else None
    data = forwarded(_transaction(now_us), _payment(now_us), _METHOD, raw)
    assert data.reference == ZERO_REFERENCE
    return payload(EventKind.FORWARDED, webhook_id, now_us, Mode.TEST, data)


def _row(model: type[Row], **known: Any) -> Row:
    """Return a row with the given columns; all others are None."""
    values: dict[str, Any] = {name: known.get(name) for name in model.__struct_fields__}
    return model(**values)


def _transaction(now: int) -> Transaction:
    return _row(
        Transaction, id=ZERO_ID, mode=Mode.TEST, origin="request", status=TransactionStatus.SUCCESS,
        svc_code="A7K2M9", expected_minor=2500, currency="GHS", phone_number="+233200000000",
        customer_name="Test Payer", meta="{}", created_at=now - 60 * SECOND_US, expires_at=now, payment_id=ZERO_ID,
        matched_by="code", processing_at=now, completed_at=now, late=False,
    )  # fmt: skip


def _payment(now: int) -> Payment:
    return _row(
        Payment, id=ZERO_ID, mode=Mode.TEST, provider="momo_mtn", telco_id_as_read="0000000000",
        payment_method_id=ZERO_ID, device_id=ZERO_ID, slot_index=0, amount_minor=2500, currency="GHS",
        payer_name="TEST PAYER", payer_phone="+233200000000", reference_text="A7K2M9", telco_at=now - SECOND_US,
        stored_at=now,
    )  # fmt: skip


_METHOD: Final = _row(
    PaymentMethod, id=ZERO_ID, provider="momo_mtn", phone_number="+233240000000", account_name="Test Shop"
)
