"""The adversary simulation: players of each level against the real intake, beside a busy month's traffic.

`MOMO_TEST_SEED=n` plays one seed. `python -m tests.simulation.trust --level 3 --seeds 50` searches for a failing one. A
failed game prints the command that repeats it exactly.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.fakes.tiers import LONG
from tests.simulation.trust.__main__ import run_all
from tests.simulation.trust.demands import (
    AT_ONCE_MIN,
    PHONE_AT_ONCE_MIN,
    changed_by_him,
    held_too_often,
    problems,
    too_few_at_once,
    too_many_for_a_person,
)
from tests.simulation.trust.game import Result, Setting, play
from tests.simulation.trust.player import LEVELS
from tests.simulation.trust.product import Limit
from tests.simulation.trust.strategies import STRATEGIES
from tests.simulation.trust.traffic import CENTRES, Size

WEEK, MONTH = Size(days=7), Size()
SIZE, SEEDS = (MONTH, 50) if LONG else (WEEK, 4)
"""Four weeks a level in the slow tier, 50 months a level in the long one."""
LIMITS: Sequence[Limit] = ("auto", 0, 1_000)
OWNERS = tuple(AT_ONCE_MIN)
ORDINARY = Size(late=0.02)
"""A month of 1,000 receipts: one centre or a neighbour, 0.3 % untold, 0.2 % lost, 2 % late."""


def seeds(count: int) -> Iterable[int]:
    """Return the seeds to play: the requested one, else the first `count`."""
    chosen = os.environ.get("MOMO_TEST_SEED")
    return [int(chosen)] if chosen else range(1, count + 1)


def failures(results: Iterable[Result]) -> str:
    """Return the violations and the commands that repeat them."""
    return "\n".join(
        f"{problem}\n  again: {result.setting.again()}" for result in results for problem in problems(result)[:5]
    )


def test_two_quiet_days_pay_all_that_came_and_ask_nobody(tmp_path: Path) -> None:
    size = Size(days=2, per_month=500, untold=0, lost=0, late=0, absences=0, restarts=0)
    result = play(tmp_path, Setting(1, size=size))
    assert problems(result) == []
    assert result.genuine > 25
    assert result.count("at once") + result.count("later") == result.genuine
    assert result.decisions == 0


def test_the_same_setting_is_the_same_game(tmp_path: Path) -> None:
    dumps = set()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        dumps.add(play(tmp_path / name, Setting(1, 3, Size(days=2, per_month=200))).dump)
    assert len(dumps) == 1


def test_every_level_has_its_strategies() -> None:
    for level in LEVELS:
        assert sum(level in one.levels for one in STRATEGIES) >= 2
    assert len({one.name for one in STRATEGIES}) == len(STRATEGIES)


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("level", LEVELS)
def test_the_demands_hold_against_a_player_of_each_level(level: int) -> None:
    settings = [
        Setting(seed, level, SIZE, LIMITS[seed % len(LIMITS)] if level == 3 else "auto", owner=OWNERS[seed % 4])
        for seed in seeds(SEEDS)
    ]
    results = list(run_all(settings))
    assert failures(results) == ""
    assert held_too_often(results) == ""


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("level", [0, 1])
def test_a_player_without_the_home_centre_changes_nothing_for_a_genuine_payment(level: int) -> None:
    chosen = [Setting(seed, level, SIZE, quiet=quiet) for seed in seeds(SEEDS // 2) for quiet in (True, False)]
    played = list(run_all(chosen))
    for alone, together in zip(played[::2], played[1::2], strict=True):
        assert changed_by_him(alone, together) == [], together.setting.again()


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("owner", AT_ONCE_MIN)
def test_in_ordinary_life_nearly_all_is_paid_at_once(owner: str) -> None:
    months = seeds(50 if LONG else 2)
    results = list(run_all(Setting(seed, size=ORDINARY, owner=owner) for seed in months))
    assert failures(results) == ""
    # Two months scatter: one gap of the chain is half a percent of them.
    scatter = 0 if LONG else 0.01
    assert too_few_at_once(results, AT_ONCE_MIN[owner] - scatter) == ""


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
def test_a_source_without_centres_pays_nearly_all_at_once_and_forged_money_within_its_limits() -> None:
    months = seeds(50 if LONG else 2)
    calm = list(run_all(Setting(seed, size=ORDINARY, owner="daily", phone=True) for seed in months))
    assert failures(calm) == ""
    assert too_few_at_once(calm, PHONE_AT_ONCE_MIN, first_day=False) == ""
    settings = [Setting(seed, 1, SIZE, owner=OWNERS[seed % 4], phone=True) for seed in seeds(300 if LONG else 4)]
    assert failures(run_all(settings)) == ""


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("level", [1, 3])
def test_an_owner_who_errs_and_takes_it_back_loses_nothing_genuine(level: int) -> None:
    settings = [Setting(seed, level, SIZE, owner="errs") for seed in seeds(SEEDS)]
    assert failures(run_all(settings)) == ""


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
def test_outages_closed_days_and_emptied_wallets_give_no_more_than_the_limits() -> None:
    size = Size(days=26 if LONG else 8, closed=(5, 6), outages=4, swept=0.5)
    settings = [Setting(seed, 3, size, owner=OWNERS[seed % 4]) for seed in seeds(SEEDS)]
    assert failures(run_all(settings)) == ""


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("centres", CENTRES)
def test_a_busy_genuine_month_hardly_needs_a_person(centres: str) -> None:
    size = Size(days=26, per_month=3_000, centres=centres)
    results = list(run_all(Setting(seed, size=size) for seed in seeds(20 if LONG else 1)))
    assert failures(results) == ""
    assert too_many_for_a_person(results) == ""
