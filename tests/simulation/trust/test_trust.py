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
    changed_by_him,
    held_too_often,
    problems,
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


def seeds(count: int) -> Iterable[int]:
    """Return the seeds to play: the requested one, else the first `count`."""
    chosen = os.environ.get("MOMO_TEST_SEED")
    return [int(chosen)] if chosen else range(1, count + 1)


def failures(results: Iterable[Result]) -> str:
    """Return the violations and the commands that repeat them."""
    return "\n".join(
        f"{problem}\n  again: {result.setting.again()}"
        for result in results
        for problem in problems(result)[:5]
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
        Setting(seed, level, SIZE, LIMITS[seed % len(LIMITS)] if level == 3 else "auto")
        for seed in seeds(SEEDS)
    ]
    results = list(run_all(settings))
    assert failures(results) == ""
    assert held_too_often(results) == ""


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("level", [0, 1])
def test_a_player_without_the_home_centre_changes_nothing_for_a_genuine_payment(
    level: int,
) -> None:
    chosen = [
        Setting(seed, level, SIZE, quiet=quiet)
        for seed in seeds(SEEDS // 2)
        for quiet in (True, False)
    ]
    played = list(run_all(chosen))
    for alone, together in zip(played[::2], played[1::2], strict=True):
        assert changed_by_him(alone, together) == [], together.setting.again()


@pytest.mark.slow
@pytest.mark.timeout(36_000 if LONG else 600)
@pytest.mark.parametrize("centres", CENTRES)
def test_a_busy_genuine_month_hardly_needs_a_person(centres: str) -> None:
    size = Size(days=26, per_month=3_000, centres=centres)
    results = list(run_all(Setting(seed, size=size) for seed in seeds(20 if LONG else 1)))
    assert failures(results) == ""
    assert too_many_for_a_person(results) == ""
