"""Create, change and delete the routing rules of endpoints; explain which endpoints got a payment, and would get it today."""

from typing import Final

from msgspec import Struct

from daemon.core import ids
from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, invalid, needed
from daemon.core.inputs import Keep
from daemon.core.json_values import timestamp
from daemon.core.model import Rule
from daemon.core.shape import flat, shown
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.routing import (
    EndpointClaim,
    RoutedEndpoint,
    RoutingDecision,
    claims,
    recorded_facts,
    rule_warnings,
)
from daemon.core.webhooks.rule_fields import PaymentFacts
from daemon.core.webhooks.rule_json import PastRouting, Routed, RoutedPayment, RoutingAnswer
from daemon.env import Env
from daemon.store import idempotency, journal
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments, transactions
from daemon.store.webhooks import endpoints, routing
from daemon.wire import ErrorCode, Mode
from parsers.money import render

RULES_MAX: Final = 20
"""Per endpoint."""


class RuleChange(Struct, frozen=True):
    """Values of a new or changed rule; None means the present value, or the default of a new rule.

    `filter` is compact JSON, checked by `core.webhooks.rules`.
    """

    name: str | None = None
    position: int | None = None
    enabled: bool | None = None
    filter: str | None = None


class MadeRule(Struct, frozen=True):
    """A new rule, and warnings about the rules of its endpoint."""

    rule: Rule
    warnings: list[str]


async def create(
    env: Env, caller: Caller, endpoint_id: str, new: RuleChange, keep: Keep[MadeRule] | None = None
) -> MadeRule:
    """Create a rule. It applies from the next payment on.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; VALIDATION_ERROR if the endpoint has 20; IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    now = env.clock.now_us()
    assert new.filter is not None, "the API requires it"
    filter_text = new.filter

    def effect(tx: Tx) -> MadeRule:
        endpoint = _endpoint(tx, endpoint_id)
        there = routing.rules_of_endpoint(tx, endpoint_id)
        if len(there) >= RULES_MAX:
            text = f"an endpoint has at most {RULES_MAX} rules"
            raise invalid([FieldError("rules", "too_many", text)])
        last = max((rule.position for rule in there), default=0)
        rule = routing.add_rule(
            tx,
            {
                "id": env.new_id(),
                "endpoint_id": endpoint_id,
                "name": new.name or "",
                "position": last + 1 if new.position is None else new.position,
                "enabled": new.enabled is not False,
                "filter": filter_text,
                "created_at": now,
                "updated_at": now,
                "replaced_at": None,
            },
        )
        _journal(tx, caller, endpoint, rule, "rule.created", now)
        return MadeRule(rule, _warnings(tx, endpoint))

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))


async def update(
    env: Env, caller: Caller, endpoint_id: str, rule_id: str, change: RuleChange
) -> tuple[Rule, list[str]]:
    """Change a rule; return the new version and warnings.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND, RULE_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[Rule, list[str]]:
        endpoint = _endpoint(tx, endpoint_id)
        before = _rule(tx, endpoint_id, rule_id)
        routing.end_rule(tx, rule_id, now)
        after = routing.add_rule(
            tx,
            {
                "id": rule_id,
                "endpoint_id": endpoint_id,
                "name": before.name if change.name is None else change.name,
                "position": before.position if change.position is None else change.position,
                "enabled": before.enabled if change.enabled is None else change.enabled,
                "filter": before.filter if change.filter is None else change.filter,
                "created_at": before.created_at,
                "updated_at": now,
                "replaced_at": None,
            },
        )
        _journal(tx, caller, endpoint, after, "rule.updated", now)
        return after, _warnings(tx, endpoint)

    return await env.store.write(job)


async def delete(env: Env, caller: Caller, endpoint_id: str, rule_id: str) -> list[str]:
    """Delete a rule and return warnings. Payments that it claimed stay with the endpoint.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND, RULE_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    now = env.clock.now_us()

    def job(tx: Tx) -> list[str]:
        endpoint = _endpoint(tx, endpoint_id)
        rule = _rule(tx, endpoint_id, rule_id)
        routing.end_rule(tx, rule_id, now)
        _journal(tx, caller, endpoint, rule, "rule.deleted", now)
        return _warnings(tx, endpoint)

    return await env.store.write(job)


def _endpoint(tx: Tx, endpoint_id: str) -> Endpoint:
    return needed(endpoints.get(tx, endpoint_id), ErrorCode.ENDPOINT_NOT_FOUND)


def _rule(tx: Tx, endpoint_id: str, rule_id: str) -> Rule:
    return needed(routing.get_rule(tx, endpoint_id, rule_id), ErrorCode.RULE_NOT_FOUND)


def _warnings(tx: Tx, endpoint: Endpoint) -> list[str]:
    return rule_warnings(RoutedEndpoint(endpoint, tuple(routing.rules_of_endpoint(tx, endpoint.id))))


def _journal(tx: Tx, caller: Caller, endpoint: Endpoint, rule: Rule, kind: str, now: int) -> None:
    journal.add(tx, kind, now, endpoint, actor=caller.name, data={"rule_id": rule.id, "version": rule.seq})


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
        return RoutingAnswer(transaction.id, transaction.reference, transaction.status, None, [], None)
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
        RoutingAnswer, transaction, transaction_id=transaction.id, payment=paid, decisions=decisions, today=routed
    )


def _past_receivers(reader: Reader, decision: RoutingDecision) -> tuple[list[RoutedEndpoint], list[EndpointClaim]]:
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
