"""Money: an integer number of minor units with a currency; reading and rendering.

Text that is not an amount gives `None`, never an exception. Amounts are never floats and never `Decimal`.
"""

import itertools
import re
from dataclasses import dataclass
from typing import Final

# XOF, the franc of Ghana's neighbours, has no minor unit.
EXPONENTS: Final = {"GHS": 2, "XOF": 0}
"""Decimal places of a currency's minor unit, by ISO 4217 code; outside, every amount has two places."""

MARKS: Final = {
    **{mark: "GHS" for letters in itertools.product("Gg", "Hh", "SsCc₵¢") if (mark := "".join(letters)) != "GHS"},
    "₵": "GHS",
    "¢": "GHS",
}
"""The ways receipts write a currency without its ISO 4217 code."""

API_AMOUNT_MINOR_MIN: Final = 1
API_AMOUNT_MINOR_MAX: Final = 100_000_000
"""0.01 to 1000000.00."""

_MARK: Final = "|".join(sorted(map(re.escape, [*EXPONENTS, *MARKS]), key=len, reverse=True))
_NUMBER: Final = r"\d{1,13}|\d{1,3}(?:,\d{3}){1,4}"
# One network is known to print the mark twice ("GHS GHS 5.00").
_MONEY: Final = re.compile(
    rf"(?:(?P<before>{_MARK})\s{{0,3}}(?:(?P=before)\s{{0,3}})?)?"
    rf"(?P<whole>{_NUMBER})(?:\.(?P<part>\d{{1,8}}))?"
    rf"(?:\s{{0,3}}(?P<after>{_MARK}))?",
    re.ASCII,
)
_BALANCE: Final = re.compile(
    rf"balance\b[^0-9]{{0,20}}?((?:{_MARK})\s{{0,3}}[0-9][0-9,]*(?:\.[0-9]{{1,2}})?(?![0-9]))", re.ASCII | re.IGNORECASE
)
_API_AMOUNT: Final = re.compile(r"(\d{1,13})(?:\.(\d{1,2}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of one currency. It has no ordering, because amounts of two currencies cannot be compared.

    Attributes:
        minor: Number of minor units (pesewas for GHS, whole francs for XOF), never negative.
        currency: ISO 4217 code.
    """

    minor: int
    currency: str

    def __post_init__(self) -> None:
        assert self.minor >= 0, "money is a count"
        assert self.currency in EXPONENTS, "a currency needs its exponent in the table"

    def __str__(self) -> str:
        return f"{self.currency} {render(self.minor, self.currency)}"


def read_money(text: str, *, currency: str | None = None) -> Money | None:
    """Read an amount as receipts print it: `GHS 50`, `20GHS`, `GH₵1,234.50`, `200.00000000`; spaces may be around it.

    `currency` is that of an amount without one; an amount of another currency is refused. None for anything else: a
    sign, an exponent, wrongly grouped thousands, more significant decimals than the currency has, digits that are not
    ASCII, no currency or two different ones.
    """
    match = _MONEY.fullmatch(text.strip())
    if match is None:
        return None
    named = {MARKS.get(mark, mark) for mark in match.group("before", "after") if mark}
    if not named and currency is not None:
        named = {currency}
    if len(named) != 1:
        return None
    found = named.pop()
    if (currency is not None and found != currency) or found not in EXPONENTS:
        return None
    minor = _minor(match["whole"].replace(",", ""), match["part"] or "", EXPONENTS[found])
    return None if minor is None else Money(minor, found)


def read_balance(text: str, currency: str) -> Money | None:
    """Return the balance of a wallet that a menu of the network shows; None if it shows none, or several.

    The current one counts before the available one. The balance of airtime or a bundle is none.
    """
    found: dict[bool, set[Money | None]] = {True: set(), False: set()}
    for match in _BALANCE.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()].rpartition(".")[2].lower()
        if not any(word in before for word in ("airtime", "bundle", "bonus", "credit", "data", "loan", "savings")):
            found["current" in before].add(read_money(match[1], currency=currency))
    chosen = found[True] or found[False]
    return chosen.pop() if len(chosen) == 1 else None


def read_api_amount(text: str, currency: str = "GHS") -> int | None:
    """Read an amount in the strict form of the API: ASCII digits, at most 2 decimals, 0.01 to 1000000.00.

    Return minor units, or None for a sign, an exponent, a space, a separator or a value out of range.
    """
    match = _API_AMOUNT.fullmatch(text)
    if match is None:
        return None
    minor = _minor(match[1], match[2] or "", EXPONENTS[currency])
    if minor is None:
        return None
    scale = 10 ** (2 - EXPONENTS[currency])
    return minor if API_AMOUNT_MINOR_MIN <= minor * scale <= API_AMOUNT_MINOR_MAX else None


def render(minor: int, currency: str = "GHS") -> str:
    """Return minor units as a decimal string with 2 places: `2500` -> `"25.00"`; a difference may be negative."""
    hundredths = abs(minor) * 10 ** (2 - EXPONENTS[currency])
    sign = "-" if minor < 0 else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02d}"


def _minor(whole: str, part: str, exponent: int) -> int | None:
    """Return the minor units, or None if a decimal beyond the currency's exponent is not zero."""
    if part[exponent:].strip("0"):
        return None
    return int(whole + part[:exponent].ljust(exponent, "0"))
