"""Which request may a payment without a code have been meant for? Suggested to a person, never matched (decisions.md 2).

Two ways lead to a request. From the typed reference: every code that is one slip away from what was typed is worked out
here, and the store looks those few up by their index, so that ten thousand open requests cost what one does. The check
character makes them few: of the 186 ways to mistype one character of six, six are codes. And from the receipt: the
payer's number, or words of the name, together with exactly the amount.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.limits import CODE_BEFORE_REQUEST_US, DAY_US, LATE_WINDOW_US
from daemon.core.matching import effective_time
from daemon.core.model import Payment, Transaction
from daemon.wire import TransactionStatus
from parsers import person_name
from parsers.svc_code import ALPHABET, LENGTH, candidates, fill, is_valid_code

SUGGESTIONS_MAX: Final = 3
"""More is a list to search, not a suggestion to take."""
REFERENCE_CHARACTERS_MAX: Final = 160
"""Typed references have 55 characters at most; what is longer names no code by a slip."""
BASES_MAX: Final = 32
CODES_MAX: Final = 256
"""Codes looked up for one payment, whatever was typed."""
LOOK_ALIKES_MAX: Final = 3
"""Characters of one code that may be taken for others."""
REQUEST_AFTER_US: Final = DAY_US
"""A request made so long after the money may still be what it is for: customers pay before the till is ready."""

_RUN: Final = re.compile(r"[0-9A-Z]+", re.ASCII)
_LOOK_ALIKE: Final[Mapping[str, str]] = {
    # No code holds 0 O 1 I L, so who typed one saw something else.
    "0": "DQ", "O": "DQ", "1": "7J", "I": "J7", "L": "J7",
    "S": "5", "5": "S", "B": "8", "8": "B", "Z": "2", "2": "Z", "G": "6", "6": "G", "U": "V", "V": "U",
}  # fmt: skip


class Near(StrEnum):
    """In what way a payment nearly names a request."""

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
    """Never alone: it makes a code that was nearly typed more likely."""


WORDS: Final[Mapping[Near, str]] = {
    Near.CODE_SPLIT: "the reference has its code in pieces",
    Near.CODE_INSIDE: "the reference has its code inside a longer word",
    Near.CODE_LOOK_ALIKE: "the reference has its code with characters that look alike",
    Near.CODE_SWAPPED: "the reference has its code with two characters swapped",
    Near.CODE_WRONG_CHARACTER: "the reference has its code with one wrong character",
    Near.CODE_MISSING_CHARACTER: "the reference has its code with one character missing",
    Near.CODE_EXTRA_CHARACTER: "the reference has its code with one character too many",
    Near.PAYER_AND_AMOUNT: "its customer's number paid exactly its amount",
    Near.NAME_AND_AMOUNT: "somebody named like its customer paid exactly its amount",
    Near.CLAIMED: "its customer named this transaction ID on the checkout page",
    Near.AMOUNT: "the amount is exactly its own",
}
"""Each reason as a part of a sentence, for a person."""

_POINTS: Final[Mapping[Near, int]] = {
    Near.CODE_SPLIT: 60,
    Near.CODE_INSIDE: 60,
    Near.CODE_LOOK_ALIKE: 55,
    Near.CODE_SWAPPED: 50,
    Near.CODE_WRONG_CHARACTER: 40,
    Near.CODE_MISSING_CHARACTER: 40,
    Near.CODE_EXTRA_CHARACTER: 40,
    Near.PAYER_AND_AMOUNT: 45,
    Near.NAME_AND_AMOUNT: 35,
    Near.CLAIMED: 30,
    Near.AMOUNT: 25,
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A request that a payment may have been meant for; `reasons` has the strongest first."""

    request: Transaction
    reasons: tuple[Near, ...]

    @property
    def points(self) -> int:
        """How likely it is, against the others of the same payment."""
        return sum(_POINTS[reason] for reason in self.reasons)

    @property
    def why(self) -> str:
        """The reasons as one sentence."""
        text = ", and ".join(WORDS[reason] for reason in self.reasons)
        return f"{text[0].upper()}{text[1:]}."


def codes_near(reference_text: str) -> dict[str, Near]:
    """Return the codes that are one slip away from what was typed, each with its slip; at most `CODES_MAX`.

    A code that stands there as it should is none of them: that is `daemon.core.matching`'s.
    """
    text = reference_text[:REFERENCE_CHARACTERS_MAX].upper()
    exact = frozenset(candidates(text))
    found: dict[str, Near] = {}
    for code, slip in _slips(text):
        if code in exact or (code in found and _POINTS[found[code]] >= _POINTS[slip]):
            continue
        found[code] = slip
        if len(found) == CODES_MAX:
            break
    return found


def suggest(
    payment: Payment,
    requests: Iterable[Transaction],
    codes: Mapping[str, Near],
    claimed: Collection[str] = (),
) -> list[Suggestion]:
    """Return the few requests that a payment may have been meant for, the likeliest first.

    Args:
        payment: A trusted one that pays no request.
        requests: Those that the store found, in any order.
        codes: Of `codes_near`.
        claimed: Ids of the requests whose customers named the payment's own transaction ID.
    """
    found = {
        request.id: Suggestion(request, reasons)
        for request in requests
        if _may_be_for(payment, request) and (reasons := _reasons(payment, request, codes, claimed))
    }
    likeliest = sorted(found.values(), key=lambda one: (-one.points, -one.request.seq))
    return likeliest[:SUGGESTIONS_MAX]


def oldest_expiry(payment: Payment) -> int:
    """Return the time after which a request must have expired, or expire, to be suggested for a payment."""
    return effective_time(payment) - LATE_WINDOW_US


def _may_be_for(payment: Payment, request: Transaction) -> bool:
    """Say whether a request is open or lately expired, and asks for nothing that the payment is not."""
    assert request.expires_at is not None
    return (
        request.origin == "request"
        and request.status in {TransactionStatus.PENDING, TransactionStatus.EXPIRED}
        and request.mode is payment.mode
        and request.currency == payment.currency
        and request.expires_at > oldest_expiry(payment)
        and request.created_at <= effective_time(payment) + REQUEST_AFTER_US
        and request.expected_telco_transaction_id in {None, payment.telco_transaction_id}
        and (
            payment.payer_phone is None
            or request.expected_payer_phone in {None, payment.payer_phone}
        )
    )


def _reasons(
    payment: Payment, request: Transaction, codes: Mapping[str, Near], claimed: Collection[str]
) -> tuple[Near, ...]:
    found = [Near.CLAIMED] if request.id in claimed else []
    # A code that did not exist yet cannot have been mistyped.
    existed = effective_time(payment) >= request.created_at - CODE_BEFORE_REQUEST_US
    slip = codes.get(request.svc_code or "")
    if slip is not None and existed:
        found.append(slip)
    if request.expected_minor == payment.amount_minor:
        numbers = {request.phone_number, request.expected_payer_phone}
        if payment.payer_phone is not None and payment.payer_phone in numbers:
            found.append(Near.PAYER_AND_AMOUNT)
        names = (request.customer_name, request.expected_payer_name)
        if any(person_name.alike(payment.payer_name or "", name or "") for name in names):
            found.append(Near.NAME_AND_AMOUNT)
        if found and Near.PAYER_AND_AMOUNT not in found and Near.NAME_AND_AMOUNT not in found:
            found.append(Near.AMOUNT)
    return tuple(sorted(found, key=lambda reason: -_POINTS[reason]))


def _slips(text: str) -> Iterator[tuple[str, Near]]:
    """Yield every code that the text is a slip away from; some more than once."""
    runs = [match.group() for match in _RUN.finditer(text)]
    for run in runs:
        if len(run) > LENGTH:
            windows = (run[start : start + LENGTH] for start in range(len(run) - LENGTH + 1))
            yield from ((code, Near.CODE_INSIDE) for code in windows if is_valid_code(code))
    for typed in _bases(runs):
        if len(typed) == LENGTH - 1:
            yield from _filled(
                ((typed[:at], typed[at:]) for at in range(LENGTH)), Near.CODE_MISSING_CHARACTER
            )
        elif len(typed) == LENGTH + 1:
            shorter = (typed[:at] + typed[at + 1 :] for at in range(LENGTH + 1))
            yield from (
                (code, Near.CODE_EXTRA_CHARACTER) for code in shorter if is_valid_code(code)
            )
        else:
            yield from _six(typed)


def _six(typed: str) -> Iterator[tuple[str, Near]]:
    """Yield the codes near to six characters."""
    if is_valid_code(typed):
        yield typed, Near.CODE_SPLIT
    swapped = (typed[:at] + typed[at + 1] + typed[at] + typed[at + 2 :] for at in range(LENGTH - 1))
    yield from ((code, Near.CODE_SWAPPED) for code in swapped if is_valid_code(code))
    yield from ((code, Near.CODE_LOOK_ALIKE) for code in _look_alikes(typed))
    yield from _filled(
        ((typed[:at], typed[at + 1 :]) for at in range(LENGTH)), Near.CODE_WRONG_CHARACTER
    )


def _filled(holes: Iterable[tuple[str, str]], slip: Near) -> Iterator[tuple[str, Near]]:
    for before, after in holes:
        code = fill(before, after)
        if code is not None:
            yield code, slip


def _bases(runs: list[str]) -> list[str]:
    """Return the runs, and joins of neighbours, that are 5, 6 or 7 long: whole ones first, each once."""
    found = dict.fromkeys(run for run in runs if abs(len(run) - LENGTH) <= 1)
    for start in range(len(runs)):
        joined = runs[start]
        for run in runs[start + 1 :]:
            joined += run
            if len(joined) > LENGTH + 1:
                break
            if len(joined) >= LENGTH - 1:
                found[joined] = None
    return list(found)[:BASES_MAX]


def _look_alikes(typed: str) -> list[str]:
    """Return the codes that differ from what was typed in characters that look alike, in at most three places."""
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
