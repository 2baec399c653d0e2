"""Demands on the result of a game (docs/contributing/trust.md)."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tests.simulation.trust.game import Forged, Result, Setting
from tests.simulation.trust.strategies import HIS_NAME
from tests.simulation.trust.wallet import day_of, money

HELD_SHARE_MAX: Final = 0.01
HELD_SHARE_MAX_SELDOM: Final = 0.015
"""Of genuine receipts at levels 0 to 2, the most that need a person: with an owner who answers or types daily, and with another."""
AT_ONCE_MIN: Final = {"asked": 0.995, "daily": 0.995, "weekly": 0.985, "never": 0.985}
"""Of genuine receipts without an adversary, the least that are paid at once, by owner; over many months."""
PHONE_AT_ONCE_MIN: Final = 0.995
"""The same at a source without service centres, after the first day, which has a limit of GHS 1,000."""
PERSON_PER_10_000_MAX: Final = 50
"""Without an adversary. What waits on a day on which the owner has to trust a far centre, for a day at most, comes on top."""


def problems(result: Result) -> list[str]:
    """Return each violated demand as a sentence; empty if all hold."""
    level = result.setting.level
    if result.setting.owner == "errs":
        return [*result.misread, *_nothing_lost(result)]
    if result.setting.phone and level not in {None, 0}:
        # The balance is the only evidence there, so that who knows it is not told apart.
        lost = [] if level == 4 else _nothing_lost(result)
        return [*result.misread, *lost, *(_within_phone_limits(result) if level == 1 else [])]
    return [
        *result.misread,
        *([] if level == 4 else [*_nothing_lost(result), *_no_reversal(result), *_nothing_stolen(result)]),
        *({None: _nothing_forged, 0: _nothing_forged, 1: _nothing_forged, 2: _nothing_forged, 3: _within_limits, 4: _anything}[level](result)),
    ]  # fmt: skip


def held_too_often(results: Iterable[Result]) -> str:
    """Return a message if too many of the genuine receipts of all games up to level 2 waited for an operator.

    One game may have more: after a debit that nobody told, the receipts above the daily limit wait for the next row.
    """
    games = [result for result in results if held_share_max(result.setting) is not None]
    genuine = sum(result.genuine for result in games)
    held = sum(result.by_person for result in games)
    allowed = sum((held_share_max(result.setting) or 0) * result.genuine for result in games)
    if held <= allowed:
        return ""
    return f"{held} of {genuine} genuine receipts waited for a person"


def held_share_max(setting: Setting) -> float | None:
    """Return which share of the genuine receipts of a game may need a person; None without a demand."""
    if setting.level not in {0, 1, 2} or setting.phone or setting.owner == "errs":
        return None
    return HELD_SHARE_MAX_SELDOM if setting.owner in {"weekly", "never"} else HELD_SHARE_MAX


def too_few_at_once(results: Sequence[Result], least: float, *, first_day: bool = True) -> str:
    """Return a message if too few genuine receipts of these games were paid at once; perhaps without those of the first day."""
    fates = [fate for result in results for fate in result.fates.values() if first_day or fate.day > 0]
    at_once = sum(fate.how == "at once" for fate in fates)
    share = at_once / max(1, len(fates))
    return "" if share >= least else f"{at_once} of {len(fates)} paid at once, {share:.2%}"


def too_many_for_a_person(results: Sequence[Result]) -> str:
    """Return a message if too many genuine receipts needed an operator over many months with the same centres."""
    genuine = sum(result.genuine for result in results)
    share = 10_000 * sum(result.by_person for result in results) / max(1, genuine)
    return "" if share <= PERSON_PER_10_000_MAX else f"{share:.0f} of 10,000 needed a person"


def changed_by_him(alone: Result, together: Result) -> list[str]:
    """Return the genuine receipts with another outcome because of the adversary."""
    return [
        f"receipt {number} was paid {alone.fates[number].how}, and with him {fate.how}"
        for number, fate in together.fates.items()
        if alone.fates[number].how != fate.how
    ]


def _nothing_lost(result: Result) -> list[str]:
    # From level 3 on a forgery with the real ID may pay within the limit; then the genuine one has a review.
    excused = result.typed | result.foretold | (result.conflicts if result.setting.level == 3 else set())
    never = [number for number, fate in result.fates.items() if fate.how == "never" and number not in excused]
    unmatched = [number for number, fate in result.fates.items() if not fate.matched]
    return [
        *(f"genuine receipt {number} was never paid" for number in never),
        *(f"genuine receipt {number} did not pay its order" for number in unmatched),
    ]


def _no_reversal(result: Result) -> list[str]:
    return [f"a forged reversal of {one} is believed" for one in sorted(result.reversals)]


def _nothing_stolen(result: Result) -> list[str]:
    """Return the paid texts that were joined from a genuine part and one of his.

    What he joins from parts of his own is forged as a whole, and counts as that.
    """
    return [
        f"paid parts of two messages: {_said(one)}"
        for one in result.forged
        if one.sent is None and HIS_NAME not in one.text
    ]


def _nothing_forged(result: Result) -> list[str]:
    return [f"paid {_said(one)}" for one in result.forged]


def _within_limits(result: Result) -> list[str]:
    """Return what passed the limit of a day, of what counts to it, or the bound between two proofs, to which all counts."""
    counted: Counter[int] = Counter()
    for one in result.forged:
        if one.limited and not one.told_first:
            counted[day_of(one.at)] += one.amount
    days = [
        f"paid {money(amount)} of forged money on day {day}; the limit was {money(result.limits[day])}"
        for day, amount in sorted(counted.items())
        if amount > result.limits[day]
    ]
    for proof, forged in itertools.groupby(result.forged, lambda one: one.proved_at):
        unreal = [one for one in forged if not one.told_first]
        amount = sum(one.amount for one in unreal)
        bound = max((result.bounds[day_of(one.at)] for one in unreal), default=0)
        if amount > bound:
            days.append(
                f"paid {money(amount)} of forged money after the proof of day {day_of(proof)}; the bound was {money(bound)}"
            )
    return days


def _within_phone_limits(result: Result) -> list[str]:
    return [
        f"paid {money(amount)} of forged money on day {day}; at most {money(most)} may be paid"
        for day, amount in sorted(result.forged_by_day().items())
        if amount > (most := result.phone_limits[day] + result.limits[day])
    ]


def _anything(_: Result) -> list[str]:
    """At level 4 SMS alone cannot expose a forgery; genuine ones in a row with it are rejected with it."""
    return []


def _said(one: Forged) -> str:
    return f"GHS {money(one.amount)} on day {day_of(one.at)}, {one.how}: {one.text}"
