"""The rules of endpoints: list, create, update, delete, try; explain the routing of a payment."""

from typing import Any, Final

from msgspec import Struct

from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields, ignored, read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished, ok
from daemon.api.openapi.describe import described
from daemon.api.webhooks.endpoints import find, needs_open_collections
from daemon.core import ids
from daemon.core.errors import Refusal
from daemon.core.inputs import CallMeta
from daemon.core.json_values import compact, warnings_meta
from daemon.core.limits import FILTER_BYTES_MAX
from daemon.core.webhooks import rule_json
from daemon.core.webhooks.routing import claims
from daemon.core.webhooks.rule_fields import ShownFacts
from daemon.core.webhooks.rules import read_filter
from daemon.flows.webhooks import rules as rule_flow
from daemon.flows.webhooks.explain import explanation
from daemon.flows.webhooks.rules import RuleChange
from daemon.store.webhooks import routing
from daemon.wire import ErrorCode, Mode

RULE_FIELDS: Final = ("name", "position", "enabled", "filter")
TRIAL_FIELDS: Final = ("sample", "filter", "is_sandbox")
POSITION_MAX: Final = 1_000_000
_EXAMPLE: Final[dict[str, Any]] = {
    "name": "rents",
    "filter": {
        "payment_method.phone_number": "+233241234567",
        "amount": {"$gte": "50.00"},
        "telco.reference_text": {"$startsWith": "RENT"},
    },
}
_ENDPOINT_ERRORS: Final = (
    ErrorCode.OPEN_COLLECTIONS_DISABLED,
    ErrorCode.ENDPOINT_NOT_FOUND,
    ErrorCode.LIVE_KEY_REQUIRED,
)


@described(
    "List rules",
    "rules",
    errors=(ErrorCode.ENDPOINT_NOT_FOUND, ErrorCode.LIVE_KEY_REQUIRED),
)
async def get_list(call: Call) -> Reply:
    """List an endpoint's rules in order: the first rule that matches a payment applies."""
    endpoint = await find(call)
    found = await call.env.store.read(lambda reader: routing.rules_of_endpoint(reader, endpoint.id))
    return ok([rule_json.rule(rule) for rule in found])


def read_new_rule(fields: Fields) -> RuleChange:
    """Read the body of a new rule.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    new = RuleChange(
        name=fields.text("name"),
        position=fields.integer("position", 0, POSITION_MAX),
        enabled=fields.switch("enabled"),
        filter=_filter(fields, required=True),
    )
    fields.done()
    return new


def read_change(fields: Fields) -> RuleChange:
    """Read the body of a change: at least one of the fields.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    if not any(fields.given(name) for name in RULE_FIELDS):
        fields.fail("body", "required", f"must hold at least one of {', '.join(RULE_FIELDS)}")
    name = fields.text("name")
    if name is None and fields.given("name"):
        name = ""
    change = RuleChange(
        name=name,
        position=fields.integer("position", 0, POSITION_MAX),
        enabled=fields.switch("enabled"),
        filter=_filter(fields),
    )
    fields.done()
    return change


def _filter(fields: Fields, *, required: bool = False) -> str | None:
    """Read a filter as the text to store; each error names its path."""
    if fields.value("filter", required=required) is None and required:
        fields.object("filter", most_bytes=FILTER_BYTES_MAX)
        return None
    found = fields.object("filter", most_bytes=FILTER_BYTES_MAX)
    if found is None:
        return None
    text = compact(found)
    read_as = read_filter(text)
    if isinstance(read_as, list):
        for error in read_as:
            if error.code != "too_long":  # already reported by `fields.object`
                fields.fail(error.field, error.code, str(error.message))
    return text


@described(
    "Create a rule",
    "rule",
    status=201,
    reads=read_new_rule,
    errors=_ENDPOINT_ERRORS,
    example=_EXAMPLE,
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Create a rule; 201. The endpoint's `catch_all` does not change; a warning in `meta.warnings` says so."""
    needs_open_collections(call)
    endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    new = read_new_rule(Fields(body))
    asked = claim(call, body)
    meta = CallMeta(call.request_id, asked, tuple(ignored(Fields(body).unknown(RULE_FIELDS))))
    async with call.service.inflight.alone(asked):
        return finished(await rule_flow.create(call.env, call.caller, endpoint.id, new, meta))


@described(
    "Update a rule",
    "rule",
    reads=read_change,
    errors=(*_ENDPOINT_ERRORS, ErrorCode.RULE_NOT_FOUND),
    example={"enabled": False},
)
async def update(call: Call) -> Reply:
    """Change any part of a rule. Payments that it has already routed are not affected."""
    needs_open_collections(call)
    endpoint, rule_id = await find(call), call.uuid(ErrorCode.RULE_NOT_FOUND, "rule_id")
    body = await read_object(call.scope, call.receive)
    change = read_change(Fields(body))
    rule, warnings = await rule_flow.update(call.env, call.caller, endpoint.id, rule_id, change)
    return ok(
        rule_json.rule(rule),
        warnings_meta([*ignored(Fields(body).unknown(RULE_FIELDS)), *warnings]),
    )


@described("Delete a rule", "deleted rule", errors=(*_ENDPOINT_ERRORS, ErrorCode.RULE_NOT_FOUND))
async def delete(call: Call) -> Reply:
    """Delete a rule. Payments that it has already routed are not affected."""
    needs_open_collections(call)
    endpoint = await find(call)
    warnings = await rule_flow.delete(
        call.env, call.caller, endpoint.id, call.uuid(ErrorCode.RULE_NOT_FOUND, "rule_id")
    )
    return Reply(200, rule_json.deleted(warnings))


class Trial(Struct, frozen=True):
    """The body of a trial.

    Attributes:
        values: The sample's fields by their dotted names.
        filter: An unsaved filter to try in addition to the saved rules.
        sandbox: Try sandbox endpoints; None uses the caller's mode.
        warnings: Warnings about unknown fields of the sample.
    """

    values: dict[str, Any]
    filter: str | None
    sandbox: bool | None
    warnings: list[str]


def read_trial(fields: Fields) -> Trial:
    """Read the body of a trial.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    fields.value("sample", required=True)
    sample = fields.object("sample") or {}
    values, unknown, wrong = rule_json.read_sample(sample)
    for name, needs in wrong:
        fields.fail(f"sample.{name}", "invalid", f"must be {needs}")
    trial = Trial(
        values,
        _filter(fields),
        fields.switch("is_sandbox"),
        ignored([f"sample.{name}" for name in unknown]),
    )
    fields.done()
    return trial


@described(
    "Try rules",
    "rule trial",
    reads=read_trial,
    errors=(ErrorCode.OPEN_COLLECTIONS_DISABLED, ErrorCode.LIVE_KEY_REQUIRED),
    example={"sample": {"amount": "12.50", "telco": {"provider": "mtn"}}},
)
async def test(call: Call) -> Reply:
    """Return the endpoints that would get a sample payment, with each rule, comparison and compared value. Sends nothing.

    `sample` is a payload or its `data`, complete or in part. Missing members count as unknown; the payment counts as
    placed unless `placed` is false. With `filter` the answer also has the result of this unsaved filter.
    """
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    trial = read_trial(Fields(body))
    mode = _mode(call, trial)
    facts = ShownFacts(trial.values)
    placed = facts.value("placed") is not False
    receivers = await call.env.store.read(lambda reader: routing.receivers(reader, mode))
    found = claims(receivers, facts, placed=placed)
    data = {
        "filter": None if trial.filter is None else rule_json.trial(trial.filter, facts),
        "placed": placed,
        "claims": len(found),
        "endpoints": rule_json.explained(receivers, facts, found, placed=placed),
    }
    return ok(data, warnings_meta([*ignored(Fields(body).unknown(TRIAL_FIELDS)), *trial.warnings]))


def _mode(call: Call, trial: Trial) -> Mode:
    """Return the mode of the endpoints to try: the key's mode; a session may choose."""
    if trial.sandbox is None:
        return call.caller.mode or Mode.LIVE
    wanted = Mode.TEST if trial.sandbox else Mode.LIVE
    if wanted is Mode.LIVE and call.caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
    return wanted


@described("Explain a routing", "routing", errors=(ErrorCode.TRANSACTION_NOT_FOUND,))
async def explain(call: Call) -> Reply:
    """Explain the routing of a payment: each past decision with the rules of that time, and the result of today's rules.

    A payment is routed when it arrives, and again when it is matched from a holder to a payment request. A payment that
    was not forwarded automatically (rejected, or older than its line) has no decision.
    """
    wanted = read_uuid(call.path("id")) or ids.split_reference(call.path("id"))
    mode = call.caller.mode
    data = None
    if wanted is not None:
        data = await call.env.store.read(lambda reader: explanation(reader, wanted, mode))
    if data is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    return ok(data)
