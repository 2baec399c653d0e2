"""Queue webhooks in the same database transaction as their cause (invariant 4).

Each body is made here, once, and every attempt sends the same bytes; signatures are made at send time. All kinds work
the same way: choose the endpoints, take a revision, make one body each; UNIQUE (target, kind, subject, revision)
prevents duplicates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.core import ids
from daemon.core.model import Endpoint, Payment, PaymentMethod, Reversal, Transaction
from daemon.core.payments.payer_texts import NO_TEXTING, Texting
from daemon.core.webhooks import body as core_body
from daemon.core.webhooks import routing, signing
from daemon.store.engine import Tx
from daemon.store.webhooks import deliveries, endpoints
from daemon.store.webhooks import routing as store_routing
from daemon.wire import DeliveryStatus, EventKind, Mode


@dataclass(frozen=True, slots=True)
class _Event:
    """An event to queue.

    Attributes:
        subject: The payment's id, or the transaction's if there is no payment.
        body: Makes the body for one endpoint and webhook id.
        bulk: It goes behind live deliveries.
    """

    kind: EventKind
    subject: str
    transaction: Transaction
    body: Callable[[Endpoint, str], bytes]
    revision: int = 0
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A payment to forward, its transaction, and the number that received it (`routings.method_of`)."""

    transaction: Transaction
    payment: Payment
    method: PaymentMethod | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """The settings for queueing webhooks.

    Attributes:
        account_key: Key of the HMAC that makes webhook ids, so that one payment to one URL always has the same id.
        default_url: The account's default webhook, empty if there is none.
        new_id: Makes a UUID.
        texting: The settings for SMS to payers.
    """

    account_key: bytes
    default_url: str
    new_id: Callable[[], str]
    texting: Texting = NO_TEXTING

    def forward(
        self, tx: Tx, transaction: Transaction, payment: Payment, now: int
    ) -> list[Endpoint]:
        """Queue `transaction.forwarded` for every endpoint that claims the payment, and return those endpoints.

        The routing decision is stored with the payment.
        """
        claiming = store_routing.decide(tx, transaction, payment, now).endpoints
        facts = Forwarded(transaction, payment, store_routing.method_of(tx, payment))
        self._queue(tx, claiming, _forwarded(tx, facts, now), now)
        return claiming

    def forward_to(
        self, tx: Tx, endpoint: Endpoint, payments: Sequence[Forwarded], now: int
    ) -> set[str]:
        """Queue payments for one endpoint, behind live deliveries; return the ids of those not queued before."""
        rows = {}
        for facts in payments:
            delivery = self._delivery(endpoint, _forwarded(tx, facts, now, bulk=True), now)
            rows[delivery["id"]] = delivery
        new = deliveries.add(tx, list(rows.values()))
        return {rows[delivery_id]["subject"] for delivery_id in new}

    def complete(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        claiming: Sequence[Endpoint],
        reconciliation_id: str | None = None,
        supersedes_reference: str | None = None,
    ) -> int:
        """Queue `transaction.completed` and return the number of deliveries. `claiming` is the result of `forward`."""
        own = endpoints.in_use(tx, transaction.mode)
        implicit = self._implicit(tx, transaction, now)

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return core_body.completed_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                reconciliation_id=reconciliation_id,
                supersedes_reference=supersedes_reference,
            )

        event = _Event(EventKind.COMPLETED, payment.id, transaction, body)
        return self._queue(tx, routing.completed_targets(own, implicit, claiming), event, now)

    def reverse(
        self, tx: Tx, transaction: Transaction, payment: Payment, reversal: Reversal, now: int
    ) -> int:
        """Queue `transaction.reversed` for every endpoint that subscribed to it; return the number of deliveries."""

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return core_body.reversed_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                reversal=reversal,
            )

        return self._notify(tx, EventKind.REVERSED, payment.id, transaction, body, now)

    def expire(self, tx: Tx, transaction: Transaction, now: int) -> int:
        """Queue `transaction.expired` for every endpoint that subscribed to it; return the number of deliveries."""

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return core_body.expired_body(
                webhook_id=webhook_id, timestamp_us=now, transaction=transaction
            )

        return self._notify(tx, EventKind.EXPIRED, transaction.id, transaction, body, now)

    def review(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment | None,
        *,
        review_id: str,
        reason: str,
        now: int,
    ) -> int:
        """Queue `transaction.review_required` for every subscribed endpoint; return the number of deliveries.

        `payment` is the held one; None if a held message has made no payment.
        """
        subject = transaction.id if payment is None else payment.id

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return core_body.review_required_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                review_id=review_id,
                reason=reason,
            )

        return self._notify(tx, EventKind.REVIEW_REQUIRED, subject, transaction, body, now)

    def update(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        before: tuple[Transaction, Payment],
    ) -> int:
        """Queue `transaction.updated` for every endpoint that was sent the payment and subscribed to updates.

        Returns the number of deliveries.

        Args:
            tx: The database transaction of the change.
            transaction: The transaction or holder that the payment verifies now.
            payment: As it is now.
            now: The current time.
            before: The two as they were.
        """
        method = store_routing.method_of(tx, payment)
        method_before = store_routing.method_of(tx, before[1])

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return core_body.updated_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                method=method,
                before=(*before, method_before),
            )

        def was_forwarded(endpoint: Endpoint) -> bool:
            return deliveries.was_queued(tx, endpoint.id, EventKind.FORWARDED, payment.id)

        # Behind live deliveries: a claim may change a month of payments at once.
        return self._notify(
            tx, EventKind.UPDATED, payment.id, transaction, body, now, only=was_forwarded, bulk=True
        )

    def _notify(
        self,
        tx: Tx,
        kind: EventKind,
        subject: str,
        transaction: Transaction,
        body: Callable[[Endpoint, str], bytes],
        now: int,
        *,
        only: Callable[[Endpoint], bool] = lambda _endpoint: True,
        bulk: bool = False,
    ) -> int:
        """Queue an event for the endpoints that subscribed to its kind; a recurring event gets a new revision each time."""
        subscribed = routing.subscribed(endpoints.in_use(tx, transaction.mode), kind)
        targets = [endpoint for endpoint in subscribed if only(endpoint)]
        if not targets:
            return 0
        revision = deliveries.next_revision(tx, kind, subject)
        event = _Event(kind, subject, transaction, body, revision, bulk)
        return self._queue(tx, targets, event, now)

    def _implicit(self, tx: Tx, transaction: Transaction, now: int) -> Endpoint | None:
        """Return the endpoint of the transaction's own webhook, else of the account's default one.

        Test transactions never reach the default webhook (decisions.md section 5).
        """
        url = transaction.webhook_url
        if url is None and transaction.mode is Mode.LIVE:
            url = self.default_url
        if not url:
            return None
        return deliveries.implicit_endpoint(
            tx,
            endpoint_id=self.new_id(),
            mode=transaction.mode,
            url=url,
            url_normalised=signing.normalise_url(url),
            now=now,
        )

    def _queue(self, tx: Tx, targets: Sequence[Endpoint], event: _Event, now: int) -> int:
        """Write a delivery for each target; return the number of new ones."""
        return len(deliveries.add(tx, [self._delivery(each, event, now) for each in targets]))

    def _delivery(self, endpoint: Endpoint, event: _Event, now: int) -> dict[str, Any]:
        """Return a delivery's row for one endpoint, without the columns that are not known yet."""
        webhook_id = ids.webhook_id(
            self.account_key,
            endpoint.mode,
            endpoint.url_normalised,
            event.kind,
            event.subject,
            event.revision,
        )
        return {
            "id": ids.time_ordered(self.new_id(), now),
            "webhook_id": webhook_id,
            "endpoint_id": endpoint.id,
            "event": event.kind,
            "subject": event.subject,
            "revision": event.revision,
            "transaction_id": event.transaction.id,
            "test": event.transaction.mode is Mode.TEST,
            "body": event.body(endpoint, webhook_id).decode(),
            "status": DeliveryStatus.PENDING,
            "attempt_count": 0,
            "run": 1,
            "next_attempt_at": now,
            "extra": False,
            "bulk": event.bulk,
            "created_at": now,
        }


def _forwarded(tx: Tx, facts: Forwarded, now: int, *, bulk: bool = False) -> _Event:
    transaction, payment = facts.transaction, facts.payment

    def body(endpoint: Endpoint, webhook_id: str) -> bytes:
        raw = None
        if endpoint.include_raw:
            raw = tx.value("SELECT body FROM messages WHERE id = :id", {"id": payment.message_id})
        return core_body.forwarded_body(
            webhook_id=webhook_id,
            timestamp_us=now,
            transaction=transaction,
            payment=payment,
            method=facts.method,
            raw=raw,
        )

    return _Event(EventKind.FORWARDED, payment.id, transaction, body, bulk=bulk)
