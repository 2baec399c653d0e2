"""GET /v1/openapi.json and GET /docs: the API description for programs and for people, without authentication.

Both are built at the first request and kept as bytes. Otherwise every daemon would hold half a megabyte of objects that
most shops never need (docs/decisions/0004). /docs is HTML with an inline style and no script.
"""

import asyncio
import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from daemon.api.http.resource import Routes
from daemon.api.http.service import JSON_TYPE, Call, Reply
from daemon.api.openapi.json_schema import SCHEMAS_PATH
from daemon.core.json_values import dump
from daemon.runtime.system import VERSION

_HTML: Final = b"text/html; charset=utf-8"
_MINUTES: Final = (b"cache-control", b"public, max-age=300")
LINE_CHARACTERS_MAX: Final = 72
"""Longest one-line body in a curl command; a longer body is printed with one line per member."""
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


class DescriptionHandlers:
    """The handlers of both paths."""

    def __init__(self, routes: Routes) -> None:
        """Describe `routes`, including routes that are added later."""
        self._routes = routes
        self._made: dict[bytes, Reply] = {}

    async def document(self, call: Call) -> Reply:  # noqa: ARG002 -- the signature of a handler
        """Return the OpenAPI 3.1 document."""
        return await self._once(JSON_TYPE, self._document)

    async def page(self, call: Call) -> Reply:  # noqa: ARG002 -- the same
        """Return the OpenAPI document as an HTML page without scripts or external resources."""
        return await self._once(_HTML, self._page)

    async def _once(self, kind: bytes, make: Callable[[], Reply]) -> Reply:
        if kind not in self._made:
            # In a thread, so that payments do not wait for it.
            self._made[kind] = await asyncio.to_thread(make)
        return self._made[kind]

    def _document(self) -> Reply:
        from daemon.api.openapi.document import document  # noqa: PLC0415 -- see the module docstring

        return Reply(200, dump(document(self._routes.operations, VERSION)), (_MINUTES,))

    def _page(self) -> Reply:
        from daemon.api.openapi.document import document  # noqa: PLC0415 -- the same

        text, style = page(document(self._routes.operations, VERSION))
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        headers = (
            _MINUTES,
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
        )
        return Reply(200, text.encode(), headers, _HTML)


@dataclass(frozen=True, slots=True)
class Row:
    """One member of a body or answer, or one parameter."""

    name: str
    kind: str
    required: bool
    note: str


def page(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the page and its inline style."""
    import jinja2  # noqa: PLC0415 -- few shops open the page

    loader = jinja2.PackageLoader("daemon.api", "templates")
    environment = jinja2.Environment(
        loader=loader,
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
    style = loader.get_source(environment, "docs.css")[0]
    made = environment.get_template("docs.html").render(
        document=document, sections=sections, style=style
    )
    return made, style


def _operations(document: Mapping[str, Any], tag: str) -> Iterator[dict[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield {"path": path, "method": method.upper(), **operation}


def curl(operation: Mapping[str, Any]) -> str:
    """Return a curl command for an operation, with the example path and body and secrets from the environment."""
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
    """Yield the members of an object and of nested objects, with dotted names."""
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
    """Sort the members of a body: required members first, nested members after their parent."""
    members = list(found)
    needed = {row.name for row in members if row.required}
    return sorted(members, key=lambda row: re.split(r"[.\[]", row.name)[0] not in needed)


def kind(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    """Return a short text for the type and limits of a schema."""
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


def _resolved(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        found: Mapping[str, Any] = shapes[schema["$ref"].removeprefix(SCHEMAS_PATH)]
        return found
    if "anyOf" in schema:
        return _resolved(schema["anyOf"][0], shapes)
    return schema
