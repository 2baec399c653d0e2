"""Rules of endpoints: list, make, change, delete, and try (decisions.md section 5)."""

from dataclasses import dataclass
from typing import Any, Final

from daemon.api.described import described
from daemon.api.endpoints import find, needs_open_collections
from daemon.api.fields import Fields, ignored, read_uuid
from daemon.api.idempotency import claim
from daemon.api.read_json import compact, read_object
from daemon.api.service import Call, Reply, finished, ok
from daemon.core import rule_shapes
from daemon.core.errors import Refusal
from daemon.core.limits import FILTER_BYTES_MAX
from daemon.core.requests import CallMeta
from daemon.core.routing import claims
from daemon.core.rule_fields import ShownFacts
from daemon.core.rules import read_filter
from daemon.core.shapes import warned
from daemon.flows import rules as flow
from daemon.flows.rules import RuleChange
from daemon.store import routings, rules
from daemon.wire import ErrorCode, Mode

KNOWN: Final = ("name", "position", "enabled", "filter")
KNOWN_IN_TEST: Final = ("sample", "filter", "is_sandbox")
POSITION_MAX: Final = 1_000_000
_EXAMPLE: Final[dict[str, Any]] = {
    "name": "rents",
    "filter": {
        "payment_method.phone_number": "+233241234567",
        "amount": {"$gte": "50.00"},
        "telco.reference_text": {"$startsWith": "RENT"},
    },
}
_OF_ENDPOINT: Final = (
    ErrorCode.OPEN_COLLECTIONS_DISABLED,
    ErrorCode.ENDPOINT_NOT_FOUND,
    ErrorCode.LIVE_KEY_REQUIRED,
)


def _filter(fields: Fields, *, required: bool = False) -> str | None:
    """Read a filter as the text that is stored; everything wrong in it is named with its path."""
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
            if error.code != "too_long":  # said already
                fields.fail(error.field, error.code, error.message)
    return text


def read(fields: Fields) -> RuleChange:
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
    """Read the body of a change: any of the fields, at least one.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    if not any(fields.given(name) for name in KNOWN):
        fields.fail("body", "required", f"must hold at least one of {', '.join(KNOWN)}")
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


@described(
    "List rules",
    "rules",
    errors=(ErrorCode.ENDPOINT_NOT_FOUND, ErrorCode.LIVE_KEY_REQUIRED),
)
async def get_list(call: Call) -> Reply:
    """List an endpoint's rules in their order: the first that matches a payment claims it."""
    endpoint = await find(call)
    found = await call.env.store.read(lambda reader: rules.of_endpoint(reader, endpoint.id))
    return ok([rule_shapes.rule(rule) for rule in found])


@described(
    "Create a rule",
    "rule",
    status=201,
    reads=read,
    errors=_OF_ENDPOINT,
    example=_EXAMPLE,
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Make a rule; 201. The endpoint's `catch_all` stays as it is, and `meta.warnings` says so."""
    needs_open_collections(call)
    endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    new = read(Fields(body))
    asked = claim(call, body)
    meta = CallMeta(call.request_id, asked, tuple(ignored(Fields(body).unknown(KNOWN))))
    async with call.service.inflight.alone(asked):
        return finished(await flow.create(call.env, call.caller, endpoint.id, new, meta))


@described(
    "Update a rule",
    "rule",
    reads=read_change,
    errors=(*_OF_ENDPOINT, ErrorCode.RULE_NOT_FOUND),
    example={"enabled": False},
)
async def update(call: Call) -> Reply:
    """Change any part of a rule; payments that it has claimed stay where they are."""
    needs_open_collections(call)
    endpoint, rule_id = await find(call), _rule_id(call)
    body = await read_object(call.scope, call.receive)
    change = read_change(Fields(body))
    rule, told = await flow.update(call.env, call.caller, endpoint.id, rule_id, change)
    return ok(rule_shapes.rule(rule), warned([*ignored(Fields(body).unknown(KNOWN)), *told]))


@described("Delete a rule", "deleted rule", errors=(*_OF_ENDPOINT, ErrorCode.RULE_NOT_FOUND))
async def delete(call: Call) -> Reply:
    """Delete a rule; payments that it has claimed stay where they are."""
    needs_open_collections(call)
    endpoint = await find(call)
    told = await flow.delete(call.env, call.caller, endpoint.id, _rule_id(call))
    return Reply(200, rule_shapes.deleted(told))


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be tried.

    Attributes:
        values: The sample's fields by their whole names.
        filter: One that is not saved; None tries only those that are.
        sandbox: Against sandbox endpoints; None leaves it to the caller's mode.
        warnings: What of the sample means nothing.
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
    values, unknown, wrong = rule_shapes.read_sample(sample)
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
    """Say which endpoints would get a payment, and why: each rule, each comparison, the value seen. Nothing is sent.

    `sample` is what a payload's `data` would show, whole or in part, or a whole payload; what it does not name is
    unknown, and it counts as placed unless `placed` is false. With `filter`, also what that one finds before it is saved.
    """
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    trial = read_trial(Fields(body))
    mode = _mode(call, trial)
    facts = ShownFacts(trial.values)
    placed = facts.value("placed") is not False
    receivers = await call.env.store.read(lambda reader: routings.receivers(reader, mode))
    found = claims(receivers, facts, placed=placed)
    data = {
        "filter": None if trial.filter is None else rule_shapes.trial(trial.filter, facts),
        "placed": placed,
        "claims": len(found),
        "endpoints": rule_shapes.explained(receivers, facts, found, placed=placed),
    }
    return ok(data, warned([*ignored(Fields(body).unknown(KNOWN_IN_TEST)), *trial.warnings]))


def _mode(call: Call, trial: Trial) -> Mode:
    """Return whose endpoints are tried: those of the key's mode; sessions see both and may choose."""
    if trial.sandbox is None:
        return call.caller.mode or Mode.LIVE
    wanted = Mode.TEST if trial.sandbox else Mode.LIVE
    if wanted is Mode.LIVE and call.caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
    return wanted


def _rule_id(call: Call) -> str:
    found = read_uuid(call.path("rule_id"))
    if found is None:
        raise Refusal(ErrorCode.RULE_NOT_FOUND)
    return found
