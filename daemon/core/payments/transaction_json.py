"""JSON objects of a transaction: list item, single object, answers of initialize and reconcile."""

from collections.abc import Mapping
from typing import Annotated, Final, Self

import msgspec
from msgspec import Struct

from daemon.core.ids import reference_of
from daemon.core.journal_text import facts
from daemon.core.json_values import (
    Json,
    amount_or_none,
    payer_members,
    timestamp,
    timestamp_or_none,
)
from daemon.core.model import Event, Payment, Transaction
from daemon.core.names import network_of
from daemon.core.payments.matching import Verdict, compare_amounts
from daemon.core.shape import Amount, Currency, On, Reference, Time, about, marked, sample, shown
from daemon.wire import Mode, TransactionStatus
from parsers.money import render

VERIFIED: Final = (
    TransactionStatus.SUCCESS,
    TransactionStatus.PARTIAL,
    TransactionStatus.OVERPAID,
)


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


def list_item(transaction: Transaction, payment: Payment | None, now_us: int) -> Json:
    """Return one element of the transaction list; `payment` is the one that verified it."""
    found = payer_members(transaction, payment)
    return {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": status_at(transaction, now_us),
        **amounts(transaction, payment),
        "currency": transaction.currency,
        "payer_phone": found["payer"]["phone_number"],
        "payer_name": found["payer"]["name"],
        "payer_source": found["payer_source"],
        "created_at": timestamp(transaction.created_at),
        "completed_at": timestamp_or_none(transaction.completed_at),
        "origin": transaction.origin,
        "test": transaction.mode is Mode.TEST,
        "reversed_at": timestamp_or_none(transaction.reversed_at),
        **of_branch(transaction.branch_id),
    }


def of_branch(branch_id: str | None, names: Mapping[str, str] | None = None) -> Json:
    """Return the members that only the copy of a branch's row has, at a hub; the branch's name only with `names`."""
    if branch_id is None:
        return {}
    name = (names or {}).get(branch_id)
    return {"branch_id": branch_id, **({} if name is None else {"branch": name})}


def single(transaction: Transaction, payment: Payment | None, now_us: int) -> Json:
    """Return the single-transaction object: all nested objects are present, with null for unknown members."""
    duration_us = None
    if transaction.completed_at is not None and transaction.processing_at is not None:
        duration_us = transaction.completed_at - transaction.processing_at
    created_at = timestamp(transaction.created_at)
    return {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": status_at(transaction, now_us),
        **amounts(transaction, payment),
        "currency": transaction.currency,
        "client_reference": transaction.client_reference,
        "processing_time_ms": None if duration_us is None else duration_us // 1000,
        **payer_members(transaction, payment),
        "telco": {
            "provider": None if payment is None else network_of(payment.provider),
            "transaction_id": None if payment is None else payment.telco_id_as_read,
            "timestamp": None if payment is None else timestamp(payment.telco_at),
        },
        "meta": msgspec.Raw(transaction.meta.encode()),
        "timeline": {
            "created_at": created_at,
            "pending_at": created_at if transaction.origin == "request" else None,
            "processing_at": timestamp_or_none(transaction.processing_at),
            "completed_at": timestamp_or_none(transaction.completed_at),
        },
        "origin": transaction.origin,
        "test": transaction.mode is Mode.TEST,
        "matched_by": transaction.matched_by,
        "late": transaction.late,
        "rejected": transaction.rejected,
        "cancelled_at": timestamp_or_none(transaction.cancelled_at),
        "reversed_at": timestamp_or_none(transaction.reversed_at),
        "merged_into": None
        if transaction.merged_into is None
        else reference_of(transaction.merged_into),
        **of_branch(transaction.branch_id),
    }


class InitializedTransactionAnswer(Struct, frozen=True):
    """The `data` of initialize."""

    reference: Reference
    svc_code: Annotated[
        str, sample("A7K2M9", "the code that the customer types as payment reference")
    ]
    public_slug: Annotated[str, sample("3kT9aXbQmZ0pLr7vYc2sWd", "of the hosted checkout page")]
    amount: Amount
    currency: Currency
    status: Annotated[TransactionStatus, sample(TransactionStatus.PENDING)]
    expires_at: Time
    created_at: Time
    payer_sms_sent: Annotated[On, about("the code was queued to the customer by SMS")]
    checkout_url: Annotated[str, sample("https://pay.shop.example/pay/3kT9aXbQmZ0pLr7vYc2sWd")]
    client_reference: Annotated[str, sample("order-1042")] | None

    @classmethod
    def of(cls, transaction: Transaction, *, checkout_url: str, payer_sms_sent: bool) -> Self:
        """Return the answer of a new transaction.

        Args:
            transaction: The new transaction.
            checkout_url: `<public_base_url>/pay/<public_slug>`.
            payer_sms_sent: The code was durably queued to the payer.
        """
        return shown(
            cls,
            transaction,
            amount=amount_or_none(transaction.expected_minor, transaction.currency),
            status=TransactionStatus.PENDING,
            payer_sms_sent=payer_sms_sent,
            checkout_url=checkout_url,
        )


class ReconciliationAnswer(Struct, frozen=True):
    """The `data` of a successful reconcile."""

    reconciliation_id: Annotated[
        str,
        sample("rec_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a", schema={"pattern": "^rec_[0-9a-f]{32}$"}),
    ]
    status: Annotated[str, sample("VERIFIED", schema={"const": "VERIFIED"})]
    transaction_id: Annotated[str, sample("0012345678", "echoed")]
    transaction_updated: On
    new_transaction_status: Annotated[
        TransactionStatus, sample("SUCCESS"), marked(words=("SUCCESS", "PARTIAL", "OVERPAID"))
    ]
    matched_amount: Amount
    expected_amount: Amount
    difference: Annotated[Amount, sample("0.00", "matched minus expected")]
    difference_type: Annotated[
        str, sample("exact"), marked(words=("exact", "underpaid", "overpaid"))
    ]
    message: Annotated[str, sample("Paid exactly: GHS 25.00 received.")]


def reconciliation(
    *,
    reconciliation_id: str,
    transaction_id: str,
    transaction: Transaction,
    payment: Payment,
    verdict: Verdict,
) -> ReconciliationAnswer:
    """Return the `data` of a successful reconcile.

    Args:
        reconciliation_id: `rec_...`.
        transaction_id: The network ID as the caller wrote it: it is echoed.
        transaction: The verified transaction.
        payment: The payment that verified it.
        verdict: Comparison of the two amounts.
    """
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
    expected, actual = (
        transaction.expected_minor,
        None if payment is None else payment.amount_minor,
    )
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


def event(
    row: Event, transaction: Transaction | None, payment: Payment | None, now_us: int
) -> Json:
    """Return one journal event, as the stream sends it.

    An event about a transaction carries that transaction's current list item; the event's own data is in `details`.
    """
    about = {} if transaction is None else list_item(transaction, payment, now_us)
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
