r"""Read a text by one wording: try its pattern, look for what speaks against it, and turn its groups into values.

Patterns are compiled at first use: 250 of them cost 300 ms.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from parsers.country import GHANA, has_real_date
from parsers.money import EXPONENTS, Money, read_money, render
from parsers.phone import read_phone
from parsers.reading import Kind, NotPayment, Payment, Reading, Reversal, Unreadable, fields
from parsers.template import Found, Wording
from parsers.when import read_local, read_printed

_BLANK: Final = " \t\n\r\f\v"
"""What the patterns take for white space; `str.strip` would take more and could leave a field empty."""
_IN_NO_ADVERT: Final = re.compile(
    r"\bid\s{0,16}[:\d]|\bfee(?:\s{1,16}charged)?\s{0,16}(?::|is\b|was\b)|balance\s{0,16}(?::|is\b)"
    r"|\bref(?:erence)?\s{0,16}:",
    re.ASCII | re.IGNORECASE,
)
_MONEYS: Final = ("amount", "balance", "fee", "available_balance", "tax")
_IN_EXTRA: Final = frozenset({"available_balance", "tax"})

_RECEIVED: Final = frozenset({Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN})

_PLAIN: Final = {
    **dict.fromkeys(
        (0x00A0, 0x1680, *range(0x2000, 0x200E), 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF), " "
    ),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212), "-"),
}
"""Spaces and hyphens that texts in UCS-2 and pasted ones have, by code point."""


def plain(body: str) -> str:
    """Return a text with ordinary spaces and hyphens for those of typesetting, each character in its place."""
    return body if body.isascii() else body.translate(_PLAIN)


def squeeze(text: str) -> str:
    """Return the text with single spaces, as guards are looked for: receipts break lines in mid-sentence."""
    return " ".join(text.split())


def read_with(wording: Wording, text: str, squeezed: str) -> Reading | None:
    """Read a text by one wording.

    Args:
        wording: The form to try.
        text: The whole message through `plain`, trimmed, at most `TEXT_CHARACTERS_MAX` characters. Names and references keep their
            inner spaces as printed.
        squeezed: The same through `squeeze`, which costs more than a guard and serves all wordings.

    Returns:
        The reading; `Unreadable` when the text has this form but must not be believed; None when it has another form,
        or a guard that may stand once stands in it twice.
    """
    if not all(guard in squeezed for guard in wording.guards) or twice(wording, squeezed):
        return None
    match = compiled(wording.pattern).fullmatch(text)
    if match is None:
        return None
    found: Found = {}
    for name, value in match.groupdict("").items():
        trimmed = value.strip(_BLANK)
        if trimmed and not name.endswith("_mark"):
            found[name] = trimmed
    why = _doubt(wording, found)
    if why is not None:
        return Unreadable(f"{wording.name}: {why}")
    reading = _build(wording, found)
    if wording.cut:
        seen = {word: value for word, value in fields(reading).items() if value is not None}
        return Unreadable(f"{wording.name}: cut off before its end", seen)
    return reading


def twice(wording: Wording, squeezed: str) -> str | None:
    """Return the guard that stands in the text more than once, of a wording that forbids it; else None.

    It is looked for before the pattern is tried: repeated pieces are also what makes a pattern slow.
    """
    if wording.once:
        for guard in wording.guards:
            if squeezed.count(guard) > 1:
                return guard
    return None


def _doubt(wording: Wording, found: Found) -> str | None:
    """Say why a text of the right form must not be believed; None when nothing speaks against it."""
    advert = found.pop("advert", None)
    if advert is not None and _IN_NO_ADVERT.search(advert):
        return "what follows the receipt speaks of balances or IDs again"
    return None if wording.refine is None else wording.refine(found)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern in the notation of the module docstring, compiled."""
    dashed = (
        pattern.replace("~-~", r"~[-\u2013\u2014]~")
        .replace(" - ", r" [-\u2013\u2014] ")
        .replace("(?: -)?", r"(?: [-\u2013\u2014])?")
    )
    spaced = dashed.replace("~", r"\s{0,16}").replace(" ", r"\s{1,16}")
    return re.compile(spaced, re.ASCII | re.DOTALL)


def _build(wording: Wording, found: Found) -> Reading:
    """Turn the found texts into values; what has no attribute of its own goes to `extra`."""
    shown: dict[str, str] = {}
    moneys = _moneys(wording, found, shown)
    if isinstance(moneys, str):
        return Unreadable(f"{wording.name}: {moneys}")
    printed_at = None
    if "date" in found:
        printed_at = _printed_at(wording, found.pop("date"), found.pop("time", ""), shown)
        if printed_at is None and "timestamp" not in shown:
            return Unreadable(f"{wording.name}: the printed time is no time")
    # Where published samples hold invented days, the pattern calls the ID `undated_id`.
    if not has_real_date(found.get("telco_id", "")):
        return Unreadable(f"{wording.name}: no such day as the one in the ID")
    phone = found.pop("payer_phone", None)
    said: dict[str, Any] = {
        "network": wording.network,
        "wording": wording.name,
        "amount": moneys["amount"],
        "telco_id": found.pop("telco_id", None) or found.pop("undated_id", None),
        "payer_name": found.pop("payer_name", None),
        "payer_phone": None if phone is None else read_phone(phone, wording.country.region),
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
    )


def _moneys(wording: Wording, found: Found, shown: dict[str, str]) -> dict[str, Money | None] | str:
    """Take the amounts out of what was found; a sentence part when one of them is none."""
    currency = found.pop("currency", wording.currency)
    moneys: dict[str, Money | None] = {}
    for name in _MONEYS:
        text = found.pop(name, None)
        moneys[name] = None
        if text is None:
            continue
        if name == "tax" and wording.country is GHANA:
            # Printed as `-` or a bare `0` since the levy is gone; kept as it is.
            found[name] = text
            continue
        money = moneys[name] = _money(wording, name, text, currency, shown)
        if money is None and name not in shown:
            return f"the {name} is not an amount of {currency}"
        if money is not None and name in _IN_EXTRA:
            found[name] = render(money.minor, money.currency)
    amount = moneys["amount"]
    if wording.kind in _RECEIVED and not wording.reverses and (amount is None or amount.minor == 0):
        return "it says that nothing came in"
    return moneys


def _money(
    wording: Wording, name: str, text: str, currency: str, shown: dict[str, str]
) -> Money | None:
    """Read a number; what the currency's minor unit cannot express goes to `shown`, but never what was received."""
    if wording.country is GHANA:
        return read_money(text, currency=currency)
    plain = wording.country.plain(text)
    if plain is None:
        return None
    money = read_money(plain, currency=currency)
    if name == "amount" and wording.kind in _RECEIVED:
        return money
    _, _, part = plain.partition(".")
    if part.strip("0") and (len(part) > 2 or EXPONENTS[currency] < len(part.rstrip("0"))):
        whole, _, part = plain.partition(".")
        shown[name] = f"{whole}.{part.ljust(2, '0')}"
    return money


def _printed_at(wording: Wording, date: str, time: str, shown: dict[str, str]) -> datetime | None:
    """Read the printed time; one without a clock time or of an unknown zone is only shown."""
    if wording.country is GHANA and len(time) == 8 and wording.order == "ymd":
        return read_printed(f"{date} {time}")
    read = read_local(date, time, wording.order)
    if read is None:
        return None
    local, shown["timestamp"] = read
    zone = wording.country.zone_minutes
    if not time or zone is None:
        return None
    try:
        return (local - timedelta(minutes=zone)).replace(tzinfo=UTC)
    except OverflowError:
        del shown["timestamp"]
        return None
