"""Which of several payments with one network ID counts."""

import pytest
from msgspec.structs import replace

from daemon.core.branches.identity import MANY, Rival, counting, day_limit
from tests.fakes.rows import payment


def rival(branch: str | None, seq: int, *, known: bool = False, used: bool = False, sim: str = "sim-1") -> Rival:
    return Rival(replace(payment(seq=seq, branch_id=branch, sim_key=sim), id=f"{branch}-{seq}"), known, used)


THIEF = rival("kumasi", 1, sim="sim-of-kumasi")
HONEST = rival("tamale", 2)


@pytest.mark.parametrize(
    ("rivals", "winner"),
    [
        ([THIEF], 0),
        ([THIEF, HONEST], None),
        ([replace(THIEF, used=True), HONEST], None),
        ([THIEF, replace(HONEST, known=True)], 1),
        ([replace(THIEF, used=True), replace(HONEST, known=True)], 1),
        ([replace(THIEF, known=True), replace(HONEST, known=True)], None),
        ([replace(THIEF, known=True), rival(None, 3, known=True)], 1),
        ([rival("kumasi", 1), HONEST], 0),
        ([rival("kumasi", 1), replace(HONEST, known=True)], 1),
        ([rival("kumasi", 1, used=True), replace(HONEST, known=True)], 0),
    ],
    ids=[
        "one alone", "neither branch had its SIM before", "nor if the first pays an order", "only the second had it",
        "also if the first pays an order", "both had theirs", "this shop read one itself", "the same payment: the first",
        "the same payment: the known one", "the same payment: the one that pays an order",
    ],
)  # fmt: skip
def test_the_one_on_a_sim_that_its_branch_had_before_counts(rivals: list[Rival], winner: int | None) -> None:
    assert counting(rivals) == (None if winner is None else rivals[winner])


def test_a_usual_day_is_known_after_two_weeks() -> None:
    assert day_limit([5] * 13) is None
    assert day_limit([5] * 14) == MANY
    assert day_limit([100] * 14) == 1_000
