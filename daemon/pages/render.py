"""A checkout page: read its data, choose the texts and fill the template, now and again whenever it changes.

Amounts are `GHS 12.50` in every language, as in the network's SMS.
"""

import asyncio
import datetime
import hashlib
import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

from msgspec import Struct
from starlette.types import Receive, Send

from daemon.core.json_values import dump
from daemon.core.payments import checkout
from daemon.core.payments.checkout import ENDED, MONEY, ROOT, CheckoutScreen, CheckoutView, return_address
from daemon.env import Env
from daemon.pages.assets import Assets
from daemon.runtime import sse
from daemon.runtime.page_response import Header, qr_svg
from daemon.runtime.words import about, choose_language, zone_of
from daemon.store import journal
from daemon.store.payments.transactions import checkout_facts as read_facts
from parsers.phone import read_phone

Texts = Mapping[str, str]
_NUMBER: Final = re.compile(r"\+?[0-9](?:[ ()\-]*[0-9]){8,14}", re.ASCII)
_BETWEEN: Final = re.compile(r"[ ()\-]+", re.ASCII)
_MARK: Final = "\N{CHECK MARK} "


class Headings(NamedTuple):
    """The page's title, its headline, and the sentence under it."""

    title: str
    headline: str
    more: str


def headings(view: CheckoutView, words: Texts) -> Headings:
    """Return the texts for the state of a view."""
    money = {
        "shop": view.shop,
        "amount": _money(view, view.amount),
        "received": _money(view, view.received),
        "money": _money(view, view.difference),
    }
    # Only of a short transaction, of which something was received, a further payment is checked.
    second = view.screen is CheckoutScreen.CHECKING and view.received is not None
    headline = words["second" if second else view.screen].format(**money)
    if view.screen is CheckoutScreen.PAID:
        money["money"] = money["received"]
    more = words[f"{view.screen}_more"].format(**money)
    mark = _MARK if view.screen in {CheckoutScreen.PAID, CheckoutScreen.OVER} else ""
    return Headings(f"{mark}{headline} — {view.shop}", headline, more)


class Contact(NamedTuple):
    """The contact text, split around the number to call; without one, `before` is all of it and `dial` is empty."""

    before: str
    number: str
    dial: str
    after: str


def contact(text: str, words: Texts) -> Contact | None:
    """Return the contact of the shop; `text` is the owner's setting.

    The link is made here, because phones must not link amounts and codes as numbers.
    """
    if not text:
        return None
    said = words["questions"].format(contact=text)
    found = _NUMBER.search(said)
    dial = None if found is None else read_phone(_BETWEEN.sub("", found.group()))
    if found is None or dial is None:
        return Contact(said, "", "", "")
    return Contact(said[: found.start()], found.group(), dial, said[found.end() :])


def receipt(view: CheckoutView, words: Texts) -> list[tuple[str, str]]:
    """Return the lines of the receipt, none if there is no receipt yet."""
    if view.screen not in MONEY and view.screen is not CheckoutScreen.REVERSED:
        return []
    customer = ", ".join(part for part in (view.customer, view.phone) if part)
    difference = {CheckoutScreen.SHORT: "missing_amount", CheckoutScreen.OVER: "extra_amount"}.get(view.screen)
    rows = [
        ("shop", view.shop), ("received_amount", _money(view, view.received)),
        ("asked_amount", _money(view, view.amount)), (difference, _money(view, view.difference)),
        (view.settled and f"settled_{view.settled}", _money(view, view.settled_amount)),
        ("date", None if view.paid_at is None else format_time(view.paid_at, view.timezone, words)),
        ("taken_back", None if view.reversed_at is None else format_time(view.reversed_at, view.timezone, words)),
        ("step_reference", view.code), ("transaction_ends", view.telco_last4), ("customer", customer),
        ("order_number", view.order), ("receipt_number", view.reference),
    ]  # fmt: skip
    return [(words[name], text) for name, text in rows if name is not None and text]


def valid_until(view: CheckoutView, now_us: int, words: Texts) -> str:
    """Return until when a transaction may be paid, in the shop's time zone."""
    ends, now = _local(view.expires_at, view.timezone), _local(now_us, view.timezone)
    time = f"{ends:%H:%M}"
    if ends.date() == now.date():
        return words["today"].format(time=time)
    return words["on_day"].format(time=time, day=ends.day, month=_month(ends, words))


def format_time(at_us: int, timezone: str, words: Texts) -> str:
    """Return a date and time."""
    at = _local(at_us, timezone)
    return f"{at.day} {_month(at, words)} {at.year}, {at:%H:%M}"


def _money(view: CheckoutView, amount: str | None) -> str:
    return f"{view.currency}\N{NO-BREAK SPACE}{amount}"


def _local(at_us: int, timezone: str) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at_us // 1_000_000, zone_of(timezone))


def _month(at: datetime.datetime, words: Texts) -> str:
    return words["months"].split()[at.month - 1]


REFRESH_S: Final = 15
REFRESH_SELDOM_S: Final = 60
"""How often a browser without JavaScript reloads."""
MIN_INTERVAL_S: Final = 0.2
"""A busy shop commits often; a page is rendered at most five times a second."""
RETRY: Final = b"retry: 3000\n\n"
_CLAIMING: Final = frozenset({CheckoutScreen.WAITING, CheckoutScreen.CHECKING, CheckoutScreen.EXPIRED})
_HOST: Final = re.compile(r"(.*?)(?::[0-9]+)?")


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

    @property
    def state(self) -> bytes:
        """The state for the script; it contains only data that the page shows."""
        shown = ("version", "title", "headline", "html", "seconds", "ended")
        return dump({name: getattr(self, name) for name in shown})


class PageRenderer(Struct, frozen=True):
    """The checkout page of one visit: its name in the address, the query, and the Accept-Language header."""

    env: Env
    assets: Assets
    slug: str
    query: Mapping[str, str]
    accepts: str

    @property
    def language(self) -> str:
        """The language for the visitor."""
        languages = self.env.config.pages.languages
        return choose_language(languages, self.query.get("lang", ""), self.accepts)

    async def show(self, problem: str = "") -> RenderedPage | None:
        """Render the page; return None if there is none with that name.

        `problem` is the key of the error in the form, shown above it.
        """
        now = self.env.times().lower_bound_us
        facts = await self.env.store.read(lambda reader: read_facts(reader, self.slug))
        if facts is None or not checkout.is_shown(facts.request, now):
            return None
        settings, language = self.env.config.pages, self.language
        t, network = self.assets.words[language], self.query.get("net", "")
        own = {"mtn": settings.menu_mtn, "telecel": settings.menu_telecel, "at": settings.menu_at}
        menus = {name: t[f"menu_{name}"] if text == checkout.MENUS[name] else text for name, text in own.items()}
        view = checkout.view(facts, self.env.texting.steps, menus, network, now)
        claiming = view.screen in _CLAIMING and (problem != "" or "paid" in self.query)
        said = headings(view, t)
        kept = {
            "lang": language if len(settings.languages) > 1 else "",
            "net": network if network in dict(view.networks) else "",
        }

        def address(**changes: str) -> str:
            query = urlencode({key: text for key, text in (kept | changes).items() if text})
            return f"{ROOT}{self.slug}" + (f"?{query}" if query else "")

        back = return_address(facts.request.redirect_url, view.reference)
        goes_back = False
        if back is not None and view.screen in {CheckoutScreen.PAID, CheckoutScreen.OVER}:
            # To a host that the shop has not listed the customer has to click.
            found = _HOST.fullmatch(back.host)
            assert found is not None
            goes_back = found.group(1) in {host.lower() for host in settings.redirect_hosts}
        ended = view.screen in ENDED
        values = {
            "v": view,
            "t": t,
            "lang": language,
            "languages": [(one, about(one)["name"]) for one in settings.languages],
            "logo": self.assets.logo,
            "here": address,
            "headline": said.headline,
            "more": said.more,
            "until": valid_until(view, now, t),
            "money": view.screen in MONEY,
            "thanks": "sent" in self.query and view.screen in _CLAIMING and not claiming,
            "claiming": claiming,
            "receipt": receipt(view, t),
            "qr": qr_svg(self.env.checkout_url(self.slug))
            if view.screen is CheckoutScreen.WAITING and view.way
            else "",
            "back": None if view.screen in {CheckoutScreen.WAITING, CheckoutScreen.CHECKING} else back,
            "goes_back": goes_back,
            "contact": contact(settings.contact, t),
        }
        html = self.assets.fill("checkout.html", problem="", **values)
        version = hashlib.sha256(html.encode()).hexdigest()[:16]
        if problem:
            # The version stays that of the page without the error, so that no update removes the error unread.
            html = self.assets.fill("checkout.html", problem=t[problem], **values)
        seldom = view.screen in {CheckoutScreen.EXPIRED, CheckoutScreen.SHORT}
        refresh_s = REFRESH_SELDOM_S if seldom else REFRESH_S
        return RenderedPage(
            language=language, title=said.title, headline=said.headline, html=html, version=version,
            seconds=view.seconds_left, ended=ended, refresh_s=0 if ended or claiming else refresh_s,
            ends_at=view.expires_at if view.screen is CheckoutScreen.WAITING else None,
        )  # fmt: skip

    async def stream(self, receive: Receive, send: Send, headers: tuple[Header, ...], stopping: asyncio.Event) -> None:
        """Send the page on each change, until its final state, the visitor leaves or the daemon stops."""
        wake = asyncio.Event()
        unsubscribe = self.env.store.subscribe(journal.TOPIC, wake.set)
        try:
            async with sse.opened(receive, send, stopping, headers) as stream:
                await stream.send(RETRY)
                known = ""
                while not stream.over:
                    # Cleared before rendering, so that a later change wakes the loop again.
                    wake.clear()
                    shown = await self.show()
                    if shown is not None and shown.version != known:
                        known = shown.version
                        await stream.send(sse.event(known.encode(), b"status", shown.state))
                    if shown is None or shown.ended:
                        break
                    await stream.rest(MIN_INTERVAL_S)
                    # The transaction may expire before anything happens.
                    left_us = (shown.ends_at or 0) - self.env.times().lower_bound_us
                    await stream.wait(wake, max(0.01, left_us / 1e6) if shown.ends_at else None)
        finally:
            unsubscribe()
