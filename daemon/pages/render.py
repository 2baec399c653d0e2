"""A checkout page: read its data, choose the texts and fill the template, now and again whenever it changes."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct
from starlette.types import Receive, Send

from daemon.core.payments import checkout
from daemon.core.payments.checkout import (
    ENDED,
    MONEY,
    ROOT,
    CheckoutScreen,
    ReturnAddress,
    return_address,
)
from daemon.env import Env
from daemon.pages import translations
from daemon.pages.assets import Assets
from daemon.runtime import sse
from daemon.runtime.qr import qr_svg
from daemon.runtime.words import about
from daemon.store import journal
from daemon.store.payments.checkout import facts as read_facts

REFRESH_S: Final = 15
REFRESH_EXPIRED_S: Final = 60
"""How often a browser without JavaScript reloads."""
MIN_INTERVAL_S: Final = 0.2
"""A busy shop commits often; a page is rendered at most five times a second."""
RETRY: Final = b"retry: 3000\n\n"
_CLAIMING: Final = frozenset(
    {CheckoutScreen.WAITING, CheckoutScreen.CHECKING, CheckoutScreen.EXPIRED}
)
_HOST: Final = re.compile(r"(.*?)(?::[0-9]+)?")


class PageRequest(Struct, frozen=True):
    """A visitor's request.

    `slug` is the page's name in the address, `accepts` the Accept-Language header.
    """

    slug: str
    query: Mapping[str, str]
    accepts: str = ""


class RenderedPage(Struct, frozen=True):
    """A rendered page.

    `html` is the part that changes with the state, and `version` its hash. A browser without JavaScript reloads after
    `refresh_s`, 0 is never. At `ends_at` (microseconds) the page changes without an event; None if it will not.
    """

    language: str
    title: str
    headline: str
    html: str
    version: str
    seconds: int
    ended: bool
    refresh_s: int
    ends_at: int | None


class PageRenderer:
    """The checkout pages of one shop."""

    def __init__(self, env: Env, assets: Assets) -> None:
        self._env = env
        self._assets = assets
        settings = env.config.pages
        self._languages = settings.languages
        self._menus = {
            "mtn": settings.menu_mtn,
            "telecel": settings.menu_telecel,
            "at": settings.menu_at,
        }

    def language(self, asked: PageRequest) -> str:
        """Return the language for a visitor."""
        return translations.choose_language(
            self._languages, asked.query.get("lang", ""), asked.accepts
        )

    def _menus_in(self, language: str) -> dict[str, str]:
        """Return the steps by network: the owner's words, else those of the language."""
        words = self._assets.words[language]
        return {
            network: words[f"menu_{network}"] if text == checkout.MENUS[network] else text
            for network, text in self._menus.items()
        }

    async def show(self, asked: PageRequest, problem: str = "") -> RenderedPage | None:
        """Render a page; return None if there is none with that name.

        `problem` is the key of the error in the form, shown above it.
        """
        now = self._env.times().lower_bound_us
        facts = await self._env.store.read(lambda reader: read_facts(reader, asked.slug))
        if facts is None or not checkout.is_shown(facts.request, now):
            return None
        firsts = self._env.texting.steps
        network = asked.query.get("net", "")
        language = self.language(asked)
        view = checkout.view(facts, firsts, self._menus_in(language), network, now)
        claiming = view.screen in _CLAIMING and (problem != "" or "paid" in asked.query)
        headings = translations.headings(view, self._assets.words[language])
        address = _Address(asked, language if len(self._languages) > 1 else "", dict(view.networks))
        back = return_address(facts.request.redirect_url, view.reference)
        ended = view.screen in ENDED
        t = self._assets.words[language]
        values = {
            "v": view,
            "t": t,
            "lang": language,
            "languages": [(one, about(one)["name"]) for one in self._languages],
            "logo": self._assets.logo,
            "here": address,
            "headline": headings.headline,
            "more": headings.more,
            "until": translations.valid_until(view, now, t),
            "money": view.screen in MONEY,
            "thanks": "sent" in asked.query and view.screen in _CLAIMING and not claiming,
            "claiming": claiming,
            "receipt": translations.receipt(view, t),
            "qr": qr_svg(self._env.checkout_url(asked.slug)) if view.way else "",
            "back": back if ended or view.screen is CheckoutScreen.EXPIRED else None,
            "goes_back": back is not None
            and view.screen in {CheckoutScreen.PAID, CheckoutScreen.OVER}
            and self._goes_by_itself(back),
            "contact": translations.contact(self._env.config.pages.contact, t),
        }
        html = self._assets.fill("checkout.html", problem="", **values)
        version = hashlib.sha256(html.encode()).hexdigest()[:16]
        if problem:
            # The version stays that of the page without the error, so that no update removes the error unread.
            html = self._assets.fill("checkout.html", problem=t[problem], **values)
        refresh_s = REFRESH_EXPIRED_S if view.screen is CheckoutScreen.EXPIRED else REFRESH_S
        return RenderedPage(
            language=language,
            title=headings.title,
            headline=headings.headline,
            html=html,
            version=version,
            seconds=view.seconds_left,
            ended=ended,
            refresh_s=0 if ended or claiming else refresh_s,
            ends_at=view.expires_at if view.screen is CheckoutScreen.WAITING else None,
        )

    def _goes_by_itself(self, back: ReturnAddress) -> bool:
        """Return whether the shop has listed this host; to any other host the customer has to click."""
        found = _HOST.fullmatch(back.host)
        assert found is not None
        return found.group(1) in {host.lower() for host in self._env.config.pages.redirect_hosts}


class _Address:
    """Makes links to other views of the same page."""

    def __init__(self, asked: PageRequest, language: str, networks: Mapping[str, str]) -> None:
        network = asked.query.get("net", "")
        self._path = f"{ROOT}{asked.slug}"
        self._kept = {"lang": language, "net": network if network in networks else ""}

    def __call__(self, **changes: str) -> str:
        query = urlencode({key: text for key, text in (self._kept | changes).items() if text})
        return f"{self._path}?{query}" if query else self._path


class PageStream:
    """The stream of one page."""

    def __init__(
        self,
        env: Env,
        render: Callable[[], Awaitable[RenderedPage | None]],
        news: Callable[[RenderedPage], bytes],
        stopping: asyncio.Event,
    ) -> None:
        """Prepare; `render` renders the current page, `news` makes the data for the script."""
        self._env = env
        self._render = render
        self._news = news
        self._stopping = stopping

    async def run(
        self, receive: Receive, send: Send, headers: tuple[tuple[bytes, bytes], ...]
    ) -> None:
        """Send until the page has reached its final state, the visitor leaves or the daemon stops."""
        wake = asyncio.Event()
        unsubscribe = self._env.store.subscribe(journal.TOPIC, wake.set)
        try:
            async with sse.opened(receive, send, self._stopping, headers) as stream:
                await stream.send(RETRY)
                known = ""
                while not stream.over:
                    # Cleared before rendering, so that a later change wakes the loop again.
                    wake.clear()
                    shown = await self._render()
                    if shown is not None and shown.version != known:
                        known = shown.version
                        await stream.send(sse.event(known.encode(), b"status", self._news(shown)))
                    if shown is None or shown.ended:
                        break
                    await stream.rest(MIN_INTERVAL_S)
                    await stream.wait(wake, self._remaining_s(shown))
        finally:
            unsubscribe()

    def _remaining_s(self, shown: RenderedPage) -> float | None:
        """Return the seconds until the transaction expires; None if the page has no such end."""
        if shown.ends_at is None:
            return None
        return max(0.01, (shown.ends_at - self._env.times().lower_bound_us) / 1e6)
