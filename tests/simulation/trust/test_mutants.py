"""Some game must fail with a momo that lacks one of its trust rules."""

from pathlib import Path

import pytest

from tests.fakes.tiers import LONG
from tests.simulation.trust.demands import held_too_often, problems
from tests.simulation.trust.game import play
from tests.simulation.trust.mutants import MUTANTS, Mutant, patched

RULES = range(1, 9)


def test_each_rule_has_a_mutant() -> None:
    assert {mutant.rule for mutant in MUTANTS} == set(RULES)


@pytest.mark.slow
@pytest.mark.timeout(3_600 if LONG else 600)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_dropped_rule_is_caught(tmp_path: Path, mutant: Mutant) -> None:
    with patched(mutant):
        for number, game in enumerate(mutant.games):
            folder = tmp_path / str(number)
            folder.mkdir()
            result = play(folder, game)
            if problems(result) or held_too_often([result]):
                return
        if mutant.tests and fails(mutant.tests, tmp_path / "tests"):
            return
    pytest.fail(f"nothing noticed: {mutant.name}")


def fails(tests: str, folder: Path) -> bool:
    """Run the tests of a file in this process, where the mutant is; return whether one failed."""
    options = ("-q", "-x", "-p", "no:cacheprovider", f"--basetemp={folder}")
    return pytest.main([tests, *options]) is pytest.ExitCode.TESTS_FAILED
