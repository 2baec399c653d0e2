"""JSON objects of rules, filter tests and explanations of routing; parsing of sample payloads."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import msgspec
from msgspec import Struct

from daemon.core.json_values import Json
from daemon.core.model import Rule
from daemon.core.shape import STORED_JSON, Id, On, Time, sample, shown
from daemon.core.text import Text
from daemon.core.webhooks.routing import EndpointClaim, RoutedEndpoint
from daemon.core.webhooks.rule_fields import FIELDS, META, RuleValues, kind_of
from daemon.core.webhooks.rules import explain_filter, stored_filter


class RuleAnswer(Struct, frozen=True):
    """A routing rule."""

    id: Id
    endpoint_id: Id
    name: Annotated[str, sample("rents")]
    position: Annotated[int, sample(1, "rules are tried in this order", ge=0)]
    enabled: On
    filter: Annotated[
        dict[str, Any],
        sample(
            {"amount": {"$gte": "50.00"}},
            "conditions on the members of a payload's `data`, joined by AND",
        ),
        STORED_JSON,
    ]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, row: Rule) -> Self:
        """Return the answer of a rule."""
        return shown(cls, row)


def trial(text: str, facts: RuleValues) -> Json:
    """Return the result of a filter for a payment: `matched`, and every comparison with the actual value."""
    found = stored_filter(text)
    return {
        "matched": found.root.holds(facts),
        "clauses": [seen.as_json() for seen in explain_filter(found, facts)],
    }


def explained(
    receivers: Sequence[RoutedEndpoint],
    facts: RuleValues,
    claims: Sequence[EndpointClaim],
    *,
    placed: bool,
) -> list[Json]:
    """Return one entry for each endpoint: whether it gets the payment, why, and the result of each of its rules."""
    by_endpoint = {claim.endpoint.id: claim for claim in claims}
    by_rule = any(claim.rule is not None for claim in claims)
    found = []
    for receiver in receivers:
        endpoint, claim = receiver.endpoint, by_endpoint.get(receiver.endpoint.id)
        how = None
        if claim is not None:
            how = "catch_all" if claim.rule is None else "rule"
        found.append(
            {
                "endpoint_id": endpoint.id,
                "url": endpoint.url,
                "description": endpoint.description,
                "is_active": endpoint.is_active,
                "catch_all": endpoint.catch_all,
                "claims": claim is not None,
                "claimed_by": how,
                "rule_id": None if claim is None or claim.rule is None else claim.rule.id,
                "reason": _reason(receiver, claim, placed=placed, by_rule=by_rule),
                "rules": [
                    {
                        "id": each.id,
                        "name": each.name,
                        "position": each.position,
                        "enabled": each.enabled,
                        "filter": msgspec.Raw(each.filter.encode()),
                        **trial(each.filter, facts),
                    }
                    for each in receiver.rules
                ],
            }
        )
    return found


def _reason(
    receiver: RoutedEndpoint, claim: EndpointClaim | None, *, placed: bool, by_rule: bool
) -> Text:
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

    Returns:
        The known fields by their dotted names, the unknown names, and (name, required form) of each wrong value.
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
