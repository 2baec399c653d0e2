"""Events that release a held message without a decision."""

import pytest
from msgspec.structs import replace

from daemon.core.messages.balance_chain import Standing, Why
from daemon.core.payments.reviews import by_itself
from tests.fakes.entries import entry

YOURS = "It waits for your decision."


@pytest.mark.parametrize(
    ("standing", "why", "said"),
    [
        (Standing.CANDIDATE, Why.BREAKS, "if a late message leads to its balance"),
        (Standing.ACCEPTED, Why.JOINS, "because of a limit"),
        (Standing.DOUBTFUL, Why.FOREIGN, YOURS),
        (Standing.DOUBTFUL, Why.DOUBTED, YOURS),
        (Standing.DOUBTFUL, Why.CONTRADICTED, YOURS),
    ],
)
def test_each_held_message_says_what_releases_it(standing: Standing, why: Why, said: str) -> None:
    assert said in str(by_itself(replace(entry(1, 100, 100), standing=standing, why=why)))


def test_a_payment_waits_for_a_decision() -> None:
    assert str(by_itself(None)) == YOURS
