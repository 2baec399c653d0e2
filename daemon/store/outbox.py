"""Owe webhooks, in the transaction in which what they tell of comes about (invariant 4).

Bodies are made here, once, and sent byte for byte for ever after; signatures are made at send time. Whatever the kind,
there is one way: who hears of it, one revision, one body each, and UNIQUE (target, kind, subject, revision) has the last
word.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.core import ids, routing, signing, webhook_shapes
from daemon.core.model import Endpoint, Payment, PaymentMethod, Reversal, Transaction
from daemon.core.texting import NO_TEXTING, Texting
from daemon.store import deliveries, endpoints, routings
from daemon.store.engine import Tx
from daemon.wire import DeliveryStatus, EventKind, Mode


@dataclass(frozen=True, slots=True)
class _Event:
    """What is told.

    Attributes:
        subject: The payment's id, or the transaction's where there is no payment.
        body: Makes the body for one endpoint and webhook id.
        bulk: It waits behind what is live.
    """

    kind: EventKind
    subject: str
    transaction: Transaction
    body: Callable[[Endpoint, str], bytes]
    revision: int = 0
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A payment that is told of, what it verifies, and the number that it came to (`routings.method_of`)."""

    transaction: Transaction
    payment: Payment
    method: PaymentMethod | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """What is needed to owe a webhook.

    Attributes:
        account_key: Keys the HMAC of webhook ids, so that one payment to one URL has one id for ever.
        default_url: The account's default webhook, empty when there is none.
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
        """Owe `transaction.forwarded` to every endpoint that claims the payment, and return those.

        The decision is kept with the payment.
        """
        claiming = routings.decide(tx, transaction, payment, now).endpoints
        facts = Forwarded(transaction, payment, routings.method_of(tx, payment))
        self._owe(tx, claiming, _forwarded(tx, facts, now), now)
        return claiming

    def forward_to(
        self, tx: Tx, endpoint: Endpoint, payments: Sequence[Forwarded], now: int
    ) -> set[str]:
        """Owe payments to one endpoint, behind what is live; returns the ids of those not owed or done already."""
        owed = {}
        for facts in payments:
            delivery = self._delivery(endpoint, _forwarded(tx, facts, now, bulk=True), now)
            owed[delivery["id"]] = delivery
        new = deliveries.add(tx, list(owed.values()))
        return {owed[delivery_id]["subject"] for delivery_id in new}

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
        """Owe `transaction.completed` to whoever hears it; returns how many. `claiming` is what `forward` returned."""
        own = endpoints.in_use(tx, transaction.mode)
        implicit = self._implicit(tx, transaction, now)

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return webhook_shapes.completed_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                reconciliation_id=reconciliation_id,
                supersedes_reference=supersedes_reference,
            )

        event = _Event(EventKind.COMPLETED, payment.id, transaction, body)
        return self._owe(tx, routing.completed_targets(own, implicit, claiming), event, now)

    def reverse(
        self, tx: Tx, transaction: Transaction, payment: Payment, reversal: Reversal, now: int
    ) -> int:
        """Owe `transaction.reversed` to every endpoint that asked for it; returns how many."""

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return webhook_shapes.reversed_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                reversal=reversal,
            )

        return self._tell(tx, EventKind.REVERSED, payment.id, transaction, body, now)

    def expire(self, tx: Tx, transaction: Transaction, now: int) -> int:
        """Owe `transaction.expired` to every endpoint that asked for it; returns how many."""

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return webhook_shapes.expired_body(
                webhook_id=webhook_id, timestamp_us=now, transaction=transaction
            )

        return self._tell(tx, EventKind.EXPIRED, transaction.id, transaction, body, now)

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
        """Owe `transaction.review_required` to every endpoint that asked for it; returns how many.

        `payment` is the one that is held; None when a message is held that has made none.
        """
        subject = transaction.id if payment is None else payment.id

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return webhook_shapes.review_required_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                review_id=review_id,
                reason=reason,
            )

        return self._tell(tx, EventKind.REVIEW_REQUIRED, subject, transaction, body, now)

    def update(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        before: tuple[Transaction, Payment],
    ) -> int:
        """Owe `transaction.updated` to every endpoint that was forwarded the payment and asked for it.

        Returns how many. It waits behind what is live: a claim may change a month of payments at once.

        Args:
            tx: The transaction in which it changes.
            transaction: The request or holder that the payment verifies now.
            payment: As it is now.
            now: Our time.
            before: The two as they were.
        """
        method = routings.method_of(tx, payment)
        method_before = routings.method_of(tx, before[1])

        def body(_endpoint: Endpoint, webhook_id: str) -> bytes:
            return webhook_shapes.updated_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                method=method,
                before=(*before, method_before),
            )

        def heard(endpoint: Endpoint) -> bool:
            return deliveries.was_owed(tx, endpoint.id, EventKind.FORWARDED, payment.id)

        return self._tell(
            tx, EventKind.UPDATED, payment.id, transaction, body, now, only=heard, bulk=True
        )

    def _tell(
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
        """Owe an event to those who asked for its kind; what may come about again gets a new revision each time."""
        asked = routing.subscribed(endpoints.in_use(tx, transaction.mode), kind)
        targets = [endpoint for endpoint in asked if only(endpoint)]
        if not targets:
            return 0
        revision = deliveries.next_revision(tx, kind, subject)
        event = _Event(kind, subject, transaction, body, revision, bulk)
        return self._owe(tx, targets, event, now)

    def _implicit(self, tx: Tx, transaction: Transaction, now: int) -> Endpoint | None:
        """Return the endpoint of the request's own webhook, else of the account's default one.

        Test requests never reach the default webhook (decisions.md section 5).
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

    def _owe(self, tx: Tx, targets: Sequence[Endpoint], event: _Event, now: int) -> int:
        """Write a delivery for each target; returns how many are new."""
        return len(deliveries.add(tx, [self._delivery(each, event, now) for each in targets]))

    def _delivery(self, endpoint: Endpoint, event: _Event, now: int) -> dict[str, Any]:
        """Return the row of what is owed to one endpoint; what is not named is not known yet."""
        webhook_id = signing.webhook_id(
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
        return webhook_shapes.forwarded_body(
            webhook_id=webhook_id,
            timestamp_us=now,
            transaction=transaction,
            payment=payment,
            method=facts.method,
            raw=raw,
        )

    return _Event(EventKind.FORWARDED, payment.id, transaction, body, bulk=bulk)
