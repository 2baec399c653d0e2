"""The routes under /pay/: the page, its state for a script, the stream of its changes, and the form.

    GET  /pay/{slug}          the page; ?net= chooses the network, ?lang= the language, ?paid= shows the form
    GET  /pay/{slug}/status   its state as JSON, for scripts that cannot keep a stream open
    GET  /pay/{slug}/events   its state on every change, as server-sent events (HTML standard, section 9.2)
    POST /pay/{slug}          "I have paid": a transaction ID, stored as a hint for the operator

A missing name, a malformed one and one with a receipt that is too old get the same response.

Rate limits and stream limits for visitors of the pages, by address. Kept in memory only.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import parse_qsl, quote

from starlette.types import Receive, Scope, Send

from daemon.core.access.callers import Rates, forwarded_address, is_loopback_address, plain_address
from daemon.core.errors import Refusal, Unavailable
from daemon.core.payments.checkout import ROOT
from daemon.env import Env
from daemon.flows.payments.reconcile import ClaimResult, claim_payment
from daemon.pages.assets import Assets
from daemon.pages.render import PageRenderer, RenderedPage
from daemon.runtime.page_response import JSON, PRIVATE, STRICT_TRANSPORT, Header, PageResponse, header, read_form
from daemon.wire import ErrorCode
from parsers.reading import valid_for_any

STREAMS_MAX: Final = 200
"""Of the 512 connections; a visitor without a stream polls every few seconds instead."""
STREAMS_PER_PAGE: Final = 4
"""A customer's phone, the shop's screen, and a second connection of each."""
OWN_MACHINE_FACTOR: Final = 10
"""Behind a tunnel all customers come from this machine, so its limit is this many times higher."""
CLAIMS_PER_MIN: Final = 1
CLAIMS_AT_ONCE: Final = 10
"""Transaction IDs that one address may enter, for all transactions; a shop's customers share its Wi-Fi."""


class Visitors:
    """The request counts and open streams of visitors."""

    def __init__(self, per_min: int, client_header: str) -> None:
        """Allow each address `per_min` views a minute, 0 for no limit; `client_header` is set by a proxy."""
        self._header = client_header.lower().encode()
        self._looks = Rates(per_min, per_min)
        self._own = Rates(per_min * OWN_MACHINE_FACTOR, per_min * OWN_MACHINE_FACTOR)
        self._claims = Rates(CLAIMS_PER_MIN, CLAIMS_AT_ONCE)
        self._streams: Counter[str] = Counter()

    def may_look(self, scope: Scope, now_us: int) -> int:
        """Count a view; return 0 if it is allowed, else the seconds to wait."""
        who, own = self._who(scope)
        taken = (self._own if own else self._looks).take(who, now_us)
        return 0 if taken is None else taken.retry_after_s

    def may_claim(self, scope: Scope, now_us: int) -> int:
        """Count an entered transaction ID; return 0 if it is allowed, else the seconds to wait."""
        taken = self._claims.take(self._who(scope)[0], now_us)
        return 0 if taken is None else taken.retry_after_s

    @contextmanager
    def stream(self, slug: str) -> Iterator[bool]:
        """Reserve one stream; yield False if there are too many."""
        if self._streams.total() >= STREAMS_MAX or self._streams[slug] >= STREAMS_PER_PAGE:
            yield False
            return
        self._streams[slug] += 1
        try:
            yield True
        finally:
            self._streams[slug] -= 1
            if not self._streams[slug]:
                del self._streams[slug]

    def _who(self, scope: Scope) -> tuple[str, bool]:
        """Return the visitor's address, and whether it is this machine's own."""
        client = scope.get("client")
        peer = client[0] if client else ""
        if not is_loopback_address(peer):
            return _network(peer), False
        forwarded = forwarded_address(scope["headers"], self._header)
        return (peer, True) if forwarded is None else (_network(forwarded), False)


def _network(address: str) -> str:
    """Return an address, for IPv6 its /64 network, which is one customer's."""
    try:
        parsed = ip_address(plain_address(address.partition("%")[0]))
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        return parsed.exploded[:19]
    return str(parsed)


_READ: Final = frozenset({"GET", "HEAD"})
_METHODS: Final = {"": _READ | {"POST"}, "events": frozenset({"GET"})}


class PayRoutes:
    """The ASGI application of everything under `/pay/`."""

    def __init__(self, env: Env) -> None:
        """Prepare; templates are read with the first visitor."""
        self._env = env
        self._visitors = Visitors(env.config.pages.per_min, env.config.pages.client_header)
        self._stopping = asyncio.Event()
        self._loading = asyncio.Lock()
        self._assets: Assets | None = None
        self._made_of: tuple[tuple[str, ...], str, str] | None = None

    def close_streams(self) -> None:
        """End all open streams, before the listeners close."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        assets = await self._ready()
        await _Visit(self._env, assets, self._visitors, self._stopping, scope).serve(receive, send)

    async def _ready(self) -> Assets:
        pages = self._env.config.pages
        made_of = (pages.languages, pages.logo, pages.colour)
        if self._assets is None or self._made_of != made_of:
            async with self._loading:
                if self._assets is None or self._made_of != made_of:
                    self._assets = await asyncio.to_thread(Assets.load, *made_of)
                    self._made_of = made_of
        return self._assets


class _Visit:
    """One request of a visitor."""

    def __init__(self, env: Env, assets: Assets, visitors: Visitors, stopping: asyncio.Event, scope: Scope) -> None:
        self._env = env
        self._assets = assets
        self._visitors = visitors
        self._stopping = stopping
        self._scope = scope
        slug, _, self._part = scope["path"].removeprefix(ROOT).partition("/")
        query = scope["query_string"].decode("latin-1")
        self._page = PageRenderer(
            env,
            assets,
            # The name is written into links, so it is escaped here, once.
            quote(slug, safe=""),
            dict(parse_qsl(query, errors="replace")),
            header(scope, b"accept-language"),
        )

    async def serve(self, receive: Receive, send: Send) -> None:
        scope = self._scope
        allowed = _METHODS.get(self._part, _READ)
        if scope["method"] not in allowed:
            raise Refusal(ErrorCode.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(sorted(allowed))})
        wait_s = self._visitors.may_look(scope, self._env.clock.now_us())
        if wait_s:
            answer = self._plain(429, "too_fast", wait_s)
        else:
            try:
                if self._part == "events":
                    await self._events(receive, send)
                    return
                answer = await self._answer(receive)
            except Unavailable as error:
                answer = self._plain(503, "unavailable", error.retry_after_s)
        await answer.send(scope, send)

    async def _answer(self, receive: Receive) -> PageResponse:
        if self._scope["method"] == "POST":
            return await self._claim(receive)
        shown = await self._page.show() if self._part in {"", "status"} else None
        if shown is None:
            return self._plain(404, "not_found")
        if self._part == "status":
            tag = f'W/"{shown.version}"'
            unchanged = header(self._scope, b"if-none-match") == tag
            body = b"" if unchanged else shown.state
            return PageResponse(304 if unchanged else 200, body, ((b"etag", tag.encode()),), JSON)
        return self._whole(shown, 200)

    async def _claim(self, receive: Receive) -> PageResponse:
        wait_s = self._visitors.may_claim(self._scope, self._env.clock.now_us())
        if wait_s:
            return self._plain(429, "too_fast", wait_s)
        body = await read_form(receive) or b""
        fields = dict(parse_qsl(body.decode("latin-1"), errors="replace"))
        telco_id = "".join(fields.get("transaction_id", "").split())
        if not valid_for_any(telco_id):
            # Safe to report, because the form of IDs is public and reveals no payment.
            return await self._again(422, "claim_bad")
        heard = await claim_payment(self._env, self._page.slug, telco_id)
        if heard is ClaimResult.TOO_MANY:
            return await self._again(429, "claim_many")
        if heard is ClaimResult.NO_PAGE:
            return self._plain(404, "not_found")
        location = f"{ROOT}{self._page.slug}?sent=1"
        if self._page.query.get("lang") in self._assets.words:
            location += f"&lang={self._page.query['lang']}"
        return PageResponse(303, b"", ((b"location", location.encode()),))

    async def _again(self, status: int, problem: str) -> PageResponse:
        shown = await self._page.show(problem)
        return self._plain(404, "not_found") if shown is None else self._whole(shown, status)

    async def _events(self, receive: Receive, send: Send) -> None:
        if await self._page.show() is None:
            await self._plain(404, "not_found").send(self._scope, send)
            return
        with self._visitors.stream(self._page.slug) as allowed:
            if allowed:
                headers = (*PRIVATE, *self._headers())
                await self._page.stream(receive, send, headers, self._stopping)
                return
        await self._plain(503, "unavailable", 60).send(self._scope, send)

    def _whole(self, shown: RenderedPage, status: int) -> PageResponse:
        body = self._assets.page(
            shown.html, lang=shown.language, title=shown.title, refresh=shown.refresh_s, live=True,
            version=shown.version, seconds=shown.seconds, ended=shown.ended,
        )  # fmt: skip
        return PageResponse(status, body, self._headers())

    def _plain(self, status: int, key: str, wait_s: int = 0) -> PageResponse:
        language = self._page.language
        t = self._assets.words[language]
        body = self._assets.fill("plain.html", headline=t[key], more=t[f"{key}_more"])
        html = self._assets.page(body, lang=language, title=t[key], refresh=0, live=False)
        more = ((b"retry-after", b"%d" % wait_s),) if wait_s else ()
        return PageResponse(status, html, (*self._headers(), *more))

    def _headers(self) -> tuple[Header, ...]:
        own_tls = (STRICT_TRANSPORT,) if self._env.config.http.tls_cert else ()
        return ((b"content-security-policy", self._assets.policy), *own_tls)
