"""What is served under /pay/: the page, its state for a script, the stream of its changes, and the form.

    GET  /pay/{slug}          the page; ?net= chooses the network, ?lang= the language, ?paid= shows the form
    GET  /pay/{slug}/status   the same as JSON, for scripts that cannot hold a stream
    GET  /pay/{slug}/events   the same whenever it changes, as server-sent events (HTML standard, section 9.2)
    POST /pay/{slug}          "I have paid": a transaction ID, kept as a hint for a person

A name that is not there, one that is malformed and one whose receipt is too old get one and the same answer.
"""

import asyncio
from typing import Final
from urllib.parse import parse_qsl, quote

from starlette.types import Receive, Scope, Send

from daemon.core.checkout import ROOT
from daemon.core.errors import Refusal, Unavailable
from daemon.core.shapes import dump
from daemon.env import Env
from daemon.flows.say_paid import Heard, say_paid
from daemon.pages.answer import JSON, PRIVATE, STRICT_TRANSPORT, Answer, header, read_form
from daemon.pages.look import Look
from daemon.pages.show import Asked, Pages, Shown
from daemon.pages.stream import Stream
from daemon.pages.visitors import Visitors
from daemon.wire import ErrorCode
from parsers.telco_id import valid_for_any

_READ: Final = frozenset({"GET", "HEAD"})
_METHODS: Final = {"": _READ | {"POST"}, "events": frozenset({"GET"})}


class Site:
    """The ASGI application of everything under `/pay/`."""

    def __init__(self, env: Env) -> None:
        """Prepare; templates are read when the first visitor comes."""
        self._env = env
        self._visitors = Visitors(env.config.pages.per_min, env.config.pages.client_header)
        self._stopping = asyncio.Event()
        self._loading = asyncio.Lock()
        self._look: Look | None = None

    def close_streams(self) -> None:
        """Let every open stream end itself: the listeners are about to close."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        look = await self._ready()
        slug, _, part = scope["path"].removeprefix(ROOT).partition("/")
        # The name is written into links, so it is escaped once, here.
        query = scope["query_string"].decode("latin-1")
        asked = Asked(
            quote(slug, safe=""),
            dict(parse_qsl(query, errors="replace")),
            header(scope, b"accept-language"),
        )
        pages = Pages(self._env, look)
        allowed = _METHODS.get(part, _READ)
        if scope["method"] not in allowed:
            raise Refusal(
                ErrorCode.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(sorted(allowed))}
            )
        wait_s = self._visitors.may_look(scope, self._env.clock.now_us())
        if wait_s:
            answer = self._plain(pages, look, asked, 429, "too_fast", wait_s)
        else:
            try:
                if part == "events":
                    await self._events(pages, look, asked, scope, receive, send)
                    return
                answer = await self._answer(pages, look, asked, part, scope, receive)
            except Unavailable as error:
                answer = self._plain(pages, look, asked, 503, "unavailable", error.retry_after_s)
        await answer.send(scope, send)

    async def _ready(self) -> Look:
        if self._look is None:
            async with self._loading:
                if self._look is None:
                    self._look = await asyncio.to_thread(
                        Look.load, self._env.config.pages.languages
                    )
        return self._look

    async def _answer(
        self, pages: Pages, look: Look, asked: Asked, part: str, scope: Scope, receive: Receive
    ) -> Answer:
        if scope["method"] == "POST":
            return await self._claim(pages, look, asked, scope, receive)
        shown = await pages.show(asked) if part in {"", "status"} else None
        if shown is None:
            return self._plain(pages, look, asked, 404, "not_found")
        if part == "status":
            tag = f'W/"{shown.version}"'
            if header(scope, b"if-none-match") == tag:
                return Answer(304, b"", ((b"etag", tag.encode()),), JSON)
            return Answer(200, news(shown), ((b"etag", tag.encode()),), JSON)
        return self._page(look, shown, 200)

    async def _claim(
        self, pages: Pages, look: Look, asked: Asked, scope: Scope, receive: Receive
    ) -> Answer:
        wait_s = self._visitors.may_claim(scope, self._env.clock.now_us())
        if wait_s:
            return self._plain(pages, look, asked, 429, "too_fast", wait_s)
        body = await read_form(receive) or b""
        fields = dict(parse_qsl(body.decode("latin-1"), errors="replace"))
        telco_id = "".join(fields.get("transaction_id", "").split())
        if not valid_for_any(telco_id):
            # Everybody can know how IDs look: this tells nothing about any payment.
            return await self._again(pages, look, asked, 422, "claim_bad")
        heard = await say_paid(self._env, asked.slug, telco_id)
        if heard is Heard.TOO_MANY:
            return await self._again(pages, look, asked, 429, "claim_many")
        if heard is Heard.NO_PAGE:
            return self._plain(pages, look, asked, 404, "not_found")
        place = f"{ROOT}{asked.slug}?sent=1"
        if asked.query.get("lang") in look.words:
            place += f"&lang={asked.query['lang']}"
        return Answer(303, b"", ((b"location", place.encode()),))

    async def _again(
        self, pages: Pages, look: Look, asked: Asked, status: int, problem: str
    ) -> Answer:
        """Show the form again, with what is wrong."""
        shown = await pages.show(asked, problem)
        if shown is None:
            return self._plain(pages, look, asked, 404, "not_found")
        return self._page(look, shown, status)

    async def _events(
        self,
        pages: Pages,
        look: Look,
        asked: Asked,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if await pages.show(asked) is None:
            await self._plain(pages, look, asked, 404, "not_found").send(scope, send)
            return
        with self._visitors.stream(asked.slug) as room:
            if room:
                stream = Stream(self._env, lambda: pages.show(asked), news, self._stopping)
                await stream.run(receive, send, self._headers(look))
                return
        answer = self._plain(pages, look, asked, 503, "unavailable", 60)
        await answer.send(scope, send)

    def _page(self, look: Look, shown: Shown, status: int) -> Answer:
        body = look.page(
            shown.html,
            lang=shown.language,
            title=shown.title,
            refresh=shown.refresh_s,
            live=True,
            version=shown.version,
            seconds=shown.seconds,
            ended=shown.ended,
        )
        return Answer(status, body, self._headers(look)[len(PRIVATE) :])

    def _plain(
        self, pages: Pages, look: Look, asked: Asked, status: int, key: str, wait_s: int = 0
    ) -> Answer:
        """Make a page that says one thing."""
        language = pages.language(asked)
        t = look.words[language]
        body = look.fill("plain.html", headline=t[key], more=t[f"{key}_more"])
        html = look.page(body, lang=language, title=t[key], refresh=0, live=False)
        more = ((b"retry-after", b"%d" % wait_s),) if wait_s else ()
        return Answer(status, html, (*self._headers(look)[len(PRIVATE) :], *more))

    def _headers(self, look: Look) -> tuple[tuple[bytes, bytes], ...]:
        own_tls = (STRICT_TRANSPORT,) if self._env.config.http.tls_cert else ()
        return (*PRIVATE, (b"content-security-policy", look.policy), *own_tls)


def news(shown: Shown) -> bytes:
    """Make what the script is told: nothing that the page does not show."""
    return dump(
        {
            "version": shown.version,
            "title": shown.title,
            "headline": shown.headline,
            "html": shown.html,
            "seconds": shown.seconds,
            "ended": shown.ended,
        }
    )
