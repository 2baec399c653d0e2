r"""A wording as data: what a network prints, as one anchored pattern; `parsers.match` reads by it.

A pattern is matched from the first character of the message to its last, so nothing typed into a free field can pose as
another one: the text around the free field has to be there as well, in its order. Patterns are written as they read:
a space stands for white space (receipts come with doubled spaces and line breaks in mid-sentence), `~` for white space
that may be missing, and a lone dash for any dash. Free fields are bounded and no group that repeats holds another
repetition, so that the longest message of the worst intent is read in a millisecond.

Where text behind a free field is needed to tell where the field ends, a wording says so by `once`: each of its guards
then has to stand in the message exactly once, so that what imitates a field makes the message unreadable and changes
nothing. Behind the skeleton an `advert` may follow, which must not speak of IDs and balances again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from parsers.country import GHANA, Country
from parsers.reading import Kind

TEXT_CHARACTERS_MAX: Final = 1600
"""Ten parts of 160 characters, more than any receipt; longer texts are not looked at."""

Found = dict[str, str]
"""What the groups of a pattern held, trimmed, without the empty ones."""

CEDI: Final = r"(?:[Gg][Hh][SsCc₵¢]|[₵¢])"
"""How receipts write Ghana's currency: every mark of `parsers.money.MARKS`."""
_NUMBER: Final = r"\d[\d,]{0,15}"
_MARKED: Final = (
    rf"(?:{CEDI}\s{{0,3}}){{1,2}}{_NUMBER}(?:\.\d{{1,8}})?|{_NUMBER}(?:\.\d{{1,8}})?\s{{0,3}}{CEDI}"
)
# Receipts print balances with their decimals; one without them is a message that was cut in the middle of it.
_WITH_DECIMALS: Final = rf"(?:{CEDI}\s{{0,3}}){{1,2}}{_NUMBER}\.\d\d|{_NUMBER}\.\d\d\s{{0,3}}{CEDI}"
_BARE: Final = rf"(?:{CEDI}\s{{0,3}})?{_NUMBER}(?:\.\d{{1,8}})?"

AMOUNT: Final = rf"(?P<amount>{_MARKED})"
BALANCE: Final = rf"(?P<balance>{_WITH_DECIMALS})"
FEE: Final = rf"(?P<fee>{_BARE})"
FEE_PROVEN: Final = rf"(?P<fee>(?:{CEDI}\s{{0,3}})?(?:{_NUMBER}\.\d\d|0(?=\.\s{{1,16}}\S)))"
"""With its decimals, or a bare 0 that a sentence follows: one that was cut in its middle has neither."""
TAX: Final = rf"(?:{CEDI}\s{{0,3}})?(?P<tax>[\d.,]{{0,11}}\d|-)"
DATE: Final = r"(?P<date>\d{4}-\d\d-\d\d)"
TIME: Final = r"(?P<time>\d\d:\d\d:\d\d)"
PAYER_NAME: Final = r"(?P<payer_name>\S.{0,99}?)"
PAYER_PHONE: Final = r"(?P<payer_phone>\+?\d{9,15})"
PAYEE_NAME: Final = r"(?P<payee_name>\S.{0,99}?)"
PAYEE_PHONE: Final = r"(?P<payee_phone>\+?\d{9,15})"
FEE_AND_LEVY: Final = (
    rf"(?: (?i:fee)(?: charged)?~:?~{_BARE}[.,])?(?: (?i:e-?levy)(?: charged?)?~:?~{_BARE}[.,])?"
)
"""What networks add between the skeleton and the advert, and leave out again."""
AGENT: Final = r"(?P<agent>\S.{0,99}?)"
REFERENCE: Final = r"(?P<reference>.{0,1300})"
"""Takes the white space around what was typed too: a pattern must not ask for it a second time."""
ADVERT: Final = r"(?P<advert>.{0,400})"
"""What follows the skeleton and changes every year; it must not speak of balances or IDs again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One form of message of one network.

    Attributes:
        name: Unique in its network, stable: it is stored with every message it reads.
        network: Short name (`mtn`).
        kind: What a message of this form is about.
        guards: Literals the text must hold; a cheap look before the pattern is tried.
        pattern: What the whole text must match, in the notation of the module docstring.
        samples: Messages it must read, and no other wording of its network may.
        refine: Looks at the groups that were found, corrects them in place, and returns why the message must not be
            read after all, or None.
        reverses: The message undoes an earlier payment.
        currency: Of amounts; a group `currency` that holds an ISO 4217 code goes before it.
        country: Its clock, its marks and its phone numbers.
        order: Of the parts of a printed date: `ymd`, `dmy` or `mdy`.
        once: Every guard must stand in the text exactly once.
        unverified: No genuine message of this form has been seen, or it does not prove that it is whole; what it reads
            is shown, and never matched without a person.
        cut: The message is a receipt that was cut off: what is left of it is shown as what was seen, and not read.
    """

    name: str
    network: str
    kind: Kind
    guards: tuple[str, ...]
    pattern: str
    samples: tuple[str, ...]
    refine: Callable[[Found], str | None] | None = None
    reverses: bool = False
    currency: str = "GHS"
    country: Country = GHANA
    order: str = "ymd"
    once: bool = False
    unverified: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Book:
    """Where a network's wordings are written: what all of them share.

    Attributes:
        network: Short name.
        country: Whose money, clock and phone numbers they print.
        order: Of the parts of a printed date.
        unverified: None of them is confirmed by a genuine message.
    """

    network: str
    country: Country
    order: str = "dmy"
    unverified: bool = False

    def wording(  # noqa: PLR0913 - a row of a table
        self,
        name: str,
        kind: Kind,
        guards: tuple[str, ...],
        pattern: str,
        *samples: str,
        refine: Callable[[Found], str | None] | None = None,
        reverses: bool = False,
        order: str | None = None,
        once: bool = True,
        unverified: bool = False,
    ) -> Wording:
        """Return one wording; the arguments are those of `Wording`."""
        return Wording(
            name=name,
            network=self.network,
            kind=kind,
            guards=guards,
            pattern=pattern,
            samples=samples,
            refine=refine,
            reverses=reverses,
            currency=self.country.currency,
            country=self.country,
            order=self.order if order is None else order,
            once=once,
            unverified=self.unverified or unverified,
        )
