"""Around every call: its id, the headers every answer has, and what becomes of whatever goes wrong.

Pure ASGI: nothing here is made per request but one list of headers.
"""

import traceback
from collections.abc import Collection
from contextlib import suppress
from email.utils import formatdate
from importlib.metadata import version
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daemon.api.auth import unauthorized
from daemon.api.headers import header
from daemon.api.read_json import ClientGoneError
from daemon.api.service import Reply, Service
from daemon.core import shapes
from daemon.core.errors import Refusal, Unavailable
from daemon.core.ids import request_id as make_request_id
from daemon.core.limits import SECOND_US
from daemon.store import shop
from daemon.wire import (
    API_VERSION,
    API_VERSION_HEADER,
    PROTOCOL,
    PROTOCOL_HEADER,
    REQUEST_ID_HEADER,
    SOCKET_HOST,
    TIMEZONE_HEADER,
    VERSION_HEADER,
    ErrorCode,
)

VERSION: Final = version("momo")
_REQUEST_ID: Final = REQUEST_ID_HEADER.lower().encode()
_EVERYWHERE: Final = ((API_VERSION_HEADER.lower().encode(), API_VERSION.encode()),)
_ON_SOCKET: Final = (
    *_EVERYWHERE,
    (VERSION_HEADER.lower().encode(), VERSION.encode()),
    (PROTOCOL_HEADER.lower().encode(), PROTOCOL.encode()),
)


class Envelope:
    """The outermost application."""

    def __init__(self, app: ASGIApp, service: Service, hosts: Collection[str]) -> None:
        """Wrap `app`; `hosts` are the names, in lower case, under which it is served on TCP."""
        self._app = app
        self._service = service
        self._hosts = frozenset(hosts)
        self._date: tuple[int, bytes] = (0, b"")
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
            (b"date", self._today(env.clock.now_us())),
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

    async def _zone(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return the header with the shop's zone, which does not change once there is a shop."""
        if not self._timezone:
            owner = None
            with suppress(Unavailable):  # the answer says so itself
                owner = await self._service.env.store.read(shop.get)
            if owner is not None:
                self._timezone = ((TIMEZONE_HEADER.lower().encode(), owner.timezone.encode()),)
        return self._timezone

    def _refusal(self, error: Exception, scope: Scope, request_id: str) -> Refusal:
        if isinstance(error, Refusal):
            return error
        if isinstance(error, Unavailable):
            self._service.hooks.log.error("api.unavailable", request_id=request_id, why=error.why)
            return Refusal(
                ErrorCode.UNAVAILABLE,
                f"The service cannot take this right now: {error.why}.",
                headers={"Retry-After": str(error.retry_after_s)},
                retry_after=error.retry_after_s,
            )
        # Not the message: it may quote what the caller sent.
        frames = traceback.extract_tb(error.__traceback__)
        self._service.hooks.log.error(
            "api.fault",
            request_id=request_id,
            method=scope["method"],
            route=getattr(scope.get("route"), "path", ""),
            error=type(error).__name__,
            where=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        )
        return Refusal(ErrorCode.INTERNAL_ERROR)

    def _check_host(self, scope: Scope) -> None:
        """Refuse names that are not ours, so that a web page cannot reach us through its own name (DNS rebinding)."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:  # RFC 9112, section 3.2
            why = "The request is not valid HTTP/1.1: it has one Host header, no more and no less."
            raise Refusal(ErrorCode.INVALID_JSON, why)
        host = host_of(hosts[0].decode("latin-1"))
        server = scope.get("server")
        if host in self._hosts or (server is not None and host == server[0]):
            return
        raise Refusal(ErrorCode.MISDIRECTED_REQUEST)

    def _today(self, now_us: int) -> bytes:
        second = now_us // SECOND_US
        if self._date[0] != second:
            self._date = (second, formatdate(second, usegmt=True).encode())
        return self._date[1]


def _check_local(scope: Scope) -> None:
    """Refuse what only a web page could have sent to the socket, and any other Host than the fixed one."""
    if header(scope, b"origin") is not None or header(scope, b"referer") is not None:
        raise unauthorized("A web page may not use the socket.")
    if header(scope, b"host") != SOCKET_HOST:
        raise unauthorized(f"On the socket the Host is `{SOCKET_HOST}`.")


def host_of(host: str) -> str:
    """Return the name or address of a Host header, in lower case and without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def answer(refusal: Refusal, request_id: str) -> Reply:
    """Make the answer that a refusal is."""
    headers = tuple(
        (name.lower().encode(), text.encode()) for name, text in refusal.headers.items()
    )
    return Reply(refusal.spec.http_status, shapes.failure(refusal, request_id), headers)
