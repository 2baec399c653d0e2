"""Events that release a held message without a decision."""

import pytest
from msgspec.structs import replace

from daemon.core.messages.balance_chain import Standing, Why
from daemon.core.payments.reviews import by_itself
from tests.fakes.balance_line import entry

YOURS = "It waits for your decision."


@pytest.mark.parametrize(
    ("standing", "why", "said"),
    [
        (Standing.HELD, Why.FOREIGN, "90 minutes after"),
        (Standing.HELD, Why.NO_BALANCE, "if the next message shows"),
        (Standing.UNCONFIRMED, Why.BREAKS, "if a late message closes the gap"),
        (Standing.HELD, Why.DOUBTED, YOURS),
        (Standing.ACCEPTED, Why.FIRST, YOURS),
        (Standing.REFUTED, Why.CONTRADICTED, YOURS),
    ],
)
def test_each_held_message_says_what_releases_it(standing: Standing, why: Why, said: str) -> None:
    assert said in str(by_itself(replace(entry(1, 100, 100), standing=standing, why=why)))


def test_a_message_with_further_doubts_and_a_payment_wait_for_a_decision() -> None:
    held = replace(entry(1, 100, 100, doubts=("id_too_low",)), standing=Standing.HELD)
    assert str(by_itself(replace(held, why=Why.FOREIGN))) == YOURS
    assert str(by_itself(None)) == YOURS
