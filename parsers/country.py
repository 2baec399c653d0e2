r"""What a country's receipts share: currency, marks and grouping of numbers, clock, and the region of local phone numbers.

Patterns of amounts are made here, because what stands around a number (`Ksh300.00`, `300 RWF`, `1 000 Ar`) is the
country's, not the network's.
"""

import re
from dataclasses import dataclass
from typing import Final

_GROUPED: Final = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,13}"
# French and Malagasy receipts part thousands by a space (often a no-break one) and may use a decimal comma.
_SPACED: Final = r"\d{1,3}(?:[\s\u00a0\u202f]\d{3}){1,4}|\d{1,3}(?:,\d{3}){1,4}|\d{1,13}"
_BLANKS: Final = re.compile(r"[\s\u00a0\u202f]+")
_DOTTED_THOUSANDS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Country:
    """One country's money, clock and phone numbers.

    Attributes:
        region: ISO 3166 code, for local phone numbers.
        currency: ISO 4217 code of amounts.
        marks: Alternatives of a pattern: how receipts write the currency.
        zone_minutes: The clock's distance from UTC; None where the country has several or changes it by season.
        spaced: Thousands may be parted by spaces, and decimals by a comma.
    """

    region: str
    currency: str
    marks: str
    zone_minutes: int | None
    spaced: bool = False

    def before(self, name: str, *, decimals: int | None = None) -> str:
        """Return the pattern of an amount with its mark in front; the group `name` holds the number alone.

        Args:
            name: Of the group.
            decimals: So many have to be there: the proof that an amount at the end of a message was not cut.
        """
        return rf"(?:{self.marks})\s{{0,3}}{self.bare(name, decimals=decimals)}"

    def after(self, name: str, *, decimals: int | None = None) -> str:
        """Return the pattern of an amount with its mark behind."""
        return rf"{self.bare(name, decimals=decimals)}\s{{0,3}}(?:{self.marks})"

    def either(self, name: str, *, decimals: int | None = None) -> str:
        """Return the pattern of an amount with its mark in front or behind; uses a second group, `<name>_mark`."""
        return (
            rf"(?:(?P<{name}_mark>{self.marks})\s{{0,3}})?{self.bare(name, decimals=decimals)}"
            rf"(?({name}_mark)|\s{{0,3}}(?:{self.marks}))"
        )

    def loose(self, name: str) -> str:
        """Return the pattern of an amount whose mark may be missing."""
        return rf"(?:(?:{self.marks})\s{{0,3}})?{self.bare(name)}(?:\s{{0,3}}(?:{self.marks}))?"

    def bare(self, name: str, *, decimals: int | None = None) -> str:
        """Return the pattern of a number without a mark."""
        if self.spaced:
            part = (
                r"(?:\.\d{1,8}|,\d{1,2}(?!\d))?" if decimals is None else rf"[.,]\d{{{decimals}}}"
            )
            return rf"(?P<{name}>(?:{_SPACED}){part})"
        part = r"(?:\.\d{1,8})?" if decimals is None else rf"\.\d{{{decimals}}}"
        return rf"(?P<{name}>(?:{_GROUPED}){part})"

    def plain(self, text: str) -> str | None:
        """Return a number as digits with at most one dot; None when its marks cannot be told apart.

        `1.000` in a country of decimal commas may be one or one thousand, so it is neither.
        """
        number = _BLANKS.sub("", text)
        if self.spaced:
            if _DOTTED_THOUSANDS.fullmatch(number):
                return None
            head, comma, tail = number.rpartition(",")
            if comma and len(tail) < 3:
                number = f"{head}.{tail}"
        number = number.replace(",", "")
        return f"0{number}" if number.startswith(".") else number


GHANA: Final = Country("GH", "GHS", r"[Gg][Hh][SsCc₵¢]|[₵¢]", 0)

COMVIVA_ID: Final = r"(?P<telco_id>[A-Z]{2}\d{6}\.\d{4}\.[A-Z]\d{5,6})"
"""`PPyymmdd.HHMM.Lnnnnn` of the platform that Airtel, Orange, Tigo, EcoCash and eMola run on."""
_COMVIVA: Final = re.compile(
    r"[A-Z]{2}\d\d(?P<month>\d\d)(?P<day>\d\d)\.(?P<hour>\d\d)(?P<minute>\d\d)\.[A-Z]\d{5,6}",
    re.ASCII,
)


def has_real_date(telco_id: str) -> bool:
    """Say whether the date and time inside a Comviva ID can be; an ID of another form has none to be wrong."""
    match = _COMVIVA.fullmatch(telco_id)
    if match is None:
        return True
    return (
        1 <= int(match["month"]) <= 12
        and 1 <= int(match["day"]) <= 31
        and int(match["hour"]) < 24
        and int(match["minute"]) < 60
    )
