"""The balance change by one message, the order of a line's messages, and the relation between two of them."""

from typing import Any

from msgspec.structs import replace

from daemon.core.messages.balance_chain import (
    Standing,
    effects_of,
    is_in_chain,
)
from parsers.money import Money
from parsers.reading import Kind, NotPayment, Payment, Reading, Reversal, Unreadable
from tests.fakes.balance_line import entry
from tests.fakes.each import each

SAID: Any = {"network": "mtn", "wording": "w"}
FIFTY, TWO, LEFT = Money(5000, "GHS"), Money(200, "GHS"), Money(90_000, "GHS")


def other(kind: Kind, **said: Any) -> NotPayment:
    return NotPayment(kind=kind, **SAID, **said)


@each(
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
)
def test_each_kind_of_message_moved_the_balance_in_one_of_few_ways(
    reading: Reading, effects: tuple[int, ...]
) -> None:
    assert effects_of(reading) == effects


@each(
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
)
def test_what_neither_moves_nor_names_a_balance_is_no_part_of_the_chain(
    reading: Reading, *, wanted: bool
) -> None:
    assert is_in_chain(reading) is wanted


def test_an_entry_gives_up_its_place_when_it_leaves_the_chain_or_moves() -> None:
    placed = replace(entry(1, 500, 10_500), standing=Standing.ACCEPTED, position=4)
    assert placed.gives_up_place(replace(placed, standing=Standing.REFUTED, position=None))
    assert placed.gives_up_place(replace(placed, position=5))
    assert not placed.gives_up_place(replace(placed, doubts=("x",)))
    assert not replace(placed, standing=Standing.UNCONFIRMED).gives_up_place(placed)
    assert not replace(placed, position=None).gives_up_place(placed)
