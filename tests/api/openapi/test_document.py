"""The OpenAPI document agrees with the served paths and the validation. Every answer in these tests is checked against it."""

import json
import re
import subprocess
import sys
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec import UNSET, Meta, Struct, UnsetType
from schemathesis.specs.openapi.definitions import OPENAPI_31

import daemon.api.routes  # noqa: F401 -- describes every operation
from daemon.api.openapi import schemas
from daemon.api.openapi.describe import DESCRIPTIONS
from daemon.api.openapi.document import DESCRIBED, NOT_DESCRIBED, document
from daemon.api.openapi.schemas import body_of
from daemon.core.errors import Refusal
from daemon.core.reading import read
from daemon.core.shape import Count, Flag, NoTime, about, marked, members, sample
from daemon.error_table import ERRORS
from daemon.flows.payments import cancel_expire
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import EventKind, Mode, Path
from tests.fakes.api import FakeApi
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn
from tests.fakes.reviews import approve

NAME = "KOFI ANTWI BADU"


async def got(api: FakeApi) -> dict[str, Any]:
    answer = await (await api.client()).get("/v1/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def operations(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in made["paths"].values() for operation in methods.values()]


async def test_it_is_a_valid_openapi_3_1_document(api: FakeApi) -> None:
    made = await got(api)
    assert made["openapi"] == "3.1.0"
    validator = jsonschema_rs.validator_for(OPENAPI_31)
    assert [error.message for error in validator.iter_errors(made)] == []


async def test_every_operation_under_v1_is_described(api: FakeApi) -> None:
    served = [
        operation.handler
        for path, methods in api.application.operations.items()
        if path.startswith(DESCRIBED) and path not in NOT_DESCRIBED
        for method, operation in methods.items()
        if method != "HEAD"
    ]
    assert [handler for handler in served if handler not in DESCRIPTIONS] == []
    assert len(operations(await got(api))) == len(served)


async def test_every_field_and_parameter_has_its_note(api: FakeApi) -> None:
    bare = []
    for operation in operations(await got(api)):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        taken = {one["name"]: one for one in operation["parameters"]}
        taken |= body.get("schema", {}).get("properties", {})
        bare += [f"{operation['operationId']}.{name}" for name, each in taken.items() if not each.get("description")]
    assert bare == [], "write them into daemon/api/openapi/describe.py"


async def test_ids_of_operations_are_words_and_each_is_there_once(api: FakeApi) -> None:
    ids = [operation["operationId"] for operation in operations(await got(api))]
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if not re.fullmatch(r"[a-z]+([A-Z][a-z]+)+", name)] == []
    assert not {"A", "An", "The", "Its"} & {part for name in ids for part in re.split(r"(?=[A-Z])", name)}
    assert {"getTransactionByCode", "listTransactionEvents", "revealEndpointSecret"} <= set(ids)


async def test_each_example_of_a_body_is_taken_by_the_code_that_reads_it() -> None:
    for operation in DESCRIPTIONS.values():
        if operation.reads is None:
            continue
        read(operation.reads, operation.example)


async def test_each_example_is_as_its_schema_says(api: FakeApi) -> None:
    made = document(api.application.operations, "0", strict=True)
    for operation in operations(made):
        for content in (
            operation.get("requestBody", {}).get("content", {}),
            *(answer["content"] for answer in operation["responses"].values()),
        ):
            for kind, said in content.items():
                shown = [said["example"]] if "example" in said else []
                named = made["components"]["examples"]
                shown += [named[name]["value"] for name in said.get("examples", ())]
                assert shown, operation["operationId"]
                for one in shown:
                    api.openapi.hold(said["schema"], one, f"{operation['operationId']} {kind}")


async def test_each_error_shows_its_extras_in_both_places(api: FakeApi) -> None:
    made = await got(api)
    for code, shown in made["components"]["examples"].items():
        inside = dict(shown["value"]["error"])
        assert inside.pop("code") == code
        assert inside.pop("doc_url") == f"/docs/errors#{code}"
        assert inside.pop("message")
        assert inside.pop("hint")
        outside = {name: value for name, value in shown["value"].items() if name not in ("success", "error", "meta")}
        assert inside == outside, code


def test_types_limits_and_duties_come_from_the_declaration() -> None:
    class Slot(Struct):
        device_id: Annotated[str, marked(read="uuid")]

    class Body(Struct, forbid_unknown_fields=True):
        name: Annotated[str, Meta(min_length=1, max_length=7), sample("Ama", "a name")]
        days: Annotated[int, Meta(ge=1, le=3)] | None = None
        sim: Slot | None = None
        events: Annotated[list[Mode], Meta(max_length=2), marked(holds=Mode.LIVE)] | None = None
        paid: Annotated[int, marked(read="amount", number=True)] | None = None
        at: Annotated[int, marked(read="time"), about("the end")] | None = None
        dry_run: bool = False

    found = schemas.body_of(Body)
    at = found["properties"].pop("at")
    assert at["type"] == ["string", "null"]
    assert at["description"] == "the end. ISO 8601 with a zone, such as 2026-01-31T08:00:00Z"
    assert found == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 7, "minLength": 1, "description": "a name", "examples": ["Ama"]},
            "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 3, "description": ""},
            "sim": {
                "type": ["object", "null"],
                "properties": {"device_id": {"type": "string", "format": "uuid", "description": ""}},
                "required": ["device_id"],
                "description": "",
            },
            "events": {
                "type": ["array", "null"],
                "items": {"type": "string", "enum": ["live", "test"]},
                "minItems": 1,
                "maxItems": 2,
                "contains": {"const": "live"},
                "description": "",
            },
            "paid": {
                "type": ["string", "number", "null"],
                "pattern": r"^[0-9]{1,13}(\.[0-9]{1,2})?$",
                "description": "",
            },
            "dry_run": {"type": ["boolean", "null"], "default": False, "description": ""},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_an_answer_is_described_as_it_is_declared() -> None:
    class Inner(Struct):
        at: NoTime

    class SomeAnswer(Struct):
        mode: Annotated[Mode | None, sample("test", "of the sandbox")]
        kind: Literal["b", "a"]
        inner: Annotated[Inner, about("the inner one")] | None
        members: list[Count]
        meta: Annotated[dict[str, Any], sample({"table": 4})]
        late: Flag | UnsetType = UNSET

    assert schemas.object_of(SomeAnswer) == {
        "type": "object",
        "properties": {
            "mode": {
                "type": ["string", "null"],
                "enum": ["live", "test", None],
                "examples": ["test"],
                "description": "of the sandbox",
            },
            "kind": {"type": "string", "enum": ["b", "a"], "examples": ["b"]},
            "inner": {
                "type": ["object", "null"],
                "properties": {
                    "at": {
                        "type": ["string", "null"],
                        "format": "date-time",
                        "examples": [None],
                        "description": "ISO 8601, UTC",
                    }
                },
                "required": ["at"],
                "description": "the inner one",
            },
            "members": {"type": "array", "items": {"type": "integer", "minimum": 0, "examples": [0]}},
            "meta": {"type": "object", "additionalProperties": True, "examples": [{"table": 4}]},
            "late": {"type": "boolean", "examples": [False]},
        },
        "required": ["mode", "kind", "inner", "members", "meta"],
    }


def test_a_declared_query_is_described() -> None:
    class Page(Struct):
        limit: Annotated[int, Meta(ge=1), marked(most=200), about("entries per page")] = 50
        all: bool = False
        mode: Mode | None = None
        after: Annotated[tuple[int, ...], marked(read="cursor", integers=1)] | None = None

    assert schemas.query_of(Page) == [
        (
            "limit",
            False,
            {
                "description": "entries per page. at most 200; a larger value is lowered to it, "
                "with a warning in `meta.warnings`",
                "schema": {"type": "integer", "minimum": 1, "default": 50},
            },
        ),
        ("all", False, {"description": "", "schema": {"type": "boolean", "default": False}}),
        ("mode", False, {"description": "", "schema": {"type": "string", "enum": ["live", "test"]}}),
        ("after", False, {"description": "", "schema": {"type": "string", "maxLength": 300}}),
    ]


async def test_a_secret_is_revealed_and_rotated_with_the_required_password(api: FakeApi) -> None:
    paths = (await got(api))["paths"]
    for path in (Path.ENDPOINT_SECRET, Path.ENDPOINT_ROTATE, Path.ACCOUNT_SECRET, Path.LOGIN):
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["required"] == ["password"]
        assert body["properties"]["password"]["type"] == "string"


async def test_the_header_of_the_mode_is_described_only_where_no_key_decides_it(api: FakeApi) -> None:
    for operation in operations(await got(api)):
        keys = any("key" in each for each in operation["security"])
        named = {each["name"] for each in operation["parameters"]}
        assert ("Svc-Mode" in named) is (bool(operation["security"]) and not keys)


async def test_scopes_and_sessions_are_told(api: FakeApi) -> None:
    paths = (await got(api))["paths"]
    assert paths["/v1/transactions/initialize"]["post"]["security"] == [
        {"key": ["transactions:initialize"]},
        {"key": ["transactions:write"]},
        {"session": []},
    ]
    assert paths["/v1/keys"]["get"]["security"] == [{"session": []}]
    assert paths["/v1/auth/login"]["post"]["security"] == []


async def test_every_post_that_creates_or_queues_takes_an_idempotency_key(api: FakeApi) -> None:
    made = await got(api)
    without = {
        path
        for path, methods in made["paths"].items()
        if "post" in methods
        and "Idempotency-Key" not in {each["name"] for each in methods["post"].get("parameters", ())}
    }
    # A login, a password, a secret, and the operations that only test something.
    assert without == {
        "/v1/auth/login",
        "/v1/payment-methods/{id}/ussd",
        "/v1/payment-methods/{id}/wallet",
        "/v1/sources/{name}",
        "/v1/auth/logout",
        "/v1/auth/password",
        "/v1/open-collections/endpoints/{id}/secret",
        "/v1/open-collections/endpoints/{id}/rotate-secret",
        "/v1/open-collections/endpoints/{id}/test",
        "/v1/open-collections/rules/test",
        "/v1/webhooks/secret",
        "/v1/webhooks/rotate-secret",
    }


async def test_webhooks_are_described_as_they_are_sent(api: FakeApi) -> None:
    webhooks = (await got(api))["webhooks"]
    assert sorted(webhooks) == sorted(EventKind)
    assert all(each["post"]["security"] == [] for each in webhooks.values())
    shop = api.shop
    await shop.begin_chain(87_500)
    body = {"url": "https://shop.example/hook", "events": list(EventKind), "include_raw": True}
    assert (await api.live.post("/v1/open-collections/endpoints", json=body)).status_code == 201
    request = await shop.request()
    paid = mtn(2500, NAME, 90_000, request.svc_code or "", "93214500001", concatenation=1)
    await shop.read(paid, mtn(2500, NAME, 92_500, "food", "93214500002", concatenation=2))
    held = await shop.request(expected_payer_phone="+233209999999")
    await shop.read(mtn(2500, NAME, 95_000, held.svc_code or "", "93214500003", concatenation=3))
    ordered, overdue = await shop.request(), await shop.request(1000)
    await shop.read(mtn(2500, NAME, 97_500, "food", "93214500004", concatenation=4))
    await shop.reconcile(ordered.reference, "93214500004")
    shop.clock.advance(25 * 3600)
    await cancel_expire.expire(shop.env)
    assert overdue.expires_at is not None
    text = f"Transaction 93214500002 of GHS 25.00 from {NAME} has been reversed. Current Balance: GHS 950.00."
    await shop.read_pdus(encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=200))
    [wait] = await shop.values("SELECT id FROM reviews WHERE reason = 'doubtful_message'")
    await approve(shop, wait, confirmed=True)
    bodies = [json.loads(each) for each in await shop.bodies()]
    assert {body["type"] for body in bodies} == set(EventKind)
    for body in bodies:
        schema = schemas.event_of(EventKind(body["type"]))
        api.openapi.hold(schemas.closed(schema), body, body["type"])


async def test_a_test_key_and_a_head_are_answered_too(api: FakeApi) -> None:
    assert (await api.test.get("/v1/openapi.json")).status_code == 200
    answer = await api.live.head("/v1/openapi.json")
    assert (answer.status_code, answer.content) == (200, b"")
    assert (await api.live.post("/v1/openapi.json")).status_code == 405


def test_a_daemon_that_nobody_asks_never_loads_it() -> None:
    program = (
        "import sys, daemon.api.routes; "
        "print(*sorted(set(sys.modules) & {'jinja2', 'daemon.api.openapi.document', 'daemon.api.openapi.schemas'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


async def test_every_code_of_the_api_is_described(api: FakeApi) -> None:
    told = set((await got(api))["components"]["examples"])
    # Codes for missing paths and methods, of the Unix socket, or not used by an operation yet.
    elsewhere = {
        "METHOD_NOT_ALLOWED",
        "DEVICE_NOT_FOUND",
        "MESSAGE_NOT_FOUND",
        "NOTICE_NOT_FOUND",
        "PAYER_STILL_OPEN",
        "NO_CHECKOUT_PAGE",
        "RULE_NOT_FOUND",
        # Codes of the dashboard and of the commands about its users.
        "FORM_REFUSED",
        "ROLE_REQUIRED",
        "USER_EXISTS",
        "USER_NOT_FOUND",
        # Between a branch and its hub.
        "BRANCH_DISPUTED",
        "BRANCH_EXISTS",
        "BRANCH_NOT_FOUND",
        "BRANCH_STALE",
        "HUB_REFUSED",
        "INVITATION_INVALID",
        "NOT_A_BRANCH",
        "NOT_A_HUB",
    }
    assert {str(code) for code in ERRORS} - told <= elsewhere


SHAPES = sorted(
    {about.reads for about in DESCRIPTIONS.values() if about.reads is not None}, key=lambda shape: shape.__name__
)
VALUES: Any = some.recursive(
    some.none() | some.booleans() | some.integers(-3, 10**7) | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner),
    max_leaves=4,
)


def bodies(shape: type[Struct]) -> Any:
    """Return bodies whose members are mostly good: their samples, in part."""
    known = {
        each.name: some.sampled_from(each.kind.json["examples"]) | VALUES if "examples" in each.kind.json else VALUES
        for each in members(shape)
    }
    return some.fixed_dictionaries({}, optional={**known, "colour": VALUES})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@settings(max_examples=10)
@given(data=some.data())
def test_any_body_is_read_as_described_or_refused_with_its_reasons(shape: type[Struct], data: Any) -> None:
    body = data.draw(bodies(shape))
    try:
        read(shape, body)
    except Refusal as refused:
        names = {each.name for each in members(shape)} | {*body, "body"}
        for each in refused.extras["details"]:
            assert each["field"].partition(".")[0].partition("[")[0] in names
        return
    lacks = [each.name for each in members(shape) if each.kind.marks.get("required")]
    if all(body.get(name) is not None for name in lacks):  # else INVALID_PASSWORD
        jsonschema_rs.Draft202012Validator(body_of(shape)).validate(body)
