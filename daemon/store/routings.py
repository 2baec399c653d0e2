"""Where payments go: the receivers of today, and the decisions that were made."""

from dataclasses import dataclass

from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.routing import Decision, Receiver, Routed, read_decision, route
from daemon.store import endpoints, rules
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_optional
from daemon.wire import EventKind, Mode


def receivers(reader: Reader, mode: Mode) -> list[Receiver]:
    """Return the endpoints of a mode with their rules as they are now."""
    by_endpoint = rules.of_mode(reader, mode)
    return [
        Receiver(endpoint, tuple(by_endpoint.get(endpoint.id, ())))
        for endpoint in endpoints.in_use(reader, mode)
    ]


def method_of(reader: Reader, payment: Payment) -> PaymentMethod | None:
    """Return the number that a payment came to, also one that was deleted; None when it is unplaced."""
    if payment.payment_method_id is None:
        return None
    return load_optional(
        PaymentMethod,
        reader.one(
            f"SELECT {columns(PaymentMethod)} FROM payment_methods WHERE id = :id",
            {"id": payment.payment_method_id},
        ),
    )


def decide(tx: Tx, transaction: Transaction, payment: Payment, now: int) -> Routed:
    """Decide where a payment goes, and keep the decision with it."""
    routed = route(receivers(tx, payment.mode), transaction, payment, method_of(tx, payment))
    tx.run(
        "INSERT INTO routings (payment_seq, transaction_id, mode, decided_at, claims, decision) "
        "VALUES (:payment, :transaction, :mode, :now, :claims, :decision)",
        {
            "payment": payment.seq,
            "transaction": transaction.id,
            "mode": payment.mode,
            "now": now,
            "claims": len(routed.claims),
            "decision": routed.decision.write(),
        },
    )
    return routed


@dataclass(frozen=True, slots=True)
class Kept:
    """A decision as it was kept; `transaction_id` is what the payment paid then."""

    transaction_id: str
    decided_at: int
    decision: Decision


def kept(reader: Reader, payment: Payment) -> list[Kept]:
    """Return the decisions about a payment, oldest first."""
    rows = reader.all(
        "SELECT transaction_id, decided_at, decision FROM routings WHERE payment_seq = :seq ORDER BY seq",
        {"seq": payment.seq},
    )
    return [Kept(row[0], row[1], read_decision(row[2])) for row in rows]


def unclaimed(reader: Reader, mode: Mode, since: int) -> int:
    """Count the payments that nobody claimed when they came, and that no endpoint was sent since."""
    return int(
        reader.value(
            "SELECT COUNT(DISTINCT r.payment_seq) FROM routings r JOIN payments p ON p.seq = r.payment_seq "
            "JOIN transactions t ON t.payment_id = p.id "
            "WHERE r.mode = :mode AND r.claims = 0 AND r.decided_at >= :since AND NOT EXISTS "
            "(SELECT 1 FROM deliveries d WHERE d.transaction_id IN (t.id, t.supersedes) AND d.event = :event)",
            {"mode": mode, "since": since, "event": EventKind.FORWARDED},
        )
    )
