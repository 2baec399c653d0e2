"""Comparison of an entry of the network's statement with the messages. Pure. It never makes a payment."""

from enum import StrEnum


class Finding(StrEnum):
    """Result for one entry of a statement; every result but the first is a difference."""

    AGREES = "agrees"
    UNTOLD = "untold"
    """There is no message for it."""
    HELD = "held"
    """Its message is held for an operator."""
    AMOUNT = "amount"
    """Its message has another amount."""
    LINE = "line"
    """Its payment came to another number than the one of the statement."""


def compare_entry(
    amount_minor: int, line: str | None, known: list[tuple[int, str | None]], *, held: bool
) -> Finding:
    """Compare one entry.

    `line` is the number of the statement, None if unknown. `known` has amount and number of each payment with this ID;
    `held` says that a message with it has not become a payment.
    """
    if not known:
        return Finding.HELD if held else Finding.UNTOLD
    same = [number for amount, number in known if amount == amount_minor]
    if not same:
        return Finding.AMOUNT
    if line is not None and all(number is not None and number != line for number in same):
        return Finding.LINE
    return Finding.AGREES
