"""The bodies of webhooks (decisions.md section 5): bytes that are stored once and sent as they are."""

from typing import Final

import msgspec

from daemon.core.limits import PAYLOAD_BYTES_MAX
from daemon.core.model import Payment, PaymentMethod, Reversal, Transaction
from daemon.core.provider_names import network_of
from daemon.core.shapes import Json, amount_or_none, dump, timestamp, timestamp_or_none
from daemon.core.transaction_shapes import amounts, payer_of, single
from daemon.wire import API_VERSION, EventKind, Mode
from parsers.money import render

ZERO_REFERENCE: Final = "svc_trx_" + "0" * 32
"""The reference of test sends, which are about no transaction (decisions.md section 5)."""

RAW_BYTES_MAX: Final = 7_000
"""The SMS in a payload: ten parts in any script."""


def forwarded_body(
    *,
    webhook_id: str,
    timestamp_us: int,
    transaction: Transaction,
    payment: Payment,
    method: PaymentMethod | None,
    raw: str | None = None,
) -> bytes:
    """Make the body of `transaction.forwarded`, keys in the order of decisions.md section 5.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: When the event came about.
        transaction: The request or holder that the payment verifies.
        payment: The money.
        method: The merchant number it came to; None when unplaced.
        raw: The SMS's text, only for an endpoint with `include_raw`; null in the body when it is beyond all measure.

    Returns:
        The bytes to store and to send as they are, at most 20 kB.
    """
    data = _forwarded(transaction, payment, method)
    if raw is not None:
        # A text full of control characters grows sixfold in JSON; the payment itself must go out in any case.
        data["raw"] = raw if len(dump(raw)) <= RAW_BYTES_MAX else None
    return _envelope(EventKind.FORWARDED, webhook_id, timestamp_us, transaction.mode, data)


def updated_body(
    *,
    webhook_id: str,
    timestamp_us: int,
    transaction: Transaction,
    payment: Payment,
    method: PaymentMethod | None,
    before: tuple[Transaction, Payment, PaymentMethod | None],
) -> bytes:
    """Make the body of `transaction.updated`: what `transaction.forwarded` would say now, and what of it is new.

    `changed` names the members of `data` that are different; `supersedes_reference` is there when the same money was
    forwarded under another reference.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: When the event came about.
        transaction: The request or holder that the payment verifies.
        payment: The money.
        method: The merchant number it came to; None when unplaced.
        before: The same three as they were.
    """
    data = _forwarded(transaction, payment, method)
    old = _forwarded(*before)
    data["changed"] = [name for name, value in data.items() if dump(value) != dump(old.get(name))]
    if before[0].id != transaction.id:
        data["supersedes_reference"] = before[0].reference
    return _envelope(EventKind.UPDATED, webhook_id, timestamp_us, transaction.mode, data)


def expired_body(*, webhook_id: str, timestamp_us: int, transaction: Transaction) -> bytes:
    """Make the body of `transaction.expired`: the single-transaction shape, `transaction_id` and `expires_at`."""
    data: Json = {
        "transaction_id": transaction.id,
        **single(transaction, None, timestamp_us),
        "expires_at": timestamp_or_none(transaction.expires_at),
    }
    return _envelope(EventKind.EXPIRED, webhook_id, timestamp_us, transaction.mode, data)


def review_required_body(
    *,
    webhook_id: str,
    timestamp_us: int,
    transaction: Transaction,
    payment: Payment | None,
    review_id: str,
    reason: str,
) -> bytes:
    """Make the body of `transaction.review_required`: the single-transaction shape, `transaction_id` and `review`.

    The transaction is not paid by what is held: its amounts are what they were, and the held money is in `review`.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: When the event came about.
        transaction: The request that a person must look at.
        payment: The money that is held; None when a message is held that has made no payment.
        review_id: What `GET /v1/reviews/{id}` shows.
        reason: One of decisions.md section 4.
    """
    data: Json = {
        "transaction_id": transaction.id,
        **single(transaction, None, timestamp_us),
        "review": {
            "id": review_id,
            "reason": reason,
            "amount": None if payment is None else render(payment.amount_minor, payment.currency),
            "currency": None if payment is None else payment.currency,
            "telco_transaction_id": None if payment is None else payment.telco_id_as_read,
        },
    }
    return _envelope(EventKind.REVIEW_REQUIRED, webhook_id, timestamp_us, transaction.mode, data)


def completed_body(
    *,
    webhook_id: str,
    timestamp_us: int,
    transaction: Transaction,
    payment: Payment,
    reconciliation_id: str | None = None,
    supersedes_reference: str | None = None,
) -> bytes:
    """Make the body of `transaction.completed`: the single-transaction shape, `transaction_id` and `match`.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: When the event came about.
        transaction: The verified request.
        payment: The money that verified it.
        reconciliation_id: `rec_...` when a person vouched.
        supersedes_reference: The holder under which the same money was forwarded before.
    """
    data: Json = {
        "transaction_id": transaction.id,
        **single(transaction, payment, timestamp_us),
        "match": {
            "matched_by": transaction.matched_by,
            "late": transaction.late,
            "reconciliation_id": reconciliation_id,
        },
    }
    if supersedes_reference is not None:
        data["supersedes_reference"] = supersedes_reference
    return _envelope(EventKind.COMPLETED, webhook_id, timestamp_us, transaction.mode, data)


def reversed_body(
    *,
    webhook_id: str,
    timestamp_us: int,
    transaction: Transaction,
    payment: Payment,
    reversal: Reversal,
) -> bytes:
    """Make the body of `transaction.reversed`: the single-transaction shape, `transaction_id` and `reversal`.

    The status in it is still the one of the verification; `reversed_at` says that the money is gone.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: When the event came about.
        transaction: The request or holder that the payment verified.
        payment: The money that was taken back.
        reversal: The network's word; its amount is null where it names none.
    """
    data: Json = {
        "transaction_id": transaction.id,
        **single(transaction, payment, timestamp_us),
        "reversal": {
            "amount": amount_or_none(reversal.amount_minor, payment.currency),
            "currency": payment.currency,
            "timestamp": timestamp(reversal.at),
        },
    }
    return _envelope(EventKind.REVERSED, webhook_id, timestamp_us, transaction.mode, data)


def _forwarded(transaction: Transaction, payment: Payment, method: PaymentMethod | None) -> Json:
    """Make `data` of `transaction.forwarded`, keys in the order of decisions.md section 5."""
    data: Json = {
        "transaction_id": transaction.id,
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": transaction.status,
        "amount": render(payment.amount_minor, payment.currency),
        "currency": payment.currency,
        **amounts(transaction, payment),
        "client_reference": transaction.client_reference,
        "meta": msgspec.Raw(transaction.meta.encode()),
        "payer": payer_of(transaction, payment),
        "telco": {
            "provider": network_of(payment.provider),
            "transaction_id": payment.telco_id_as_read,
            "timestamp": timestamp(payment.telco_at),
            "reference_text": payment.reference_text,
        },
        "payment_method": None
        if method is None
        else {
            "id": method.id,
            "phone_number": method.phone_number,
            "account_name": method.account_name,
            "provider": method.provider,
        },
        "sim": {"device_id": payment.device_id, "slot_index": payment.slot_index},
        "received_at": timestamp(payment.stored_at),
        "completed_at": timestamp_or_none(transaction.completed_at),
        "placed": payment.placed,
        "late": transaction.late,
        "matched_by": transaction.matched_by,
    }
    if payment.reversed_at is not None:
        data["reversed_at"] = timestamp(payment.reversed_at)
    return data


def _envelope(kind: EventKind, webhook_id: str, at_us: int, mode: Mode, data: Json) -> bytes:
    test = mode is Mode.TEST
    body = dump(
        {
            "webhook_id": webhook_id,
            "type": kind,
            "timestamp": timestamp(at_us),
            "api_version": API_VERSION,
            "test": test,
            "livemode": not test,
            "data": data,
        }
    )
    assert len(body) <= PAYLOAD_BYTES_MAX, "every part of a payload is bounded where it is read"
    return body
