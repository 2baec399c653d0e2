"""GET /v1/openapi.json and GET /docs: the API's description, for programs and for people. Anybody may read it.

It is made at the first request and kept as bytes: half a megabyte of objects that most shops never need would otherwise
live in every daemon (docs/decisions/0017-openapi-from-what-validates.md).
"""

import asyncio
import base64
import hashlib
from collections.abc import Callable
from typing import Final

from daemon.api.envelope import VERSION
from daemon.api.resource import Routes
from daemon.api.service import JSON_TYPE, Call, Reply
from daemon.core.shapes import dump

_HTML: Final = b"text/html; charset=utf-8"
_MINUTES: Final = (b"cache-control", b"public, max-age=300")


class Description:
    """The two answers."""

    def __init__(self, routes: Routes) -> None:
        """Describe `routes`, with those that are added later."""
        self._routes = routes
        self._made: dict[bytes, Reply] = {}

    async def document(self, call: Call) -> Reply:  # noqa: ARG002 -- the signature of a handler
        """Return the OpenAPI 3.1 document."""
        return await self._once(JSON_TYPE, self._document)

    async def page(self, call: Call) -> Reply:  # noqa: ARG002 -- the same
        """Return the same as a page that loads nothing and runs nothing."""
        return await self._once(_HTML, self._page)

    async def _once(self, kind: bytes, make: Callable[[], Reply]) -> Reply:
        if kind not in self._made:
            # In a thread: nobody who pays waits for it.
            self._made[kind] = await asyncio.to_thread(make)
        return self._made[kind]

    def _document(self) -> Reply:
        from daemon.api.openapi import document  # noqa: PLC0415 -- see above

        return Reply(200, dump(document(self._routes.operations, VERSION)), (_MINUTES,))

    def _page(self) -> Reply:
        from daemon.api.docs_page import STYLE, page  # noqa: PLC0415 -- see above
        from daemon.api.openapi import document  # noqa: PLC0415 -- see above

        digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
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
        html = page(document(self._routes.operations, VERSION))
        return Reply(200, html.encode(), headers, _HTML)
