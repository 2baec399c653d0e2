"""Check every response of the API against its OpenAPI document: status, content type and exactly the described members.

The document is the strict one of `daemon/api/openapi/document.py`. Paths outside /v1 are not described.
"""

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
import jsonschema_rs

from daemon.api.http.resource import Operations
from daemon.api.openapi.document import document


class OpenApiCheck:
    """An OpenAPI document and its validators; each validator is made on first use."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.document = made
        self._paths = [(re.compile(_pattern(path)), operations) for path, operations in made["paths"].items()]
        self._validator = functools.cache(self._make)

    async def check(self, response: httpx.Response) -> None:
        """Raise AssertionError if a response does not match the document; an httpx hook."""
        request = response.request
        operation = self.operation(request.method, request.url.path)
        if operation is None:
            return
        said = operation["responses"].get(str(response.status_code))
        where = f"{request.method} {request.url.path} -> {response.status_code}"
        kind = response.headers["content-type"].partition(";")[0]
        if kind == "text/event-stream":
            assert said is not None, f"{where} is not described"
            assert kind in said["content"]
            return
        body = await response.aread()
        assert said is not None, f"{where} is not described: {body[:300]!r}"
        assert kind in said["content"], where
        for name in said["headers"]:
            if name == "X-Request-Id" or (name == "Retry-After" and response.status_code == 429):
                assert name in response.headers, f"{where} has no {name}"
        if request.method != "HEAD":
            self.hold(said["content"][kind]["schema"], json.loads(body), where)

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        """Return the description of a call, or None for a path outside the document."""
        for pattern, operations in self._paths:
            if pattern.fullmatch(path):
                found: dict[str, Any] | None = operations.get("get" if method == "HEAD" else method.lower())
                return found
        return None

    def hold(self, schema: Mapping[str, Any], value: object, where: str) -> None:
        """Raise AssertionError if a value does not match a schema."""
        for error in self._validator(json.dumps(schema)).iter_errors(value):
            raise AssertionError(f"{where}: {list(error.instance_path)}: {error.message}: {value}")

    def _make(self, schema: str) -> jsonschema_rs.Draft202012Validator:
        whole = {**json.loads(schema), "components": self.document["components"]}
        return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


_MADE: dict[frozenset[str], OpenApiCheck] = {}


def openapi_check(routes: Operations) -> OpenApiCheck:
    """Return the checker for these routes; applications with the same routes share it."""
    key = frozenset(routes)
    if key not in _MADE:
        _MADE[key] = OpenApiCheck(document(routes, "0", strict=True))
    return _MADE[key]


def _pattern(path: str) -> str:
    tail = "[^/]+" if "client_ref" not in path else ".+"
    return re.sub(r"\\{\w+\\}", tail, re.escape(path))
