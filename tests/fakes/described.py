"""Holds every answer that a test gets to the API's description: its status, type, and every member, none more or less.

The document is the strict one of `daemon/api/openapi.py`. What is not under /v1 is not described.
"""

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
import jsonschema_rs

from daemon.api.openapi import Routes, document


class Described:
    """One document and its validators, each made when it is first needed."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.document = made
        self._paths = [
            (re.compile(_pattern(path)), operations) for path, operations in made["paths"].items()
        ]
        self._validator = functools.cache(self._make)

    async def check(self, response: httpx.Response) -> None:
        """Raise AssertionError when an answer is not as it is described; an httpx hook."""
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
        """Return what is said of a call, None when it leads nowhere that is described."""
        for pattern, operations in self._paths:
            if pattern.fullmatch(path):
                found: dict[str, Any] | None = operations.get(
                    "get" if method == "HEAD" else method.lower()
                )
                return found
        return None

    def hold(self, schema: Mapping[str, Any], value: object, where: str) -> None:
        """Raise AssertionError when a value is not as a schema says."""
        for error in self._validator(json.dumps(schema)).iter_errors(value):
            raise AssertionError(f"{where}: {list(error.instance_path)}: {error.message}: {value}")

    def _make(self, schema: str) -> jsonschema_rs.Draft202012Validator:
        whole = {**json.loads(schema), "components": self.document["components"]}
        return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


_MADE: dict[frozenset[str], Described] = {}


def described(routes: Routes) -> Described:
    """Return the description of what an application serves; it is the same for all of them."""
    key = frozenset(routes)
    if key not in _MADE:
        _MADE[key] = Described(document(routes, "0", strict=True))
    return _MADE[key]


def _pattern(path: str) -> str:
    tail = "[^/]+" if "client_ref" not in path else ".+"
    return re.sub(r"\\{\w+\\}", tail, re.escape(path))
