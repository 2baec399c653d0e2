"""Endpoints, their deliveries, and the payments that an endpoint has not received, as JSON. Pure."""

from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta, Struct

from daemon.core import shape
from daemon.core.json_values import timestamp, timestamp_or_none
from daemon.core.model import Delivery, Payment, Transaction
from daemon.core.shape import about, sample, shown
from daemon.core.webhooks.delivery import Attempt, DeadLetter, DeadLetterReason, DeliveryError
from daemon.core.webhooks.diagnosis import diagnose
from daemon.core.webhooks.endpoint import Endpoint
from daemon.wire import DeliveryStatus, EventKind
from parsers.money import render

WebhookId = Annotated[
    str, sample("ocl_0123456789abcdefghijklmn", "identical across replays", schema={"pattern": "^ocl_[0-9a-z]{24}$"})
]
Event = Annotated[EventKind, sample(EventKind.FORWARDED)]
Payload = Annotated[
    dict[str, Any],
    sample(
        {"webhook_id": "ocl_0123456789abcdefghijklmn", "type": "transaction.forwarded"},
        "the body that is sent, byte for byte",
    ),
]


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


class DeliveryAnswer(Struct, frozen=True):
    """One entry of the delivery log."""

    id: shape.Id
    webhook_id: WebhookId
    endpoint_id: shape.Id
    transaction_id: shape.Id | None
    status: Annotated[DeliveryStatus, sample(DeliveryStatus.DELIVERED)]
    attempt_count: Annotated[int, sample(1, ge=0)]
    response_status_code: Annotated[int, sample(200, ge=0)] | None
    response_body: Annotated[str, sample("ok")] | None
    created_at: shape.Time
    delivered_at: shape.Time | None
    failed_at: shape.NoTime
    event: Event
    kind: Annotated[
        str, sample("endpoint", "`endpoint`, or an implicit one for a transaction's own or the default webhook")
    ]
    run: Annotated[int, sample(1, "rises with each redelivery and replay", ge=0)]
    next_attempt_at: shape.NoTime
    waiting: Annotated[
        str | None,
        sample(
            None,
            "reason of the wait: `endpoint_paused`, `secrets_locked`, `ca_file`, `shutdown`, or `clock` for a 4xx while our clock and "
            "the receiver's differ",
        ),
    ]
    error: ErrorOrNone
    sequence: Annotated[int, sample(17, "rises within an endpoint; `X-Svc-Sequence`", ge=0)]
    test: shape.Test

    @classmethod
    def of(cls, row: Delivery, target: Endpoint, **more: Any) -> Self:
        """Return the answer of a delivery; `target` is the endpoint it goes to."""
        open_ = row.status in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)
        paused = open_ and not target.is_active
        # No retries are scheduled while an endpoint is paused, so there is no next attempt to name.
        next_attempt_at = None if paused else timestamp_or_none(row.next_attempt_at)
        waiting = ("endpoint_paused" if paused else row.waiting) if open_ else None
        return shown(
            cls, row, kind=target.kind, next_attempt_at=next_attempt_at, waiting=waiting, error=error_of(row),
            sequence=row.seq, **more,
        )  # fmt: skip


class DeliveryInFullAnswer(DeliveryAnswer, frozen=True):
    """One entry of the log with the sent address and the body."""

    url: Annotated[str, sample("https://shop.example/momo")]
    payload: Payload


class AttemptAnswer(Struct, frozen=True):
    """One of a delivery's attempts."""

    run: Annotated[int, sample(1, ge=0)]
    number: Annotated[int, sample(1, ge=0)]
    started_at: shape.Time
    finished_at: Annotated[shape.Time | None, about("null while it is under way")]
    duration_ms: Annotated[int, sample(140, ge=0)] | None
    response_status_code: Annotated[int, sample(200, ge=0)] | None
    error: ErrorOrNone
    counted: Annotated[
        bool | None, sample(True, "it counts towards the endpoint's failures; null while it is under way")
    ]

    @classmethod
    def of(cls, row: Attempt) -> Self:
        """Return the answer of an attempt."""
        duration_ms = None if row.duration_us is None else row.duration_us // 1000
        return shown(cls, row, duration_ms=duration_ms, response_status_code=row.status_code, error=error_of(row))


class PaymentSummary(Struct, frozen=True):
    """The payment in a payload, so that the operator need not read the payload."""

    amount: shape.Amount | None
    currency: shape.Currency | None
    svc_code: Annotated[str, sample("7KQ2MX")] | None

    @classmethod
    def of(cls, body: bytes) -> Self:
        """Return the payment in a body."""
        data = msgspec.json.decode(body).get("data") or {}
        amount = data.get("amount") or data.get("actual_amount")
        return cls(amount, data.get("currency"), data.get("svc_code"))


class DeadLetterAnswer(Struct, frozen=True):
    """A dead letter with the reason of its failure, as codes and in words."""

    id: shape.Id
    delivery_id: shape.Id
    webhook_id: WebhookId
    endpoint_id: Annotated[shape.Id | None, about("null for a transaction's own webhook and the default one")]
    url: Annotated[str, sample("https://shop.example/momo")]
    event: Event
    transaction_id: shape.Id | None
    reason: Annotated[DeadLetterReason, sample(DeadLetterReason.PERMANENT_4XX)]
    error_code: Annotated[DeliveryError, sample(DeliveryError.HTTP_ERROR)] | None
    last_status_code: Annotated[int, sample(404, ge=0)] | None
    last_response_body: Annotated[str, sample("not found")] | None
    attempt_count: Annotated[int, sample(1, ge=0)]
    diagnosis: Annotated[
        str,
        sample(
            "The address answers, but nothing is there: check the path of the URL.",
            "cause of the failure and how to fix it",
        ),
    ]
    created_at: shape.Time
    replayed_at: shape.NoTime
    replay_count: shape.Count
    resolved_at: shape.NoTime
    dismissed_at: Annotated[shape.NoTime, about("when an operator closed it without a replay")]
    dismissed_by: Annotated[str | None, sample(None)]
    notes: Annotated[str | None, sample(None)]
    cause: Annotated[str, sample("not_found", "for programs; new values may be added")]
    failed_at: shape.Time
    failing_since: shape.Time | None
    error_message: Annotated[str, sample("404 Not Found")] | None
    delivery_status: Annotated[DeliveryStatus, sample(DeliveryStatus.FAILED)]
    test: shape.Test
    payment: Annotated[PaymentSummary, about("the payload's values; null if the payload has none")]

    @classmethod
    def of(cls, row: DeadLetter, delivery: Delivery, target: Endpoint, body: bytes, **more: Any) -> Self:
        """Return the answer of a dead letter; `delivery` is its delivery as it is now, `body` the delivery's."""
        found = diagnose(row, target)
        return shown(
            cls, row, webhook_id=delivery.webhook_id,
            endpoint_id=delivery.endpoint_id if target.kind == "endpoint" else None, url=target.url,
            event=delivery.event, transaction_id=delivery.transaction_id, diagnosis=found.text, cause=found.cause,
            delivery_status=delivery.status, test=delivery.test, payment=PaymentSummary.of(body), **more,
        )  # fmt: skip


class DeadLetterInFullAnswer(DeadLetterAnswer, frozen=True):
    """A dead letter with the body that was to be sent."""

    payload: Payload


class MissingPaymentAnswer(Struct, frozen=True):
    """A payment that an endpoint has not received."""

    transaction_id: shape.Id
    reference: shape.Reference
    amount: shape.Amount
    currency: shape.Currency
    telco_transaction_id: Annotated[str, sample("0012345678")]
    received_at: shape.Time
    state: Annotated[Literal["missing", "pending", "retrying", "delivered", "failed"], sample("missing")]
    delivery_id: Annotated[shape.Id | None, Meta(examples=[None])]

    @classmethod
    def of(cls, payment: Payment, transaction: Transaction, delivery: Delivery | None) -> Self:
        """Return the answer; `state` is `missing` if there was no delivery, else the delivery's status."""
        return cls(
            transaction_id=transaction.id,
            reference=transaction.reference,
            amount=render(payment.amount_minor, payment.currency),
            currency=payment.currency,
            telco_transaction_id=payment.telco_id_as_read,
            received_at=timestamp(payment.stored_at),
            state="missing" if delivery is None else delivery.status.value,
            delivery_id=None if delivery is None else delivery.id,
        )
