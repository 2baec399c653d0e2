"""Bodies of webhooks, stored once and sent byte for byte, and the made-up payment of a test send (decisions.md section 5)."""

from typing import Final

import msgspec

from daemon.core.json_values import Json, amount_or_none, dump, timestamp, timestamp_or_none
from daemon.core.limits import PAYLOAD_BYTES_MAX, SECOND_US
from daemon.core.model import Payment, PaymentMethod, Reversal, Transaction
from daemon.core.names import network_of
from daemon.core.payments.transaction_json import amounts, payer_of, single
from daemon.wire import API_VERSION, EventKind, Mode, TransactionStatus
from parsers.money import render

ZERO_REFERENCE: Final = "svc_trx_" + "0" * 32
"""The reference of test sends, which belong to no transaction (decisions.md section 5)."""
RAW_BYTES_MAX: Final = 7_000
"""Limit of the SMS text in a payload: ten parts in any script."""
ZERO_ID = "00000000-0000-0000-0000-000000000000"
"""The id of all its objects: it belongs to no transaction, and its reference is all zeros."""
_TEXT = (
    "Payment received for GHS 25.00 from TEST PAYER. Reference: A7K2M9. Transaction ID: 0000000000."
)


def forwarded_body(
    *,
    webhook_id: str,
    timestamp_us: int,
    transaction: Transaction,
    payment: Payment,
    method: PaymentMethod | None,
    raw: str | None = None,
) -> bytes:
    """Return the body of `transaction.forwarded`, keys in the order of decisions.md section 5.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: Time of the event.
        transaction: The transaction or holder that the payment verifies.
        payment: The payment.
        method: The merchant number that received it; None if unplaced.
        raw: The text of the SMS, only for an endpoint with `include_raw`; null in the body if it exceeds `RAW_BYTES_MAX`.

    Returns:
        The bytes to store and to send, at most 20 kB.
    """
    data = _forwarded(transaction, payment, method)
    if raw is not None:
        # A text of control characters grows sixfold in JSON; the payment itself must be sent in any case.
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
    """Return the body of `transaction.updated`: the present data of `transaction.forwarded` and the changed members.

    `changed` names the members of `data` that are different; `supersedes_reference` is present if the same payment was
    forwarded under another reference.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: Time of the event.
        transaction: The transaction or holder that the payment verifies.
        payment: The payment.
        method: The merchant number that received it; None if unplaced.
        before: Transaction, payment and method before the change.
    """
    data = _forwarded(transaction, payment, method)
    old = _forwarded(*before)
    data["changed"] = [name for name, value in data.items() if dump(value) != dump(old.get(name))]
    if before[0].id != transaction.id:
        data["supersedes_reference"] = before[0].reference
    return _envelope(EventKind.UPDATED, webhook_id, timestamp_us, transaction.mode, data)


def expired_body(*, webhook_id: str, timestamp_us: int, transaction: Transaction) -> bytes:
    """Return the body of `transaction.expired`: the single-transaction object, `transaction_id` and `expires_at`."""
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
    """Return the body of `transaction.review_required`: the single-transaction object, `transaction_id` and `review`.

    The held payment does not pay the transaction: its amounts are unchanged, and the held amount is in `review`.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: Time of the event.
        transaction: The transaction under review.
        payment: The held payment; None if a message is held that has not become a payment.
        review_id: The id for `GET /v1/reviews/{id}`.
        reason: One of the reasons of decisions.md section 4.
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
    """Return the body of `transaction.completed`: the single-transaction object, `transaction_id` and `match`.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: Time of the event.
        transaction: The verified transaction.
        payment: The payment that verified it.
        reconciliation_id: `rec_...` if an operator matched it.
        supersedes_reference: The holder under which the same payment was forwarded before.
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
    """Return the body of `transaction.reversed`: the single-transaction object, `transaction_id` and `reversal`.

    The status in it is still that of the verification; `reversed_at` shows that the money is gone.

    Args:
        webhook_id: `ocl_...`.
        timestamp_us: Time of the event.
        transaction: The transaction or holder that the payment verified.
        payment: The payment that was taken back.
        reversal: The network's reversal; its amount may be unknown.
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
    """Return `data` of `transaction.forwarded`, keys in the order of decisions.md section 5."""
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


def sample_forwarded_body(webhook_id: str, now_us: int, *, include_raw: bool) -> bytes:
    """Return the body of `transaction.forwarded` with made-up data, `test: true` and an all-zero reference."""
    body = forwarded_body(
        webhook_id=webhook_id,
        timestamp_us=now_us,
        transaction=_transaction(now_us),
        payment=_payment(now_us),
        method=_method(now_us),
        raw=_TEXT if include_raw else None,
    )
    assert ZERO_REFERENCE.encode() in body
    return body


def _transaction(now: int) -> Transaction:
    return Transaction(
        seq=0,
        id=ZERO_ID,
        mode=Mode.TEST,
        origin="request",
        status=TransactionStatus.SUCCESS,
        svc_code="A7K2M9",
        public_slug=None,
        expected_minor=2500,
        currency="GHS",
        phone_number="+233200000000",
        customer_name="Test Payer",
        description=None,
        webhook_url=None,
        redirect_url=None,
        client_reference=None,
        meta="{}",
        expected_telco_transaction_id=None,
        expected_payer_phone=None,
        send_sms_to_payer=False,
        created_with="session",
        created_at=now - 60 * SECOND_US,
        expires_at=now,
        cancelled_at=None,
        payment_id=ZERO_ID,
        held_payment_id=None,
        matched_by="code",
        processing_at=now,
        completed_at=now,
        late=False,
        rejected=False,
        merged_into=None,
        supersedes=None,
        reversed_at=None,
    )


def _payment(now: int) -> Payment:
    return Payment(
        seq=0,
        id=ZERO_ID,
        mode=Mode.TEST,
        provider="momo_mtn",
        telco_transaction_id="0000000000",
        telco_id_as_read="0000000000",
        message_id=ZERO_ID,
        payment_method_id=ZERO_ID,
        sim_key="",
        device_id=ZERO_ID,
        slot_index=0,
        kind="payment",
        amount_minor=2500,
        currency="GHS",
        fee_minor=0,
        balance_minor=None,
        payer_name="TEST PAYER",
        payer_phone="+233200000000",
        payer_proven=True,
        reference_text="A7K2M9",
        telco_at=now - SECOND_US,
        stored_at=now,
        historical=False,
        standing="used",
        reversed_at=None,
    )


def _method(now: int) -> PaymentMethod:
    return PaymentMethod(
        seq=0,
        id=ZERO_ID,
        provider="momo_mtn",
        phone_number="+233240000000",
        account_name="Test Shop",
        merchant_code=None,
        sim_seq=None,
        is_active=True,
        line_created_at=None,
        last_payment_at=None,
        created_at=now,
        updated_at=now,
        deleted_at=None,
    )
