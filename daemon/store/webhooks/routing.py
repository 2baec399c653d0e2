"""The receivers of payments, routing decisions, and the rules of endpoints.

Rules are kept in versions: changed and deleted ones stay, because earlier decisions refer to them.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec import Struct

from daemon.core.model import Payment, PaymentMethod, Rule, Transaction
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.routing import Routed, RoutedEndpoint, RoutingDecision, read_decision, route
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, insertion, load
from daemon.wire import EventKind, Mode

_TO_RULE = len(Endpoint.__struct_fields__)


def receivers(reader: Reader, mode: Mode) -> list[RoutedEndpoint]:
    """Return the endpoints of a mode, oldest first, with their current rules."""
    rows = reader.all(
        f"SELECT {columns(Endpoint, 'e.')}, {columns(Rule, 'r.')} FROM endpoints e "
        "LEFT JOIN rules r ON r.endpoint_id = e.id AND r.replaced_at IS NULL "
        "WHERE e.kind = 'endpoint' AND e.deleted_at IS NULL AND e.mode = :mode ORDER BY e.seq, r.position, r.seq",
        {"mode": mode},
    )
    return [
        RoutedEndpoint(
            load(Endpoint, of_one[0][:_TO_RULE]),
            tuple(_loaded(row[_TO_RULE:]) for row in of_one if row[_TO_RULE] is not None),
        )
        for of_one in (list(group) for _, group in groupby(rows, key=itemgetter(0)))
    ]


@lru_cache(maxsize=2048)
def _loaded(row: tuple[Any, ...]) -> Rule:
    """Make a rule from its row. Cached, because every payment reads the same rules, and a shop may have a thousand."""
    return load(Rule, row)


def method_of(reader: Reader, payment: Payment) -> PaymentMethod | None:
    """Return the number that received a payment, even if deleted since; None if the payment is unplaced."""
    if payment.payment_method_id is None:
        return None
    return reader.first(
        PaymentMethod, "SELECT * FROM payment_methods WHERE id = :id", {"id": payment.payment_method_id}
    )


def decide(
    tx: Tx,
    among: Sequence[RoutedEndpoint],
    transaction: Transaction,
    payment: Payment,
    method: PaymentMethod | None,
    now: int,
) -> Routed:
    """Decide which of these endpoints get a payment, received by this number, and store the decision."""
    routed = route(among, transaction, payment, method)
    tx.run(
        "INSERT INTO routings (payment_seq, transaction_seq, mode, decided_at, claims, decision) "
        "VALUES (:payment, (SELECT seq FROM transactions WHERE id = :transaction), :mode, :now, :claims, :decision)",
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


class StoredDecision(Struct, frozen=True):
    """A stored decision; `transaction_id` is the transaction that the payment paid then."""

    transaction_id: str
    decided_at: int
    decision: RoutingDecision


def stored_decisions(reader: Reader, payment: Payment) -> list[StoredDecision]:
    """Return the decisions about a payment, oldest first."""
    rows = reader.all(
        "SELECT t.id, r.decided_at, r.decision FROM routings r JOIN transactions t ON t.seq = r.transaction_seq "
        "WHERE r.payment_seq = :seq ORDER BY r.seq",
        {"seq": payment.seq},
    )
    return [StoredDecision(row[0], row[1], read_decision(row[2])) for row in rows]


def count_unclaimed(reader: Reader, mode: Mode, since: int) -> int:
    """Return the number of payments that no endpoint claimed when they came, or was sent since."""
    return reader.count(
        "SELECT COUNT(DISTINCT r.payment_seq) FROM routings r JOIN payments p ON p.seq = r.payment_seq "
        "JOIN transactions t ON t.payment_seq = p.seq "
        "WHERE r.mode = :mode AND r.claims = 0 AND r.decided_at >= :since AND NOT EXISTS "
        "(SELECT 1 FROM transactions own JOIN deliveries d ON d.transaction_seq = own.seq "
        "WHERE own.id IN (t.id, t.supersedes) AND d.event = :event)",
        {"mode": mode, "since": since, "event": EventKind.FORWARDED},
    )


def get_rule(reader: Reader, endpoint_id: str, rule_id: str) -> Rule | None:
    """Return the current version of one rule of an endpoint."""
    return reader.first(
        Rule,
        "SELECT * FROM rules WHERE id = :id AND endpoint_id = :endpoint AND replaced_at IS NULL",
        {"id": rule_id, "endpoint": endpoint_id},
    )


def rules_of_endpoint(reader: Reader, endpoint_id: str) -> list[Rule]:
    """Return the current rules of an endpoint, in their order."""
    return reader.every(
        Rule,
        "SELECT * FROM rules WHERE endpoint_id = :endpoint AND replaced_at IS NULL ORDER BY position, seq",
        {"endpoint": endpoint_id},
    )


def rule_versions(reader: Reader, seqs: set[int]) -> dict[int, Rule]:
    """Return versions of rules, current or not."""
    found = {}
    for seq in seqs:
        rule = reader.first(Rule, "SELECT * FROM rules WHERE seq = :seq", {"seq": seq})
        if rule is not None:
            found[seq] = rule
    return found


def add_rule(tx: Tx, rule: dict[str, Any]) -> Rule:
    """Store a version of a rule; `rule` has every column but `seq`."""
    return tx.only(Rule, f"{insertion('rules', Rule)} RETURNING *", rule)


def end_rule(tx: Tx, rule_id: str, now: int) -> None:
    """End the current version of a rule; without another version the rule is deleted."""
    tx.run("UPDATE rules SET replaced_at = :now WHERE id = :id AND replaced_at IS NULL", {"id": rule_id, "now": now})
