"""What always holds (docs/architecture.md), asked of a database: each question counts the rows that break it."""

import sqlite3
from typing import Final, NamedTuple


class Question(NamedTuple):
    """What always holds, and how many rows break it."""

    sentence: str
    sql: str


QUESTIONS: Final[dict[str, Question]] = {
    "payment.one_message": Question(
        "a payment belongs to a message that is there",
        "SELECT COUNT(*) FROM payments p LEFT JOIN messages m ON m.id = p.message_id WHERE m.id IS NULL",
    ),
    "payment.used_once": Question(
        "a payment verifies at most one request",
        "SELECT COUNT(*) FROM (SELECT payment_id FROM transactions WHERE payment_id IS NOT NULL "
        "GROUP BY payment_id HAVING COUNT(*) > 1)",
    ),
    "transaction.verified_is_paid": Question(
        "a verified request has its payment",
        "SELECT COUNT(*) FROM transactions WHERE status IN ('SUCCESS', 'PARTIAL', 'OVERPAID') "
        "AND payment_id IS NULL AND merged_into IS NULL",
    ),
    "transaction.modes": Question(
        "live and test never mix",
        "SELECT COUNT(*) FROM transactions t JOIN payments p ON p.id = t.payment_id WHERE t.mode <> p.mode",
    ),
    "transaction.currency": Question(
        "a request is paid in its own currency",
        "SELECT COUNT(*) FROM transactions t JOIN payments p ON p.id = t.payment_id WHERE t.currency <> p.currency",
    ),
    "delivery.delivered_once": Question(
        "a delivered webhook says when",
        "SELECT COUNT(*) FROM deliveries WHERE status = 'delivered' AND delivered_at IS NULL",
    ),
    "counts.kept": Question(
        "the totals that are kept are those that are counted",
        "SELECT COUNT(*) FROM (SELECT mode, origin, status, COUNT(*) AS n FROM transactions "
        "WHERE merged_into IS NULL GROUP BY mode, origin, status) c LEFT JOIN transaction_counts k "
        "ON k.mode = c.mode AND k.origin = c.origin AND k.status = c.status "
        "WHERE k.count IS NULL OR k.count <> c.n",
    ),
}
"""By a stable id."""


def broken(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each thing that does not hold, with how often."""
    found = []
    for name, (sentence, sql) in QUESTIONS.items():
        (count,) = connection.execute(sql).fetchone()
        if count:
            found.append(f"{name}: not always so: {sentence} ({count})")
    return found
