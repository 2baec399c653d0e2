"""JSON objects of a transaction: list item, single object, answers of initialize and reconcile."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Self

from msgspec import UNSET, Meta, Struct, UnsetType

from daemon.core import shape
from daemon.core.ids import reference_of
from daemon.core.journal_text import facts
from daemon.core.json_values import (
    Json,
    Payer,
    PayerName,
    PayerSources,
    amount_or_none,
    payer_of,
    timestamp,
    timestamp_or_none,
)
from daemon.core.model import Event, Payment, PaymentMethod, Transaction
from daemon.core.names import network_of
from daemon.core.payments.matching import Verdict, compare_amounts
from daemon.core.shape import STORED_JSON, about, const, flat, marked, sample, shown
from daemon.wire import Mode, SettlementKind, TransactionStatus
from parsers.money import render

VERIFIED: Final = (TransactionStatus.SUCCESS, TransactionStatus.PARTIAL, TransactionStatus.OVERPAID)


ExpectedAmount = Annotated[shape.Amount | None, about("requested amount; null for a payment without a request")]
ActualAmount = Annotated[shape.Amount | None, about("received amount")]
Difference = Annotated[shape.Amount | None, sample(None, "received minus expected; null when exact")]
DifferenceType = Annotated[str, sample("EXACT"), marked(words=("EXACT", "UNDERPAID", "OVERPAID"))] | None
Origin = Annotated[str, sample("request"), marked(words=("request", "open"))]
MatchedBy = Annotated[str, sample("code"), marked(words=("code", "telco_id", "reconcile", "review", "none"))] | None
MetaObject = Annotated[dict[str, Any], sample({"table": 4})]
ReversedAt = Annotated[shape.NoTime, about("the network took the money back")]


def status_at(transaction: Transaction, now_us: int) -> TransactionStatus:
    """Return the present status: an overdue transaction is EXPIRED even before the sweep marks it.

    `now_us` is `Times.lower_bound_us`, by which the sweep decides: a wrong wall clock must not show what did not expire.
    """
    if (
        transaction.status is TransactionStatus.PENDING
        and transaction.expires_at is not None
        and now_us >= transaction.expires_at
    ):
        return TransactionStatus.EXPIRED
    return transaction.status


class _Money(Struct, frozen=True, kw_only=True):
    """What a transaction is, and what was asked for and came."""

    reference: shape.Reference
    svc_code: shape.Code | None
    status: shape.Status
    expected_amount: ExpectedAmount
    actual_amount: ActualAmount
    difference: Difference
    difference_type: DifferenceType
    currency: shape.Currency


class TransactionListItemAnswer(_Money, frozen=True, kw_only=True):
    """One element of the transaction list."""

    payer_phone: shape.Phone | None
    payer_name: PayerName | None
    payer_source: PayerSources
    created_at: shape.Time
    completed_at: shape.Time | None
    origin: Origin
    test: shape.Test
    reversed_at: ReversedAt
    branch_id: shape.BranchId | UnsetType = UNSET
    branch: shape.BranchName | UnsetType = UNSET

    @classmethod
    def of(cls, transaction: Transaction, payment: Payment | None, now_us: int, **more: Any) -> Self:
        """Return the answer; `payment` is the one that verified it."""
        payer, source = payer_of(transaction, payment)
        return shown(
            cls,
            transaction,
            status=status_at(transaction, now_us),
            **amounts(transaction, payment),
            payer_phone=payer.phone_number,
            payer_name=payer.name,
            payer_source=source,
            test=transaction.mode is Mode.TEST,
            **{**of_branch(transaction.of_branch), **more},
        )


def of_branch(branch_id: str | None, names: Mapping[str, str] | None = None) -> Json:
    """Return the members that only the copy of a branch's row has, at a hub; the branch's name only with `names`."""
    if branch_id is None:
        return {}
    name = (names or {}).get(branch_id)
    return {"branch_id": branch_id, **({} if name is None else {"branch": name})}


class TelcoAnswer(Struct, frozen=True):
    """The payment in the network's own words."""

    provider: Annotated[str, sample("mtn", "the mobile network")] | None
    transaction_id: Annotated[shape.TelcoId | None, about("the network's own id; leading zeros matter")]
    timestamp: shape.Time | None


class Timeline(Struct, frozen=True):
    """When a transaction came to each of its states."""

    created_at: shape.Time
    pending_at: shape.Time | None
    processing_at: shape.Time | None
    completed_at: shape.Time | None


class TransactionAnswer(_Money, frozen=True, kw_only=True):
    """One transaction: all nested objects are present, with null for unknown members."""

    client_reference: shape.OrderReference | None
    processing_time_ms: Annotated[int, sample(85, "from the message's arrival to verification", ge=0)] | None
    payer: Payer
    payer_source: PayerSources
    telco: TelcoAnswer
    meta: Annotated[MetaObject, about("as it was given to initialize"), STORED_JSON]
    timeline: Timeline
    origin: Origin
    test: shape.Test
    matched_by: MatchedBy
    late: Annotated[shape.Flag, about("paid after the transaction had expired")]
    rejected: Annotated[shape.Flag, about("an operator rejected the payment")]
    cancelled_at: shape.NoTime
    reversed_at: ReversedAt
    merged_into: Annotated[shape.Reference | None, sample(None, "the transaction that this payment pays now")]
    branch_id: shape.BranchId | UnsetType = UNSET
    branch: shape.BranchName | UnsetType = UNSET

    @classmethod
    def of(cls, transaction: Transaction, payment: Payment | None, now_us: int, **more: Any) -> Self:
        """Return the answer; `payment` is the one that verified it."""
        duration_us = None
        if transaction.completed_at is not None and transaction.processing_at is not None:
            duration_us = transaction.completed_at - transaction.processing_at
        created_at, merged = timestamp(transaction.created_at), transaction.merged_into
        payer, source = payer_of(transaction, payment)
        return shown(
            cls,
            transaction,
            status=status_at(transaction, now_us),
            **amounts(transaction, payment),
            processing_time_ms=None if duration_us is None else duration_us // 1000,
            payer=payer,
            payer_source=source,
            telco=TelcoAnswer(
                None if payment is None else network_of(payment.provider),
                None if payment is None else payment.telco_id_as_read,
                None if payment is None else timestamp(payment.telco_at),
            ),
            timeline=Timeline(
                created_at,
                created_at if transaction.origin == "request" else None,
                timestamp_or_none(transaction.processing_at),
                timestamp_or_none(transaction.completed_at),
            ),
            test=transaction.mode is Mode.TEST,
            merged_into=None if merged is None else reference_of(merged),
            **{**of_branch(transaction.of_branch), **more},
        )


class PayToAnswer(Struct, frozen=True):
    """One number that the customer can pay."""

    network: Annotated[str, sample("mtn", "the mobile network")]
    provider: shape.Provider
    phone_number: shape.Phone
    account_name: Annotated[str, sample("Ama Mensah", "as the customer's phone shows it")]


PayTo = Annotated[
    tuple[PayToAnswer, ...],
    about("where the customer can pay, the number in use longest first; empty while no number is on a SIM"),
]


def pay_to(methods: Iterable[PaymentMethod]) -> tuple[PayToAnswer, ...]:
    """Return the numbers that a customer can pay."""
    return tuple(
        PayToAnswer(network_of(row.provider), row.provider, row.phone_number, row.account_name) for row in methods
    )


class SettlementAnswer(Struct, frozen=True):
    """How what a short or too large payment left open was ended."""

    kind: Annotated[SettlementKind, sample(SettlementKind.REST_RECEIVED)]
    amount: shape.Amount
    payment_reference: Annotated[shape.Reference | None, sample(None, "of the second payment that brought the rest")]
    notes: Annotated[str | None, sample("paid the rest in cash")]

    @classmethod
    def of(cls, transaction: Transaction) -> Self | None:
        """Return the answer; None if the transaction is not settled."""
        if transaction.settlement is None:
            return None
        found = json.loads(transaction.settlement)
        holder = found.get("holder")
        return cls(
            SettlementKind(found["kind"]),
            render(found["amount_minor"], transaction.currency),
            None if holder is None else reference_of(holder),
            found["notes"],
        )


def settled(transaction: Transaction) -> Json:
    """Return the members that say how a transaction was settled."""
    return {
        "settled_at": timestamp_or_none(transaction.settled_at),
        "settled_by": transaction.settled_by,
        "settlement": SettlementAnswer.of(transaction),
        "settles": None if transaction.settles is None else reference_of(transaction.settles),
    }


class FoundTransactionAnswer(TransactionAnswer, frozen=True, kw_only=True):
    """A transaction that was looked for."""

    settled_at: shape.NoTime
    settled_by: Annotated[str | None, sample(None)]
    settlement: Annotated[SettlementAnswer | None, Meta(examples=[None])]
    settles: Annotated[
        shape.Reference | None, sample(None, "of a payment without a request: the transaction that it settles")
    ]
    pay_to: PayTo
    held_review_id: Annotated[shape.Id | None, sample(None, "open review of a held message or payment that names it")]

    @classmethod
    def of(cls, transaction: Transaction, payment: Payment | None, now_us: int, **more: Any) -> Self:
        """Return the answer; `more` has `held_review_id` and `pay_to`."""
        return super().of(transaction, payment, now_us, **settled(transaction), **more)


class InitializedTransactionAnswer(Struct, frozen=True):
    """The `data` of initialize."""

    reference: shape.Reference
    svc_code: shape.Code
    public_slug: Annotated[str, sample("3kT9aXbQmZ0pLr7vYc2sWd", "of the hosted checkout page")]
    amount: shape.Amount
    currency: shape.Currency
    status: Annotated[TransactionStatus, sample(TransactionStatus.PENDING)]
    expires_at: shape.Time
    created_at: shape.Time
    payer_sms_sent: Annotated[shape.On, about("the code was queued to the customer by SMS")]
    checkout_url: Annotated[str, sample("https://pay.shop.example/pay/3kT9aXbQmZ0pLr7vYc2sWd")]
    client_reference: shape.OrderReference | None
    pay_to: PayTo

    @classmethod
    def of(
        cls, transaction: Transaction, *, checkout_url: str, payer_sms_sent: bool, methods: Iterable[PaymentMethod]
    ) -> Self:
        """Return the answer of a new transaction. `payer_sms_sent`: the code was durably queued to the payer."""
        return shown(
            cls,
            transaction,
            amount=amount_or_none(transaction.expected_minor, transaction.currency),
            status=TransactionStatus.PENDING,
            payer_sms_sent=payer_sms_sent,
            checkout_url=checkout_url,
            pay_to=pay_to(methods),
        )


class ReconciliationAnswer(Struct, frozen=True):
    """The `data` of a successful reconcile."""

    reconciliation_id: Annotated[
        str, sample("rec_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a", schema={"pattern": "^rec_[0-9a-f]{32}$"})
    ]
    status: Annotated[str, const("VERIFIED")]
    transaction_id: Annotated[str, sample("0012345678", "echoed")]
    transaction_updated: shape.On
    new_transaction_status: Annotated[
        TransactionStatus, sample("SUCCESS"), marked(words=("SUCCESS", "PARTIAL", "OVERPAID"))
    ]
    matched_amount: shape.Amount
    expected_amount: shape.Amount
    difference: Annotated[shape.Amount, sample("0.00", "matched minus expected")]
    difference_type: Annotated[str, sample("exact"), marked(words=("exact", "underpaid", "overpaid"))]
    message: Annotated[str, sample("Paid exactly: GHS 25.00 received.")]


def reconciliation(
    *, reconciliation_id: str, transaction_id: str, transaction: Transaction, payment: Payment, verdict: Verdict
) -> ReconciliationAnswer:
    """Return the `data` of a successful reconcile; the network ID `transaction_id` is echoed as the caller wrote it."""
    assert transaction.expected_minor is not None
    currency = payment.currency
    received = render(payment.amount_minor, currency)
    expected = render(transaction.expected_minor, currency)
    difference = render(abs(verdict.difference_minor), currency)
    if verdict.difference_minor == 0:
        text = f"Paid exactly: {currency} {received} received."
    elif verdict.difference_minor < 0:
        text = f"Short by {currency} {difference}: received {received} of {expected}."
    else:
        text = f"Overpaid by {currency} {difference}: received {received} for {expected}."
    return ReconciliationAnswer(
        reconciliation_id=reconciliation_id,
        status="VERIFIED",
        transaction_id=transaction_id,
        transaction_updated=True,
        new_transaction_status=transaction.status,
        matched_amount=received,
        expected_amount=expected,
        difference=render(verdict.difference_minor, currency),
        difference_type=verdict.difference_type,
        message=text,
    )


def amounts(transaction: Transaction, payment: Payment | None) -> Json:
    """Return the four amount members. `difference` is null for an exact payment."""
    expected, actual = (transaction.expected_minor, None if payment is None else payment.amount_minor)
    difference = kind = None
    if expected is not None and actual is not None:
        verdict = compare_amounts(actual, expected)
        kind = verdict.difference_type.upper()
        if verdict.difference_minor:
            difference = render(verdict.difference_minor, transaction.currency)
    return {
        "expected_amount": amount_or_none(expected, transaction.currency),
        "actual_amount": amount_or_none(actual, transaction.currency),
        "difference": difference,
        "difference_type": kind,
    }


def event(row: Event, transaction: Transaction | None, payment: Payment | None, now_us: int) -> Json:
    """Return one journal event, as the stream sends it.

    An event about a transaction carries that transaction's current list item; the event's own data is in `details`.
    """
    about = {}
    if transaction is not None:
        about = flat(TransactionListItemAnswer.of(transaction, payment, now_us))
    return {
        "id": str(row.seq),
        "type": row.type,
        "at": timestamp(row.at),
        "actor": row.actor,
        "test": row.mode is Mode.TEST,
        **about,
        "transaction_id": row.transaction_id,
        "payment_id": row.payment_id,
        "message_id": row.message_id,
        "endpoint_id": row.endpoint_id,
        "details": facts(row.data, None if transaction is None else transaction.currency),
    }
