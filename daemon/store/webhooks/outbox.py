"""Queue webhooks in the same database transaction as their cause (invariant 4).

Each body is made here, once, and every attempt sends the same bytes; signatures are made at send time. All kinds work
the same way: choose the endpoints, take a revision, make one body each; UNIQUE (target, kind, subject, revision)
prevents duplicates.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from daemon.core import ids
from daemon.core.model import Payment, PaymentMethod, Reversal, Transaction
from daemon.core.payments.payer_texts import NO_TEXTING, Texting
from daemon.core.webhooks import body as core_body
from daemon.core.webhooks import routing, signing
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.routing import RoutedEndpoint
from daemon.store.engine import Tx
from daemon.store.webhooks import deliveries, endpoints
from daemon.store.webhooks import routing as store_routing
from daemon.wire import EventKind, Mode


class _Event(Struct, frozen=True):
    """An event to queue, about the payment, or about the transaction if there is no payment.

    `data` makes the data for one endpoint. With `bulk` it goes behind live deliveries.
    """

    kind: EventKind
    payment: Payment | None
    transaction: Transaction
    data: Callable[[Endpoint], Struct]
    revision: int = 0
    bulk: bool = False


class Forwarded(Struct, frozen=True):
    """A payment to forward, its transaction, and the number that received it (`routings.method_of`)."""

    transaction: Transaction
    payment: Payment
    method: PaymentMethod | None


class Outbox(Struct, frozen=True):
    """The settings for queueing webhooks.

    `account_key` is the key of the HMAC that makes webhook ids, so that one payment to one URL always has the same id.
    `default_url` is the account's default webhook, empty if there is none; `new_id` makes a UUID.
    """

    account_key: bytes
    default_url: str
    new_id: Callable[[], str]
    texting: Texting = NO_TEXTING

    def forward(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        method: PaymentMethod | None = None,
        revision: int = 0,
    ) -> None:
        """Queue `transaction.forwarded` for every endpoint that claims the payment.

        The routing decision is stored with the payment. `method` is the number that received it, if the caller has read it;
        `revision` counts the verifications of the payment that were told and taken back.
        """
        among = store_routing.receivers(tx, payment.mode)
        _claiming, rows = self._forwards(tx, among, transaction, payment, method, now, revision=revision)
        deliveries.add(tx, rows)

    def _forwards(
        self,
        tx: Tx,
        among: Sequence[RoutedEndpoint],
        transaction: Transaction,
        payment: Payment,
        method: PaymentMethod | None,
        now: int,
        *,
        revision: int,
    ) -> tuple[list[Endpoint], list[dict[str, Any]]]:
        """Decide which endpoints claim a payment; return them, and the rows of their deliveries."""
        if method is None:
            method = store_routing.method_of(tx, payment)
        claiming = store_routing.decide(tx, among, transaction, payment, method, now).endpoints
        event = _forwarded(tx, Forwarded(transaction, payment, method), revision=revision)
        return claiming, [self._delivery(each, event, now) for each in claiming]

    def forward_to(self, tx: Tx, endpoint: Endpoint, payments: Sequence[Forwarded], now: int) -> set[str]:
        """Queue payments for one endpoint, behind live deliveries; return the ids of those not queued before."""
        rows = []
        about = {}
        for facts in payments:
            revision = deliveries.times_taken_back(tx, facts.payment.id)
            event = _forwarded(tx, facts, revision=revision, bulk=True)
            delivery = self._delivery(endpoint, event, now)
            rows.append(delivery)
            about[delivery["id"]] = facts.payment.id
        return {about[delivery_id] for delivery_id in deliveries.add(tx, rows)}

    def verified(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        method: PaymentMethod | None = None,
        reconciliation_id: str | None = None,
        supersedes_reference: str | None = None,
        revision: int = 0,
    ) -> None:
        """Queue `transaction.forwarded` as `forward` does, and `transaction.completed`.

        The endpoints that claim the payment get `transaction.completed` only after an operator's decision, which has a
        `reconciliation_id`, and only if there is no other receiver.
        """
        among = store_routing.receivers(tx, payment.mode)
        claiming, rows = self._forwards(tx, among, transaction, payment, method, now, revision=revision)
        implicit = self._implicit(tx, transaction, now)

        data = core_body.completed(
            transaction, payment, now, reconciliation_id=reconciliation_id, supersedes_reference=supersedes_reference
        )
        event = _Event(EventKind.COMPLETED, payment, transaction, lambda _: data, revision)
        own = [receiver.endpoint for receiver in among]
        last = () if reconciliation_id is None else claiming
        rows += [self._delivery(each, event, now) for each in routing.completed_targets(own, implicit, last)]
        deliveries.add(tx, rows)

    def reverse(self, tx: Tx, transaction: Transaction, payment: Payment, reversal: Reversal, now: int) -> int:
        """Queue `transaction.reversed` for every endpoint that subscribed to it; return the number of deliveries."""
        data = core_body.reversed_(transaction, payment, now, reversal)
        return self._notify(tx, EventKind.REVERSED, payment, transaction, data, now)

    def take_back(self, tx: Tx, transaction: Transaction, payment: Payment, now: int, *, before: Transaction) -> int:
        """Queue `transaction.reversed` for every target that was sent the verification; return the number of deliveries.

        `transaction` is as it is after the decision was taken back, `before` as it was verified.
        """
        targets = deliveries.targets_told(tx, before.seq, payment.seq)
        if not targets:
            return 0
        data = core_body.taken_back(transaction, payment, now)
        deliveries.next_revision(tx, deliveries.TAKEN_BACK, payment.id)
        revision = deliveries.next_revision(tx, EventKind.REVERSED, payment.id)
        event = _Event(EventKind.REVERSED, payment, transaction, lambda _: data, revision)
        return self._queue(tx, targets, event, now)

    def expire(self, tx: Tx, transaction: Transaction, now: int) -> int:
        """Queue `transaction.expired` for every endpoint that subscribed to it; return the number of deliveries."""
        data = core_body.expired(transaction, now)
        return self._notify(tx, EventKind.EXPIRED, None, transaction, data, now)

    def review(
        self, tx: Tx, transaction: Transaction, payment: Payment | None, *, review_id: str, reason: str, now: int
    ) -> int:
        """Queue `transaction.review_required` for every subscribed endpoint; return the number of deliveries.

        `payment` is the held one; None if a held message has made no payment.
        """
        data = core_body.review_required(transaction, payment, now, review_id=review_id, reason=reason)
        return self._notify(tx, EventKind.REVIEW_REQUIRED, payment, transaction, data, now)

    def update(
        self, tx: Tx, transaction: Transaction, payment: Payment, now: int, *, before: tuple[Transaction, Payment]
    ) -> int:
        """Queue `transaction.updated` for every endpoint that was sent the payment and subscribed to updates.

        Returns the number of deliveries. `transaction` is the transaction or holder that the payment verifies now;
        `before` has the two as they were.
        """
        is_now = (transaction, payment, store_routing.method_of(tx, payment))
        was = (*before, store_routing.method_of(tx, before[1]))
        data = core_body.updated(is_now, was)
        # Behind live deliveries: a claim may change a month of payments at once.
        return self._notify(tx, EventKind.UPDATED, payment, transaction, data, now, if_forwarded=True, bulk=True)

    def _notify(
        self,
        tx: Tx,
        kind: EventKind,
        payment: Payment | None,
        transaction: Transaction,
        data: Struct,
        now: int,
        *,
        if_forwarded: bool = False,
        bulk: bool = False,
    ) -> int:
        """Queue an event for the endpoints that subscribed to its kind; a recurring event gets a new revision each time.

        With `if_forwarded` only those get it that were sent the payment.
        """
        targets = [
            endpoint
            for endpoint in routing.subscribed(endpoints.in_use(tx, transaction.mode), kind)
            if not if_forwarded
            or (payment is not None and deliveries.was_queued(tx, endpoint.seq, EventKind.FORWARDED, payment.seq))
        ]
        if not targets:
            return 0
        subject = transaction.id if payment is None else payment.id
        revision = deliveries.next_revision(tx, kind, subject)
        event = _Event(kind, payment, transaction, lambda _: data, revision, bulk)
        return self._queue(tx, targets, event, now)

    def _implicit(self, tx: Tx, transaction: Transaction, now: int) -> Endpoint | None:
        """Return the endpoint of the transaction's own webhook, else of the account's default one.

        Test transactions never reach the default webhook.
        """
        url = transaction.webhook_url
        if url is None and transaction.mode is Mode.LIVE:
            url = self.default_url
        if not url:
            return None
        return deliveries.implicit_endpoint(
            tx, endpoint_id=self.new_id(), mode=transaction.mode, url=url, url_normalised=signing.normalise_url(url),
            now=now,
        )  # fmt: skip

    def _queue(self, tx: Tx, targets: Sequence[Endpoint], event: _Event, now: int) -> int:
        return len(deliveries.add(tx, [self._delivery(each, event, now) for each in targets]))

    def _delivery(self, endpoint: Endpoint, event: _Event, now: int) -> dict[str, Any]:
        """Return a delivery's row for one endpoint, as `deliveries.add` takes it."""
        payment, transaction = event.payment, event.transaction
        webhook_id = ids.webhook_id(
            self.account_key, endpoint.mode, endpoint.url_normalised, event.kind,
            transaction.id if payment is None else payment.id, event.revision,
        )  # fmt: skip
        mode, data = transaction.mode, event.data(endpoint)
        body = core_body.payload(event.kind, webhook_id, now, mode, data)
        return {
            "id": ids.time_ordered(self.new_id(), now), "webhook_id": webhook_id, "endpoint_seq": endpoint.seq,
            "event": event.kind, "subject": -transaction.seq if payment is None else payment.seq,
            "revision": event.revision, "transaction_seq": transaction.seq, "test": int(mode is Mode.TEST),
            "body": body, "bulk": int(event.bulk), "created_at": now,
        }  # fmt: skip


def _forwarded(tx: Tx, facts: Forwarded, *, revision: int = 0, bulk: bool = False) -> _Event:
    transaction, payment = facts.transaction, facts.payment

    def data(endpoint: Endpoint) -> Struct:
        raw = None
        if endpoint.include_raw:
            raw = tx.value("SELECT body FROM messages WHERE id = :id", {"id": payment.message_id})
        return core_body.forwarded(transaction, payment, facts.method, raw)

    return _Event(EventKind.FORWARDED, payment, transaction, data, revision, bulk)
