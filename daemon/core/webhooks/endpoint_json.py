"""Endpoints, their deliveries, and the payments that an endpoint has not received, as JSON. Pure."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.model import Delivery, Payment, Transaction
from daemon.core.shape import sample
from daemon.core.webhooks.delivery import Attempt, DeadLetter, DeliveryError
from daemon.core.webhooks.diagnosis import diagnose
from daemon.core.webhooks.endpoint import Endpoint
from daemon.wire import DeliveryStatus
from parsers.money import render


def delivery(row: Delivery, target: Endpoint) -> Json:
    """Return one entry of the delivery log; `target` is the endpoint it goes to."""
    open_ = row.status in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)
    paused = open_ and not target.is_active
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
        # No retries are scheduled while an endpoint is paused, so there is no next attempt to name.
        "next_attempt_at": None if paused else timestamp_or_none(row.next_attempt_at),
        "waiting": ("endpoint_paused" if paused else row.waiting) if open_ else None,
        "error": error_of(row),
        "sequence": row.seq,
        "test": row.test,
    }


class ErrorAnswer(Struct, frozen=True):
    """Why an attempt failed."""

    code: Annotated[DeliveryError, sample(DeliveryError.HTTP_ERROR)]
    message: Annotated[str, sample("")]


ErrorOrNone = Annotated[ErrorAnswer | None, Meta(examples=[None])]


def error_of(row: Delivery | Attempt) -> ErrorAnswer | None:
    """Return why an attempt failed; None if it did not."""
    if row.error_code is None:
        return None
    return ErrorAnswer(DeliveryError(row.error_code), row.error_message or "")


def delivery_in_full(row: Delivery, target: Endpoint, body: bytes) -> Json:
    """Return one entry of the log with the sent address and the body byte for byte."""
    return {**delivery(row, target), "url": target.url, "payload": msgspec.Raw(body)}


def attempt(row: Attempt) -> Json:
    """Return one of a delivery's attempts; `finished_at` is null while it is in progress."""
    return {
        "run": row.run,
        "number": row.number,
        "started_at": timestamp(row.started_at),
        "finished_at": timestamp_or_none(row.finished_at),
        "duration_ms": None if row.duration_us is None else row.duration_us // 1000,
        "response_status_code": row.status_code,
        "error": error_of(row),
        "counted": row.counted,
    }


def dead_letter(row: DeadLetter, about: Delivery, target: Endpoint, body: bytes) -> Json:
    """Return a dead letter with the reason of its failure, as codes and in words.

    `about` is its delivery as it is now, `body` the delivery's.
    """
    found = diagnose(row, target)
    return {
        "id": row.id,
        "delivery_id": row.delivery_id,
        "webhook_id": about.webhook_id,
        "endpoint_id": about.endpoint_id if target.kind == "endpoint" else None,
        "url": target.url,
        "event": about.event,
        "transaction_id": about.transaction_id,
        "reason": row.reason,
        "error_code": row.error_code,
        "last_status_code": row.last_status_code,
        "last_response_body": row.last_response_body,
        "attempt_count": row.attempt_count,
        "diagnosis": found.text,
        "created_at": timestamp(row.created_at),
        "replayed_at": timestamp_or_none(row.replayed_at),
        "replay_count": row.replay_count,
        "resolved_at": timestamp_or_none(row.resolved_at),
        "dismissed_at": timestamp_or_none(row.dismissed_at),
        "dismissed_by": row.dismissed_by,
        "notes": row.notes,
        "cause": found.cause,
        "failed_at": timestamp(row.failed_at),
        "failing_since": timestamp_or_none(row.failing_since),
        "error_message": row.error_message,
        "delivery_status": about.status,
        "test": about.test,
        "payment": _payment_summary(body),
    }


def _payment_summary(body: bytes) -> Json:
    """Return the payment in a payload, so that the operator need not read the payload."""
    data = msgspec.json.decode(body).get("data") or {}
    return {
        "amount": data.get("amount") or data.get("actual_amount"),
        "currency": data.get("currency"),
        "svc_code": data.get("svc_code"),
    }


def dead_letter_in_full(row: DeadLetter, about: Delivery, target: Endpoint, body: bytes) -> Json:
    """Return a dead letter with the body that was to be sent, byte for byte."""
    return {**dead_letter(row, about, target, body), "payload": msgspec.Raw(body)}


def missing(payment: Payment, transaction: Transaction, delivery: Delivery | None) -> Json:
    """Return one entry; `state` is `missing` if there was no delivery, else the delivery's status."""
    return {
        "transaction_id": transaction.id,
        "reference": transaction.reference,
        "amount": render(payment.amount_minor, payment.currency),
        "currency": payment.currency,
        "telco_transaction_id": payment.telco_id_as_read,
        "received_at": timestamp(payment.stored_at),
        "state": "missing" if delivery is None else delivery.status,
        "delivery_id": None if delivery is None else delivery.id,
    }
