"""CORS for initialize with publishable keys (Fetch standard, section 3.2).

Only pages of the origins in `[http] cors_origins` may read the answers, errors too. A page never gets credentials, and no
other path answers with a CORS header. Starlette's CORSMiddleware cannot distinguish keys and answers a preflight with 200.
"""

import re
from collections.abc import Collection
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api.http.body import header
from daemon.runtime.config import LOCALHOST_ORIGINS
from daemon.wire import (
    IDEMPOTENCY_HEADER,
    IDEMPOTENCY_REPLAYED_HEADER,
    REQUEST_ID_HEADER,
    Mode,
    Path,
)

_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": f"Authorization, Content-Type, {IDEMPOTENCY_HEADER}",
    "Access-Control-Max-Age": "600",
}
_RATES: Final = "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"
_EXPOSED: Final = f"{REQUEST_ID_HEADER}, {IDEMPOTENCY_REPLAYED_HEADER}, {_RATES}".encode()
_KEY: Final = re.compile(r"(?i:bearer) +svc_(live|test)_pk_")
_LOCALHOST: Final = re.compile(r"http://localhost(:[0-9]{1,5})?")


def with_cors(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Let pages of `origins` call initialize in `app`; the router and its errors are below, the Host check is above."""
    if not origins:
        return app

    async def with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != Path.INITIALIZE:
            await app(scope, receive, send)
            return
        headers = [(b"vary", b"Origin")]
        origin = header(scope, b"origin") or ""
        asks = scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method")
        # A preflight has no key, so it is refused only for an origin that no key may use.
        mode = Mode.TEST if asks else _mode(header(scope, b"authorization") or "")
        allowed = mode is not None and _allows(origins, origin, mode)
        if allowed:
            headers.append((b"access-control-allow-origin", origin.encode("latin-1")))
            if not asks:
                headers.append((b"access-control-expose-headers", _EXPOSED))
        scope["state"]["headers"] = tuple(headers)
        if allowed and asks:
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return with_headers


def _mode(authorization: str) -> Mode | None:
    """Return the mode of a publishable key, valid or not, so that a page can read why it was refused; else None."""
    found = _KEY.match(authorization)
    return None if found is None else Mode(found.group(1))


def _allows(origins: Collection[str], origin: str, mode: Mode) -> bool:
    local = mode is Mode.TEST and LOCALHOST_ORIGINS in origins and _LOCALHOST.fullmatch(origin)
    return bool(local) or (origin in origins and origin != LOCALHOST_ORIGINS)
