"""Bodies of webhooks, stored once and sent byte for byte, and the made-up payment of a test send."""

from typing import Any, Final, TypeVar

import msgspec

from daemon.core.json_values import (
    Json,
    amount_or_none,
    dump,
    payer_members,
    timestamp,
    timestamp_or_none,
)
from daemon.core.limits import PAYLOAD_BYTES_MAX, SECOND_US
from daemon.core.model import Payment, PaymentMethod, Reversal, Transaction
from daemon.core.names import network_of
from daemon.core.payments.transaction_json import amounts, single
from daemon.wire import API_VERSION, EventKind, Mode, TransactionStatus
from parsers.money import render

Row = TypeVar("Row", Transaction, Payment, PaymentMethod)

ZERO_REFERENCE: Final = "svc_trx_" + "0" * 32
"""The reference of test sends, which belong to no transaction."""
RAW_BYTES_MAX: Final = 7_000
"""Limit of the SMS text in a payload: ten parts in any script."""
ZERO_ID = "00000000-0000-0000-0000-000000000000"
"""The id of all its objects: it belongs to no transaction, and its reference is all zeros."""
_TEXT = (
    "Payment received for GHS 25.00 from TEST PAYER. Reference: A7K2M9. Transaction ID: 0000000000."
)


def payload(kind: EventKind, webhook_id: str, at_us: int, mode: Mode, data: Json) -> bytes:
    """Return the bytes of an event to store and to send, at most 20 kB.

    `webhook_id` is `ocl_...`, `at_us` the time of the event, `data` the result of the function for this kind.
    """
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


def forwarded(
    transaction: Transaction, payment: Payment, method: PaymentMethod | None, raw: str | None = None
) -> Json:
    """Return the data of `transaction.forwarded`, keys in their documented order.

    `method` is the merchant number that received the payment, None if unplaced. `raw` is the text of the SMS, only for
    an endpoint with `include_raw`; null in the data if it exceeds `RAW_BYTES_MAX`.
    """
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
        **payer_members(transaction, payment),
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
        **({} if payment.branch_id is None else {"branch": {"id": payment.branch_id}}),
        "received_at": timestamp(payment.stored_at),
        "completed_at": timestamp_or_none(transaction.completed_at),
        "placed": payment.placed,
        "late": transaction.late,
        "matched_by": transaction.matched_by,
    }
    if payment.reversed_at is not None:
        data["reversed_at"] = timestamp(payment.reversed_at)
    if raw is not None:
        # A text of control characters grows sixfold in JSON; the payment itself must be sent in any case.
        data["raw"] = raw if len(dump(raw)) <= RAW_BYTES_MAX else None
    return data


def updated(
    now: tuple[Transaction, Payment, PaymentMethod | None],
    before: tuple[Transaction, Payment, PaymentMethod | None],
) -> Json:
    """Return the data of `transaction.updated`: the present data of `transaction.forwarded` and the changed members.

    `changed` names the members that are different; `supersedes_reference` is present if the same payment was forwarded
    under another reference. Both arguments are transaction, payment and method.
    """
    data, old = forwarded(*now), forwarded(*before)
    data["changed"] = [name for name, value in data.items() if dump(value) != dump(old.get(name))]
    if before[0].id != now[0].id:
        data["supersedes_reference"] = before[0].reference
    return data


def _single(transaction: Transaction, payment: Payment | None, at_us: int, **more: Any) -> Json:
    """Return the single-transaction object with `transaction_id` before it and more members after it."""
    return {"transaction_id": transaction.id, **single(transaction, payment, at_us), **more}


def expired(transaction: Transaction, at_us: int) -> Json:
    """Return the data of `transaction.expired`: the single-transaction object, `transaction_id` and `expires_at`."""
    return _single(transaction, None, at_us, expires_at=timestamp_or_none(transaction.expires_at))


def review_required(
    transaction: Transaction, payment: Payment | None, at_us: int, *, review_id: str, reason: str
) -> Json:
    """Return the data of `transaction.review_required`: the single-transaction object, `transaction_id` and `review`.

    The held payment does not pay the transaction: its amounts are unchanged, and the held amount is in `review`.
    `payment` is None if a message is held that has not become a payment. `reason` is a review reason.
    """
    review = {
        "id": review_id,
        "reason": reason,
        "amount": None if payment is None else render(payment.amount_minor, payment.currency),
        "currency": None if payment is None else payment.currency,
        "telco_transaction_id": None if payment is None else payment.telco_id_as_read,
    }
    return _single(transaction, None, at_us, review=review)


def completed(
    transaction: Transaction,
    payment: Payment,
    at_us: int,
    *,
    reconciliation_id: str | None = None,
    supersedes_reference: str | None = None,
) -> Json:
    """Return the data of `transaction.completed`: the single-transaction object, `transaction_id` and `match`.

    `reconciliation_id` is `rec_...` if an operator matched it. `supersedes_reference` is the holder under which the
    same payment was forwarded before.
    """
    match = {
        "matched_by": transaction.matched_by,
        "late": transaction.late,
        "reconciliation_id": reconciliation_id,
    }
    data = _single(transaction, payment, at_us, match=match)
    if supersedes_reference is not None:
        data["supersedes_reference"] = supersedes_reference
    return data


def reversed_(transaction: Transaction, payment: Payment, at_us: int, reversal: Reversal) -> Json:
    """Return the data of `transaction.reversed`: the single-transaction object, `transaction_id` and `reversal`.

    The status in it is still that of the verification; `reversed_at` shows that the money is gone. The amount of the
    network's reversal may be unknown.
    """
    taken_back = {
        "amount": amount_or_none(reversal.amount_minor, payment.currency),
        "currency": payment.currency,
        "timestamp": timestamp(reversal.at),
    }
    return _single(transaction, payment, at_us, reversal=taken_back)


def sample_forwarded_body(webhook_id: str, now_us: int, *, include_raw: bool) -> bytes:
    """Return the body of `transaction.forwarded` with made-up data, `test: true` and an all-zero reference."""
    raw = _TEXT if include_raw else None
    data = forwarded(_transaction(now_us), _payment(now_us), _METHOD, raw)
    assert data["reference"] == ZERO_REFERENCE
    return payload(EventKind.FORWARDED, webhook_id, now_us, Mode.TEST, data)


def _row(model: type[Row], **known: Any) -> Row:
    """Return a row with the given columns; all others are None."""
    values: dict[str, Any] = {name: known.get(name) for name in model.__struct_fields__}
    return model(**values)


def _transaction(now: int) -> Transaction:
    return _row(
        Transaction,
        id=ZERO_ID,
        mode=Mode.TEST,
        origin="request",
        status=TransactionStatus.SUCCESS,
        svc_code="A7K2M9",
        expected_minor=2500,
        currency="GHS",
        phone_number="+233200000000",
        customer_name="Test Payer",
        meta="{}",
        created_at=now - 60 * SECOND_US,
        expires_at=now,
        payment_id=ZERO_ID,
        matched_by="code",
        processing_at=now,
        completed_at=now,
        late=False,
    )


def _payment(now: int) -> Payment:
    return _row(
        Payment,
        id=ZERO_ID,
        mode=Mode.TEST,
        provider="momo_mtn",
        telco_id_as_read="0000000000",
        payment_method_id=ZERO_ID,
        device_id=ZERO_ID,
        slot_index=0,
        amount_minor=2500,
        currency="GHS",
        payer_name="TEST PAYER",
        payer_phone="+233200000000",
        reference_text="A7K2M9",
        telco_at=now - SECOND_US,
        stored_at=now,
    )


_METHOD: Final = _row(
    PaymentMethod,
    id=ZERO_ID,
    provider="momo_mtn",
    phone_number="+233240000000",
    account_name="Test Shop",
)
