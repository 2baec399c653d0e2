"""Does an entry of the network's statement agree with the messages? Pure. Nothing here makes a payment of it."""

from enum import StrEnum


class Finding(StrEnum):
    """What one entry of a statement is to us; the first is the only one that is no difference."""

    AGREES = "agrees"
    UNTOLD = "untold"
    """No message told of it."""
    HELD = "held"
    """A message told of it, and waits for a person."""
    AMOUNT = "amount"
    """The message named another amount."""
    LINE = "line"
    """It came to another number than the statement is of."""


def judge(
    amount_minor: int, line: str | None, told: list[tuple[int, str | None]], *, held: bool
) -> Finding:
    """Compare one entry.

    Args:
        amount_minor: By the statement.
        line: The number that the statement is of; None when nobody said.
        told: Amount and number of each payment with this ID.
        held: A message with this ID made no payment.
    """
    if not told:
        return Finding.HELD if held else Finding.UNTOLD
    same = [number for amount, number in told if amount == amount_minor]
    if not same:
        return Finding.AMOUNT
    if line is not None and all(number is not None and number != line for number in same):
        return Finding.LINE
    return Finding.AGREES
