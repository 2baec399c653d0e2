r"""Wordings as data: one anchored pattern for each form of a network's messages; `parsers.read` reads with them.

A pattern matches the whole message, from its first character to its last. Text typed into a free field therefore cannot
imitate another field: the fixed text around the field must be present too, in its order. Notation of patterns: a space
stands for white space (receipts contain doubled spaces and line breaks in mid-sentence), `~` for optional white space,
and a dash between spaces for any kind of dash. Free fields are bounded and no repeated group contains another
repetition, so that the longest hostile message is read in a millisecond.

The payer's text stands before the network's last words, so the last ID counts where the ID comes last, and the first
balance where it comes first. Money between two free fields is the `middle` of a wording: if it occurs again, the message
has two readings and is not read. Other words of a receipt in a name or a reference have no effect. After the fixed part an
`advert` may follow.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from parsers.pasted import MESSAGE_CHARACTERS_MAX
from parsers.reading import Kind

NAME_CHARACTERS_MAX: Final = 160
"""The longest name and reference; narrations of banks have about 60."""

Groups = dict[str, str]
"""The groups of a matched pattern, trimmed, without the empty ones."""

CEDI: Final = r"(?:[Gg][Hh][SsCc₵¢]|[₵¢])"
"""The ways receipts write Ghana's currency: every mark of `parsers.money.MARKS`."""
_NUMBER: Final = r"\d[\d,]{0,15}"
MARKED: Final = rf"(?:{CEDI}\s{{0,3}}){{1,2}}{_NUMBER}(?:\.\d{{1,8}})?|{_NUMBER}(?:\.\d{{1,8}})?\s{{0,3}}{CEDI}"
# Receipts print balances with decimals; a balance without them means that the message was cut off inside it.
_WITH_DECIMALS: Final = rf"(?:{CEDI}\s{{0,3}}){{1,2}}{_NUMBER}\.\d\d|{_NUMBER}\.\d\d\s{{0,3}}{CEDI}"
_BARE: Final = rf"(?:{CEDI}\s{{0,3}})?{_NUMBER}(?:\.\d{{1,8}})?"

AMOUNT: Final = rf"(?P<amount>{MARKED})"
BALANCE: Final = rf"(?P<balance>{_WITH_DECIMALS})"
FEE: Final = rf"(?P<fee>{_BARE})"
FEE_PROVEN: Final = rf"(?P<fee>(?:{CEDI}\s{{0,3}})?(?:{_NUMBER}\.\d\d|0(?=\.\s{{1,16}}\S)))"
"""A fee with decimals, or a bare 0 followed by a sentence: a fee that was cut off has neither."""
TAX: Final = rf"(?:{CEDI}\s{{0,3}})?(?P<tax>[\d.,]{{0,11}}\d|-)"
DATE: Final = r"(?P<date>\d{4}-\d\d-\d\d)"
TIME: Final = r"(?P<time>\d\d:\d\d:\d\d)"
# 160 characters, and the white space behind them.
PAYER_NAME: Final = r"(?P<payer_name>\S.{0,175}?)"
PAYER_PHONE: Final = r"(?P<payer_phone>\+?\d{9,15})"
PAYEE_NAME: Final = r"(?P<payee_name>\S.{0,175}?)"
PAYEE_PHONE: Final = r"(?P<payee_phone>\+?\d{9,15})"
FEE_AND_LEVY: Final = rf"(?: (?i:fee)(?: charged)?~:?~{_BARE}[.,])?(?: (?i:e-?levy)(?: charged?)?~:?~{_BARE}[.,])?"
"""Clauses that networks add between the fixed part and the advert, and remove again."""
VIA: Final = r"(?P<via_network>[A-Z][\w&.\s\-]{1,40}?)"
"""The name of another network or bank."""
AGENT: Final = r"(?P<agent>\S.{0,175}?)"
REFERENCE: Final = r"(?P<reference>.{0,1300})"
"""Includes the white space around the typed text: a pattern must not require it a second time."""
REST: Final = rf".{{0,{MESSAGE_CHARACTERS_MAX}}}"
ADVERT: Final = rf"(?P<advert>{REST})"
"""Text behind the fixed part that changes every year; it must not contain a transaction ID again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One form of message of one network.

    Attributes:
        name: Unique in its network, stable: it is stored with every message that it reads.
        network: Short name (`mtn`).
        kind: Subject of the messages of this form.
        guards: Literals that the text must contain; a cheap test before the pattern is tried.
        pattern: Pattern of the whole text, in the notation of the module docstring.
        samples: Messages that this wording must read, and no other wording of its network may read.
        refine: Corrects the groups in place; returns the reason why the message must not be read after all, or None.
        reverses: The message takes back an earlier payment.
        order: Order of a printed date: `ymd`, `dmy` or `mdy`.
        middle: Pattern of the fixed text with money behind a name, as it occurs in `pattern`. A text that contains it
            again where a name could still end is not read.
        once: Every guard must occur in the text exactly once.
        unverified: No genuine message of this form has been seen, or the form does not prove that the message is complete.
            Its readings are shown, and matched only after an operator's decision.
        cut: The message is a receipt that was cut off: its visible fields are shown, but it is not read.
        own_account: The name under which the wallet's owner may have moved money of their own; "" if there is none.
    """

    name: str
    network: str
    kind: Kind
    guards: tuple[str, ...]
    pattern: str
    samples: tuple[str, ...]
    refine: Callable[[Groups], str | None] | None = None
    reverses: bool = False
    order: str = "ymd"
    middle: str = ""
    once: bool = False
    unverified: bool = False
    cut: bool = False
    own_account: str = ""


_PAYER_AGAIN: Final = re.compile(r"\d{9,15}\)?.{0,60}?\.\s{0,16}Ref(?:erence)?\s{0,16}:", re.ASCII | re.DOTALL)


def check_one_payer(found: Groups) -> str | None:
    """Reject a reference that contains the end of a name and a number: the number before it may be part of the name."""
    if _PAYER_AGAIN.search(found.get("reference", "")):
        return "two numbers of a payer, so either could be typed"
    return None


@dataclass(frozen=True, slots=True)
class WordingFactory:
    """Makes the wordings of one network, with the settings that they share.

    Attributes:
        network: Short name.
        order: Order of a printed date.
        unverified: No genuine message confirms any of these wordings.
        middles: A wording's `middle` is the first of these that its pattern contains.
        own_account: As in `Wording`.
    """

    network: str
    order: str = "ymd"
    unverified: bool = False
    middles: tuple[str, ...] = ()
    own_account: str = ""

    def wording(  # noqa: PLR0913 - a row of a table
        self,
        name: str,
        kind: Kind,
        guards: tuple[str, ...],
        pattern: str,
        *samples: str,
        refine: Callable[[Groups], str | None] | None = None,
        reverses: bool = False,
        unverified: bool = False,
        cut: bool = False,
    ) -> Wording:
        """Return one wording. The arguments are the attributes of `Wording`."""
        return Wording(
            name=name, network=self.network, kind=kind, guards=guards, pattern=pattern, samples=samples,
            refine=refine, reverses=reverses, order=self.order,
            middle=next((middle for middle in self.middles if middle in pattern), ""),
            unverified=self.unverified or unverified, cut=cut, own_account=self.own_account,
        )  # fmt: skip
