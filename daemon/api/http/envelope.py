"""The outermost ASGI layer: request ids, common response headers, Host checks and error responses.

Pure ASGI, to keep the cost per request low: it allocates only one list of headers.

CORS for initialize with publishable keys (Fetch standard, section 3.2).

Only pages of the origins in `[http] cors_origins` may read the answers, errors too. A page never gets credentials, and no
other path answers with a CORS header. Starlette's CORSMiddleware cannot distinguish keys and answers a preflight with 200.
"""

import re
import traceback
from collections.abc import Collection
from contextlib import suppress
from email.utils import formatdate
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daemon.api.http.auth import unauthorized
from daemon.api.http.body import ClientGoneError, header
from daemon.api.http.service import Reply, Service
from daemon.core import json_values
from daemon.core.errors import Refusal, Unavailable
from daemon.core.ids import request_id as make_request_id
from daemon.core.limits import SECOND_US
from daemon.runtime.config import LOCALHOST_ORIGINS
from daemon.store import shop
from daemon.wire import (
    API_VERSION,
    API_VERSION_HEADER,
    IDEMPOTENCY_HEADER,
    IDEMPOTENCY_REPLAYED_HEADER,
    PROTOCOL,
    PROTOCOL_HEADER,
    REQUEST_ID_HEADER,
    SOCKET_HOST,
    TIMEZONE_HEADER,
    VERSION,
    VERSION_HEADER,
    ErrorCode,
    Mode,
    Path,
)

_REQUEST_ID: Final = REQUEST_ID_HEADER.lower().encode()
_EVERYWHERE: Final = ((API_VERSION_HEADER.lower().encode(), API_VERSION.encode()),)
_ON_SOCKET: Final = (
    *_EVERYWHERE,
    (VERSION_HEADER.lower().encode(), VERSION.encode()),
    (PROTOCOL_HEADER.lower().encode(), PROTOCOL.encode()),
)


class Application:
    """The outermost application."""

    def __init__(self, app: ASGIApp, service: Service, hosts: Collection[str]) -> None:
        """Wrap `app`; `hosts` are the accepted Host names on TCP, in lower case."""
        self.operations = service.operations
        self._app = app
        self._service = service
        self._hosts = frozenset(hosts)
        self._timezone: tuple[tuple[bytes, bytes], ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        assert scope["type"] == "http", "the listeners offer nothing else"
        env = self._service.env
        request_id = make_request_id(env.entropy.bytes(16))
        scope["state"]["request_id"] = request_id
        local = "peer_uid" in scope["state"]
        common = (
            *((*_ON_SOCKET, *await self._zone()) if local else _EVERYWHERE),
            (_REQUEST_ID, request_id.encode()),
            (b"date", formatdate(env.clock.now_us() // SECOND_US, usegmt=True).encode()),
        )
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                more = scope["state"].get("headers", ())
                message["headers"] = [*message["headers"], *common, *more]
            await send(message)

        try:
            if local:
                _check_local(scope)
            else:
                self._check_host(scope)
            await self._app(scope, receive, send_with_headers)
        except ClientGoneError:
            return
        except Exception as error:
            refusal = self._refusal(error, scope, request_id)
            if started:
                raise
            await answer(refusal, request_id).send(send_with_headers)

    def close_streams(self) -> None:
        """End every open stream, because the listeners are about to close."""
        self._service.stopping.set()
        for pages in (self._service.hooks.pages, self._service.hooks.dash):
            if pages is not None:
                pages.close_streams()

    async def _zone(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return the header with the shop's time zone; cached, because it never changes after setup."""
        if not self._timezone:
            found = None
            with suppress(Unavailable):  # the call itself reports the error
                found = await self._service.env.store.look(shop.get)
            if found is not None:
                self._timezone = ((TIMEZONE_HEADER.lower().encode(), found.timezone.encode()),)
        return self._timezone

    def _refusal(self, error: Exception, scope: Scope, request_id: str) -> Refusal:
        if isinstance(error, Refusal):
            return error
        if isinstance(error, Unavailable):
            self._service.hooks.log.error("api.unavailable", request_id=request_id, why=error.why)
            return Refusal(
                ErrorCode.UNAVAILABLE,
                f"The service cannot take this right now: {error.why}.",
                hint=f"On the shop's machine: {error.next_step}" if error.next_step else None,
                headers={"Retry-After": str(error.retry_after_s)},
                retry_after=error.retry_after_s,
                cause=error.cause,
                **({"next": [error.next_step]} if error.next_step else {}),
            )
        # Do not log the message: it may quote the caller's data.
        frames = traceback.extract_tb(error.__traceback__)
        self._service.hooks.log.error(
            "api.fault", request_id=request_id, method=scope["method"], route=getattr(scope.get("route"), "path", ""),
            error=type(error).__name__, where=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        )  # fmt: skip
        return Refusal(ErrorCode.INTERNAL_ERROR)

    def _check_host(self, scope: Scope) -> None:
        """Reject unknown Host names, so that a web page cannot reach the API through DNS rebinding."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:  # RFC 9112, section 3.2
            why = "The request is not valid HTTP/1.1: it must have exactly one Host header."
            raise Refusal(ErrorCode.MALFORMED_REQUEST, why)
        host = host_of(hosts[0].decode("latin-1"))
        server = scope.get("server")
        if host in self._hosts or (server is not None and host == server[0]):
            return
        if host in self._service.env.certificate_names:
            return
        raise Refusal(ErrorCode.MISDIRECTED_REQUEST)


def _check_local(scope: Scope) -> None:
    """Reject socket requests with an Origin or Referer header (sent by web pages) or with the Host of another server."""
    if header(scope, b"origin") is not None or header(scope, b"referer") is not None:
        raise unauthorized("A web page may not use the socket.")
    if header(scope, b"host") not in ("localhost", SOCKET_HOST):
        raise Refusal(
            ErrorCode.MISDIRECTED_REQUEST,
            "On the Unix socket the Host header must be `localhost`.",
            hint="Send `Host: localhost`, as does `curl --unix-socket PATH http://localhost/v1/...`.",
        )


def host_of(host: str) -> str:
    """Return the host of a Host header, in lower case, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def answer(refusal: Refusal, request_id: str) -> Reply:
    """Build the error response for a refusal."""
    headers = tuple((name.lower().encode(), text.encode()) for name, text in refusal.headers.items())
    return Reply(refusal.spec.http_status, json_values.failure(refusal, request_id), headers)


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
        # A publishable key, valid or not, so that a page can read why it was refused. A preflight has no key, so it is
        # refused only for an origin that no key may use.
        key = _KEY.match(header(scope, b"authorization") or "")
        in_test = asks or (key is not None and key.group(1) == Mode.TEST)
        local = in_test and LOCALHOST_ORIGINS in origins and _LOCALHOST.fullmatch(origin)
        named = origin in origins and origin != LOCALHOST_ORIGINS
        allowed = bool((asks or key) and (local or named))
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
