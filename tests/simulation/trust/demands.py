"""Demands on the result of a game (docs/contributing/trust.md)."""

import itertools
from collections.abc import Iterable
from typing import Final

from tests.simulation.trust.game import Forged, Result
from tests.simulation.trust.strategies import HIS_NAME
from tests.simulation.trust.wallet import day_of, money

HELD_SHARE_MAX: Final = 0.01
"""At levels 0 to 2: at least 99 % of genuine receipts match without an operator, over all games."""
PERSON_PER_10_000_MAX: Final = 50
"""Without an adversary."""


def problems(result: Result) -> list[str]:
    """Return each violated demand as a sentence; empty if all hold."""
    level = result.setting.level
    return [
        *result.misread,
        *([] if level == 4 else [*_nothing_lost(result), *_no_reversal(result), *_nothing_stolen(result)]),
        *({None: _nothing_forged, 0: _nothing_forged, 1: _nothing_forged, 2: _nothing_forged, 3: _within_limits, 4: _anything}[level](result)),
    ]  # fmt: skip


def held_too_often(results: Iterable[Result]) -> str:
    """Return a message if more than 1 % of the genuine receipts of all games up to level 2 waited for an operator.

    One game may have more: after a debit that nobody told, the receipts above the daily limit wait for the next row.
    """
    games = [result for result in results if result.setting.level in {0, 1, 2}]
    genuine = sum(result.genuine for result in games)
    held = sum(result.count("person") + result.count("never") for result in games)
    if held <= HELD_SHARE_MAX * genuine:
        return ""
    return f"{held} of {genuine} genuine receipts waited for a person"


def too_many_for_a_person(results: list[Result]) -> str:
    """Return a message if more than 50 of 10,000 genuine receipts needed an operator over many months, else an empty text."""
    genuine = sum(result.genuine for result in results)
    person = sum(result.count("person") + result.count("never") for result in results)
    share = 10_000 * person / max(1, genuine)
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


def _anything(_: Result) -> list[str]:
    """At level 4 SMS alone cannot expose a forgery; genuine ones in a row with it are rejected with it."""
    return []


def _said(one: Forged) -> str:
    return f"GHS {money(one.amount)} on day {day_of(one.at)}, {one.how}: {one.text}"
