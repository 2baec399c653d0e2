"""Where does a verified payment go, and why? Pure (decisions.md section 5).

A payment goes to every endpoint of the right mode with a matching rule; only if there is none, to every endpoint
whose `catch_all` is on. Rules of one endpoint are joined by OR: the first that matches claims, once. An unplaced payment
goes to catch-alls only. Nobody at all is an answer too: the payment is kept, counted, and can be replayed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from daemon.core.model import Endpoint, Payment, PaymentMethod, Rule, Transaction
from daemon.core.rule_fields import Facts, PaymentFacts, ShownFacts, shown
from daemon.core.rules import stored_filter
from daemon.wire import EventKind


@dataclass(frozen=True, slots=True)
class Receiver:
    """An endpoint and its rules, also those that are switched off, in their order."""

    endpoint: Endpoint
    rules: tuple[Rule, ...] = ()

    @property
    def takes_payments(self) -> bool:
        """Say whether it hears of payments at all; most do."""
        return hears(self.endpoint, EventKind.FORWARDED)


@dataclass(frozen=True, slots=True)
class Claim:
    """An endpoint gets a payment: by a rule, or with `rule` None because it takes what no rule claims."""

    endpoint: Endpoint
    rule: Rule | None


def claims(receivers: Sequence[Receiver], facts: Facts, *, placed: bool) -> list[Claim]:
    """Return who gets a payment. Paused endpoints claim too: their deliveries wait.

    Args:
        receivers: The endpoints of the payment's mode.
        facts: The payment.
        placed: It came to one of the shop's numbers.
    """
    taking = [receiver for receiver in receivers if receiver.takes_payments]
    found = []
    if placed:
        for receiver in taking:
            rule = claiming_rule(receiver.rules, facts)
            if rule is not None:
                found.append(Claim(receiver.endpoint, rule))
    return found or [Claim(one.endpoint, None) for one in taking if one.endpoint.catch_all]


def claiming_rule(rules: Sequence[Rule], facts: Facts) -> Rule | None:
    """Return the first rule that claims a payment."""
    return next(
        (rule for rule in rules if rule.enabled and stored_filter(rule.filter).root.holds(facts)),
        None,
    )


# What is kept of a decision ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a payment went and all that it was decided by.

    Attributes:
        placed: It came to one of the shop's numbers.
        facts: What its payload showed of the fields that the rules look at.
        looked_at: The endpoints, each with its `catch_all` and the versions of its rules.
        claimed: Endpoint id to the version of the rule that claims it; None for a catch-all.
    """

    placed: bool
    facts: Mapping[str, Any]
    looked_at: tuple[tuple[str, bool, tuple[int, ...]], ...]
    claimed: Mapping[str, int | None]

    def write(self) -> str:
        """Return it as it is stored."""
        return json.dumps(
            {
                "placed": self.placed,
                "facts": self.facts,
                "looked_at": self.looked_at,
                "claimed": self.claimed,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )


def read_decision(text: str) -> Decision:
    """Return a decision that was stored."""
    found = json.loads(text)
    looked_at = tuple(
        (endpoint_id, catch_all, tuple(rules))
        for endpoint_id, catch_all, rules in found["looked_at"]
    )
    return Decision(found["placed"], found["facts"], looked_at, found["claimed"])


@dataclass(frozen=True, slots=True)
class Routed:
    """A decision and what it was made of."""

    claims: tuple[Claim, ...]
    decision: Decision

    @property
    def endpoints(self) -> list[Endpoint]:
        """Who gets the payment."""
        return [claim.endpoint for claim in self.claims]


def route(
    receivers: Sequence[Receiver],
    transaction: Transaction,
    payment: Payment,
    method: PaymentMethod | None,
) -> Routed:
    """Decide where a payment goes, and keep what it was decided by."""
    facts = PaymentFacts(transaction, payment, method)
    placed = payment.placed
    found = claims(receivers, facts, placed=placed)
    names = frozenset[str]().union(
        *(stored_filter(rule.filter).names for one in receivers for rule in one.rules)
    )
    decision = Decision(
        placed,
        shown(facts, names),
        tuple(
            (one.endpoint.id, one.endpoint.catch_all, tuple(rule.seq for rule in one.rules))
            for one in receivers
            if one.takes_payments
        ),
        {claim.endpoint.id: None if claim.rule is None else claim.rule.seq for claim in found},
    )
    return Routed(tuple(found), decision)


def facts_of(decision: Decision) -> Facts:
    """Return what a decision was made of, to hold its rules against it again."""
    return ShownFacts(decision.facts)


# Who hears of what ----------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _kinds(events: str) -> frozenset[str]:
    return frozenset(json.loads(events))


def hears(endpoint: Endpoint, kind: EventKind) -> bool:
    """Say whether an endpoint asked for this kind of event."""
    return kind in _kinds(endpoint.events)


def subscribed(endpoints: Sequence[Endpoint], kind: EventKind) -> list[Endpoint]:
    """Return the endpoints that asked for this kind of event."""
    return [endpoint for endpoint in endpoints if hears(endpoint, kind)]


def completed_targets(
    endpoints: Sequence[Endpoint], implicit: Endpoint | None, claiming: Sequence[Endpoint]
) -> list[Endpoint]:
    """Return who hears `transaction.completed`.

    The request's own webhook (or the account's default one) and every subscribed endpoint; if that leaves nobody,
    the endpoints that claim the payment.
    """
    targets = subscribed(endpoints, EventKind.COMPLETED)
    if implicit is not None:
        targets = [implicit, *targets]
    return targets or list(claiming)


# What is allowed and may not be meant ---------------------------------------------------------------------


def overlaps(endpoint: Endpoint, in_use: Sequence[Endpoint]) -> list[str]:
    """Say what is allowed and may not be meant: that others of its mode get the same payments, or that it gets none."""
    others = [other for other in in_use if other.id != endpoint.id]
    found = []
    if any(other.url_normalised == endpoint.url_normalised for other in others):
        found.append("Another endpoint has the same address: it will get each payment twice.")
    if not hears(endpoint, EventKind.FORWARDED):
        found.append(
            "Its `events` are without transaction.forwarded: it claims no payments, whatever its rules say."
        )
    elif endpoint.catch_all and any(
        other.catch_all and hears(other, EventKind.FORWARDED) for other in others
    ):
        found.append(
            "Another endpoint also takes every payment that no rule claims: both will get them."
        )
    return found


def about_rules(receiver: Receiver) -> list[str]:
    """Say what is allowed and may not be meant about the rules that an endpoint has now."""
    found = []
    on = any(rule.enabled for rule in receiver.rules)
    if on and receiver.endpoint.catch_all:
        found.append(
            "The endpoint still takes every payment that no rule claims: switch its catch_all off "
            "if it should get only what its rules claim."
        )
    if not on and not receiver.endpoint.catch_all:
        found.append("The endpoint has no rule that is on, and catch_all is off: it gets nothing.")
    if not receiver.takes_payments:
        found.append(
            "Its `events` are without transaction.forwarded: it claims no payments, whatever its rules say."
        )
    return found
