"""What every operation is given: the shop's doors, what the composition root hooks in, and one call."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api.fields import Query
from daemon.api.headers import header
from daemon.api.inflight import InFlight
from daemon.core import shapes
from daemon.core.access import Caller
from daemon.core.phones import Condition
from daemon.core.requests import Answer, Source
from daemon.env import Env
from daemon.webhooks.addresses import AddressPolicy, Resolver
from daemon.wire import IDEMPOTENCY_REPLAYED_HEADER

JSON_TYPE = b"application/json"
NO_STORE: Final = (b"cache-control", b"no-store")
"""The header of every answer that holds a secret (decisions.md section 9)."""


class ErrorLog(Protocol):
    """What the API needs of a log."""

    def error(self, event: str, **fields: Any) -> None:
        """Write one line; `fields` hold no bodies, names, numbers or secrets."""


class PlainLog:
    """The log of a program that gave none: the standard library's."""

    def error(self, event: str, **fields: Any) -> None:
        """Write one line."""
        logging.getLogger("momo.api").error("%s %s", event, fields)


async def nobody_answers(_device_id: str) -> bool:
    """Stand in for phones where there are none."""
    return False


class Site(Protocol):
    """What serves everything under one path of its own, such as the checkout pages."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

    def close_streams(self) -> None:
        """Let every open stream end itself: the listeners are about to close."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the composition root hooks in.

    Attributes:
        on_shutdown: Begins to stop the daemon; returns at once.
        phone_states: What each phone's loop says of itself.
        inspect: Asks a phone, by its device id, how it fares now; False when it does not say.
        deliver: Sends an SMS to the simulated phone of a network, part by part, and says where it was taken in from;
            None while none is attached.
        channels: The ways to the owner that the settings name, such as `email`.
        resolver: Looks up the hosts of webhook addresses; None is the system's.
        log: Where our own faults are written.
        log_folder: Where the log's files are.
        pages: Serves everything under `/pay/`; None is no pages.
    """

    on_shutdown: Callable[[], None]
    phone_states: Callable[[], Sequence[Condition]] = tuple
    inspect: Callable[[str], Awaitable[bool]] = nobody_answers
    deliver: Callable[[str, Sequence[str]], Awaitable[Source]] | None = None
    resolver: Resolver | None = None
    channels: tuple[str, ...] = ()
    log: ErrorLog = field(default_factory=PlainLog)
    log_folder: str = ""
    pages: Site | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """One running API."""

    env: Env
    hooks: Hooks
    policy: AddressPolicy
    resolver: Resolver
    started_us: int
    inflight: InFlight = field(default_factory=InFlight)
    test_sends: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    """Test sends under way: each may wait as long as a webhook, and the real ones need the line."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the listeners begin to close: streams end themselves then."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished answer."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = JSON_TYPE

    async def send(self, send: Send) -> None:
        """Write it."""
        length = b"%d" % len(self.body)
        start: list[tuple[bytes, bytes]] = [
            (b"content-type", self.content_type),
            (b"content-length", length),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": start})
        await send({"type": "http.response.body", "body": self.body})


def ok(data: object, meta: dict[str, Any] | None = None, **top: Any) -> Reply:
    """Answer 200 with `{success: true, data, ...}`."""
    return Reply(200, shapes.success(data, meta, **top))


def finished(answer: Answer, *headers: tuple[bytes, bytes]) -> Reply:
    """Answer with what a flow made, byte for byte."""
    if answer.replayed:
        headers = (*headers, (IDEMPOTENCY_REPLAYED_HEADER.lower().encode(), b"true"))
    return Reply(answer.status, answer.body, headers)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one operation, its caller known and allowed."""

    service: Service
    scope: Scope
    receive: Receive
    caller: Caller
    request_id: str
    query: Query

    @property
    def env(self) -> Env:
        """The shop's doors."""
        return self.service.env

    def header(self, name: bytes) -> str | None:
        """Return a header; `name` is in lower case."""
        return header(self.scope, name)

    def path(self, name: str) -> str:
        """Return a part of the path."""
        value: str = self.scope["path_params"][name]
        return value


Handler = Callable[[Call], Awaitable[Reply | ASGIApp]]
