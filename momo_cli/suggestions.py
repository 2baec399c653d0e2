"""The orders that a payment may have been meant for: shown, and taken by number or with one key."""

from typing import Final

from momo_cli.answer import Row
from momo_cli.errors import usage
from momo_cli.reviews import suggestion_lines, suggestions_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean

KEEP: Final = "k"
"""The key that keeps the payment as a sale of its own."""


def taken(row: Row, number: int) -> str:
    """Return the reference of the suggestion with this number, counted from 1 (exit 2 when there is none)."""
    found = suggestions_of(row)
    if not found:
        raise usage(
            "no order is suggested for this payment any more; name one with --order REF|CODE"
        )
    if not 1 <= number <= len(found):
        raise usage(f"--suggested: there is no suggestion {number}, only 1 to {len(found)}")
    return clean(found[number - 1].get("reference"))


def asked(terminal: Terminal, row: Row) -> str | None:
    """Show what is suggested and take one key.

    Returns:
        The reference of the order; empty to keep the payment as a sale of its own; None to decide later.
    """
    found = suggestions_of(row)
    for line in suggestion_lines(row):
        terminal.complain(line)
    keys = "1" if len(found) == 1 else f"1 to {len(found)}"
    key = terminal.ask_key(
        f"\nWhich order is it for? [{keys} = that one, {KEEP} = none, any other key = decide later] ",
        "--suggested or --order",
    )
    if key == KEEP:
        return ""
    if key.isascii() and key.isdigit() and 1 <= int(key) <= len(found):
        return taken(row, int(key))
    return None
