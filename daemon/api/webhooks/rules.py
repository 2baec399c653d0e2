"""The rules of endpoints: list, create, update, delete, try; explain the routing of a payment."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from msgspec import Struct

from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import answer, bare, described
from daemon.api.webhooks.endpoints import find, needs_open_collections
from daemon.core import ids
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import HttpAnswer, Keep
from daemon.core.json_values import compact, dump, success, warnings_meta
from daemon.core.reading import Wrong, read_uuid
from daemon.core.shape import On, Success, flat, marked, sample, taken
from daemon.core.webhooks.routing import claims
from daemon.core.webhooks.rule_fields import ShownFacts
from daemon.core.webhooks.rule_json import Routed, RoutingAnswer, RuleAnswer, RuleTrialAnswer, TrialAnswer, read_sample
from daemon.core.webhooks.rules import FILTER_BYTES_MAX, read_filter
from daemon.flows.webhooks import rules as rule_flow
from daemon.flows.webhooks.rules import RuleChange, explanation
from daemon.store.webhooks import routing
from daemon.wire import ErrorCode, Mode

RULE_FIELDS: Final = ("name", "position", "enabled", "filter")
POSITION_MAX: Final = 1_000_000
_EXAMPLE: Final[dict[str, Any]] = {
    "name": "rents",
    "filter": {
        "payment_method.phone_number": "+233241234567",
        "amount": {"$gte": "50.00"},
        "telco.reference_text": {"$startsWith": "RENT"},
    },
}
_ENDPOINT_ERRORS: Final = "OPEN_COLLECTIONS_DISABLED ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED"


@described("List rules", answer(list[RuleAnswer]), errors="ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED")
async def get_list(call: Call) -> Reply:
    """List an endpoint's rules in order: the first rule that matches a payment applies."""
    endpoint = await find(call)
    found = await call.env.store.read(lambda reader: routing.rules_of_endpoint(reader, endpoint.id))
    return ok([RuleAnswer.of(rule) for rule in found])


def _filter(found: dict[str, Any]) -> str | list[Wrong]:
    """Return a filter as the text to store; each error names its path."""
    text = compact(found)
    read_as = read_filter(text)
    if isinstance(read_as, list):
        return [Wrong(one.code, one.message, one.field.removeprefix("filter")) for one in read_as]
    return text


_Name = Annotated[str, sample("rents", "a label for people"), marked(empty=True)]
_Position = Annotated[int, sample(1, "the position among the endpoint's rules; default: last", ge=0, le=POSITION_MAX)]
_Enabled = Annotated[bool, sample(True, "false: the rule matches no payment")]
_Filter = Annotated[
    str,
    sample(
        {"amount": {"$gte": "50.00"}},
        "conditions on the members of a payload's `data`, joined by AND; at most 4 KB, 4 deep",
    ),
    marked(read="object", most_bytes=FILTER_BYTES_MAX, then=_filter),
]


class NewRule(Struct, frozen=True, kw_only=True):
    """The body that creates a rule."""

    name: _Name | None = None
    position: _Position | None = None
    enabled: _Enabled | None = None
    filter: _Filter


class RuleChanges(Struct, frozen=True):
    """The body that changes a rule: at least one member."""

    name: _Name | None = None
    position: _Position | None = None
    enabled: _Enabled | None = None
    filter: _Filter | None = None

    @staticmethod
    def check(_given: object, body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Refuse a body that changes nothing."""
        if all(body.get(name) is None for name in RULE_FIELDS):
            fail("body", "required", f"must hold at least one of {', '.join(RULE_FIELDS)}")


@described(
    "Create a rule",
    answer(RuleAnswer),
    status=201,
    reads=NewRule,
    errors=_ENDPOINT_ERRORS,
    example=_EXAMPLE,
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Create a rule; 201. The endpoint's `catch_all` does not change; a warning in `meta.warnings` says so."""
    needs_open_collections(call)
    endpoint = await find(call)
    new, meta = await call.asked(NewRule)

    def render(made: rule_flow.MadeRule) -> HttpAnswer:
        return HttpAnswer(201, success(RuleAnswer.of(made.rule), meta.as_json(*made.warnings)))

    change = taken(RuleChange, new)
    return await once(
        call,
        Keep(meta.idempotency, render),
        lambda keep: rule_flow.create(call.env, call.caller, endpoint.id, change, keep),
    )


@described(
    "Update a rule",
    answer(RuleAnswer),
    reads=RuleChanges,
    errors=f"{_ENDPOINT_ERRORS} RULE_NOT_FOUND",
    example={"enabled": False},
)
async def update(call: Call) -> Reply:
    """Change any part of a rule. Payments that it has already routed are not affected."""
    needs_open_collections(call)
    endpoint, rule_id = await find(call), call.uuid(ErrorCode.RULE_NOT_FOUND, "rule_id")
    asked, ignored_fields = await call.read(RuleChanges)
    change = taken(RuleChange, asked)
    rule, warnings = await rule_flow.update(call.env, call.caller, endpoint.id, rule_id, change)
    return ok(RuleAnswer.of(rule), warnings_meta([*ignored_fields, *warnings]))


class DeletedRule(Struct, frozen=True):
    """The answer of a deletion."""

    success: Success
    deleted: On


@described("Delete a rule", bare(DeletedRule), errors=f"{_ENDPOINT_ERRORS} RULE_NOT_FOUND")
async def delete(call: Call) -> Reply:
    """Delete a rule. Payments that it has already routed are not affected."""
    needs_open_collections(call)
    endpoint = await find(call)
    warnings = await rule_flow.delete(
        call.env, call.caller, endpoint.id, call.uuid(ErrorCode.RULE_NOT_FOUND, "rule_id")
    )
    body = {"success": True, "deleted": True, "meta": warnings_meta(warnings)}
    return Reply(200, dump({name: each for name, each in body.items() if each is not None}))


def _sample(found: dict[str, Any]) -> tuple[dict[str, Any], list[str]] | list[Wrong]:
    """Return the sample's fields by their dotted names, and the unknown ones."""
    values, unknown, wrong = read_sample(found)
    if wrong:
        return [Wrong("invalid", f"must be {needs}", f".{name}") for name, needs in wrong]
    return values, unknown


class TrialBody(Struct, frozen=True):
    """A sample payment, and an unsaved filter to try in addition to the saved rules."""

    sample: Annotated[
        tuple[dict[str, Any], list[str]],
        sample({"amount": "12.50"}, "the `data` of a payload, complete or in part"),
        marked(read="object", then=_sample),
    ]
    filter: _Filter | None = None
    is_sandbox: Annotated[bool, sample(False, "try the sandbox endpoints")] | None = None


@described(
    "Try rules",
    answer(TrialAnswer),
    reads=TrialBody,
    errors="OPEN_COLLECTIONS_DISABLED LIVE_KEY_REQUIRED",
    example={"sample": {"amount": "12.50", "telco": {"provider": "mtn"}}},
)
async def test(call: Call) -> Reply:
    """Return the endpoints that would get a sample payment, with each rule, comparison and compared value. Sends nothing.

    `sample` is a payload or its `data`, complete or in part. Missing members count as unknown; the payment counts as
    placed unless `placed` is false. With `filter` the answer also has the result of this unsaved filter.
    """
    needs_open_collections(call)
    trial, warnings = await call.read(TrialBody)
    values, unknown = trial.sample
    mode = _mode(call, sandbox=trial.is_sandbox)
    facts = ShownFacts(values)
    placed = facts.value("placed") is not False
    receivers = await call.env.store.read(lambda reader: routing.receivers(reader, mode))
    found = claims(receivers, facts, placed=placed)
    tried = None if trial.filter is None else RuleTrialAnswer.of(trial.filter, facts)
    data = flat(TrialAnswer(tried, Routed.of(receivers, facts, found, placed=placed)))
    warnings += [f"Unknown field `{f'sample.{name}'[:200]}` was ignored." for name in unknown]
    return ok(data, warnings_meta(warnings))


def _mode(call: Call, *, sandbox: bool | None) -> Mode:
    """Return the mode of the endpoints to try: the key's mode; a session may choose."""
    if sandbox is None:
        return call.caller.mode or Mode.LIVE
    wanted = Mode.TEST if sandbox else Mode.LIVE
    if wanted is Mode.LIVE and call.caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
    return wanted


@described("Explain a routing", answer(RoutingAnswer), errors="TRANSACTION_NOT_FOUND")
async def explain(call: Call) -> Reply:
    """Explain the routing of a payment: each past decision with the rules of that time, and the result of today's rules.

    A payment is routed when it arrives, and again when it is matched from a holder to a payment request. A payment that
    was not forwarded automatically (rejected, or older than its line) has no decision.
    """
    wanted = read_uuid(call.path("id")) or ids.split_reference(call.path("id"))
    mode = call.caller.mode
    transaction_id = needed(wanted, ErrorCode.TRANSACTION_NOT_FOUND)
    found = await call.env.store.read(lambda reader: explanation(reader, transaction_id, mode))
    return ok(needed(found, ErrorCode.TRANSACTION_NOT_FOUND))
