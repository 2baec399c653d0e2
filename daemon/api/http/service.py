"""The objects given to each operation: the running service, the hooks of the composition root, one call and its idempotency key."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct, field
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api.http.body import canonical, header, read_object, read_object_if_any
from daemon.core import json_values
from daemon.core.access.callers import Caller, Rates, caller_address
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import CallMeta, HttpAnswer, Idempotency, Keep, Repeated, Source, Value
from daemon.core.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX, TEXT_CHARACTERS_MAX
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.messages.post import PostedSource
from daemon.core.reading import read, read_query, read_uuid
from daemon.core.shape import members
from daemon.env import Env
from daemon.sender.address_guard import Resolver
from daemon.wire import IDEMPOTENCY_HEADER, IDEMPOTENCY_REPLAYED_HEADER, ErrorCode

IDEMPOTENCY_WAIT_S: Final = 2.0
T = TypeVar("T", bound=Struct)
UNREAD_MAX: Final = 20
"""Largest number of unknown query parameters named in one answer."""
JSON_TYPE = b"application/json"
NO_STORE: Final = (b"cache-control", b"no-store")
"""The header of every answer that holds a secret."""


class Reply(Struct, frozen=True):
    """A complete response."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = JSON_TYPE

    async def send(self, send: Send) -> None:
        """Send the response."""
        length = b"%d" % len(self.body)
        start: list[tuple[bytes, bytes]] = [
            (b"content-type", self.content_type),
            (b"content-length", length),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": start})
        await send({"type": "http.response.body", "body": self.body})


def ok(data: object, meta: dict[str, Any] | Struct | None = None, **top: Any) -> Reply:
    """Answer 200 with `{success: true, data, ...}`."""
    return Reply(200, json_values.success(data, meta, **top))


def finished(answer: HttpAnswer, *headers: tuple[bytes, bytes]) -> Reply:
    """Return the exact answer of a flow as a response."""
    if answer.replayed:
        headers = (*headers, (IDEMPOTENCY_REPLAYED_HEADER.lower().encode(), b"true"))
    return Reply(answer.status, answer.body, headers)


async def once(
    call: "Call", keep: Keep[Value], flow: Callable[[Keep[Value]], Awaitable[Value]], *headers: tuple[bytes, bytes]
) -> Reply:
    """Answer with what a flow returns; a call that was answered before gets that answer, byte for byte.

    Only one call with the same key runs at a time.
    """
    try:
        async with call.service.inflight.alone(keep.claim):
            return finished(keep.answer(await flow(keep)), *headers)
    except Repeated as repeated:
        return finished(repeated.answer, *headers)


class ErrorLog(Protocol):
    """The log interface that the API needs."""

    def error(self, event: str, **fields: Any) -> None:
        """Write one line; `fields` must not contain bodies, names, numbers or secrets."""


class PagesApp(Protocol):
    """An ASGI application that serves everything below one path, such as the checkout pages."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

    def close_streams(self) -> None:
        """End every open stream, because the listeners are about to close."""


async def no_modem_answers(_device_id: str) -> bool:
    """Return False: the default of `Hooks.inspect` without modems."""
    return False


class Hooks(Struct, frozen=True):
    """Functions and objects that the composition root provides.

    Attributes:
        on_shutdown: Starts the shutdown of the daemon; returns at once.
        receiving: Returns whether every line receives and the id of the problem; (None, None) before the first look.
        inspect: Queries the health of a modem by its device id; False if it does not answer.
        deliver: Sends an SMS to the simulated phone of a network, part by part, and returns the source that it was read
            from; None while no simulated phone is attached.
        resolver: Resolves the hosts of webhook addresses; None uses the system's resolver.
        pages: Serves everything below `/pay/`; None for no pages.
        dash: Serves the dashboard, `/dash` and everything below; None for none.
        posted: Returns the running source of a name that gets its messages by POST; None if there is none.
    """

    on_shutdown: Callable[[], None]
    log: ErrorLog
    phone_states: Callable[[], Sequence[ModemHealth]] = tuple
    receiving: Callable[[], tuple[bool | None, str | None]] = lambda: (None, None)
    inspect: Callable[[str], Awaitable[bool]] = no_modem_answers
    deliver: Callable[[str, Sequence[str]], Awaitable[Source]] | None = None
    resolver: Resolver | None = None
    channels: tuple[str, ...] = ()
    log_folder: str = ""
    pages: PagesApp | None = None
    dash: PagesApp | None = None
    posted: Callable[[str], PostedSource | None] = lambda _name: None


class InFlight:
    """The running calls of this process."""

    def __init__(self, wait_s: float = IDEMPOTENCY_WAIT_S) -> None:
        self._wait_s = wait_s
        self._running: dict[tuple[str, str], asyncio.Event] = {}

    @asynccontextmanager
    async def alone(self, claim: Idempotency | None) -> AsyncIterator[None]:
        """Run the block while no other call with this key is running, at most two seconds later."""
        if claim is None:
            yield
            return
        key = (claim.scope, claim.key)
        try:
            async with asyncio.timeout(self._wait_s):
                while (running := self._running.get(key)) is not None:
                    await running.wait()
        except TimeoutError:
            raise Refusal(ErrorCode.IDEMPOTENCY_IN_PROGRESS) from None
        done = self._running[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._running[key]
            done.set()


class Service(Struct, frozen=True):
    """The state of one running API."""

    env: Env
    hooks: Hooks
    resolver: Resolver
    started_us: int
    operations: Mapping[str, Mapping[str, Any]]
    """Path -> method -> `Operation`, for the description of the API."""
    inflight: InFlight = field(default_factory=InFlight)
    test_sends: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    """Limits simultaneous test sends: each may wait as long as a webhook, and real webhooks need the bandwidth."""
    behind: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Limits the long requests of branches that are behind, so that what has just happened at another waits for two at most."""
    refused_posts: Rates = field(default_factory=lambda: Rates(2, 20))
    """Posts of Android phones with a wrong signature, by address: 20 at once, then 2 a minute; more are 429, not 401."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the listeners begin to close; open streams end then."""


class Query:
    """The query string of a call; the last of several members with the same name counts."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self.warnings: list[str] = []
        self._given = query
        self._unread = dict.fromkeys(query)

    def read(self, shape: type[T]) -> T:
        """Return the query in its shape; VALIDATION_ERROR names every wrong parameter."""
        for each in members(shape):
            self._unread.pop(each.name, None)
        found, lowered = read_query(shape, self._given)
        self.warnings += lowered
        return found

    def page(self, asked: Any, total: int, **members: Any) -> dict[str, Any] | None:
        """Return the `meta` of a page of a list."""
        return self.meta(limit=asked.limit, offset=asked.offset, total=total, **members)

    def meta(self, **members: Any) -> dict[str, Any] | None:
        """Return the `meta` of a list: `members` and the warnings about lowered numbers."""
        if self.warnings:
            members["warnings"] = self.warnings
        return members or None

    def unread(self) -> list[str]:
        """Return a warning for each parameter not read so far; `Resource` adds them to the answer."""
        return [
            f"Unknown parameter `{name[:TEXT_CHARACTERS_MAX]}` was ignored." for name in list(self._unread)[:UNREAD_MAX]
        ]


class Call(Struct, frozen=True):
    """One authorized call of one operation."""

    service: Service
    scope: Scope
    receive: Receive
    caller: Caller
    request_id: str
    query: Query

    @property
    def env(self) -> Env:
        """The shop's environment: database, clock, settings and so on."""
        return self.service.env

    async def body(self, shape: type[T], *, optional: bool = False) -> T:
        """Return the body in its shape; unknown members of one for the Unix socket are not named."""
        return (await self.read(shape, optional=optional))[0]

    async def read(self, shape: type[T], *, optional: bool = False) -> tuple[T, list[str]]:
        """Return the body in its shape, and the warnings about ignored members."""
        return read(shape, await self.object(optional=optional))

    async def asked(self, shape: type[T], *, optional: bool = False) -> tuple[T, CallMeta]:
        """Return the body in its shape, and the idempotency key and the warnings of the call."""
        body = await self.object(optional=optional)
        key = claim(self, body)
        found, warnings = read(shape, body)
        return found, CallMeta(self.request_id, key, tuple(warnings))

    async def object(self, *, optional: bool = False) -> dict[str, Any]:
        """Return the body as one JSON object."""
        return await (read_object_if_any if optional else read_object)(self.scope, self.receive)

    def header(self, name: bytes) -> str | None:
        """Return a header; `name` is in lower case."""
        return header(self.scope, name)

    def path(self, name: str) -> str:
        """Return a parameter of the path."""
        value: str = self.scope["path_params"][name]
        return value

    def uuid(self, error: ErrorCode, name: str = "id") -> str:
        """Return a UUID of the path; reject anything else with `error`."""
        return needed(read_uuid(self.path(name)), error)


Handler = Callable[[Call], Awaitable[Reply | ASGIApp]]


def client_address(call: Call) -> str:
    """Return the address that a call over TCP came from, as `pages.client_header` names it behind a proxy."""
    client = call.scope.get("client")
    setting = call.env.config.pages.client_header.lower().encode()
    return caller_address(client[0] if client else "", call.scope["headers"], setting)


FIELD: Final = "idempotency_key"
_HEADER: Final = IDEMPOTENCY_HEADER.lower().encode()


def claim(call: Call, body: Mapping[str, Any], *, field: bool = False) -> Idempotency | None:
    """Return the idempotency key of a call with its scope and fingerprint, None if it has no key.

    With `field` the key may also be a member of the body.
    """
    # All of them: two different headers are a conflict.
    keys: list[object] = []
    for name, value in call.scope["headers"]:
        if name == _HEADER:
            try:  # UTF-8, as in the body, else Latin-1, in which HTTP/1.1 was written
                keys.append(value.decode())
            except UnicodeDecodeError:
                keys.append(value.decode("latin-1"))
    if field and body.get(FIELD) is not None:
        keys.append(body[FIELD])
    given: set[str] = set()
    for key in keys:
        proper = isinstance(key, str) and 0 < len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX
        if not isinstance(key, str) or not proper or "\0" in key:
            raise Refusal(ErrorCode.IDEMPOTENCY_KEY_INVALID)
        given.add(key)
    if len(given) > 1:
        raise Refusal(ErrorCode.IDEMPOTENCY_KEY_CONFLICT)
    if not given:
        return None
    # The fingerprint is a fast hash, so it must not cover a password.
    covered = {name: value for name, value in body.items() if name != (FIELD if field else "password")}
    caller = call.caller
    who = f"{caller.mode or 'any'} {caller.key_id or 'session'}"
    scope = f"{who} {call.scope['method']} {call.scope['path']}"
    return Idempotency(scope, given.pop(), hashlib.sha256(canonical(covered)).hexdigest())
