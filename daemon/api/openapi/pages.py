"""GET /v1/openapi.json, /docs and /docs/errors: the API description for programs and for people, without authentication.

Each is built at the first request and kept as bytes. Otherwise every daemon would hold half a megabyte of objects that
most shops never need (docs/decisions/0004). The pages are HTML with an inline style and no script.
"""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from daemon.api.http.envelope import host_of
from daemon.api.http.service import Call, Reply
from daemon.api.openapi.describe import SCHEMAS_PATH
from daemon.core.json_values import dump
from daemon.error_table import ERRORS
from daemon.runtime.page_response import environment
from daemon.wire import VERSION, Path

_HTML: Final = b"text/html; charset=utf-8"
_ADDRESS: Final = "http://address.invalid"
"""Stands in the kept bytes for the address that a caller used."""
_HOST: Final = re.compile(r"[A-Za-z0-9.:\[\]-]+")
_MINUTES: Final = (b"cache-control", b"public, max-age=300")
LINE_CHARACTERS_MAX: Final = 72
"""Longest one-line body in a curl command; a longer body is printed with one line per member."""
_LIMITS: Final = {
    "format": "{}", "minimum": "from {}", "maximum": "to {}", "minLength": "at least {} characters",
    "maxLength": "at most {} characters", "maxItems": "at most {}", "x-maxBytes": "at most {} bytes",
    "default": "default {}",
}  # fmt: skip


_MADE: Final[dict[Path, Reply]] = {}


async def openapi(call: Call) -> Reply:
    """Return the OpenAPI 3.1 document."""
    return await _once(call, Path.OPENAPI, lambda: Reply(200, dump(_described(call)), (_MINUTES,)))


async def docs(call: Call) -> Reply:
    """Return the OpenAPI document as an HTML page without scripts or external resources."""
    return await _once(call, Path.DOCS, lambda: html_reply(*page(_described(call))))


async def docs_errors(call: Call) -> Reply:
    """Return the table of errors as such a page; `doc_url` of an error leads to its place there."""
    return await _once(call, Path.DOCS_ERRORS, lambda: html_reply(*errors_page()))


async def _once(call: Call, path: Path, make: Callable[[], Reply]) -> Reply:
    if path not in _MADE:
        # In a thread, so that payments do not wait for it.
        _MADE[path] = await asyncio.to_thread(make)
    made = _MADE[path]
    return replace(made, body=made.body.replace(_ADDRESS.encode(), _address(call).encode()))


def _described(call: Call) -> dict[str, Any]:
    from daemon.api.openapi.document import document  # noqa: PLC0415 -- see the module docstring

    return document(call.service.operations, VERSION, address=_ADDRESS)


def _address(call: Call) -> str:
    """Return the base URL that the caller used, so that the examples can be run as they are."""
    host, local = call.header(b"host") or "", "peer_uid" in call.scope["state"]
    configured = urlsplit(call.env.config.http.public_base_url).hostname
    # A proxy may serve the configured name by TLS, which we do not see.
    if local or host_of(host) == configured or not _HOST.fullmatch(host):
        return call.env.public_base_url
    return f"{call.scope['scheme']}://{host}"


def html_reply(text: str, style: str, more: str = "form-action 'self'") -> Reply:
    """Return a page whose inline style may act; `more` is added to the policy of its content."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'; {more}"
    headers = (
        _MINUTES,
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
    )
    return Reply(200, text.encode(), headers, _HTML)


class MemberRow(Struct, frozen=True):
    """One member of a body or answer, or one parameter."""

    name: str
    kind: str
    required: bool
    note: str


def page(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the page of all operations and its inline style."""
    operations = [
        {"path": path, "method": method.upper(), **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    sections = [
        (tag["name"], tag["description"], [one for one in operations if tag["name"] in one["tags"]])
        for tag in document["tags"]
    ]
    shapes = document["components"]["schemas"]
    return rendered("docs.html", document=document, sections=sections, shapes=shapes)


def errors_page() -> tuple[str, str]:
    """Return the page of all errors and its inline style."""
    from daemon.api.openapi.document import error_schema  # noqa: PLC0415 -- see the module docstring
    from daemon.api.openapi.schemas import example  # noqa: PLC0415 -- the same

    errors = [
        (code, spec, example(error_schema(code), {}))
        for code, spec in sorted(ERRORS.items(), key=lambda item: item[1].http_status)
    ]
    return rendered("errors.html", errors=errors)


def rendered(name: str, **values: Any) -> tuple[str, str]:
    """Return a page of the folder `templates`, and its inline style."""
    found, style = _templates()
    return found.get_template(name).render(style=style, **values), style


@cache
def _templates() -> tuple[Any, str]:
    import jinja2  # noqa: PLC0415 -- few shops open the page

    loader = jinja2.PackageLoader("daemon.api", "templates")
    found = environment(loader)
    found.filters |= {
        "prose": prose,
        "inline": inline,
        "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        "rows": rows,
        "kind": kind,
        "required_first": required_first,
        "curl": curl,
    }
    return found, loader.get_source(found, "docs.css")[0]


def curl(operation: Mapping[str, Any], address: str) -> str:
    """Return a curl command for an operation at `address`, with the example path and body and secrets from the environment."""
    path, query = operation["path"], []
    for one in operation.get("parameters", ()):
        if one["in"] == "path":
            path = path.replace("{" + one["name"] + "}", str(one["example"]))
        elif one["in"] == "query" and one.get("required"):
            query.append(f"{one['name']}={one['example']}")
    more = "?" + "&".join(query) if query else ""
    words = [f'curl "{address}{path}{more}"']
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
    import html  # noqa: PLC0415 -- its table of entities takes 0.3 MB

    made = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", made)


def rows(schema: Mapping[str, Any], shapes: Mapping[str, Any], start: str = "") -> Iterable[MemberRow]:
    """Yield the members of an object and of nested objects, with dotted names."""
    found = _resolved(schema, shapes)
    for name, each in found.get("properties", {}).items():
        inner = _resolved(each, shapes)
        required = name in found.get("required", ())
        yield MemberRow(
            start + name, kind(each, shapes), required, each.get("description", inner.get("description", ""))
        )
        if "items" in inner:
            yield from rows(inner["items"], shapes, f"{start}{name}[].")
        else:
            yield from rows(inner, shapes, f"{start}{name}.")


def required_first(found: Iterable[MemberRow]) -> list[MemberRow]:
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
