"""Routing of verified payments to endpoints by rules and catch-all. Pure.

A payment goes to every endpoint of the right mode with a matching rule; only if there is none, to every endpoint with
`catch_all` on. Rules of one endpoint are joined by OR: the first that matches claims the payment, once. An unplaced payment
goes to catch-alls only. A payment that no endpoint takes is kept, counted, and can be replayed.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from daemon.core.model import Payment, PaymentMethod, Rule, Transaction
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.rule_fields import PaymentFacts, RuleValues, ShownFacts, show
from daemon.core.webhooks.rules import stored_filter
from daemon.wire import EventKind


class RoutedEndpoint(Struct, frozen=True):
    """An endpoint and its rules in their order, including disabled ones."""

    endpoint: Endpoint
    rules: tuple[Rule, ...] = ()

    @property
    def takes_payments(self) -> bool:
        """Whether the endpoint subscribes to payments."""
        return subscribes_to(self.endpoint, EventKind.FORWARDED)


class EndpointClaim(Struct, frozen=True):
    """An endpoint that gets a payment: by a rule, or with `rule` None as a catch-all."""

    endpoint: Endpoint
    rule: Rule | None


def claims(receivers: Sequence[RoutedEndpoint], facts: RuleValues, *, placed: bool) -> list[EndpointClaim]:
    """Return those of the endpoints of its mode that get a payment. Paused endpoints claim too: their deliveries wait."""
    taking = [receiver for receiver in receivers if receiver.takes_payments]
    found = []
    if placed:
        for receiver in taking:
            rule = claiming_rule(receiver.rules, facts)
            if rule is not None:
                found.append(EndpointClaim(receiver.endpoint, rule))
    return found or [EndpointClaim(one.endpoint, None) for one in taking if one.endpoint.catch_all]


def claiming_rule(rules: Sequence[Rule], facts: RuleValues) -> Rule | None:
    """Return the first rule that claims a payment."""
    return next((rule for rule in rules if rule.enabled and stored_filter(rule.filter).root.holds(facts)), None)


class RoutingDecision(Struct, frozen=True):
    """A routing decision with all its inputs.

    Attributes:
        placed: The payment came to one of the shop's numbers.
        facts: The values of its fields that the rules compare.
        looked_at: The endpoints considered by number, each with its `catch_all` and the versions of its rules.
        claimed: Endpoint's number to the version of the rule that claims it; None for a catch-all.
    """

    placed: bool
    facts: Mapping[str, Any]
    looked_at: tuple[tuple[int, bool, tuple[int, ...]], ...]
    claimed: Mapping[int, int | None]

    def write(self) -> str:
        """Return the decision as JSON text for the database, without what nearly all have in common."""
        stored: dict[str, Any] = {"looked_at": self.looked_at, "claimed": self.claimed}
        if not self.placed:
            stored["placed"] = False
        if self.facts:
            stored["facts"] = self.facts
        return json.dumps(stored, ensure_ascii=False, separators=(",", ":"))


def read_decision(text: str) -> RoutingDecision:
    """Parse a stored decision."""
    found = json.loads(text)
    looked_at = tuple((endpoint_seq, catch_all, tuple(rules)) for endpoint_seq, catch_all, rules in found["looked_at"])
    claimed = {int(endpoint_seq): rule for endpoint_seq, rule in found["claimed"].items()}
    return RoutingDecision(found.get("placed", True), found.get("facts", {}), looked_at, claimed)


class Routed(Struct, frozen=True):
    """The claims of a payment and the decision to store."""

    claims: tuple[EndpointClaim, ...]
    decision: RoutingDecision

    @property
    def endpoints(self) -> list[Endpoint]:
        """The endpoints that get the payment."""
        return [claim.endpoint for claim in self.claims]


def route(
    receivers: Sequence[RoutedEndpoint], transaction: Transaction, payment: Payment, method: PaymentMethod | None
) -> Routed:
    """Decide which endpoints get a payment; the result records the inputs of the decision."""
    facts = PaymentFacts(transaction, payment, method)
    placed = payment.placed
    found = claims(receivers, facts, placed=placed)
    names = frozenset[str]().union(*(stored_filter(rule.filter).names for one in receivers for rule in one.rules))
    decision = RoutingDecision(
        placed,
        shown_values(facts, names),
        tuple(
            (one.endpoint.seq, one.endpoint.catch_all, tuple(rule.seq for rule in one.rules))
            for one in receivers
            if one.takes_payments
        ),
        {claim.endpoint.seq: None if claim.rule is None else claim.rule.seq for claim in found},
    )
    return Routed(tuple(found), decision)


def shown_values(facts: RuleValues, names: frozenset[str]) -> dict[str, Any]:
    """Return the JSON values of some fields, for the record of a decision."""
    return {name: show(name, facts.value(name)) for name in sorted(names)}


def recorded_facts(decision: RoutingDecision) -> RuleValues:
    """Return the recorded facts of a decision, to evaluate its rules again."""
    return ShownFacts(decision.facts)


@lru_cache(maxsize=64)
def _kinds(events: str) -> frozenset[str]:
    return frozenset(json.loads(events))


def subscribes_to(endpoint: Endpoint, kind: EventKind) -> bool:
    """Return whether an endpoint subscribes to this kind of event."""
    return kind in _kinds(endpoint.events)


def subscribed(endpoints: Sequence[Endpoint], kind: EventKind) -> list[Endpoint]:
    """Return the endpoints that subscribe to this kind of event."""
    return [endpoint for endpoint in endpoints if subscribes_to(endpoint, kind)]


def completed_targets(
    endpoints: Sequence[Endpoint], implicit: Endpoint | None, claiming: Sequence[Endpoint]
) -> list[Endpoint]:
    """Return the receivers of `transaction.completed` among the endpoints of its mode.

    `implicit` is the transaction's own webhook, else the default one. Those that claim the payment (`claiming`) get it
    after an operator's decision if there is no other receiver. After an automatic match they have got
    `transaction.forwarded`.
    """
    targets = subscribed(endpoints, EventKind.COMPLETED)
    if implicit is not None:
        targets = [implicit, *targets]
    return targets or list(claiming)


def endpoint_warnings(endpoint: Endpoint, in_use: Sequence[Endpoint]) -> list[str]:
    """Return warnings if other endpoints of its mode get the same payments, or if the endpoint gets none."""
    others = [other for other in in_use if other.id != endpoint.id]
    found = []
    if any(other.url_normalised == endpoint.url_normalised for other in others):
        found.append("Another endpoint has the same address: it will get each payment twice.")
    if not subscribes_to(endpoint, EventKind.FORWARDED):
        found.append(
            "Its `events` do not include transaction.forwarded: it claims no payments, whatever its rules are."
        )
    elif endpoint.catch_all and any(other.catch_all and subscribes_to(other, EventKind.FORWARDED) for other in others):
        found.append("Another endpoint also has catch_all on: both will get every payment that no rule claims.")
    return found


def rule_warnings(receiver: RoutedEndpoint) -> list[str]:
    """Return warnings about the present rules of an endpoint."""
    found = []
    on = any(rule.enabled for rule in receiver.rules)
    if on and receiver.endpoint.catch_all:
        found.append(
            "The endpoint still takes every payment that no rule claims: switch its catch_all off "
            "if it should get only the payments that its rules claim."
        )
    if not on and not receiver.endpoint.catch_all:
        found.append("The endpoint has no enabled rule, and catch_all is off: it gets no payments.")
    if not receiver.takes_payments:
        found.append(
            "Its `events` do not include transaction.forwarded: it claims no payments, whatever its rules are."
        )
    return found
