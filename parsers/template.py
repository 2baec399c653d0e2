r"""A wording as data: what a network prints, as one anchored pattern, and how its groups become a reading.

A pattern is matched from the first character of the message to its last, so nothing typed into a free field can pose as
another one: the text around the free field has to be there as well, in its order. Patterns are written as they read:
a space stands for white space (receipts come with doubled spaces and line breaks in mid-sentence), `~` for white space
that may be missing. Free fields are bounded and no group that repeats holds another repetition, so that the longest
message of the worst intent is read in microseconds. They are compiled at first use: 40 of them cost 30 ms.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from parsers.money import Money, read_money, render
from parsers.phone import read_phone
from parsers.reading import Kind, NotPayment, Payment, Reading, Reversal, Unreadable
from parsers.when import read_printed

TEXT_CHARACTERS_MAX: Final = 1600
"""Ten parts of 160 characters, more than any receipt; longer texts are not looked at."""

Found = dict[str, str]
"""What the groups of a pattern held, trimmed, without the empty ones."""

_BLANK: Final = " \t\n\r\f\v"
"""What the patterns take for white space; `str.strip` would take more and could leave a field empty."""
_MARK: Final = r"(?:GHS|GHC|GHc|GH₵|GH¢)"
_NUMBER: Final = r"\d[\d,]{0,15}"
_MARKED: Final = rf"(?:{_MARK}\s{{0,3}}){{1,2}}{_NUMBER}(?:\.\d{{1,8}})?|{_NUMBER}(?:\.\d{{1,8}})?\s{{0,3}}{_MARK}"
# Receipts print balances with their decimals; one without them is a message that was cut in the middle of it.
_WITH_DECIMALS: Final = (
    rf"(?:{_MARK}\s{{0,3}}){{1,2}}{_NUMBER}\.\d\d|{_NUMBER}\.\d\d\s{{0,3}}{_MARK}"
)
_BARE: Final = rf"(?:{_MARK}\s{{0,3}})?{_NUMBER}(?:\.\d{{1,8}})?"

AMOUNT: Final = rf"(?P<amount>{_MARKED})"
BALANCE: Final = rf"(?P<balance>{_WITH_DECIMALS})"
AVAILABLE: Final = rf"(?P<available_balance>{_WITH_DECIMALS})"
FEE: Final = rf"(?P<fee>{_BARE})"
FEE_WITH_DECIMALS: Final = rf"(?P<fee>(?:{_MARK}\s{{0,3}})?{_NUMBER}\.\d\d)"
TAX: Final = r"(?:GHS\s{0,3})?(?P<tax>[\d.]{0,11}\d|-)"
DATE: Final = r"(?P<date>\d{4}-\d\d-\d\d)"
TIME: Final = r"(?P<time>\d\d:\d\d:\d\d)"
PAYER_NAME: Final = r"(?P<payer_name>\S.{0,99}?)"
PAYER_PHONE: Final = r"(?P<payer_phone>\+?\d{9,15})"
PAYEE_NAME: Final = r"(?P<payee_name>\S.{0,99}?)"
PAYEE_PHONE: Final = r"(?P<payee_phone>\+?\d{9,15})"
AGENT: Final = r"(?P<agent>\S.{0,99}?)"
REFERENCE: Final = r"(?P<reference>.{0,1300})"

_RECEIVED: Final = frozenset({Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN})


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
        currency: Of amounts that name none.
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


def squeeze(text: str) -> str:
    """Return the text with single spaces, as guards are looked for: receipts break lines in mid-sentence."""
    return " ".join(text.split())


def read_with(wording: Wording, text: str, squeezed: str) -> Reading | None:
    """Read a text by one wording.

    Args:
        wording: The form to try.
        text: The whole message, trimmed, at most `TEXT_CHARACTERS_MAX` characters. Names and references keep their
            inner spaces as printed.
        squeezed: The same through `squeeze`, which costs more than a guard and serves all wordings.

    Returns:
        The reading; `Unreadable` when the text has this form but must not be believed; None when it has another form.
    """
    for guard in wording.guards:
        if guard not in squeezed:
            return None
    match = _compiled(wording.pattern).fullmatch(text)
    if match is None:
        return None
    found: Found = {}
    for name, value in match.groupdict("").items():
        trimmed = value.strip(_BLANK)
        if trimmed:
            found[name] = trimmed
    if wording.refine is not None:
        why = wording.refine(found)
        if why is not None:
            return Unreadable(f"{wording.name}: {why}")
    return _build(wording, found)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    spaced = pattern.replace("~", r"\s{0,16}").replace(" ", r"\s{1,16}")
    return re.compile(spaced, re.ASCII | re.DOTALL)


def _build(wording: Wording, found: Found) -> Reading:
    """Turn the found texts into values; what has no attribute of its own goes to `extra`."""
    moneys: dict[str, Money | None] = {}
    for name in ("amount", "balance", "fee", "available_balance"):
        text = found.pop(name, None)
        money = moneys[name] = None if text is None else read_money(text, currency=wording.currency)
        if text is not None and money is None:
            return Unreadable(f"{wording.name}: the {name} is not an amount of {wording.currency}")
    available = moneys["available_balance"]
    if available is not None:
        found["available_balance"] = render(available.minor, available.currency)
    printed_at = None
    if "date" in found:
        printed_at = read_printed(f"{found.pop('date')} {found.pop('time')}")
        if printed_at is None:
            return Unreadable(f"{wording.name}: the printed time is no time")
    phone = found.pop("payer_phone", None)
    amount = moneys["amount"]
    if wording.reverses:
        assert amount is not None, "a reversal's pattern has an amount"
        return Reversal(
            network=wording.network,
            wording=wording.name,
            amount=amount,
            telco_id=found.pop("telco_id", None),
            original_telco_id=found.get("reversed_transaction_id"),
            balance=moneys["balance"],
            fee=moneys["fee"],
            printed_at=printed_at,
            extra=found,
        )
    if wording.kind not in _RECEIVED:
        return NotPayment(
            kind=wording.kind,
            network=wording.network,
            wording=wording.name,
            amount=amount,
            telco_id=found.pop("telco_id", None),
            payer_name=found.pop("payer_name", None),
            payer_phone=None if phone is None else read_phone(phone),
            payer_phone_printed=phone,
            reference=found.pop("reference", None),
            reference_raw=found.get("reference_raw"),
            balance=moneys["balance"],
            fee=moneys["fee"],
            printed_at=printed_at,
            extra=found,
        )
    assert amount is not None, "a receipt's pattern has an amount"
    return Payment(
        kind=wording.kind,
        network=wording.network,
        wording=wording.name,
        amount=amount,
        telco_id=found.pop("telco_id", None),
        payer_name=found.pop("payer_name", None),
        payer_phone=None if phone is None else read_phone(phone),
        payer_phone_printed=phone,
        payer_account=found.get("payer_account"),
        reference=found.pop("reference", None),
        reference_raw=found.get("reference_raw"),
        balance=moneys["balance"],
        fee=moneys["fee"],
        printed_at=printed_at,
        extra=found,
    )
