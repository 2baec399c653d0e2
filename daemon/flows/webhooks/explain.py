"""Explain which endpoints got a payment, and which would get it by today's rules. Reads only."""

from daemon.core import ids
from daemon.core.json_values import timestamp
from daemon.core.model import Rule
from daemon.core.shape import flat, shown
from daemon.core.webhooks.routing import (
    EndpointClaim,
    RoutedEndpoint,
    RoutingDecision,
    claims,
    recorded_facts,
)
from daemon.core.webhooks.rule_fields import PaymentFacts
from daemon.core.webhooks.rule_json import PastRouting, Routed, RoutedPayment, RoutingAnswer
from daemon.store.engine import Reader
from daemon.store.payments import payments, transactions
from daemon.store.webhooks import endpoints, routing
from daemon.wire import Mode
from parsers.money import render


def explanation(reader: Reader, transaction_id: str, mode: Mode | None) -> RoutingAnswer | None:
    """Return the explanation of the payment of a transaction; None if there is no such transaction.

    A transaction that was merged into another is explained as that one. With `mode`, only one of that mode is found.
    """
    transaction = transactions.get(reader, transaction_id, mode)
    if transaction is not None and transaction.merged_into is not None:
        transaction = transactions.get(reader, transaction.merged_into, mode)
    if transaction is None:
        return None
    payment = None
    if transaction.payment_id is not None:
        payment = payments.get(reader, transaction.payment_id)
    if payment is None:
        return RoutingAnswer(
            transaction.id, transaction.reference, transaction.status, None, [], None
        )
    paid = RoutedPayment(
        render(payment.amount_minor, payment.currency),
        payment.currency,
        payment.telco_id_as_read,
        timestamp(payment.stored_at),
    )
    decisions = []
    for kept in routing.stored_decisions(reader, payment):
        receivers, chosen = _past_receivers(reader, kept.decision)
        facts, placed = recorded_facts(kept.decision), kept.decision.placed
        routed = Routed.of(receivers, facts, chosen, placed=placed)
        reference = ids.reference_of(kept.transaction_id)
        decisions.append(flat(PastRouting(timestamp(kept.decided_at), reference, routed)))
    receivers = routing.receivers(reader, payment.mode)
    today = PaymentFacts(transaction, payment, routing.method_of(reader, payment))
    placed = payment.placed
    routed = Routed.of(receivers, today, claims(receivers, today, placed=placed), placed=placed)
    return shown(
        RoutingAnswer,
        transaction,
        transaction_id=transaction.id,
        payment=paid,
        decisions=decisions,
        today=routed,
    )


def _past_receivers(
    reader: Reader, decision: RoutingDecision
) -> tuple[list[RoutedEndpoint], list[EndpointClaim]]:
    """Return the receivers of a decision with their rules at that time, and the chosen ones."""
    seqs = {seq for _, _, versions in decision.looked_at for seq in versions}
    by_seq = routing.rule_versions(reader, seqs)
    receivers, chosen = [], []
    for endpoint_seq, catch_all, versions in decision.looked_at:
        endpoint = endpoints.at_decision(reader, endpoint_seq, catch_all=catch_all)
        own: list[Rule] = [by_seq[seq] for seq in versions if seq in by_seq]
        receivers.append(RoutedEndpoint(endpoint, tuple(own)))
        if endpoint_seq in decision.claimed:
            seq = decision.claimed[endpoint_seq]
            chosen.append(EndpointClaim(endpoint, None if seq is None else by_seq.get(seq)))
    return receivers, chosen
