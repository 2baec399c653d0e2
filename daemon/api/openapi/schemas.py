"""JSON Schemas of declared shapes (`daemon/core/shape.py`).

They are made from the types themselves, not from `msgspec.json.schema_components`: that sorts the words of an enum, and
calls a time that is read into an integer an integer.

A schema of a request never forbids what is accepted: an absent member may be null, and an empty string if that counts as
absent; blanks are trimmed before a value is compared; a page size that is lowered has no maximum.
"""

from collections.abc import Callable, Mapping
from enum import EnumMeta
from typing import Any, Final, Literal, Union

from msgspec import NODEFAULT, UNSET, Raw, Struct, UnsetType

from daemon.api.openapi.describe import SCHEMAS_PATH, AnswerShape
from daemon.core.access.callers import ApiKeyAnswer
from daemon.core.limits import TEXT_CHARACTERS_MAX
from daemon.core.lines.line_json import LineStatusAnswer, PaymentMethodAnswer, PhoneAnswer
from daemon.core.messages.message_json import MessageInFullAnswer, RepeatedMessageAnswer
from daemon.core.names import canonical_name, canonical_names, provider_aliases
from daemon.core.payments.review_json import ApprovedPayerAnswer, ReviewAnswer
from daemon.core.payments.timeline import TransactionEventAnswer
from daemon.core.payments.transaction_json import (
    FoundTransactionAnswer,
    InitializedTransactionAnswer,
    ReconciliationAnswer,
    TransactionAnswer,
    TransactionListItemAnswer,
)
from daemon.core.reading import CURSOR_CHARACTERS_MAX
from daemon.core.shape import DeclaredType, Member, RequestId, Success, Warnings, kind_of, members
from daemon.core.webhooks.body import EVENTS, EventBody
from daemon.core.webhooks.endpoint import EndpointAnswer
from daemon.core.webhooks.endpoint_json import (
    AttemptAnswer,
    DeadLetterAnswer,
    DeadLetterInFullAnswer,
    DeliveryAnswer,
    DeliveryInFullAnswer,
    MissingPaymentAnswer,
)
from daemon.core.webhooks.rule_json import EndpointClaimAnswer, RuleAnswer, RuleTrialAnswer
from daemon.wire import EventKind

Schema = dict[str, Any]
COMPONENTS: Final[dict[type[Struct], str]] = {
    TransactionListItemAnswer: "TransactionListItem", TransactionAnswer: "Transaction",
    FoundTransactionAnswer: "FoundTransaction", InitializedTransactionAnswer: "InitializedTransaction",
    ReconciliationAnswer: "Reconciliation", TransactionEventAnswer: "TransactionEvent",
    PaymentMethodAnswer: "PaymentMethod", PhoneAnswer: "Phone", LineStatusAnswer: "LineStatus",
    EndpointAnswer: "Endpoint", RuleAnswer: "Rule", RuleTrialAnswer: "RuleTrial",
    EndpointClaimAnswer: "EndpointClaim", DeliveryAnswer: "Delivery", DeliveryInFullAnswer: "DeliveryInFull",
    AttemptAnswer: "Attempt", DeadLetterAnswer: "DeadLetter", DeadLetterInFullAnswer: "DeadLetterInFull",
    MissingPaymentAnswer: "MissingPayment", ApiKeyAnswer: "ApiKey", ReviewAnswer: "Review",
    ApprovedPayerAnswer: "ApprovedPayer", MessageInFullAnswer: "Message", RepeatedMessageAnswer: "RepeatedMessage",
}  # fmt: skip
"""The answers that the document lists by name."""
_ISO: Final = (
    r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2})?(\.[0-9]{1,9})?"
    r"([Zz]|[+-][0-9]{2}:?[0-9]{2})\s*$"
)
"""The times accepted by `parsers.times.read_iso`, as a JSON Schema pattern (ECMA-262), with trimmed blanks."""
_TYPES: Final = {str: "string", bool: "boolean", int: "integer", dict: "object", list: "array", tuple: "array"}
_KEYWORDS: Final = {"ge": "minimum", "le": "maximum", "min_length": "minLength", "max_length": "maxLength"}
_SAMPLES: Final = {bool: [False], int: [0]}


_TEXTS: Final = ("examples", "description")


def ref(name: str) -> Schema:
    """Return a reference to a named schema."""
    return {"$ref": f"{SCHEMAS_PATH}{name}"}


def components() -> dict[str, Schema]:
    """Return the answers that the document lists by name."""
    return {name: object_of(shape) for shape, name in COMPONENTS.items()}


def event_of(kind: EventKind) -> Schema:
    """Return the schema of a webhook body."""
    _text, data = EVENTS[kind]
    found = object_of(EventBody)
    word = {"type": "string", "const": str(kind), "examples": [kind]}
    found["properties"] |= {"type": word, "data": object_of(data)}
    return found


def object_of(shape: type[Struct]) -> Schema:
    """Return the schema of an answer, with its members written out."""
    found: Schema = {"type": "object"}
    found["properties"] = {each.name: answer_of(each.kind) for each in members(shape)}
    required = [each.name for each in members(shape) if each.required]
    return {**found, "required": required} if required else found


def answer_of(declared: Any) -> Schema:
    """Return the schema of a type in an answer, with its sample and its description."""
    kind = declared if isinstance(declared, DeclaredType) else kind_of(declared)
    if kind.base in COMPONENTS:
        found = ref(COMPONENTS[kind.base])
    elif kind.base is Union:
        found = {"anyOf": [answer_of(each) for each in kind.args]}
    elif isinstance(kind.base, type) and issubclass(kind.base, Struct):
        found = object_of(kind.base)
    elif kind.base in (Any, Raw):
        found = {}
    else:
        found = _plain(kind, answer_of)
        if "type" in found and found["type"] not in ("object", "array"):
            found["examples"] = _SAMPLES.get(kind.base) or found.get("enum", ())[:1]
        if found.get("type") == "object":
            found["additionalProperties"] = True
    if kind.nullable:
        is_named = "$ref" in found or "anyOf" in found
        found = {"anyOf": [found, {"type": "null"}]} if is_named else _nullable(found)
    texts: Schema = {each: kind.json[each] for each in _TEXTS if each in kind.json}
    further = {name: value for name, value in kind.json.items() if name not in texts}
    examples = [*found.pop("examples", ())]
    return {**found, **further, **({"examples": examples} if examples else {}), **texts}


def envelope_of(answer: AnswerShape) -> Schema:
    """Return the schema of an answer with its envelope."""
    if answer.whole is not None:
        found = object_of(answer.whole)
        return {**found, "properties": {**found["properties"], "meta": object_of(_OfAnyCall)}}
    meta = object_of(answer.meta or _OfAnyCall)
    found = schema_of({"success": Success, "data": answer.data, **answer.top}, {})
    found["properties"]["meta"] = meta
    return {**found, "required": [*found["required"], *(["meta"] if "required" in meta else [])]}


def schema_of(always: Mapping[str, Any], sometimes: Mapping[str, Any]) -> Schema:
    """Return the schema of an object whose members have these types."""
    properties = {name: answer_of(each) for name, each in {**always, **sometimes}.items()}
    found = {"type": "object", "properties": properties}
    return {**found, "required": list(always)} if always else found


class _OfAnyCall(Struct):
    """The `meta` that any answer may have."""

    request_id: RequestId | UnsetType = UNSET
    warnings: Warnings = UNSET


def body_of(shape: type[Struct]) -> Schema:
    """Return the schema of a body. A member's description and sample are in `description` and `examples`."""
    found: Schema = {"type": "object", "properties": {}}
    for each in members(shape):
        inner = _body_member(each)
        texts = {
            "description": ". ".join(filter(None, (each.kind.json.get("description"), inner.pop("description", ""))))
        }
        if "examples" in each.kind.json:
            texts["examples"] = each.kind.json["examples"]
        found["properties"][each.name] = {**inner, **texts}
    required = [each.name for each in members(shape) if each.required or each.kind.marks.get("required")]
    if required:
        found["required"] = required
    if shape.__struct_config__.forbid_unknown_fields:
        found["additionalProperties"] = False
    return found


def _body_member(member: Member) -> Schema:
    kind = member.kind
    if isinstance(kind.base, type) and issubclass(kind.base, Struct):
        return {**body_of(kind.base), "type": ["object", "null"]}
    found = _requested(kind, query=False)
    if not member.required and not kind.marks.get("required") and "type" in found:
        found = _nullable(found)
    if isinstance(member.default, bool):
        found["default"] = member.default
    return found


def query_of(shape: type[Struct]) -> list[tuple[str, bool, Schema]]:
    """Return the parameters of a query: name, whether it is required, and its description, schema and example."""
    found = []
    for each in members(shape):
        inner = _requested(each.kind, query=True)
        if each.default is not NODEFAULT and isinstance(each.default, bool | int):
            inner["default"] = each.default
        texts = (each.kind.json.get("description"), inner.pop("description", ""))
        parameter: Schema = {"description": ". ".join(filter(None, texts)), "schema": inner}
        if "examples" in each.kind.json:
            (parameter["example"],) = each.kind.json["examples"]
        found.append((each.name, each.required, parameter))
    return found


def _requested(kind: DeclaredType, *, query: bool) -> Schema:
    """Return the schema of a value in a request."""
    mark = kind.marks.get("read")
    if mark not in (None, "text", "object"):
        return _marked(kind, mark, query=query)
    found = _plain(kind, lambda entry: _plain(entry, _plain_entry))
    if kind.base is str and "enum" not in found:
        found.setdefault("maxLength", TEXT_CHARACTERS_MAX)
        order = ("type", "maxLength", *(() if query else ("minLength",)))
        found = {name: found[name] for name in order if name in found}
    elif kind.base in (list, tuple):
        found = {"type": "array", "items": found["items"], "minItems": 1, "maxItems": kind.limits["max_length"]}
        if "holds" in kind.marks:
            found["contains"] = {"const": str(kind.marks["holds"])}
    elif kind.base is dict:
        found["additionalProperties"] = True
        if "most_bytes" in kind.marks:
            found["x-maxBytes"] = kind.marks["most_bytes"]
        found |= {name: value for name, value in kind.json.items() if name not in _TEXTS}
    elif kind.base is int and query and kind.marks["most"] < 1_000_000:
        most = kind.marks["most"]
        found["description"] = f"at most {most}; a larger value is lowered to it, with a warning in `meta.warnings`"
    return found


def _marked(kind: DeclaredType, mark: str, *, query: bool) -> Schema:
    if mark == "amount":
        number = ["string", "number"] if kind.marks.get("number") else "string"
        return {"type": number, "pattern": r"^[0-9]{1,13}(\.[0-9]{1,2})?$"}
    if mark == "provider":
        names = kind.marks.get("words") or canonical_names()
        aliases = (each for each in provider_aliases() if canonical_name(each) in names)
        return {"type": "string", "enum": [*names, *aliases]}
    if mark == "time":
        text = "ISO 8601 with a zone, such as 2026-01-31T08:00:00Z"
        return {"type": "string", "pattern": _ISO, "description": text}
    if mark == "phone":
        return {"type": "string", **({} if query else {"minLength": 1, "maxLength": TEXT_CHARACTERS_MAX})}
    plain: dict[str, Schema] = {
        "any": {},
        "cursor": {"type": "string", "maxLength": CURSOR_CHARACTERS_MAX},
        "secret": {"type": "string", "format": "password"},
        "uuid": {"type": "string", "format": "uuid"},
    }
    return plain[mark]


def _plain(kind: DeclaredType, entry: Callable[[DeclaredType], Schema]) -> Schema:
    """Return the type and the limits of a value."""
    if "words" in kind.marks or kind.base is Literal or isinstance(kind.base, EnumMeta):
        words = kind.marks.get("words") or (kind.args if kind.base is Literal else kind.base)
        return {"type": "string", "enum": [str(each) for each in words]}
    found: Schema = {"type": _TYPES[kind.base]}
    if kind.base in (list, tuple):
        return {**found, "items": entry(kind.args[0])}
    return {**found, **{_KEYWORDS[name]: value for name, value in kind.limits.items() if name in _KEYWORDS}}


def _plain_entry(_kind: DeclaredType) -> Schema:
    raise AssertionError("a list of lists has no reader")


def _nullable(schema: Schema) -> Schema:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    found = {**schema, "type": [*kinds, "null"]}
    return {**found, "enum": [*schema["enum"], None]} if "enum" in schema else found


def example(schema: Schema, shapes: Mapping[str, Schema]) -> Any:
    """Return an example for a schema; `shapes` are the named schemas that it may refer to."""
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        return example(shapes[schema["$ref"].removeprefix(SCHEMAS_PATH)], shapes)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return example(schema[several][0], shapes)
    if "array" in schema["type"]:
        return [example(schema["items"], shapes)]
    assert "object" in schema["type"], schema
    always = schema.get("required", ())
    return {name: example(each, shapes) for name, each in schema["properties"].items() if name in always}


def closed(schema: Any) -> Any:
    """Return a copy of a schema that allows no other members.

    The published schema allows them, because fields are added without a new version. Our tests require every member to be
    described.
    """
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # The content of an example is not a schema.
    found = {name: each if name == "examples" else closed(each) for name, each in schema.items()}
    if isinstance(found.get("properties"), dict) and "object" in found.get("type", ()):
        found.setdefault("additionalProperties", False)
    return found
