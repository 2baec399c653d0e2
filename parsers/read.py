"""Entry point of the parsers: choose the wordings by sender or network, and read a message with them; detect adverts.

Networks send adverts from the same sender as receipts, often daily. Their texts change every week, so no wording can match
them. An advert contains a call to action (a link, a short code to dial, terms) and no word that only a message about the
wallet contains: no balance, no transaction ID, no transfer or failure. With a single such word it is not an advert, but an
unreadable message.

The patterns of wordings are compiled at first use: compiling all of them would cost 100 ms.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from parsers.money import Money, read_money, render
from parsers.pasted import MESSAGE_CHARACTERS_MAX
from parsers.phone import read_phone
from parsers.providers import EVERY_PROVIDER, PROVIDERS, WORDINGS, Provider
from parsers.reading import Kind, NotPayment, Payment, Reading, Reversal, Unreadable, fields, has_real_date
from parsers.times import read_local, read_printed
from parsers.wording import MARKED, NAME_CHARACTERS_MAX, Groups, Wording

# A network advertises under the name that its receipts have. An unread message explains a gap in the balance chain, so
# each advert would excuse a forgery after it; a text that asks for something and has no word about a wallet is an advert.
_ASKS: Final = re.compile(
    r"https?://|\bwww\.|\*\d{3,4}(?:\*\d{1,4}){0,6}\#|\bT\s?&\s?Cs?\b|\bT(?:erm)?s and C", re.ASCII | re.IGNORECASE
)
_OF_MONEY: Final = re.compile(
    r"\bbal(?:ance)?\b|\b(?:id|no|ref|reference|txn)\s{0,3}[:.#]|confirm|receiv|credit|debit|deduct|deposited|transferred|"
    r"withdr|deposit made|revers|refund|return|repa[iy]|\bpaid\b|\bsent\b|purchased|bought|charge|\bfee\b|complete|success|fail|declin|"
    r"approv|authori[sz]|grant|disburs|added to|\botp\b|\bpin\b|\bcode\s{0,3}(?:is\b|:|\d)|block|suspend"
    # A number as long as a transaction ID, except phone numbers; or an ID of the Comviva form.
    r"|(?<!\d)(?!(?:233\d{9}|0\d{9})(?!\d))\d{9}|\d{6}\.\d{4}\.[a-z]\d",
    re.ASCII | re.IGNORECASE,
)
__all__ = [
    "ADVERT",
    "EVERY_PROVIDER",
    "PROVIDERS",
    "UNKNOWN",
    "Provider",
    "network_of_imsi",
    "provider_of",
    "provider_of_network",
    "read",
    "wordings",
]
UNKNOWN: Final = "no known wording"
"""The reason of `Unreadable` for a text that no wording matches."""
ADVERT: Final = "advert"
"""The wording name of an advert; there is no such wording."""
_NETWORKS_OF_SENDER: Final = {
    sender: (provider.network,) for provider in EVERY_PROVIDER.values() for sender in provider.senders
}
# Only the networks that a shop can have a number at: `is_advert` knows the language of their adverts.
_NETWORK_OF_OWN_SENDER: Final = {
    sender: provider.network for provider in PROVIDERS.values() for sender in provider.senders
}
_NAMES: Final = {name: provider.name for provider in PROVIDERS.values() for name in (provider.name, *provider.aliases)}
_PROVIDER_OF_NETWORK: Final = {provider.network: provider.name for provider in PROVIDERS.values()}
_NETWORK_OF_PLMN: Final = {plmn: provider.network for provider in PROVIDERS.values() for plmn in provider.plmns}
_EVERY_NETWORK: Final = tuple(WORDINGS)
_BLANK: Final = " \t\n\r\f\v"
"""The white space of the patterns; `str.strip` would remove more and could leave a field empty."""
_ID_AGAIN: Final = re.compile(
    r"\b(?:trans(?:action)?\.?|txn|t)\s{0,16}id\s{0,16}:\s{0,16}(?:\S{0,30}\d|\Z)", re.ASCII | re.IGNORECASE
)
_MOVED: Final = (
    r"\b(?:for|of|received|refunded|sent|send|paid|transferred)\s{1,16}"
    rf"(?:{MARKED})\s{{1,16}}(?:from|to)\s"
)
_STATED: Final = rf"(?:balance\W{{0,16}}(?:is\W{{0,16}})?(?:{MARKED})|token\s{{0,16}}:)"
# Joined parts of two messages have the money of one and the ID of the other.
_SECOND_MESSAGE: Final = re.compile(
    rf"{_MOVED}.{{1,300}}?{_STATED}|{_STATED}.{{1,300}}?{_MOVED}"
    rf"|\bid\s{{0,16}}:\s{{0,16}}[A-Z\d.]{{9,}}.{{0,300}}?(?:{MARKED})",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
_DATE_IN_NAME: Final = re.compile(
    r"\.?(?:\s(?:on|at))?[\s,(]{0,16}(?<!\d)(?:\d{4}([-/])\d\d\1\d\d|\d{1,2}([-/])\d{1,2}\2(?:\d{4}|\d\d))(?!\d)"
    r"(?:,?\s{1,16}(?:at\s{1,16})?\d{1,2}:\d\d(?::\d\d)?(?:\s?[AP]M)?)?[\s,)]{0,16}",
    re.ASCII | re.IGNORECASE,
)
_PEOPLE: Final = ("payer_name", "payer_name_first", "payee_name", "agent", "lender")
"""The groups that may hold a name; `middle` follows it."""
_CURRENCY: Final = "GHS"
READINGS_MAX: Final = 8
"""A typed text of 160 characters, the longest, has room for fewer false balances."""
_HIDDEN: Final = "\0"
_MONEYS: Final = ("amount", "balance", "fee", "available_balance")
_RECEIVED: Final = frozenset({Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN})
_PLAIN: Final = {
    **dict.fromkeys((0x00A0, 0x1680, *range(0x2000, 0x200E), 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF), " "),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212), "-"),
}
"""Code points of the spaces and hyphens in UCS-2 texts and pasted texts, with their ASCII replacement."""


def read(sender: str | None, body: str, *, network: str | None = None, own: Iterable[Wording] = ()) -> Reading:
    """Read a message. Never raises for any text.

    The sender only chooses the wordings to try; the caller decides whether the sender is trusted.

    Args:
        sender: The originating address as decoded, or None if unknown.
        body: The whole message, all parts joined.
        network: Short name of the only network to try. Without it, the network of this sender; if the sender is unknown,
            all networks, so that a pasted text can be read too.
        own: The shop's own wordings. They are tried last, and not on a text that a built-in wording recognises and
            refuses: a shop's wording can add readings, but cannot weaken a built-in check.

    Returns:
        A payment, a reversal, another kind of message, or the reason why it cannot be read. An advert is a `NotPayment`
        if the sender is the network's own.
    """
    if len(body) > MESSAGE_CHARACTERS_MAX:
        return Unreadable(f"longer than {MESSAGE_CHARACTERS_MAX} characters")
    text = normalize_spaces(body).strip()
    squeezed = collapse_spaces(text)
    networks = _networks(sender, network)
    candidates = _index(networks).candidates(squeezed)
    refused: Unreadable | None = None
    for _, wording in candidates:
        reading = read_with(wording, text, squeezed)
        if isinstance(reading, Unreadable) and reading.perhaps:
            # Another wording may read it too: its fields may stand in another order.
            before = refused or replace(reading, perhaps=())
            refused = replace(before, perhaps=(*before.perhaps, *reading.perhaps))
        elif refused is None and reading is not None:
            return reading
    if refused is not None:
        return replace(refused, perhaps=refused.perhaps[:READINGS_MAX])
    for wording in own:
        reading = read_with(wording, text, squeezed) if wording.network in networks else None
        if reading is not None:
            return reading
    advertiser = _NETWORK_OF_OWN_SENDER.get(sender or "")
    if advertiser in networks and is_advert(squeezed):
        return NotPayment(network=advertiser, wording=ADVERT, kind=Kind.PROMO)
    return Unreadable(UNKNOWN)


def _networks(sender: str | None, network: str | None) -> tuple[str, ...]:
    if network is not None:
        return (network,)
    return _NETWORKS_OF_SENDER.get(sender or "", _EVERY_NETWORK)


class _Index:
    """Wordings indexed by their longest guard: a text is searched once per literal, not once per wording."""

    def __init__(self, of: Iterable[Wording]) -> None:
        self._by_literal: dict[str, list[tuple[int, Wording]]] = {}
        for place, wording in enumerate(of):
            rarest = max(wording.guards, key=len)
            self._by_literal.setdefault(rarest, []).append((place, wording))

    def candidates(self, squeezed: str) -> list[tuple[int, Wording]]:
        """Return the wordings that have their literal in the text, each with its position, in order."""
        found: list[tuple[int, Wording]] = []
        for literal, of_it in self._by_literal.items():
            if literal in squeezed:
                found += of_it
        if len(found) > 1:
            found.sort(key=_place)
        return found


def _place(candidate: tuple[int, Wording]) -> int:
    return candidate[0]


@cache
def _index_of(networks: tuple[str, ...]) -> _Index:
    return _Index(wording for network in networks for wording in WORDINGS[network])


def _index(networks: tuple[str, ...]) -> _Index:
    # Unknown network names must not fill the cache.
    return _index_of(tuple(network for network in networks if network in WORDINGS))


def read_with(wording: Wording, text: str, squeezed: str) -> Reading | None:
    """Read a text with one wording.

    Return `Unreadable` if it has this form but must not be believed; None if it has another form, or contains a `once`
    guard twice. `text` is the whole message after `plain`, trimmed, at most `MESSAGE_CHARACTERS_MAX` characters.
    `squeezed` is the same after `squeeze`, computed once for all wordings, because it costs more than a guard.
    """
    if not all(guard in squeezed for guard in wording.guards) or repeated_guard(wording, squeezed):
        return None
    match = compile_pattern(wording.pattern).fullmatch(text)
    if match is None:
        return None
    found = _groups(match, text)
    if _ID_AGAIN.search(found.get("advert", "")):
        return Unreadable(f"{wording.name}: the text after the receipt contains a transaction ID again")
    why = _doubt(wording, match, found)
    if why is not None:
        return Unreadable(f"{wording.name}: {why}", perhaps=tuple(_perhaps(wording, match)))
    reading = _build(wording, found)
    if wording.cut:
        seen = {word: value for word, value in fields(reading).items() if value is not None}
        return Unreadable(f"{wording.name}: cut off before its end", seen)
    return reading


def _groups(match: re.Match[str], text: str) -> Groups:
    """Return the groups of a match, with their values in this text."""
    found: Groups = {}
    for name in match.re.groupindex:
        value = text[slice(*match.span(name))].strip(_BLANK) if match[name] is not None else ""
        if value:
            found[name] = value
    return found


def _perhaps(wording: Wording, match: re.Match[str] | None) -> Iterator[NotPayment | Payment | Reversal]:
    """Yield what a text says if the name ends at its first balance, at its second, and so on."""
    assert match is not None, "it has this form"
    text = hidden = match.string
    name = next((name for name in _PEOPLE if name in match.re.groupindex), None)
    for _ in range(READINGS_MAX):
        if match is None:
            return
        found = _groups(match, text)
        if wording.refine is not None:
            wording.refine(found)
        found.pop("advert", None)
        reading = _build(wording, found)
        if isinstance(reading, Payment):
            yield replace(reading, payer_phone_typed=True)
        elif not isinstance(reading, Unreadable):
            yield reading
        middle = None
        if wording.middle and name is not None:
            middle = compile_pattern(wording.middle).search(hidden, match.start(name))
        if middle is None:
            return
        begin, end = middle.span()
        hidden = f"{hidden[:begin]}{_HIDDEN * (end - begin)}{hidden[end:]}"
        match = match.re.fullmatch(hidden)


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in the notation of `parsers.wording`."""
    dashed = (
        pattern.replace("~-~", r"~[-\u2013\u2014]~")
        .replace(" - ", r" [-\u2013\u2014] ")
        .replace("(?: -)?", r"(?: [-\u2013\u2014])?")
    )
    spaced = dashed.replace("~", r"\s{0,16}").replace(" ", r"\s{1,16}")
    return re.compile(spaced, re.ASCII | re.DOTALL)


def repeated_guard(wording: Wording, squeezed: str) -> str | None:
    """Return a guard that occurs in the text more than once although the wording forbids it, else None.

    Call it before trying the pattern: repeated pieces also make a pattern slow.
    """
    if wording.once:
        for guard in wording.guards:
            if squeezed.count(guard) > 1:
                return guard
    return None


def _doubt(wording: Wording, match: re.Match[str], found: Groups) -> str | None:
    """Return the reason why a text of the right form must not be believed, or None."""
    name = next((match.start(name) for name in _PEOPLE if name in found), None)
    text = match.string
    # Counted first, because the search costs more than the rest of the reading.
    often = 1 + ("available_balance" in found)
    if wording.middle and name is not None and text.count("alance", name) > often:
        for again in [*compile_pattern(wording.middle).finditer(text, name)][1:]:
            # Typed by the payer, or part of a name with false money. Only typed text is so far behind the name, and is last.
            far = "rest" in found and again.start() > name + NAME_CHARACTERS_MAX
            if not far or "Ref" in text[again.end() :]:
                return "two balances, so either could be the payer's text"
    if any(_SECOND_MESSAGE.search(found.get(typed, "")) for typed in ("reference", *_PEOPLE)):
        return "the typed text contains another message, so either money could be meant"
    why = None if wording.refine is None else wording.refine(found)
    found.pop("advert", None)
    return why


def _build(wording: Wording, found: Groups) -> Reading:
    """Convert the groups to values; a group without an attribute of its own goes to `extra`."""
    shown: dict[str, str] = {}
    moneys = _moneys(wording, found)
    if isinstance(moneys, str):
        return Unreadable(f"{wording.name}: {moneys}")
    printed_at = None
    if "date" in found:
        printed_at = _printed_at(wording, found.pop("date"), found.pop("time", ""), shown)
        if printed_at is None and "timestamp" not in shown:
            return Unreadable(f"{wording.name}: the printed time is not a valid time")
    if not has_real_date(found.get("telco_id", "")):
        return Unreadable(f"{wording.name}: the date in the ID does not exist")
    phone = found.pop("payer_phone", None)
    name = found.pop("payer_name", "")
    if "-" in name or "/" in name:
        name = _DATE_IN_NAME.sub(" ", name).strip(_BLANK)
    elif printed_at is not None:
        name = name.removesuffix(".")  # the sentence ended before the printed time
    said: dict[str, Any] = {
        "network": wording.network,
        "wording": wording.name,
        "amount": moneys["amount"],
        "telco_id": found.pop("telco_id", None),
        "payer_name": name or None,
        "payer_phone": None if phone is None else read_phone(phone),
        "payer_phone_printed": phone,
        "balance": moneys["balance"],
        "fee": moneys["fee"],
        "printed_at": printed_at,
        "extra": found,
        "shown": shown,
    }
    if wording.reverses:
        original = found.get("reversed_transaction_id")
        return Reversal(**said, original_telco_id=original, unverified=wording.unverified)
    said |= {
        "kind": wording.kind,
        "reference": found.pop("reference", None),
        "reference_raw": found.get("reference_raw"),
    }
    if wording.kind not in _RECEIVED:
        return NotPayment(**said)
    return Payment(
        **said,
        payer_account=found.get("payer_account"),
        payer_phone_typed=found.pop("payer_phone_typed", None) is not None,
        unverified=wording.unverified,
        perhaps_own=bool(name) and " ".join(name.split()) == wording.own_account,
    )


def _moneys(wording: Wording, found: Groups) -> dict[str, Money | None] | str:
    """Remove the amounts from the groups and return them, or the reason why one cannot be read."""
    moneys: dict[str, Money | None] = {}
    for name in _MONEYS:
        text = found.pop(name, None)
        moneys[name] = None
        if text is None:
            continue
        money = moneys[name] = read_money(text, currency=_CURRENCY)
        if money is None:
            return f"the {name} is not an amount of {_CURRENCY}"
        if name == "available_balance":
            found[name] = render(money.minor, money.currency)
    amount = moneys["amount"]
    if wording.kind in _RECEIVED and not wording.reverses and (amount is None or amount.minor == 0):
        return "the amount received is missing or zero"
    if wording.kind in _RECEIVED and not wording.reverses and _is_eaten_up(amount, moneys["fee"]):
        return "the fee is not below the amount received"
    return moneys


def _is_eaten_up(amount: Money | None, fee: Money | None) -> bool:
    """Return whether a fee leaves nothing of an amount: no network books such a receipt."""
    return amount is not None and fee is not None and fee.minor >= amount.minor


def _printed_at(wording: Wording, date: str, time: str, shown: dict[str, str]) -> datetime | None:
    """Read the printed time; a date without a time of day is only shown. Ghana's clock is UTC all year."""
    if len(time) == 8 and wording.order == "ymd":
        return read_printed(f"{date} {time}")
    read = read_local(date, time, wording.order)
    if read is None:
        return None
    local, shown["timestamp"] = read
    return local.replace(tzinfo=UTC) if time else None


def normalize_spaces(body: str) -> str:
    """Replace typographic spaces and hyphens with ASCII ones; every character keeps its position."""
    return body if body.isascii() else body.translate(_PLAIN)


def collapse_spaces(text: str) -> str:
    """Collapse white space to single spaces, the form in which guards are searched: receipts break lines in mid-sentence."""
    return " ".join(text.split())


def is_advert(text: str) -> bool:
    """Return whether a text from a network's own sender is an advert."""
    return _ASKS.search(text) is not None and _OF_MONEY.search(text) is None


def wordings() -> Iterator[Wording]:
    """Yield every wording of every network."""
    for of_network in WORDINGS.values():
        yield from of_network


def provider_of(name_or_alias: str) -> str | None:
    """Return the canonical name of a provider, or None for an unknown one."""
    return _NAMES.get(name_or_alias)


def provider_of_network(network: str) -> str | None:
    """Return the provider of a network by its short name, or None if a shop cannot have a number there."""
    return _PROVIDER_OF_NETWORK.get(network)


def network_of_imsi(imsi: str) -> str | None:
    """Return the short name of the network that issued a SIM, by the first five digits of its IMSI, or None.

    The registered network is not used: a roaming SIM still gets receipts of its own network.
    """
    return _NETWORK_OF_PLMN.get(imsi.strip()[:5])
