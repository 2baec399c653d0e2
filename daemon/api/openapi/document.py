"""Builder of the OpenAPI 3.1 document from the code that serves and validates requests.

Paths, methods and scopes come from the routes, bodies, queries and answers from the declared shapes (`schemas.py`), errors from
the error table. The other texts stand at each handler, in `describe.py` (parameters of paths), and here (tags). The document is built at the first request, because most shops never need it.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Final

from msgspec import Struct, field

from daemon.api.http.resource import Operation, Operations
from daemon.api.http.service import FIELD
from daemon.api.openapi import schemas
from daemon.api.openapi.describe import (
    DESCRIPTIONS,
    PATH_NOTES,
    SCHEMAS_PATH,
    STREAM,
    AnswerShape,
    OperationDescription,
)
from daemon.api.openapi.schemas import Schema, answer_of, closed, components, envelope_of, event_of, example, schema_of
from daemon.core import shape
from daemon.core.limits import BODY_BYTES_MAX, IDEMPOTENCY_KEY_CHARACTERS_MAX
from daemon.core.lines.line_json import DeviceName, Network
from daemon.core.shape import about, const, sample
from daemon.core.webhooks.body import EVENTS
from daemon.error_table import ERRORS
from daemon.wire import (
    IDEMPOTENCY_HEADER,
    MODE_HEADER,
    DeliveryStatus,
    ErrorCode,
    EventKind,
    FaultCause,
    Mode,
    Path,
    Scope,
    TransactionStatus,
)

DESCRIBED: Final = "/v1/"
"""Prefix of the described paths; the paths of the Unix socket, `/healthz` and `/metrics` are internal."""
NOT_DESCRIBED: Final = frozenset(
    {
        Path.OPENAPI,
        # Both sides are momo: docs/operators/hub.md describes them.
        Path.BRANCH_JOIN, Path.BRANCH_SYNC, Path.BRANCH_ROWS, Path.BRANCH_LEAVE,
    }
)  # fmt: skip
TAGS: Final = (
    ("/v1/transactions", "Transactions", "Payment requests, their state and their payments."),
    ("/v1/events", "Transactions", ""),
    ("/v1/test", "Sandbox", "Test payments."),
    ("/v1/reviews", "Reviews", "Held payments that wait for the decision of an operator."),
    ("/v1/approved-payers", "Reviews", ""),
    ("/v1/payment-methods", "Payment methods", "The merchant's numbers and their SIMs."),
    ("/v1/sims", "Payment methods", ""),
    ("/v1/sources", "Sources", "Posts of apps that forward the SMS of a phone."),
    ("/v1/open-collections/lines", "Payment methods", ""),
    ("/v1/open-collections", "Open collections", "Webhook endpoints, their deliveries, and replay."),
    ("/v1/webhooks/dead-letters", "Dead letters", "Deliveries that failed for good."),
    ("/v1/webhooks", "Open collections", ""),
    ("/v1/auth", "Access", "Sessions and API keys."),
    ("/v1/keys", "Access", ""),
)
_ALWAYS: Final = (
    ErrorCode.MALFORMED_REQUEST, ErrorCode.ROUTE_NOT_FOUND, ErrorCode.MISDIRECTED_REQUEST,
    ErrorCode.HEADERS_TOO_LARGE, ErrorCode.INTERNAL_ERROR, ErrorCode.UNAVAILABLE,
)  # fmt: skip
_OF_CALLERS: Final = (ErrorCode.UNAUTHORIZED, ErrorCode.RATE_LIMITED, ErrorCode.VALIDATION_ERROR)
_OF_BODIES: Final = (
    ErrorCode.INVALID_JSON,
    ErrorCode.PAYLOAD_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    ErrorCode.VALIDATION_ERROR,
)
_OF_KEYS: Final = (
    ErrorCode.IDEMPOTENCY_KEY_INVALID,
    ErrorCode.IDEMPOTENCY_KEY_REUSED,
    ErrorCode.IDEMPOTENCY_IN_PROGRESS,
)
_HEADERS: Final[dict[str, Schema]] = {
    "RequestId": {"description": "the id of this call, to find it in the log", "schema": answer_of(shape.RequestId)},
    "RateLimitLimit": {"description": "calls allowed per minute for this key", "schema": {"type": "integer"}},
    "RateLimitRemaining": {"description": "calls left now", "schema": {"type": "integer"}},
    "RateLimitReset": {"description": "seconds until the full limit is available again", "schema": {"type": "integer"}},
    "IdempotencyReplayed": {"description": "`true`: this is the stored answer to an earlier call", "schema": {"type": "string", "const": "true"}},
    "RetryAfter": {"description": "seconds to wait", "schema": {"type": "integer"}},
}  # fmt: skip
_ABOUT: Final = f"""Collects mobile-money payments for a shop: create a transaction, the customer pays with its payment
code, and momo sends you a webhook.

**Keys.** `Authorization: Bearer <key>`. A `test` key works in the sandbox: it sees simulated SIMs and their own
payment methods, never live ones. If an operation lists several scopes, a key needs one of them. With a session, the
header `{MODE_HEADER}: test` runs a call in the sandbox.

**Values.** Amounts are decimal strings with two decimals, times are ISO 8601 in UTC. A body is one JSON object of at most
{BODY_BYTES_MAX // 1024} KB; `null` means absent.

**Errors** have a `code` for programs, and a `message`, a `hint` and a `doc_url` for people. Additional members of an error
stand both in `error` and at the top level. Every response has an `X-Request-Id`.

**Idempotency.** Operations that create or queue something accept the header `{IDEMPOTENCY_HEADER}`: the same key and body
return the same answer for 24 hours.

**Pages.** `page` and `per_page`, or `limit` and `offset`; newest first; totals in `pagination` or `meta`.

**Rate limits.** 600 calls a minute for a live key and 300 for a test key, unless the shop's settings differ.
"""


def document(routes: Operations, version: str, *, strict: bool = False, address: str = "/") -> dict[str, Any]:
    """Build the OpenAPI document.

    `strict` forbids members that the schemas do not name; the tests validate answers against this document.
    """
    shapes = components()
    codes = sorted({code for _, _, found in _described(routes) for code in _errors(*found)})
    shapes |= {_error_name(code): error_schema(code) for code in codes}
    paths: dict[str, dict[str, Any]] = {}
    for path, method, found in _described(routes):
        plain = re.sub(r":path}", "}", path)
        paths.setdefault(plain, {})[method.lower()] = _operation(plain, *found, shapes)
    if strict:
        shapes = closed(shapes)
        paths = closed(paths)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "momo",
            "version": version,
            "summary": "Mobile-money payment collection",
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": address, "description": "this shop"}],
        "tags": [{"name": name, "description": text} for _, name, text in TAGS if text],
        "paths": paths,
        "webhooks": {str(kind): _webhook(kind, text, shapes) for kind, (text, _data) in EVENTS.items()},
        "components": {
            "schemas": shapes,
            "examples": {
                str(code): {"value": example(error_schema(code), shapes)} for code in codes
            },
            "headers": _HEADERS,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key: `svc_live_sk_...`."},
                "session": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "The token from `POST /v1/auth/login`, valid for one hour."},
            },
        },
    }  # fmt: skip


class Extras(Struct, frozen=True):
    """The types of the extra fields of one code: `always` present, and `sometimes` present."""

    always: Mapping[str, Any] = field(default_factory=dict)
    sometimes: Mapping[str, Any] = field(default_factory=dict)


class SimWithoutNumber(Struct, frozen=True):
    """A SIM that has no number yet."""

    device_id: shape.Id
    name: DeviceName
    slot_index: shape.Count
    network: Network


class FieldDetail(Struct, frozen=True):
    """What is wrong with one field."""

    field: Annotated[str, sample("amount")]
    code: Annotated[str, sample("wrong_type")]
    message: Annotated[str, sample('must be a string, such as "12.50"')]


_RETRY: Final = {"retry_after": Annotated[int, sample(30, "seconds; also in the header `Retry-After`", ge=0)]}
_ATTEMPTS: Final = Extras({"attempts_remaining": Annotated[int, sample(4, ge=0)]})
_BRANCH: Final = {"branch": Annotated[str, sample("kumasi")]}
EXTRAS: Final[dict[ErrorCode, Extras]] = {
    ErrorCode.BRANCH_ASKED: Extras(_RETRY | _BRANCH),
    ErrorCode.BELONGS_TO_BRANCH: Extras(_BRANCH),
    ErrorCode.INSUFFICIENT_SCOPE: Extras({"required_scopes": Annotated[list[Annotated[Scope, sample(Scope.TRANSACTIONS_READ)]], about("any one is enough")]}),
    ErrorCode.SECRET_KEY_REQUIRED: Extras({}, {"fields": list[Annotated[str, sample("meta")]]}),
    ErrorCode.INVALID_PASSWORD: _ATTEMPTS,
    ErrorCode.SECOND_FACTOR_REQUIRED: _ATTEMPTS,
    ErrorCode.NO_MATCHING_TRANSACTION: Extras({},
        {"reason": Annotated[str, sample("reversed", "the network took the payment back")], "near_transaction_id": Annotated[shape.TelcoId, about("the only unused payment whose ID differs by leading zeros alone")]}),
    ErrorCode.TRANSACTION_ID_ALREADY_USED: Extras({"expected_amount": shape.Amount | None},
        {"used_by_reference": shape.Reference | None, "payment_id": shape.Id}),
    ErrorCode.ALREADY_VERIFIED: Extras({"transaction_status": shape.Status, "verified_by_transaction_id": shape.TelcoId | None}),
    ErrorCode.LINES_NOT_READY: Extras({"sims_without_number": list[SimWithoutNumber]}),
    ErrorCode.SIM_ALREADY_ASSIGNED: Extras({"payment_method_id": shape.Id, "phone_number": shape.Phone}),
    ErrorCode.PAYMENT_METHOD_EXISTS: Extras({"payment_method_id": shape.Id}),
    ErrorCode.DELIVERY_NOT_REDELIVERABLE: Extras({"delivery_status": Annotated[DeliveryStatus, sample(DeliveryStatus.RETRYING)]}),
    ErrorCode.TRANSACTION_NOT_CANCELLABLE: Extras({"transaction_status": Annotated[shape.Status, sample(TransactionStatus.PENDING)]}),
    ErrorCode.NOT_SETTLEABLE: Extras({"transaction_status": Annotated[shape.Status, sample(TransactionStatus.PENDING)]}),
    ErrorCode.ALREADY_SETTLED: Extras({"settled_at": shape.Time, "settled_by": Annotated[str, sample("user:Esi")]}),
    ErrorCode.NO_CHECKOUT_PAGE: Extras({"reason": Annotated[str, sample("ended", "`ended`, `no_request`: a payment without one, or `http_off`")]}),
    ErrorCode.REVIEW_ALREADY_DECIDED: Extras({"review_state": Annotated[str, sample("approved")], "decided_at": shape.Time | None, "decided_by": Annotated[str, sample("socket:1000")] | None}),
    ErrorCode.DECISION_NOT_UNDOABLE: Extras({"reason": Annotated[str, sample("too_late", "`open`, `taken_back`, `too_late`, `reconciled`, `used_elsewhere`, `settled`, `reversed` or `reversal`")], "used_by_reference": shape.Reference | None}),
    ErrorCode.PAYMENT_REVERSED: Extras({}, {"reversed_at": shape.Time}),
    ErrorCode.AMOUNT_MISMATCH: Extras({"claimed_amount": shape.Amount, "matched_amount": shape.Amount}),
    ErrorCode.VALIDATION_ERROR: Extras({"details": Annotated[list[FieldDetail], about("every field that is wrong, all at once")]}),
    ErrorCode.AMBIGUOUS_TRANSACTION_ID: Extras({"providers": list[shape.Provider]}),
    ErrorCode.URL_NOT_ALLOWED: Extras({"reason": Annotated[str, sample("private_address")]}),
    ErrorCode.NETWORK_MISMATCH: Extras({}, {"provider": shape.Provider, "sim_network": Annotated[str, sample("telecel")] | None}),
    ErrorCode.TOO_MANY_ATTEMPTS: Extras(_RETRY),
    ErrorCode.RATE_LIMITED: Extras(_RETRY),
    ErrorCode.UNAVAILABLE: Extras({**_RETRY, "cause": Annotated[FaultCause, sample(FaultCause.DISK_FULL)] | None},
        {"next": Annotated[list[Annotated[str, sample("momo backup prune")]], about("to type on the shop's machine")]}),
}  # fmt: skip
"""The extra fields of each refusal: they stand both inside `error` and at the top of the body."""


def error_schema(code: ErrorCode) -> Schema:
    """Return the schema of a refusal's complete answer."""
    spec, extras = ERRORS[code], EXTRAS.get(code, Extras())
    inside = schema_of(
        {
            "code": Annotated[str, const(str(code))],
            "message": Annotated[str, sample(spec.message, "what happened")],
            **({"hint": Annotated[str, sample(spec.hint, "what to do next")]} if spec.hint else {}),
            "doc_url": Annotated[str, sample(f"{Path.DOCS_ERRORS}#{code}", "its description, on this server")],
            **extras.always,
        },
        extras.sometimes,
    )
    whole = schema_of(
        {"success": Annotated[bool, const(False)], "error": Any, **extras.always, "meta": OfFailure}, extras.sometimes
    )
    whole["properties"]["error"] = inside
    return {**whole, "description": spec.message}


class OfFailure(Struct, frozen=True):
    """The `meta` of a refusal."""

    request_id: shape.RequestId


def _described(routes: Operations) -> Iterable[tuple[str, str, tuple[Operation, OperationDescription]]]:
    for path, operations in routes.items():
        if path.startswith(DESCRIBED) and path not in NOT_DESCRIBED:
            for method, operation in operations.items():
                if method != "HEAD" and operation.handler in DESCRIPTIONS:
                    yield path, method, (operation, DESCRIPTIONS[operation.handler])


def _operation(
    path: str, operation: Operation, about: OperationDescription, shapes: dict[str, Schema]
) -> dict[str, Any]:
    text = re.sub(r"\n\s*Raises:.*", "", operation.handler.__doc__ or "", flags=re.DOTALL)
    scopes = " or ".join(f"`{scope}`" for scope in operation.scopes)
    need = f"\n\nA key needs {scopes}." if scopes else ""
    made: dict[str, Any] = {
        "operationId": about.id,
        "summary": about.title,
        "description": re.sub(r"[ \t]+", " ", text.strip()) + need,
        "tags": [next(tag for start, tag, _ in TAGS if path.startswith(start))],
        "parameters": list(_parameters(path, operation, about)),
    }
    if about.reads is not None:
        made["requestBody"] = {
            "required": not about.body_optional,
            "content": {"application/json": {"schema": _body(about), "example": dict(about.example)}},
        }
    headers = {"X-Request-Id": _header("RequestId")}
    if not operation.public:
        for name in ("Limit", "Remaining", "Reset"):
            headers[f"RateLimit-{name}"] = _header(f"RateLimit{name}")
    fine = dict(headers)
    if about.idempotent:
        fine["Idempotency-Replayed"] = _header("IdempotencyReplayed")
    responses = {str(about.status): {"description": "Success.", "headers": fine, "content": _content(about, shapes)}}
    by_status: dict[int, list[ErrorCode]] = {}
    for code in sorted(_errors(operation, about)):
        by_status.setdefault(ERRORS[code].http_status, []).append(code)
    for status, codes in sorted(by_status.items()):
        error_headers = {**headers, "Retry-After": _header("RetryAfter")} if status in (429, 503) else headers
        schema: Schema = {"anyOf": [{"$ref": SCHEMAS_PATH + _error_name(code)} for code in codes]}
        responses[str(status)] = {
            "description": " ".join(f"`{code}`: {ERRORS[code].message}" for code in codes),
            "headers": error_headers,
            "content": {
                "application/json": {
                    "schema": schema if len(codes) > 1 else schema["anyOf"][0],
                    "examples": {str(code): {"$ref": f"#/components/examples/{code}"} for code in codes},
                }
            },
        }
    made["responses"] = responses
    if operation.public:
        made["security"] = []
    elif operation.scopes:
        # OpenAPI 3.1: the list of a non-OAuth scheme holds its required roles. One scope is enough, so each is an entry.
        made["security"] = [*({"key": [str(scope)]} for scope in operation.scopes), {"session": []}]
    else:
        made["security"] = [{"session": []}]
    return made


def _parameters(path: str, operation: Operation, about: OperationDescription) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"{(\w+)}", path):
        note, shown = PATH_NOTES.get(f"{about.id}.{name}") or PATH_NOTES[name]
        schema = {"type": "integer" if isinstance(shown, int) else "string"}
        texts = {"description": note, "schema": schema, "example": shown}
        yield {"name": name, "in": "path", "required": True, **texts}
    for name, needed, found in () if about.query is None else schemas.query_of(about.query):
        # An empty value counts as absent, because forms send empty fields.
        empty = {} if needed else {"allowEmptyValue": True}
        yield {"name": name, "in": "query", "required": needed, **empty, **found}
    if about.idempotent:
        text = "the same key and body return the same answer for 24 hours"
        key = {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARACTERS_MAX}
        yield _in_header(IDEMPOTENCY_HEADER, text, key)
    if not operation.public and not operation.scopes:  # otherwise the mode of the key counts
        text = "`test` runs the call in the sandbox; default `live`"
        mode = {"type": "string", "enum": [str(mode) for mode in Mode]}
        yield _in_header(MODE_HEADER, text, mode)
    if about.answer == STREAM:
        number = {"type": "string", "pattern": "^[0-9]{0,18}$"}
        yield _in_header("Last-Event-ID", "continue after this event", number)


def _in_header(name: str, text: str, schema: Schema) -> dict[str, Any]:
    place = {"name": name, "in": "header", "required": False}
    return {**place, "description": text, "schema": schema}


def _body(about: OperationDescription) -> Schema:
    assert about.reads is not None
    schema = schemas.body_of(about.reads)
    if about.key_field:
        schema["properties"][FIELD] = {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": IDEMPOTENCY_KEY_CHARACTERS_MAX,
            "description": "same as the header `Idempotency-Key`",
            "examples": ["order-1042"],
        }
    return schema


def _errors(operation: Operation, about: OperationDescription) -> Collection[ErrorCode]:
    """Return the error codes that an operation can return."""
    found = {*_ALWAYS, *about.errors}
    if not operation.public:
        found |= {*_OF_CALLERS} | (set() if operation.of_branch else {ErrorCode.HEAD_OFFICE_ONLY})
    if operation.scopes:
        found |= {ErrorCode.INSUFFICIENT_SCOPE, ErrorCode.SECRET_KEY_REQUIRED}
    if about.query is not None:
        found.add(ErrorCode.VALIDATION_ERROR)
    if about.reads is not None:
        found |= {*_OF_BODIES}
    if about.idempotent:
        found |= {*_OF_KEYS}
    if about.key_field:
        found.add(ErrorCode.IDEMPOTENCY_KEY_CONFLICT)
    return found


def _content(about: OperationDescription, shapes: dict[str, Schema]) -> dict[str, Any]:
    if about.answer == STREAM:
        shown = 'id: 412\nevent: transaction.verified\ndata: {"id":"412","type":"transaction.verified"}\n\n'
        # Some tools apply the schema to the text, some to an event, some to its parsed `data`, so it has no type.
        schema: Schema = {"description": "events with `id`, `event` and `data`, a JSON object"}
        return {"text/event-stream": {"schema": schema, "example": shown}}
    assert isinstance(about.answer, AnswerShape)
    schema = envelope_of(about.answer)
    return {"application/json": {"schema": schema, "example": example(schema, shapes)}}


def _header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


def _error_name(code: ErrorCode) -> str:
    return "Error" + "".join(part.capitalize() for part in code.split("_"))


def _webhook(kind: EventKind, text: str, shapes: dict[str, Schema]) -> dict[str, Any]:
    schema = event_of(kind)
    signature = '`t=<seconds>,v1=<hex HMAC-SHA256 of "{t}." + body>`; the HMAC key is the whole secret'
    names = {
        "X-Svc-Signature": signature,
        "webhook-id": "the `webhook_id`; to avoid counting a payment twice, book it once per "
        "`data.telco.provider` and `data.telco.transaction_id`",
        "webhook-timestamp": "the same second as `t`",
        "webhook-signature": "Standard Webhooks 1.0",
    }
    return {
        "post": {
            "summary": text,
            "operationId": "on" + re.sub(r"[._]", " ", kind).title().replace(" ", ""),
            "security": [],
            "parameters": [
                {"name": name, "in": "header", "required": True, "description": note, "schema": {"type": "string"}}
                for name, note in names.items()
            ],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": schema, "example": example(schema, shapes)}},
            },
            "responses": {
                "2XX": {"description": "Accepted. Respond within 15 seconds."},
                "4XX": {"description": "Permanent failure: the delivery becomes a dead letter at once."},
                "5XX": {"description": "Temporary failure: retried up to 13 times in 76 hours."},
            },
        }
    }
