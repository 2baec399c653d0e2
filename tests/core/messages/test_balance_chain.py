"""What one message did to the balance, the order of a line, and what two of its messages say of each other."""

from dataclasses import replace
from typing import Any

import pytest

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance_chain import (
    POSSIBLE_BALANCES_MAX,
    Entry,
    Standing,
    effects_of,
    expected,
    gap_between,
    in_order,
    is_in_chain,
    joins,
    possible_balances,
)
from parsers.money import Money
from parsers.reading import Kind, NotPayment, Payment, Reading, Reversal, Unreadable
from tests.fakes.balance_line import entry
from tests.fakes.rows import AT

SAID: Any = {"network": "mtn", "wording": "w"}
FIFTY, TWO, LEFT = Money(5000, "GHS"), Money(200, "GHS"), Money(90_000, "GHS")


def other(kind: Kind, **said: Any) -> NotPayment:
    return NotPayment(kind=kind, **SAID, **said)


@pytest.mark.parametrize(
    ("reading", "effects"),
    [
        (Payment(kind=Kind.CASH_IN, amount=FIFTY, **SAID), (5000,)),
        (Payment(kind=Kind.PAYMENT_RECEIVED, amount=FIFTY, fee=TWO, **SAID), (4800,)),
        (Reversal(amount=FIFTY, **SAID), (-5000,)),
        (Reversal(amount=FIFTY, fee=TWO, **SAID), (-5200, -5000)),
        (Reversal(**SAID), ()),
        (other(Kind.SENT, amount=FIFTY), (-5000,)),
        (other(Kind.CASH_OUT, amount=FIFTY, fee=TWO), (-5200, -5000)),
        (other(Kind.BILL, amount=FIFTY, extra={"tax": "1.00"}), (-5100, -5000)),
        (other(Kind.SENT, amount=FIFTY, fee=TWO, extra={"tax": "1.00"}), (-5300, -5200, -5000)),
        (other(Kind.AIRTIME, amount=FIFTY, extra={"tax": "much"}), (-5000,)),
        (other(Kind.AIRTIME), ()),
        (other(Kind.REVERSAL, amount=FIFTY), (5000, 0)),
        (other(Kind.REVERSAL, amount=FIFTY, fee=TWO), (5000, 5200, 0)),
        (other(Kind.OTHER, amount=FIFTY, balance=LEFT), (5000, 0, -5000)),
        (other(Kind.OTHER, amount=FIFTY), (0,)),
        (other(Kind.FAILED, amount=FIFTY, balance=LEFT), (0,)),
        (other(Kind.PROMO), (0,)),
        (Unreadable("no known wording"), ()),
    ],
    ids=lambda value: str(value) if isinstance(value, tuple) else "",
)
def test_each_kind_of_message_moved_the_balance_in_one_of_few_ways(
    reading: Reading, effects: tuple[int, ...]
) -> None:
    assert effects_of(reading) == effects


@pytest.mark.parametrize(
    ("reading", "wanted"),
    [
        (other(Kind.PROMO), False),
        (other(Kind.OTP), False),
        (other(Kind.OTHER, amount=FIFTY), False),
        (other(Kind.FAILED, balance=LEFT), True),
        (other(Kind.SENT, amount=FIFTY), True),
        (Reversal(**SAID), True),
        (Payment(kind=Kind.CASH_IN, amount=FIFTY, **SAID), True),
        (Unreadable("no known wording"), True),
    ],
    ids=str,
)
def test_what_neither_moves_nor_names_a_balance_is_no_part_of_the_chain(
    reading: Reading, *, wanted: bool
) -> None:
    assert is_in_chain(reading) is wanted


@pytest.mark.parametrize(
    ("pays", "doubted", "effects", "standing", "explains"),
    [
        (False, False, (-500,), Standing.NOTED, True),
        (False, False, (500, -500), Standing.UNPROVEN, True),
        (False, False, (), Standing.NEW, True),
        (True, False, (-500,), Standing.NEW, False),
        (False, True, (-500,), Standing.NOTED, False),
        (False, False, (500,), Standing.NOTED, False),
        (False, False, (0,), Standing.NOTED, False),
        (False, False, (-500,), Standing.ACCEPTED, False),
    ],
)
def test_a_debit_or_an_unread_message_explains_unless_it_is_doubted_or_joins_itself(
    pays: bool, doubted: bool, effects: tuple[int, ...], standing: Standing, explains: bool
) -> None:
    one = Entry(
        key="m", seq=1, at=AT, stored_at=AT, telco_id=None, pays=pays, effects=effects, after=None,
        doubted=doubted, standing=standing,
    )  # fmt: skip
    assert one.explains is explains


def unseen(number: int, *effects: int) -> Entry:
    """A message that names no balance, and may have moved it."""
    return Entry(
        key=f"m{number}", seq=number, at=AT + number * MINUTE_US, stored_at=AT, telco_id=f"{number}", pays=False,
        effects=effects, after=None, standing=Standing.NOTED,
    )  # fmt: skip


def test_messages_without_an_id_of_one_moment_stand_in_the_order_in_which_they_were_stored() -> (
    None
):
    with_id = entry(5, 100, 1000, at=AT)
    after, before = (
        entry(6, 100, None, at=AT, with_id=False),
        entry(4, 1, None, at=AT, with_id=False),
    )
    assert [one.key for one in in_order([after, with_id, before])] == ["m4", "m5", "m6"]


def test_what_lies_between_may_have_moved_the_balance_or_not() -> None:
    line = [entry(1, 100, 1000), unseen(2, -200, -100), unseen(3, -10), entry(4, 50, 840)]
    assert possible_balances(line, 0, 3) == {1000, 800, 900, 990, 790, 890}
    assert joins(line, 0, 3)
    assert gap_between(line, 0, 3) == 0
    assert expected(line, 0, 3) == 790


def test_a_gap_is_counted_from_the_likeliest_balance() -> None:
    line = [entry(1, 100, 1000), unseen(2, -200, -100), entry(3, 50, 5050)]
    assert gap_between(line, 0, 2) == 5000 - 800
    assert gap_between([line[0], unseen(3)], 0, 1) is None


def test_so_many_ways_that_anything_would_join_are_no_way() -> None:
    line = [entry(0, 100, 1000), *(unseen(n, 2**n) for n in range(1, 40)), entry(50, 1, 0)]
    ways = next(count for count in range(40) if 2**count >= POSSIBLE_BALANCES_MAX)
    assert len(possible_balances(line, 0, ways + 1)) == 2**ways == POSSIBLE_BALANCES_MAX
    assert possible_balances(line, 0, ways + 2) == {1000}


@pytest.mark.parametrize("standing", [Standing.HELD, Standing.FORGED, Standing.UNPROVEN])
def test_what_is_held_moved_nothing_that_is_known(standing: Standing) -> None:
    line = [entry(1, 100, 1000), replace(unseen(2, -200), standing=standing), entry(3, 50, 850)]
    assert possible_balances(line, 0, 2) == {1000}
    doubted = [line[0], replace(unseen(2, -200), doubted=True), line[2]]
    assert possible_balances(doubted, 0, 2) == {1000}
