"""Comparison of a network's statement with the messages in the database. It never makes a payment."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from daemon.core.ids import reference_of
from daemon.core.json_values import Json
from daemon.store.books import statement
from daemon.store.engine import Reader
from parsers.money import render


def compared(reader: Reader, asked: Sequence[Json], line: str | None) -> list[Json]:
    """Compare each entry (`id`, `amount_minor`) with the rows of the number `line`; None: the number is not known."""
    ids = [one["id"] for one in asked]
    payments: dict[str, list[statement.StatementPayment]] = {}
    for row in statement.payments_with_ids(reader, ids):
        payments.setdefault(row.telco_id, []).append(row)
    held = {row.telco_id: row for row in statement.held_with_ids(reader, ids)}
    claimed = statement.claims_with_ids(reader, ids)
    return [
        _shape(one, line, payments.get(one["id"], []), held.get(one["id"]), claimed.get(one["id"])) for one in asked
    ]


def _shape(
    one: Json,
    line: str | None,
    seen: list[statement.StatementPayment],
    held: statement.HeldMessage | None,
    claimed: str | None,
) -> dict[str, Any]:
    finding = compare_entry(
        one["amount_minor"], line, [(row.amount_minor, row.line) for row in seen], held=held is not None
    )
    pays = next((row for row in seen if row.origin == "request"), None)
    first = seen[0] if seen else None
    return {
        "id": one["id"],
        "finding": finding,
        "told_amount": None if first is None else render(first.amount_minor, first.currency),
        "told_line": None if first is None else first.line,
        "reference": None if pays is None or pays.transaction_id is None else reference_of(pays.transaction_id),
        "review_id": None if held is None else held.review_id,
        "message_id": None if held is None else held.message_id,
        "claimed_by": None if claimed is None else reference_of(claimed),
    }


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


def compare_entry(amount_minor: int, line: str | None, known: list[tuple[int, str | None]], *, held: bool) -> Finding:
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
