"""Builders for the JSON Schemas of `schemas.py`: JSON Schema 2020-12 (as in OpenAPI 3.1), each with an example.

An object schema lists its required and optional members; the example of an object is made from those of its members.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

Schema = dict[str, Any]


def text(example: str, note: str = "", **more: Any) -> Schema:
    """Return the schema of a string."""
    return _noted({"type": "string", **more, "examples": [example]}, note)


def whole(example: int, note: str = "", low: int = 0) -> Schema:
    """Return the schema of a whole number."""
    return _noted({"type": "integer", "minimum": low, "examples": [example]}, note)


def flag(note: str = "", *, example: bool = False) -> Schema:
    """Return the schema of a boolean."""
    return _noted({"type": "boolean", "examples": [example]}, note)


def one_of(words: Iterable[str], example: str, note: str = "") -> Schema:
    """Return the schema of an enum of strings."""
    return _noted(
        {"type": "string", "enum": [str(each) for each in words], "examples": [example]}, note
    )


def const(value: object, note: str = "") -> Schema:
    """Return the schema of a constant."""
    kind = "boolean" if isinstance(value, bool) else "string"
    return _noted({"type": kind, "const": value, "examples": [value]}, note)


def shape(
    members: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, note: str = ""
) -> Schema:
    """Return the schema of an object with required and optional members."""
    found: Schema = {"type": "object", "properties": {**members, **(optional or {})}}
    if members:
        found["required"] = list(members)
    return _noted(found, note)


def free(example: Mapping[str, Any], note: str = "") -> Schema:
    """Return the schema of an object with any members."""
    return _noted(
        {"type": "object", "additionalProperties": True, "examples": [dict(example)]}, note
    )


def list_of(item: Schema, note: str = "", *, shown: bool = True) -> Schema:
    """Return the schema of a list; its example has one entry if `shown`, else none."""
    found: Schema = {"type": "array", "items": item}
    if not shown:
        found["examples"] = [[]]
    return _noted(found, note)


def nullable(schema: Schema, note: str = "", *, shown: bool = True) -> Schema:
    """Return the schema of a nullable value; its example is null unless `shown`."""
    if "$ref" in schema or "anyOf" in schema:
        found: Schema = {"anyOf": [schema, {"type": "null"}]}
    else:
        found = {**schema, "type": [schema["type"], "null"]}
        if "enum" in schema:
            found["enum"] = [*schema["enum"], None]
    if not shown:
        found["examples"] = [None]
    return _noted(found, note)


def ref(name: str) -> Schema:
    """Return a reference to a named schema."""
    return {"$ref": f"{SCHEMAS_PATH}{name}"}


SCHEMAS_PATH: Final = "#/components/schemas/"


def _noted(schema: Schema, note: str) -> Schema:
    return {**schema, "description": note} if note else schema


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
    return {
        name: example(each, shapes) for name, each in schema["properties"].items() if name in always
    }


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
