"""JSON objects of rules, filter tests and explanations of routing; parsing of sample payloads."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import Struct

from daemon.core import shape
from daemon.core.model import Rule
from daemon.core.shape import FLAT, STORED_JSON, about, flat, marked, sample, shown
from daemon.core.text import Text
from daemon.core.webhooks.routing import EndpointClaim, RoutedEndpoint
from daemon.core.webhooks.rule_fields import FIELDS, META, RuleValues, kind_of
from daemon.core.webhooks.rules import explain_filter, stored_filter

FilterObject = Annotated[
    dict[str, Any],
    sample({"amount": {"$gte": "50.00"}}, "conditions on the members of a payload's `data`, joined by AND"),
]


class RuleAnswer(Struct, frozen=True):
    """A routing rule."""

    id: shape.Id
    endpoint_id: shape.Id
    name: Annotated[str, sample("rents")]
    position: Annotated[int, sample(1, "rules are tried in this order", ge=0)]
    enabled: shape.On
    filter: Annotated[FilterObject, STORED_JSON]
    created_at: shape.Time
    updated_at: shape.Time

    @classmethod
    def of(cls, row: Rule) -> Self:
        """Return the answer of a rule."""
        return shown(cls, row)


class ClauseAnswer(Struct, frozen=True):
    """One comparison of a filter."""

    path: Annotated[str, sample("amount.$gte", "its place in the filter")]
    field: Annotated[str, sample("amount")]
    operator: Annotated[str, sample("$gte")]
    expected: Annotated[Any, sample("50.00", "as written in the filter")]
    actual: Annotated[Any, sample("75.00", "the payment's value; null: unknown")]
    matched: shape.On


class RuleTrialAnswer(Struct, frozen=True):
    """The result of a filter for a payment, and every comparison with the actual value."""

    matched: shape.On
    clauses: list[ClauseAnswer]

    @classmethod
    def of(cls, text: str, facts: RuleValues) -> Self:
        """Return the result of a stored filter."""
        found = stored_filter(text)
        clauses = [
            ClauseAnswer(
                each.clause.path, each.clause.name, each.clause.operator, each.clause.given, each.actual, each.holds
            )
            for each in explain_filter(found, facts)
        ]
        return cls(found.root.holds(facts), clauses)


class TriedRule(Struct, frozen=True):
    """A rule, and its result for the payment."""

    id: shape.Id
    name: Annotated[str, sample("rents")]
    position: Annotated[int, sample(1, ge=0)]
    enabled: shape.On
    filter: Annotated[FilterObject, STORED_JSON]
    trial: Annotated[RuleTrialAnswer, FLAT]


class EndpointClaimAnswer(Struct, frozen=True):
    """Whether an endpoint gets a payment, and why."""

    endpoint_id: shape.Id
    url: Annotated[str, sample("https://shop.example/momo")]
    description: Annotated[str, sample("the till")]
    is_active: Annotated[shape.On, about("a paused endpoint claims too: its deliveries wait")]
    catch_all: shape.On
    claims: Annotated[shape.On, about("it gets the payment")]
    claimed_by: Annotated[str, sample("rule"), marked(words=("rule", "catch_all"))] | None
    rule_id: shape.Id | None
    reason: Annotated[shape.Sentence, sample("Its rule rents matches.")]
    rules: list[TriedRule]


class Routed(Struct, frozen=True):
    """The endpoints that a payment goes to."""

    placed: Annotated[shape.On, about("it came to one of the shop's numbers")]
    claims: Annotated[int, sample(1, "number of endpoints that get it; with 0 it is kept and can be replayed", ge=0)]
    endpoints: list[EndpointClaimAnswer]

    @classmethod
    def of(
        cls, receivers: Sequence[RoutedEndpoint], facts: RuleValues, claims: Sequence[EndpointClaim], *, placed: bool
    ) -> Self:
        """Return the answer; `claims` are those of the receivers for these facts."""
        found = explained(receivers, facts, claims, placed=placed)
        return cls(placed, len(claims), found)


class TrialAnswer(Struct, frozen=True):
    """The result of the unsaved filter, if one is given, and the endpoints that would get the payment."""

    filter: Annotated[RuleTrialAnswer | None, sample(None)]
    routed: Annotated[Routed, FLAT]


class RoutedPayment(Struct, frozen=True):
    """The payment that was routed."""

    amount: shape.Amount
    currency: shape.Currency
    telco_transaction_id: shape.TelcoId
    received_at: shape.Time


class PastRouting(Struct, frozen=True):
    """A decision by the rules of its time."""

    decided_at: shape.Time
    reference: shape.Reference
    routed: Annotated[Routed, FLAT]


class RoutingAnswer(Struct, frozen=True):
    """The routing of the payment of a transaction."""

    transaction_id: shape.Id
    reference: shape.Reference
    status: shape.Status
    payment: Annotated[RoutedPayment | None, about("null until a payment has verified it")]
    decisions: Annotated[list[PastRouting], about("oldest first, by the rules of that time")]
    today: Annotated[Routed | None, about("by the present rules")]


def explained(
    receivers: Sequence[RoutedEndpoint], facts: RuleValues, claims: Sequence[EndpointClaim], *, placed: bool
) -> list[EndpointClaimAnswer]:
    """Return one entry for each endpoint: whether it gets the payment, why, and the result of each of its rules."""
    by_endpoint = {claim.endpoint.id: claim for claim in claims}
    by_rule = any(claim.rule is not None for claim in claims)
    found = []
    for receiver in receivers:
        endpoint, claim = receiver.endpoint, by_endpoint.get(receiver.endpoint.id)
        how = None
        if claim is not None:
            how = "catch_all" if claim.rule is None else "rule"
        rules = [flat(shown(TriedRule, each, trial=RuleTrialAnswer.of(each.filter, facts))) for each in receiver.rules]
        found.append(
            shown(
                EndpointClaimAnswer,
                endpoint,
                endpoint_id=endpoint.id,
                claims=claim is not None,
                claimed_by=how,
                rule_id=None if claim is None or claim.rule is None else claim.rule.id,
                reason=_reason(receiver, claim, placed=placed, by_rule=by_rule),
                rules=rules,
            )
        )
    return found


def _reason(receiver: RoutedEndpoint, claim: EndpointClaim | None, *, placed: bool, by_rule: bool) -> Text:
    own = any(rule.enabled for rule in receiver.rules)
    if claim is not None and claim.rule is not None:
        name = claim.rule.name or f"no. {claim.rule.position}"
        return Text("route.rule", name=name)
    if claim is not None:
        return Text("route.no_rule" if placed else "route.unplaced")
    if not receiver.takes_payments:
        return Text("route.not_asked")
    if not placed:
        return Text("route.off_unplaced")
    none = "route.none" if own else "route.no_own"
    if not receiver.endpoint.catch_all:
        return Text(f"{none}_off")
    return Text(f"{none}_other" if by_rule else none)


def read_sample(sample: dict[str, Any]) -> tuple[dict[str, Any], list[str], list[tuple[str, str]]]:
    """Read a sample of a payload's `data`, or a whole payload.

    Return the known fields by their dotted names, the unknown names, and (name, required form) of each wrong value.
    """
    if isinstance(sample.get("data"), dict):
        sample = sample["data"]
    values: dict[str, Any] = {}
    unknown, wrong = [], []
    for name, value in _flat(sample):
        kind = kind_of(name)
        if kind is None:
            if not any(name.startswith(prefix) for prefix in ("data", "match")):
                unknown.append(name)
        elif value is not None and (isinstance(value, dict) or kind.raw(value) is None):
            wrong.append((name, kind.needs))
        elif value is not None:
            values[name] = value
    return values, unknown, wrong


def _flat(sample: dict[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    objects = {name.partition(".")[0] for name in FIELDS if "." in name} | {META.rstrip(".")}
    for name, value in sample.items():
        if name in objects and isinstance(value, dict):
            found += [(f"{name}.{key}", inner) for key, inner in _leaves(value, name == "meta")]
        elif name not in objects or value is not None:
            found.append((name, value))
    return found


def _leaves(value: dict[str, Any], deep: bool) -> list[tuple[str, Any]]:  # noqa: FBT001 -- only `meta` is deep
    found: list[tuple[str, Any]] = []
    for key, inner in value.items():
        if deep and isinstance(inner, dict):
            found += [(f"{key}.{rest}", leaf) for rest, leaf in _leaves(inner, deep)]
        else:
            found.append((key, inner))
    return found
