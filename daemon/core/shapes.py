"""Rows to the wire: every JSON shape of the API and of the webhooks, in one place.

Keys stand in the order of interface.md; what decisions.md adds comes after them. Times leave as ISO 8601 UTC with
milliseconds, money as decimal strings of two places. A stored JSON text (`meta`, `fields`) goes out as it is.

Over 300 lines because it is a list of shapes: what a reader looks up here is one key in one object.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from daemon.core.errors import Refusal
from daemon.core.ids import reference_of
from daemon.core.limits import PAYLOAD_BYTES_MAX
from daemon.core.model import (
    Delivery,
    Device,
    Endpoint,
    Event,
    Message,
    Payment,
    PaymentMethod,
    Sim,
    Transaction,
)
from daemon.core.providers import network_name, network_of, provider_name
from daemon.core.verdict import Verdict, judge
from daemon.wire import (
    API_VERSION,
    DeliveryStatus,
    EventKind,
    MessageState,
    Mode,
    TransactionStatus,
)
from parsers import when
from parsers.money import render

Json = dict[str, Any]
VERIFIED: Final = (
    TransactionStatus.SUCCESS,
    TransactionStatus.PARTIAL,
    TransactionStatus.OVERPAID,
)
ZERO_REFERENCE: Final = "svc_trx_" + "0" * 32
"""The reference of test sends, which are about no transaction (decisions.md section 5)."""

RAW_BYTES_MAX: Final = 7_000
"""The SMS in a payload: ten parts in any script."""

_encode = msgspec.json.Encoder().encode


# Values -----------------------------------------------------------------------------------------------


def timestamp(at_us: int) -> str:
    """Render a time, such as `2026-11-21T06:31:00.123Z`."""
    return when.render(at_us)


def timestamp_or_none(at_us: int | None) -> str | None:
    """Render a time that may not be known."""
    return None if at_us is None else when.render(at_us)


def _amount_or_none(minor: int | None, currency: str) -> str | None:
    return None if minor is None else render(minor, currency)


def dump(value: object) -> bytes:
    """Write JSON: compact, UTF-8, keys in the order given."""
    return _encode(value)


# Envelopes --------------------------------------------------------------------------------------------


def success(data: object, meta: Json | None = None, **top: Any) -> bytes:
    """Make `{success: true, data, meta?}`; `top` stands beside `data` (such as `secret`, `pagination`)."""
    body: Json = {"success": True, "data": data, **top}
    if meta is not None:
        body["meta"] = meta
    return _encode(body)


def failure(refusal: Refusal, request_id: str) -> bytes:
    """Make the error envelope: extras stand both inside `error` and at the top (decisions.md section 9)."""
    error: Json = {"code": refusal.code, "message": refusal.message}
    if refusal.spec.hint:
        error["hint"] = refusal.spec.hint
    return _encode(
        {
            "success": False,
            "error": {**error, **refusal.extras},
            **refusal.extras,
            "meta": {"request_id": request_id},
        }
    )


# Transactions -----------------------------------------------------------------------------------------


def status_at(transaction: Transaction, now_us: int) -> TransactionStatus:
    """Return the status now: a request whose time has passed is EXPIRED before any sweep says so."""
    if (
        transaction.status is TransactionStatus.PENDING
        and transaction.expires_at is not None
        and now_us >= transaction.expires_at
    ):
        return TransactionStatus.EXPIRED
    return transaction.status


def list_item(transaction: Transaction, payment: Payment | None, now_us: int) -> Json:
    """Make one element of the transaction list; `payment` is the one that verified it."""
    payer = _payer(transaction, payment)
    return {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": status_at(transaction, now_us),
        **_amounts(transaction, payment),
        "currency": transaction.currency,
        "payer_phone": payer["phone_number"],
        "payer_name": payer["name"],
        "created_at": timestamp(transaction.created_at),
        "completed_at": timestamp_or_none(transaction.completed_at),
        "origin": transaction.origin,
        "test": transaction.mode is Mode.TEST,
    }


def single(transaction: Transaction, payment: Payment | None, now_us: int) -> Json:
    """Make the single-transaction shape: every nested object is there, its members null when unknown."""
    duration_us = None
    if transaction.completed_at is not None and transaction.processing_at is not None:
        duration_us = transaction.completed_at - transaction.processing_at
    created_at = timestamp(transaction.created_at)
    return {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": status_at(transaction, now_us),
        **_amounts(transaction, payment),
        "currency": transaction.currency,
        "client_reference": transaction.client_reference,
        "processing_time_ms": None if duration_us is None else duration_us // 1000,
        "payer": _payer(transaction, payment),
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
        "payer_source": _payer_source(transaction, payment),
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
    }


def initialized(transaction: Transaction, *, checkout_url: str, payer_sms_sent: bool) -> Json:
    """Make the `data` of initialize.

    Args:
        transaction: The new request.
        checkout_url: `<public_base_url>/pay/<public_slug>`.
        payer_sms_sent: The code was durably queued to the payer.
    """
    return {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "public_slug": transaction.public_slug,
        "amount": _amount_or_none(transaction.expected_minor, transaction.currency),
        "currency": transaction.currency,
        "status": TransactionStatus.PENDING,
        "expires_at": timestamp_or_none(transaction.expires_at),
        "created_at": timestamp(transaction.created_at),
        "payer_sms_sent": payer_sms_sent,
        "checkout_url": checkout_url,
        "client_reference": transaction.client_reference,
    }


def reconciliation(
    *,
    reconciliation_id: str,
    transaction_id: str,
    transaction: Transaction,
    payment: Payment,
    verdict: Verdict,
) -> Json:
    """Make the `data` of a successful reconcile.

    Args:
        reconciliation_id: `rec_...`.
        transaction_id: The network ID as the caller wrote it: it is echoed.
        transaction: The request, verified.
        payment: The money.
        verdict: How the two amounts compare.
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
    return {
        "reconciliation_id": reconciliation_id,
        "status": "VERIFIED",
        "transaction_id": transaction_id,
        "transaction_updated": True,
        "new_transaction_status": transaction.status,
        "matched_amount": received,
        "expected_amount": expected,
        "difference": render(verdict.difference_minor, currency),
        "difference_type": verdict.difference_type,
        "message": text,
    }


def _amounts(transaction: Transaction, payment: Payment | None) -> Json:
    """Make the four amount members. `difference` is null for an exact payment (interface.md)."""
    expected, actual = (
        transaction.expected_minor,
        None if payment is None else payment.amount_minor,
    )
    difference = kind = None
    if expected is not None and actual is not None:
        verdict = judge(actual, expected)
        kind = verdict.difference_type.upper()
        if verdict.difference_minor:
            difference = render(verdict.difference_minor, transaction.currency)
    return {
        "expected_amount": _amount_or_none(expected, transaction.currency),
        "actual_amount": _amount_or_none(actual, transaction.currency),
        "difference": difference,
        "difference_type": kind,
    }


def _payer(transaction: Transaction, payment: Payment | None) -> Json:
    """Make the payer: the receipt's number and name, else the request's, each for itself."""
    phone = None if payment is None else payment.payer_phone
    name = None if payment is None else payment.payer_name
    return {
        "phone_number": phone or transaction.phone_number,
        "name": name or transaction.customer_name,
    }


def _payer_source(transaction: Transaction, payment: Payment | None) -> str | None:
    """Say whose word the payer's number is; the name's, where there is no number at all."""
    if payment is not None and payment.payer_phone:
        return "receipt"
    if transaction.phone_number:
        return "request"
    if payment is not None and payment.payer_name:
        return "receipt"
    return "request" if transaction.customer_name else None


# Webhook bodies -----------------------------------------------------------------------------------------


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
    data: Json = {
        "transaction_id": transaction.id,
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "status": transaction.status,
        "amount": render(payment.amount_minor, payment.currency),
        "currency": payment.currency,
        **_amounts(transaction, payment),
        "client_reference": transaction.client_reference,
        "meta": msgspec.Raw(transaction.meta.encode()),
        "payer": _payer(transaction, payment),
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
        "placed": payment.payment_method_id is not None,
        "late": transaction.late,
        "matched_by": transaction.matched_by,
    }
    if payment.reversed_at is not None:
        data["reversed_at"] = timestamp(payment.reversed_at)
    if raw is not None:
        # A text full of control characters grows sixfold in JSON; the payment itself must go out in any case.
        data["raw"] = raw if len(dump(raw)) <= RAW_BYTES_MAX else None
    return _envelope(EventKind.FORWARDED, webhook_id, timestamp_us, transaction.mode, data)


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


def _envelope(kind: EventKind, webhook_id: str, at_us: int, mode: Mode, data: Json) -> bytes:
    test = mode is Mode.TEST
    body = _encode(
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


# Open collections ---------------------------------------------------------------------------------------


def endpoint(row: Endpoint) -> Json:
    """Make the endpoint object; the secret is never part of it."""
    return {
        "id": row.id,
        "url": row.url,
        "description": row.description,
        "is_active": row.is_active,
        "is_sandbox": row.mode is Mode.TEST,
        "auto_paused_at": timestamp_or_none(row.auto_paused_at),
        "last_success_at": timestamp_or_none(row.last_success_at),
        "last_failure_at": timestamp_or_none(row.last_failure_at),
        "consecutive_failures": row.consecutive_failures,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
        "catch_all": row.catch_all,
        "events": msgspec.Raw(row.events.encode()),
        "include_raw": row.include_raw,
    }


def deleted_endpoint(undelivered: int) -> bytes:
    """Make the answer of a deletion; `undelivered` deliveries will never arrive there."""
    body: Json = {"success": True, "deleted": True, "undelivered": undelivered}
    if undelivered:
        body["hint"] = "They are dead letters now; the payments themselves are kept."
    return _encode(body)


def delivery(row: Delivery, target: Endpoint) -> Json:
    """Make one entry of the delivery log; `target` is the endpoint it goes to."""
    open_ = row.status in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)
    paused = open_ and not target.is_active
    error = None
    if row.error_code is not None:
        error = {"code": row.error_code, "message": row.error_message or ""}
    return {
        "id": row.id,
        "webhook_id": row.webhook_id,
        "endpoint_id": row.endpoint_id,
        "transaction_id": row.transaction_id,
        "status": row.status,
        "attempt_count": row.attempt_count,
        "response_status_code": row.response_status_code,
        "response_body": row.response_body,
        "created_at": timestamp(row.created_at),
        "delivered_at": timestamp_or_none(row.delivered_at),
        "failed_at": timestamp_or_none(row.failed_at),
        "event": row.event,
        "kind": target.kind,
        "run": row.run,
        # The retry clock of a paused endpoint stands still: there is no next attempt to name.
        "next_attempt_at": None if paused else timestamp_or_none(row.next_attempt_at),
        "waiting": ("endpoint_paused" if paused else row.waiting) if open_ else None,
        "error": error,
        "sequence": row.seq,
        "test": row.test,
    }


# Numbers and SIMs -----------------------------------------------------------------------------------------


def payment_method(row: PaymentMethod, sim: Sim | None, device: Device | None) -> Json:
    """Make the payment-method record; `sim` is the one it is on and `device` the phone that holds it."""
    place = None
    if sim is not None:
        place = {
            "device_id": sim.device_id,
            "slot_index": sim.slot_index,
            "device_name": None if device is None else device.name,
            "network": network_name(sim.network),
        }
    return {
        "id": row.id,
        "provider": row.provider,
        "provider_name": provider_name(row.provider),
        "phone_number": row.phone_number,
        "account_name": row.account_name,
        "merchant_code": row.merchant_code,
        "sim": place,
        "is_active": row.is_active,
        "last_payment_at": timestamp_or_none(row.last_payment_at),
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
    }


def sims(
    devices: Iterable[Device], rows: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[Json]:
    """Make the list of phones and slots to choose from."""
    rows = list(rows)
    by_sim = {method.sim_seq: method for method in methods if method.sim_seq is not None}
    phones = []
    for device in devices:
        slots = sorted(
            (sim for sim in rows if sim.device_id == device.device_id and sim.present),
            key=lambda sim: sim.slot_index,
        )
        phones.append(
            {
                "device_id": device.device_id,
                "name": device.name,
                "reads_payments": any(sim.read_payment_at is not None for sim in slots),
                "sims": [_slot(sim, by_sim.get(sim.seq)) for sim in slots],
            }
        )
    return phones


def _slot(sim: Sim, method: PaymentMethod | None) -> Json:
    return {
        "slot_index": sim.slot_index,
        "network": network_name(sim.network),
        "iccid_last4": None if sim.iccid is None else sim.iccid[-4:],
        "payment_method_id": None if method is None else method.id,
        "phone_number": None if method is None else method.phone_number,
        "available": method is None,
    }


# The machine's own view (the Unix socket only) ----------------------------------------------------------------


def message(row: Message, line: str | None, *, show_body: bool) -> Json:
    """Make one SMS (cli.md, contract); `line` is the merchant number it came to."""
    shape: Json = {
        "id": row.id,
        "line": line,
        "device_id": row.device_id,
        "sender": row.sender,
        "smsc": row.smsc,
        "smsc_ts": timestamp_or_none(row.sent_at),
        "received_at": timestamp(row.received_at),
        "state": row.state,
        "kind": row.kind,
        "provider": row.provider,
        "fields": msgspec.Raw(row.fields.encode()),
        "trusted": row.trusted,
        "reasons": msgspec.Raw(row.reasons.encode()),
        "payment_id": row.payment_id,
        "slot_index": row.slot_index,
        "parts": {"total": row.parts_total, "seen": row.parts_seen},
        "test": row.mode is Mode.TEST,
    }
    if show_body:
        shape["body"] = row.body if row.state is not MessageState.INCOMPLETE else None
    return shape


def event(
    row: Event, transaction: Transaction | None, payment: Payment | None, now_us: int
) -> Json:
    """Make one line of the journal, as the stream sends it.

    An event about a transaction carries that transaction's list item as it is now; what the event itself says
    stands in `details`.
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
        "details": msgspec.Raw(row.data.encode()),
    }


def pagination(page: int, per_page: int, total: int) -> Mapping[str, int | bool]:
    """Make the `pagination` of the transaction list; a page past the end is an empty list."""
    pages = -(-total // per_page)
    return {
        "page": page,
        "per_page": per_page,
        "total": total,
        "total_pages": pages,
        "has_next": page < pages,
        "has_prev": page > 1,
    }
