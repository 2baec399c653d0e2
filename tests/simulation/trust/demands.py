"""Demands on the result of a game (docs/contributing/trust.md)."""

import itertools
from collections.abc import Iterable
from typing import Final

from tests.simulation.trust.game import Forged, Result, Setting
from tests.simulation.trust.strategies import HIS_NAME
from tests.simulation.trust.wallet import day_of, money

HELD_SHARE_MAX: Final = 0.01
HELD_SHARE_MAX_SELDOM: Final = 0.015
"""Of genuine receipts at levels 0 to 2, the most that need a person: with an owner who answers or types daily, and with another.

At level 0 the larger share holds for both: momo cannot read what some payers type there, so their receipts are gaps.
"""
PERSON_PER_10_000_MAX: Final = 50
FAR_PER_10_000_MAX: Final = {
    "moved to a far SMSC on day 10": 100,
    "three far SMSCs in turn, one known at first": 400,
}
"""Without an adversary. A far centre waits until the owner trusts it, or until proofs on two days have found its messages."""


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

    One game may have more: after a debit that nobody told, the receipts above the daily limit wait for the next row. An owner
    who types weekly or never has no bound at level 0.
    """
    games = [result for result in results if held_share_max(result.setting) is not None]
    genuine = sum(result.genuine for result in games)
    held = sum(result.count("person") + result.count("never") for result in games)
    allowed = sum((held_share_max(result.setting) or 0) * result.genuine for result in games)
    if held <= allowed:
        return ""
    return f"{held} of {genuine} genuine receipts waited for a person"


def held_share_max(setting: Setting) -> float | None:
    """Return which share of the genuine receipts of a game may need a person; None without a demand."""
    seldom = setting.owner in {"weekly", "never"}
    if setting.level == 0:
        return None if seldom else HELD_SHARE_MAX_SELDOM
    if setting.level in {1, 2}:
        return HELD_SHARE_MAX_SELDOM if seldom else HELD_SHARE_MAX
    return None


def person_max(centres: str) -> int:
    """Return how many of 10,000 genuine receipts may need a person without an adversary."""
    return FAR_PER_10_000_MAX.get(centres, PERSON_PER_10_000_MAX)


def too_many_for_a_person(results: list[Result]) -> str:
    """Return a message if too many genuine receipts needed an operator over many months with the same centres."""
    genuine = sum(result.genuine for result in results)
    person = sum(result.count("person") + result.count("never") for result in results)
    share = 10_000 * person / max(1, genuine)
    most = person_max(results[0].setting.size.centres)
    return "" if share <= most else f"{share:.0f} of 10,000 needed a person"


def changed_by_him(alone: Result, together: Result) -> list[str]:
    """Return the genuine receipts with another outcome because of the adversary."""
    return [
        f"receipt {number} was paid {alone.fates[number].how}, and with him {fate.how}"
        for number, fate in together.fates.items()
        if alone.fates[number].how != fate.how
    ]


def _nothing_lost(result: Result) -> list[str]:
    # From level 3 on a forgery with the real ID may pay within the limit; then the genuine one has a review.
    excused = result.typed | (result.conflicts if result.setting.level == 3 else set())
    never = [
        number
        for number, fate in result.fates.items()
        if fate.how == "never" and number not in excused
    ]
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
    days = [
        f"paid {money(amount)} of forged money on day {day}; the limit was {money(result.limits[day])}"
        for day, amount in sorted(result.forged_by_day().items())
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
