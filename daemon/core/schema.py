"""The words that `schemas.py` describes our answers with: JSON Schema 2020-12 (as OpenAPI 3.1 has it), each with an example.

A shape lists what is always there and what may be; examples of whole answers are put together from those of the members.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

Schema = dict[str, Any]


def text(example: str, note: str = "", **more: Any) -> Schema:
    """Describe a string."""
    return _noted({"type": "string", **more, "examples": [example]}, note)


def whole(example: int, note: str = "", low: int = 0) -> Schema:
    """Describe a whole number."""
    return _noted({"type": "integer", "minimum": low, "examples": [example]}, note)


def flag(note: str = "", *, example: bool = False) -> Schema:
    """Describe true or false."""
    return _noted({"type": "boolean", "examples": [example]}, note)


def word(words: Iterable[str], example: str, note: str = "") -> Schema:
    """Describe one of some words."""
    return _noted(
        {"type": "string", "enum": [str(each) for each in words], "examples": [example]}, note
    )


def const(value: object, note: str = "") -> Schema:
    """Describe what is always the same."""
    kind = "boolean" if isinstance(value, bool) else "string"
    return _noted({"type": kind, "const": value, "examples": [value]}, note)


def shape(
    members: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, note: str = ""
) -> Schema:
    """Describe an object: what is always there, and what may be."""
    found: Schema = {"type": "object", "properties": {**members, **(optional or {})}}
    if members:
        found["required"] = list(members)
    return _noted(found, note)


def free(example: Mapping[str, Any], note: str = "") -> Schema:
    """Describe an object that may hold anything."""
    return _noted(
        {"type": "object", "additionalProperties": True, "examples": [dict(example)]}, note
    )


def listed(item: Schema, note: str = "", *, shown: bool = True) -> Schema:
    """Describe a list; in examples it holds one entry when it is `shown`."""
    found: Schema = {"type": "array", "items": item}
    if not shown:
        found["examples"] = [[]]
    return _noted(found, note)


def maybe(schema: Schema, note: str = "", *, shown: bool = True) -> Schema:
    """Describe what may be null; in examples it is there when it is `shown`."""
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
    """Refer to a shape by its name."""
    return {"$ref": f"{PLACE}{name}"}


PLACE: Final = "#/components/schemas/"


def _noted(schema: Schema, note: str) -> Schema:
    return {**schema, "description": note} if note else schema


def example(schema: Schema, shapes: Mapping[str, Schema]) -> Any:
    """Make an example of what a schema describes; `shapes` are those it may refer to."""
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        return example(shapes[schema["$ref"].removeprefix(PLACE)], shapes)
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
    """Return a schema that allows no member that it does not name.

    The one that is published allows them: fields are added without a new version. Ours must all be described.
    """
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # What stands in an example is no schema.
    found = {name: each if name == "examples" else closed(each) for name, each in schema.items()}
    if isinstance(found.get("properties"), dict) and "object" in found.get("type", ()):
        found.setdefault("additionalProperties", False)
    return found
