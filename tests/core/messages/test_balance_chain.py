"""The balance change by one message."""

from typing import Any

from daemon.core.messages.balance_chain import effect_of, is_in_chain
from parsers.money import Money
from parsers.reading import Kind, NotPayment, Payment, Reading, Reversal, Unreadable
from tests.fakes.each import each

SAID: Any = {"network": "mtn", "wording": "w"}
FIFTY, TWO, LEFT = Money(5000, "GHS"), Money(200, "GHS"), Money(90_000, "GHS")


def other(kind: Kind, **said: Any) -> NotPayment:
    return NotPayment(kind=kind, **SAID, **said)


@each(
    ("reading", "effect"),
    [
        (Payment(kind=Kind.CASH_IN, amount=FIFTY, **SAID), 5000),
        (Payment(kind=Kind.PAYMENT_RECEIVED, amount=FIFTY, fee=TWO, **SAID), 4800),
        (Reversal(amount=FIFTY, **SAID), -5000),
        (Reversal(amount=FIFTY, fee=TWO, **SAID), -5200),
        (Reversal(**SAID), None),
        (other(Kind.SENT, amount=FIFTY), -5000),
        (other(Kind.CASH_OUT, amount=FIFTY, fee=TWO), -5200),
        (other(Kind.BILL, amount=FIFTY, extra={"tax": "1.00"}), -5100),
        (other(Kind.SENT, amount=FIFTY, fee=TWO, extra={"tax": "1.00"}), -5300),
        (other(Kind.AIRTIME, amount=FIFTY, extra={"tax": "much"}), -5000),
        (other(Kind.AIRTIME), None),
        (other(Kind.REVERSAL, amount=FIFTY), 5000),
        (other(Kind.REVERSAL, amount=FIFTY, fee=TWO), 5000),
        (other(Kind.OTHER, amount=FIFTY, balance=LEFT), 5000),
        (other(Kind.FAILED, amount=FIFTY, balance=LEFT), 0),
        (other(Kind.PROMO), 0),
        (Unreadable("no known wording"), None),
    ],
)
def test_each_kind_of_message_moved_the_balance_in_one_way(reading: Reading, effect: int | None) -> None:
    assert effect_of(reading) == effect


@each(
    ("reading", "wanted"),
    [
        (other(Kind.PROMO), False),
        (other(Kind.OTP), False),
        (other(Kind.OTHER, amount=FIFTY), False),
        (other(Kind.FAILED, balance=LEFT), True),
        (other(Kind.SENT, amount=FIFTY), False),
        (Reversal(**SAID), True),
        (Payment(kind=Kind.CASH_IN, amount=FIFTY, **SAID), True),
        (Unreadable("no known wording"), False),
    ],
)
def test_what_names_no_balance_is_no_part_of_the_chain_unless_it_claims_money(
    reading: Reading, *, wanted: bool
) -> None:
    assert is_in_chain(reading) is wanted
