"""Owe the webhooks of a verified payment, in the transaction that verifies it (invariant 4).

Bodies are made here, once, and sent byte for byte for ever after; signatures are made at send time.
"""

from collections.abc import Callable
from dataclasses import dataclass

from daemon.core import routing, signing, webhook_shapes
from daemon.core.model import Delivery, Endpoint, Payment, PaymentMethod, Reversal, Transaction
from daemon.core.texting import NO_TEXTING, Texting
from daemon.store import deliveries, endpoints
from daemon.store.engine import Tx
from daemon.store.rows import columns, load_optional
from daemon.wire import DeliveryStatus, EventKind, Mode


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

    def forward(self, tx: Tx, transaction: Transaction, payment: Payment, now: int) -> int:
        """Owe `transaction.forwarded` to every endpoint that claims the payment; returns how many."""
        targets = routing.claiming(endpoints.in_use(tx, payment.mode))
        return sum(self.forward_to(tx, target, transaction, payment, now) for target in targets)

    def forward_to(
        self,
        tx: Tx,
        endpoint: Endpoint,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        bulk: bool = False,
    ) -> int:
        """Owe `transaction.forwarded` to one endpoint; returns 0 when it is owed or done already.

        With `bulk` it waits behind what is live.
        """
        raw = None
        if endpoint.include_raw:
            raw = tx.value("SELECT body FROM messages WHERE id = :id", {"id": payment.message_id})
        webhook_id = self._webhook_id(endpoint, EventKind.FORWARDED, payment.id)
        body = webhook_shapes.forwarded_body(
            webhook_id=webhook_id,
            timestamp_us=now,
            transaction=transaction,
            payment=payment,
            method=_method(tx, payment),
            raw=raw,
        )
        return self._owe(
            tx,
            endpoint,
            kind=EventKind.FORWARDED,
            webhook_id=webhook_id,
            subject=payment.id,
            transaction=transaction,
            body=body,
            now=now,
            bulk=bulk,
        )

    def complete(
        self,
        tx: Tx,
        transaction: Transaction,
        payment: Payment,
        now: int,
        *,
        reconciliation_id: str | None = None,
        supersedes_reference: str | None = None,
    ) -> int:
        """Owe `transaction.completed` to whoever hears it; returns how many."""
        own = endpoints.in_use(tx, transaction.mode)
        owed = 0
        for endpoint in routing.completed_targets(own, self._implicit(tx, transaction, now)):
            webhook_id = self._webhook_id(endpoint, EventKind.COMPLETED, payment.id)
            body = webhook_shapes.completed_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                reconciliation_id=reconciliation_id,
                supersedes_reference=supersedes_reference,
            )
            owed += self._owe(
                tx,
                endpoint,
                kind=EventKind.COMPLETED,
                webhook_id=webhook_id,
                subject=payment.id,
                transaction=transaction,
                body=body,
                now=now,
            )
        return owed

    def reverse(
        self, tx: Tx, transaction: Transaction, payment: Payment, reversal: Reversal, now: int
    ) -> int:
        """Owe `transaction.reversed` to every endpoint that asked for it; returns how many."""
        kind = EventKind.REVERSED
        owed = 0
        for endpoint in routing.subscribed(endpoints.in_use(tx, transaction.mode), kind):
            webhook_id = self._webhook_id(endpoint, kind, payment.id)
            body = webhook_shapes.reversed_body(
                webhook_id=webhook_id,
                timestamp_us=now,
                transaction=transaction,
                payment=payment,
                reversal=reversal,
            )
            owed += self._owe(
                tx,
                endpoint,
                kind=kind,
                webhook_id=webhook_id,
                subject=payment.id,
                transaction=transaction,
                body=body,
                now=now,
            )
        return owed

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

    def _webhook_id(self, endpoint: Endpoint, kind: EventKind, subject: str) -> str:
        return signing.webhook_id(
            self.account_key, endpoint.mode, endpoint.url_normalised, kind, subject, 0
        )

    def _owe(
        self,
        tx: Tx,
        endpoint: Endpoint,
        *,
        kind: EventKind,
        webhook_id: str,
        subject: str,
        transaction: Transaction,
        body: bytes,
        now: int,
        bulk: bool = False,
    ) -> int:
        delivery = deliveries.add(
            tx,
            {
                "id": self.new_id(),
                "webhook_id": webhook_id,
                "endpoint_id": endpoint.id,
                "event": kind,
                "subject": subject,
                "revision": 0,
                "transaction_id": transaction.id,
                "test": transaction.mode is Mode.TEST,
                "body": body.decode(),
                "status": DeliveryStatus.PENDING,
                "attempt_count": 0,
                "run": 1,
                "next_attempt_at": now,
                "leased_until": None,
                "waiting": None,
                "extra": False,
                "bulk": bulk,
                "response_status_code": None,
                "response_body": None,
                "error_code": None,
                "error_message": None,
                "created_at": now,
                "delivered_at": None,
                "failed_at": None,
            },
        )
        return int(isinstance(delivery, Delivery))


def _method(tx: Tx, payment: Payment) -> PaymentMethod | None:
    return load_optional(
        PaymentMethod,
        tx.one(
            f"SELECT {columns(PaymentMethod)} FROM payment_methods WHERE id = :id",
            {"id": payment.payment_method_id},
        ),
    )
