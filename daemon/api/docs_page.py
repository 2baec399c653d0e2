"""The page /docs: the OpenAPI document as HTML, with a style of its own and no script."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jinja2

from daemon.core.schema import PLACE

_LOADER: Final = jinja2.PackageLoader("daemon.api", "templates")
LINE_CHARACTERS_MAX: Final = 72
"""Of a body in a command; a longer one takes a line for each member."""
STYLE: Final = _LOADER.get_source(jinja2.Environment(autoescape=True), "docs.css")[0]


@dataclass(frozen=True, slots=True)
class Row:
    """One member of a body, an answer, or one parameter."""

    name: str
    kind: str
    required: bool
    note: str


def page(document: Mapping[str, Any]) -> str:
    """Return the page."""
    environment = jinja2.Environment(
        loader=_LOADER,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shapes = document["components"]["schemas"]
    environment.filters |= {
        "prose": prose,
        "inline": inline,
        "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        "rows": partial(rows, shapes=shapes),
        "kind": partial(kind, shapes=shapes),
        "required_first": required_first,
        "curl": curl,
    }
    sections = [
        (tag["name"], tag["description"], list(_operations(document, tag["name"])))
        for tag in document["tags"]
    ]
    return environment.get_template("docs.html").render(
        document=document,
        sections=sections,
        style=STYLE,
    )


def _operations(document: Mapping[str, Any], tag: str) -> Iterator[dict[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield {"path": path, "method": method.upper(), **operation}


def curl(operation: Mapping[str, Any]) -> str:
    """Return a command that makes the call: paths and bodies are the examples, secrets stand in the environment."""
    path, query = operation["path"], []
    for one in operation.get("parameters", ()):
        if one["in"] == "path":
            path = path.replace("{" + one["name"] + "}", one["example"])
        elif one["in"] == "query" and one.get("required"):
            query.append(f"{one['name']}={one['example']}")
    more = "?" + "&".join(query) if query else ""
    words = [f'curl "$MOMO_API{path}{more}"']
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if operation["method"] != ("GET" if body is None else "POST"):
        words[0] = words[0].replace("curl ", f"curl -X {operation['method']} ", 1)
    if operation["security"]:
        keys = any("key" in each for each in operation["security"])
        words.append(f'-H "Authorization: Bearer ${"MOMO_API_KEY" if keys else "MOMO_SESSION"}"')
    if body is not None:
        text = json.dumps(body["example"], ensure_ascii=False)
        if len(text) > LINE_CHARACTERS_MAX:
            text = json.dumps(body["example"], ensure_ascii=False, indent=2)
        text = text.replace("'", "'\\''")
        words += ['-H "Content-Type: application/json"', f"-d '{text}'"]
    return " \\\n  ".join(words)


def prose(text: str) -> str:
    """Return text as HTML: paragraphs, with `code` and **strong** marked."""
    return "".join(f"<p>{part}</p>" for part in inline(text).split("\n\n"))


def inline(text: str) -> str:
    """Return text as HTML within a paragraph."""
    made = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", made)


def rows(schema: Mapping[str, Any], shapes: Mapping[str, Any], start: str = "") -> Iterable[Row]:
    """Return the members of an object, and of the objects in it, by their dotted names."""
    found = _resolved(schema, shapes)
    for name, each in found.get("properties", {}).items():
        inner = _resolved(each, shapes)
        required = name in found.get("required", ())
        yield Row(
            start + name,
            kind(each, shapes),
            required,
            each.get("description", inner.get("description", "")),
        )
        if "items" in inner:
            yield from rows(inner["items"], shapes, f"{start}{name}[].")
        else:
            yield from rows(inner, shapes, f"{start}{name}.")


def required_first(found: Iterable[Row]) -> list[Row]:
    """Return the members of a body, those first that must be there; what is inside one stays behind it."""
    members = list(found)
    needed = {row.name for row in members if row.required}
    return sorted(members, key=lambda row: re.split(r"[.\[]", row.name)[0] not in needed)


def kind(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    """Say in a few words what a schema allows."""
    found = _resolved(schema, shapes)
    kinds = found.get("type", "any")
    words = [kinds] if isinstance(kinds, str) else list(kinds)
    if "anyOf" in schema and {"type": "null"} in schema["anyOf"] and "null" not in words:
        words.append("null")
    if "enum" in found:
        words = [" | ".join("null" if each is None else str(each) for each in found["enum"])]
    if "items" in found and "enum" not in found:
        words[0] = f"array of {kind(found['items'], shapes)}"
    limits = [
        text.format(json.dumps(found[name]).strip('"'))
        for name, text in _LIMITS.items()
        if name in found and not (name == "minLength" and found[name] == 1)
    ]
    return ", ".join([" or ".join(words), *limits])


_LIMITS: Final = {
    "format": "{}",
    "minimum": "from {}",
    "maximum": "to {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {}",
    "x-maxBytes": "at most {} bytes",
    "default": "default {}",
}


def _resolved(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        found: Mapping[str, Any] = shapes[schema["$ref"].removeprefix(PLACE)]
        return found
    if "anyOf" in schema:
        return _resolved(schema["anyOf"][0], shapes)
    return schema
