"""Suggestions of transactions for a payment without a valid code: shown to an operator, never matched.

A transaction is found in two ways. From the typed reference: all codes that are one typing mistake away are computed here,
and the store looks them up by index, so the cost does not grow with the number of open transactions. The check character
keeps them few: of the 186 ways to mistype one of six characters, six give a code. And from the receipt: the payer's number,
or words of the name, together with exactly the amount.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.limits import DAY_US, LATE_WINDOW_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments.matching import PAYMENT_BEFORE_TRANSACTION_US, effective_time, is_too_small
from daemon.core.text import Text
from daemon.wire import TransactionStatus
from parsers import person_name
from parsers.svc_code import ALPHABET, LENGTH, candidates, complete_code, is_valid_code

SUGGESTIONS_MAX: Final = 3
"""More would be a list to search, not a suggestion."""
REFERENCE_CHARACTERS_MAX: Final = 160
"""Typed references have 55 characters at most; the rest of a longer one is ignored."""
CANDIDATES_MAX: Final = 32
CODES_MAX: Final = 256
"""Codes looked up for one payment at most."""
LOOK_ALIKES_MAX: Final = 3
"""Characters of one code that may be replaced by similar ones."""
TRANSACTION_AFTER_US: Final = DAY_US
"""A transaction made up to this long after the payment is still suggested: customers may pay before the till is ready."""

_RUN: Final = re.compile(r"[0-9A-Z]+", re.ASCII)
_LOOK_ALIKE: Final[Mapping[str, str]] = {
    # No code contains 0 O 1 I L, so a typed one stands for another character.
    "0": "DQ", "O": "DQ", "1": "7J", "I": "J7", "L": "J7",
    "S": "5", "5": "S", "B": "8", "8": "B", "Z": "2", "2": "Z", "G": "6", "6": "G", "U": "V", "V": "U",
}  # fmt: skip


class SuggestionReason(StrEnum):
    """Why a transaction is suggested for a payment."""

    CODE_OF_MORE = "code_of_more"
    """Its code as it should be, and less than a tenth of its amount."""
    CODE_SPLIT = "code_split"
    CODE_INSIDE = "code_inside"
    CODE_LOOK_ALIKE = "code_look_alike"
    CODE_SWAPPED = "code_swapped"
    CODE_WRONG_CHARACTER = "code_wrong_character"
    CODE_MISSING_CHARACTER = "code_missing_character"
    CODE_EXTRA_CHARACTER = "code_extra_character"
    PAYER_AND_AMOUNT = "payer_and_amount"
    NAME_AND_AMOUNT = "name_and_amount"
    CLAIMED = "claimed"
    AMOUNT = "amount"
    """Never alone: it adds to a code that was nearly typed."""


_POINTS: Final[Mapping[SuggestionReason, int]] = {
    SuggestionReason.CODE_OF_MORE: 60,
    SuggestionReason.CODE_SPLIT: 60,
    SuggestionReason.CODE_INSIDE: 60,
    SuggestionReason.CODE_LOOK_ALIKE: 55,
    SuggestionReason.CODE_SWAPPED: 50,
    SuggestionReason.CODE_WRONG_CHARACTER: 40,
    SuggestionReason.CODE_MISSING_CHARACTER: 40,
    SuggestionReason.CODE_EXTRA_CHARACTER: 40,
    SuggestionReason.PAYER_AND_AMOUNT: 45,
    SuggestionReason.NAME_AND_AMOUNT: 35,
    SuggestionReason.CLAIMED: 30,
    SuggestionReason.AMOUNT: 25,
}


class Suggestion(Struct, frozen=True):
    """A transaction that a payment may have been meant for; `reasons` has the strongest first."""

    request: Transaction
    reasons: tuple[SuggestionReason, ...]

    @property
    def points(self) -> int:
        """The likelihood relative to the other suggestions for the same payment."""
        return sum(_POINTS[reason] for reason in self.reasons)

    @property
    def why(self) -> Text:
        """The reasons as one sentence."""
        return Text("suggestion.why", reasons=reason_texts(self.reasons))


def reason_texts(reasons: Iterable[str]) -> tuple[Text, ...]:
    """Return each reason as a part of a sentence."""
    return tuple(Text(f"suggestion.{SuggestionReason(reason)}") for reason in reasons)


def codes_near(reference_text: str) -> dict[str, SuggestionReason]:
    """Return the codes that are one typing mistake away from the text, each with its mistake; at most `CODES_MAX`.

    A code that was typed correctly is not included: `daemon.core.payments.matching` handles it.
    """
    text = reference_text[:REFERENCE_CHARACTERS_MAX].upper()
    exact = frozenset(candidates(text))
    found: dict[str, SuggestionReason] = {}
    for code, slip in _slips(text):
        if code in exact or (code in found and _POINTS[found[code]] >= _POINTS[slip]):
            continue
        found[code] = slip
        if len(found) == CODES_MAX:
            break
    return found


def suggest(
    payment: Payment,
    transactions: Iterable[Transaction],
    codes: Mapping[str, SuggestionReason],
    claimed: Collection[str] = (),
) -> list[Suggestion]:
    """Return up to `SUGGESTIONS_MAX` transactions that a trusted payment may be meant for, the likeliest first.

    `codes` is the result of `codes_near`, with the codes that were typed correctly as `CODE_OF_MORE`; `claimed` are the
    transactions for which a customer named this payment's network ID.
    """
    found = {
        transaction.id: Suggestion(transaction, reasons)
        for transaction in transactions
        if _may_be_for(payment, transaction) and (reasons := _reasons(payment, transaction, codes, claimed))
    }
    likeliest = sorted(found.values(), key=lambda one: (-one.points, -one.request.seq))
    return likeliest[:SUGGESTIONS_MAX]


def oldest_expiry(payment: Payment) -> int:
    """Return the earliest expiry that a transaction may have to be suggested for a payment."""
    return effective_time(payment) - LATE_WINDOW_US


def _may_be_for(payment: Payment, transaction: Transaction) -> bool:
    """Return whether a transaction is open or lately expired and its expectations do not exclude the payment."""
    assert transaction.expires_at is not None
    return (
        transaction.origin == "request"
        and transaction.status in {TransactionStatus.PENDING, TransactionStatus.EXPIRED}
        and transaction.mode is payment.mode
        and transaction.currency == payment.currency
        and transaction.expires_at > oldest_expiry(payment)
        and transaction.created_at <= effective_time(payment) + TRANSACTION_AFTER_US
        and transaction.expected_telco_transaction_id in {None, payment.telco_transaction_id}
        and (payment.payer_phone is None or transaction.expected_payer_phone in {None, payment.payer_phone})
    )


def _reasons(
    payment: Payment, transaction: Transaction, codes: Mapping[str, SuggestionReason], claimed: Collection[str]
) -> tuple[SuggestionReason, ...]:
    found = [SuggestionReason.CLAIMED] if transaction.id in claimed else []
    # A code that did not exist yet cannot have been mistyped.
    existed = effective_time(payment) >= transaction.created_at - PAYMENT_BEFORE_TRANSACTION_US
    slip = codes.get(transaction.svc_code or "")
    if slip is SuggestionReason.CODE_OF_MORE and not is_too_small(payment, transaction):
        slip = None
    if slip is not None and existed:
        found.append(slip)
    if transaction.expected_minor == payment.amount_minor:
        numbers = {transaction.phone_number, transaction.expected_payer_phone}
        if payment.payer_phone is not None and payment.payer_phone in numbers:
            found.append(SuggestionReason.PAYER_AND_AMOUNT)
        names = (transaction.customer_name, transaction.expected_payer_name)
        if any(person_name.is_similar(payment.payer_name or "", name or "") for name in names):
            found.append(SuggestionReason.NAME_AND_AMOUNT)
        if found and SuggestionReason.PAYER_AND_AMOUNT not in found and SuggestionReason.NAME_AND_AMOUNT not in found:
            found.append(SuggestionReason.AMOUNT)
    return tuple(sorted(found, key=lambda reason: -_POINTS[reason]))


def _slips(text: str) -> Iterator[tuple[str, SuggestionReason]]:
    """Yield the codes that are one typing mistake away from the text; some more than once."""
    runs = [match.group() for match in _RUN.finditer(text)]
    for run in runs:
        if len(run) > LENGTH:
            windows = (run[start : start + LENGTH] for start in range(len(run) - LENGTH + 1))
            yield from ((code, SuggestionReason.CODE_INSIDE) for code in windows if is_valid_code(code))
    for typed in _bases(runs):
        if len(typed) == LENGTH - 1:
            yield from _filled(
                ((typed[:at], typed[at:]) for at in range(LENGTH)), SuggestionReason.CODE_MISSING_CHARACTER
            )
        elif len(typed) == LENGTH + 1:
            shorter = (typed[:at] + typed[at + 1 :] for at in range(LENGTH + 1))
            yield from ((code, SuggestionReason.CODE_EXTRA_CHARACTER) for code in shorter if is_valid_code(code))
        else:
            yield from _six(typed)


def _six(typed: str) -> Iterator[tuple[str, SuggestionReason]]:
    """Yield the codes that are one typing mistake away from six characters."""
    if is_valid_code(typed):
        yield typed, SuggestionReason.CODE_SPLIT
    swapped = (typed[:at] + typed[at + 1] + typed[at] + typed[at + 2 :] for at in range(LENGTH - 1))
    yield from ((code, SuggestionReason.CODE_SWAPPED) for code in swapped if is_valid_code(code))
    yield from ((code, SuggestionReason.CODE_LOOK_ALIKE) for code in _look_alikes(typed))
    yield from _filled(((typed[:at], typed[at + 1 :]) for at in range(LENGTH)), SuggestionReason.CODE_WRONG_CHARACTER)


def _filled(holes: Iterable[tuple[str, str]], slip: SuggestionReason) -> Iterator[tuple[str, SuggestionReason]]:
    for before, after in holes:
        code = complete_code(before, after)
        if code is not None:
            yield code, slip


def _bases(runs: list[str]) -> list[str]:
    """Return the runs, and joined neighbouring runs, of 5 to 7 characters: single runs first, each once."""
    found = dict.fromkeys(run for run in runs if abs(len(run) - LENGTH) <= 1)
    for start in range(len(runs)):
        joined = runs[start]
        for run in runs[start + 1 :]:
            joined += run
            if len(joined) > LENGTH + 1:
                break
            if len(joined) >= LENGTH - 1:
                found[joined] = None
    return list(found)[:CANDIDATES_MAX]


def _look_alikes(typed: str) -> list[str]:
    """Return the codes that differ from the typed text in at most three characters that look alike."""
    found = [("", 0)]
    for character in typed:
        others = _LOOK_ALIKE.get(character, "")
        found = [
            (begun + one, changed + (one != character))
            for begun, changed in found
            for one in (character if character in ALPHABET else "") + others
            if changed + (one != character) <= LOOK_ALIKES_MAX
        ]
    return [code for code, changed in found if changed and is_valid_code(code)]
