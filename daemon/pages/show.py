"""One page as it is now: read from the database, put into words, filled into the template."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from daemon.core import checkout
from daemon.core.checkout import ENDED, MONEY, ROOT, Screen
from daemon.core.return_address import ReturnAddress, return_address
from daemon.env import Env
from daemon.pages import words
from daemon.pages.look import Look, qr_svg
from daemon.store import checkout as store

REFRESH_S: Final = 15
REFRESH_EXPIRED_S: Final = 60
"""How often a browser without JavaScript looks again."""
_CLAIMING: Final = frozenset({Screen.WAITING, Screen.CHECKING, Screen.EXPIRED})
_HOST: Final = re.compile(r"(.*?)(?::[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a visitor asks for.

    Attributes:
        slug: The page's name, as it stands in the address.
        query: Of the address.
        accepts: The languages that the browser likes.
    """

    slug: str
    query: Mapping[str, str]
    accepts: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A page.

    Attributes:
        html: What changes when the state does.
        version: Names this html; the same state has the same one.
        refresh_s: After which a browser without JavaScript looks again; 0 is never.
        ends_at: When it will change by itself, microseconds; None when it will not.
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


class Pages:
    """The checkout pages of one shop."""

    def __init__(self, env: Env, look: Look) -> None:
        self._env = env
        self._look = look
        settings = env.config.pages
        self._languages = settings.languages
        self._menus = {
            "mtn": settings.menu_mtn,
            "telecel": settings.menu_telecel,
            "at": settings.menu_at,
        }

    def language(self, asked: Asked) -> str:
        """Return the language that a visitor gets."""
        return words.choose(self._languages, asked.query.get("lang", ""), asked.accepts)

    async def show(self, asked: Asked, problem: str = "") -> Shown | None:
        """Make a page, None when there is none of that name.

        Args:
            asked: By the visitor.
            problem: The key of what is wrong with what was sent, shown above the form.
        """
        now = self._env.clock.now_us()
        facts = await self._env.store.read(lambda reader: store.facts(reader, asked.slug))
        if facts is None or not checkout.is_shown(facts.request, now):
            return None
        firsts = self._env.texting.steps
        network = asked.query.get("net", "")
        view = checkout.view(facts, firsts, self._menus, network, now)
        language = self.language(asked)
        claiming = view.screen in _CLAIMING and (problem != "" or "paid" in asked.query)
        said = words.say(view, self._look.words[language])
        address = _Address(asked, language if len(self._languages) > 1 else "", dict(view.networks))
        back = return_address(facts.request.redirect_url, view.reference)
        ended = view.screen in ENDED
        t = self._look.words[language]
        values = {
            "v": view,
            "t": t,
            "lang": language,
            "languages": [(one, self._look.words[one]["language"]) for one in self._languages],
            "here": address,
            "headline": said.headline,
            "more": said.more,
            "until": words.until(view, now, t),
            "money": view.screen in MONEY,
            "thanks": "sent" in asked.query and view.screen in _CLAIMING and not claiming,
            "claiming": claiming,
            "receipt": words.receipt(view, t),
            "qr": qr_svg(self._env.checkout_url(asked.slug)) if view.way else "",
            "back": back if ended or view.screen is Screen.EXPIRED else None,
            "goes_back": back is not None
            and view.screen in {Screen.PAID, Screen.OVER}
            and self._goes_by_itself(back),
            "contact": words.contact(self._env.config.pages.contact, t),
        }
        html = self._look.fill("checkout.html", problem="", **values)
        version = hashlib.sha256(html.encode()).hexdigest()[:16]
        if problem:
            # The version stays that of the page without it, so that no update takes it away before it is read.
            html = self._look.fill("checkout.html", problem=t[problem], **values)
        refresh_s = REFRESH_EXPIRED_S if view.screen is Screen.EXPIRED else REFRESH_S
        return Shown(
            language=language,
            title=said.title,
            headline=said.headline,
            html=html,
            version=version,
            seconds=view.seconds_left,
            ended=ended,
            refresh_s=0 if ended or claiming else refresh_s,
            ends_at=view.expires_at if view.screen is Screen.WAITING else None,
        )

    def _goes_by_itself(self, back: ReturnAddress) -> bool:
        """Say whether the shop has named this host: any other one waits for the customer's own click."""
        found = _HOST.fullmatch(back.host)
        assert found is not None
        return found.group(1) in {host.lower() for host in self._env.config.pages.redirect_hosts}


class _Address:
    """Makes links to other views of the same page."""

    def __init__(self, asked: Asked, language: str, networks: Mapping[str, str]) -> None:
        network = asked.query.get("net", "")
        self._path = f"{ROOT}{asked.slug}"
        self._kept = {"lang": language, "net": network if network in networks else ""}

    def __call__(self, **changes: str) -> str:
        query = urlencode({key: text for key, text in (self._kept | changes).items() if text})
        return f"{self._path}?{query}" if query else self._path
