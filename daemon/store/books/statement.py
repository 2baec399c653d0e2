"""Stored data about the network IDs on a statement: payments, held messages, and claims of customers."""

from collections.abc import Sequence

from msgspec import Struct

from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_ids


class StatementPayment(Struct, frozen=True):
    """A payment with this ID.

    `line` is the number that received it; `transaction_id` None pays none.
    """

    telco_id: str
    payment_id: str
    amount_minor: int
    currency: str
    line: str | None
    transaction_id: str | None
    origin: str | None


class UnlistedPayment(Struct, frozen=True):
    """A payment of the time of a statement, which may be missing there; `line` is the number that received it."""

    payment_id: str
    telco_id: str
    amount_minor: int
    currency: str
    at: int
    line: str | None


class HeldMessage(Struct, frozen=True):
    """A message with this ID that made no payment (yet), and its open review."""

    telco_id: str
    message_id: str
    standing: str
    review_id: str | None


def payments_with_ids(reader: Reader, ids: Sequence[str]) -> list[StatementPayment]:
    """Return the live payments with these IDs."""
    rows = reader.all(
        # Each half has an index.
        "SELECT p.telco_transaction_id, p.id, p.amount_minor, p.currency, pm.phone_number, t.id, t.origin FROM payments p "
        "LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq LEFT JOIN transactions t ON t.payment_seq = p.seq "
        "WHERE p.telco_transaction_id IN (SELECT value ->> 0 FROM json_each(:ids)) AND p.mode = 'live' AND p.double_of IS NULL "
        "UNION ALL "
        "SELECT p.telco_transaction_id, p.id, p.amount_minor, p.currency, pm.phone_number, t.id, t.origin FROM payments p "
        "LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq LEFT JOIN transactions t ON t.payment_seq = p.seq "
        "WHERE p.telco_transaction_id IN (SELECT value ->> 0 FROM json_each(:ids)) AND p.mode = 'live' AND p.double_of IS NOT NULL",
        {"ids": json_ids(ids)},
    )
    return [StatementPayment(*row) for row in rows]


def payments_between(reader: Reader, since: int, until: int, *, limit: int) -> list[UnlistedPayment]:
    """Return the live payments with a time of the network from `since` to `until`, both included, oldest first."""
    rows = reader.all(
        "SELECT p.id, p.telco_transaction_id, p.amount_minor, p.currency, p.telco_at, pm.phone_number FROM payments p "
        "LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq "
        "WHERE p.mode = 'live' AND p.telco_at >= :since AND p.telco_at <= :until ORDER BY p.telco_at, p.seq LIMIT :limit",
        {"since": since, "until": until, "limit": limit},
    )
    return [UnlistedPayment(*row) for row in rows]


def held_with_ids(reader: Reader, ids: Sequence[str]) -> list[HeldMessage]:
    """Return the messages with these IDs that made no payment."""
    rows = reader.all(
        "SELECT b.telco_id, m.id, b.standing, r.id FROM line_balances b JOIN messages m ON m.seq = b.message_seq "
        "LEFT JOIN reviews r ON r.message_id = m.id AND r.state = 'open' "
        "WHERE b.telco_id IN (SELECT value ->> 0 FROM json_each(:ids)) AND b.pays = 1",
        {"ids": json_ids(ids)},
    )
    return [HeldMessage(*row) for row in rows]


def claims_with_ids(reader: Reader, ids: Sequence[str]) -> dict[str, str]:
    """Return ID -> the transaction that a customer claims to have paid with it, on the checkout page."""
    return dict(
        reader.all(
            "SELECT telco_transaction_id, MAX(transaction_id) FROM payer_claims "
            "WHERE mode = 'live' AND telco_transaction_id IN (SELECT value ->> 0 FROM json_each(:ids)) "
            "GROUP BY telco_transaction_id",
            {"ids": json_ids(ids)},
        )
    )


def is_recorded(tx: Tx, digest: str) -> bool:
    """Return whether the journal already contains the comparison with this file."""
    return tx.exists(
        "SELECT 1 FROM events WHERE type = 'statement.compared' AND data LIKE :like LIMIT 1", {"like": f'%"{digest}"%'}
    )
