"""The texts of the page by language. Amounts are `GHS 12.50` in every language, as in the network's SMS."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from daemon.core.payments.checkout import MONEY, CheckoutScreen, CheckoutView
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
    headline = words[view.screen].format(**money)
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
    difference = {CheckoutScreen.SHORT: "missing_amount", CheckoutScreen.OVER: "extra_amount"}.get(
        view.screen
    )
    rows = [
        ("shop", view.shop),
        ("received_amount", _money(view, view.received)),
        ("asked_amount", _money(view, view.amount)),
        (difference, _money(view, view.difference)),
        ("date", None if view.paid_at is None else format_time(view.paid_at, view.timezone, words)),
        (
            "taken_back",
            None
            if view.reversed_at is None
            else format_time(view.reversed_at, view.timezone, words),
        ),
        ("step_reference", view.code),
        ("transaction_ends", view.telco_last4),
        ("customer", customer),
        ("order_number", view.order),
        ("receipt_number", view.reference),
    ]
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


def choose_language(enabled: Sequence[str], asked: str, accepts: str) -> str:
    """Choose a language: that of the address, else the browser's preferred one, else the shop's first.

    `accepts` is an Accept-Language header (RFC 9110, section 12.5.4).
    """
    if asked in enabled:
        return asked
    accepted: list[tuple[float, str]] = []
    for part in accepts[:500].lower().split(","):
        tag, _, given = part.partition(";q=")
        try:
            quality = float(given or 1)
        except ValueError:
            continue
        language = tag.strip().partition("-")[0]
        if quality > 0 and language in enabled:
            accepted.append((quality, language))
    return max(accepted, key=lambda one: one[0])[1] if accepted else enabled[0]


def _money(view: CheckoutView, amount: str | None) -> str:
    return f"{view.currency}\N{NO-BREAK SPACE}{amount}"


def _local(at_us: int, timezone: str) -> datetime.datetime:
    zone: datetime.tzinfo
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = datetime.UTC  # the time in Ghana all year
    return datetime.datetime.fromtimestamp(at_us // 1_000_000, zone)


def _month(at: datetime.datetime, words: Texts) -> str:
    return words["months"].split()[at.month - 1]
