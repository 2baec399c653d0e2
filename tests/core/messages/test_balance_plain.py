"""When a few messages are enough to judge one: it goes on from all of them, and nothing of them is open."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance import NEAREST, Change, Ruling, is_conclusive, judge
from daemon.core.messages.balance_chain import Entry, Standing, Why
from tests.fakes.balance_line import entry
from tests.fakes.rows import AT

Chain = list[Entry]


def near(count: int = NEAREST) -> Chain:
    """So many receipts that join, each a minute and an ID behind the one before."""
    made = [entry(number, 100, 10_000 + number * 100) for number in range(1, count + 1)]
    return [replace(one, standing=Standing.ACCEPTED) for one in made]


def behind(chain: Chain) -> Ruling:
    """The ruling of a receipt that goes on from the last of them."""
    number = len(chain) + 1
    ruling = judge(chain, entry(number, 100, 10_000 + number * 100))
    assert ruling.why is Why.JOINS
    return ruling


def test_a_message_that_goes_on_from_the_last_of_enough_is_plain() -> None:
    assert is_conclusive(near(), behind(near()))
    at_once = replace(behind(near()).entry, at=AT + NEAREST * MINUTE_US)
    assert is_conclusive(near(), replace(behind(near()), entry=at_once)), "in the same moment"


def test_fewer_are_all_there_are_whatever_they_say() -> None:
    few = near(NEAREST - 1)
    ruling = judge(few, entry(NEAREST, 100, 99_999))
    assert ruling.holds
    assert is_conclusive(few, ruling)
    assert not is_conclusive(near(), judge(near(), entry(NEAREST + 1, 100, 99_999)))


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, standing=Standing.HELD),
        lambda one: replace(one, standing=Standing.SUSPECT),
        lambda one: replace(one, after=None),
        lambda one: replace(one, at=AT + (NEAREST + 1) * MINUTE_US + 1),
        lambda one: replace(one, place=93_000_000_099),
        lambda one: replace(one, telco_id=None),
        lambda one: replace(one, telco_id="93000000011"),
        lambda one: replace(one, telco_id="93000000099"),
    ],
    ids=["held", "suspect", "no balance", "later", "turned", "no ID", "the same ID", "a higher ID"],
)  # fmt: skip
@pytest.mark.parametrize("which", [0, 4, NEAREST - 1])
def test_one_of_them_that_is_open_or_out_of_order_wants_more_of_the_line(
    which: int, change: Callable[[Entry], Entry]
) -> None:
    chain, ruling = near(), behind(near())
    chain[which] = change(chain[which])
    assert not is_conclusive(chain, ruling)


@pytest.mark.parametrize(
    "change",
    [
        lambda ruling: replace(ruling, why=Why.EXPLAINED),
        lambda ruling: replace(ruling, why=Why.FIRST),
        lambda ruling: replace(ruling, changes=(Change(near()[0], near()[1]),)),
        lambda ruling: replace(ruling, entry=replace(ruling.entry, telco_id=None)),
        lambda ruling: replace(ruling, entry=replace(ruling.entry, place=93_000_000_099)),
    ],
    ids=["explained", "first", "it settled another", "no ID", "turned"],
)
def test_a_ruling_that_does_more_than_join_wants_more_of_the_line(
    change: Callable[[Ruling], Ruling],
) -> None:
    assert not is_conclusive(near(), change(behind(near())))
