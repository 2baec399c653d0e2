"""All data about one payer, by number: found, counted and erased (docs/decisions/0020).

The rows stay, for the books and for the keys that prevent duplicates; the personal data in them is removed. Which columns have
personal data is said in the schema alone (`migrate.marks`).
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from daemon.core.upkeep.erasure import forget_in_json, forget_in_text, search_digits
from daemon.store import idempotency, migrate
from daemon.store.engine import Reader, Tx
from daemon.store.payments import search_index
from daemon.store.rows import json_ids
from daemon.store.webhooks import deliveries

BATCH: Final = 500
"""Kept answers in one statement."""
_ID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
"""A UUID, also in a reference."""


class PayerRows(Struct, frozen=True):
    """The rows about one payer, by id.

    Attributes:
        number: E.164.
        payments: Made by the payer: by the receipt's number, or by the transaction's if the receipt has none.
        orders: Transactions made for the number, or that expect it.
        paid: Transactions that those payments verified, the payer's or others'.
        messages: About those payments, or that contain the number.
        texts: SMS that the shop sent to the number.
        reviews: About those payments, transactions or messages.
        approved: Names approved for the number.
        names: Names of the payer in those rows.
        answers: Kept answers of idempotency keys about those rows or the number: (scope, key).
    """

    number: str
    payments: tuple[str, ...]
    orders: tuple[str, ...]
    paid: tuple[str, ...]
    messages: tuple[str, ...]
    texts: tuple[str, ...]
    reviews: tuple[str, ...]
    approved: tuple[str, ...]
    names: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]

    @property
    def transactions(self) -> tuple[str, ...]:
        """All transactions with data about the payer."""
        return tuple(dict.fromkeys((*self.orders, *self.paid)))


_THEIRS: Final = (
    "transaction_seq IN (SELECT seq FROM transactions WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)))"
)
"""The deliveries of transactions."""
_SEQS: Final = "(SELECT seq FROM payments WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)))"
_OWN: Final = "(phone_number = :number OR expected_payer_phone = :number)"
_PAYMENTS: Final = (
    "SELECT id FROM payments WHERE payer_phone = :number UNION SELECT p.id FROM payments p JOIN transactions t "
    f"ON t.payment_seq = p.seq WHERE p.payer_phone IS NULL AND {_OWN}"
)

_SOURCES: Final = (
    "SELECT m.id FROM payments p JOIN messages m ON m.seq = p.message_seq WHERE p.id IN (SELECT value ->> 0 FROM json_each(:ids))",
    # A second copy of the receipt may have another text, without the number.
    "SELECT id FROM messages WHERE payment_id IN (SELECT value ->> 0 FROM json_each(:ids))",
    (
        "SELECT r.message_id FROM reversals r JOIN payments p ON p.mode = r.mode AND p.provider = r.provider "
        "AND p.telco_transaction_id = r.original_telco_id WHERE p.id IN (SELECT value ->> 0 FROM json_each(:ids))"
    ),
)
"""The messages about payments: each receipt, its copies, and the message that took the payment back."""


def find(reader: Reader, number: str) -> PayerRows:
    """Find everything about a number. Scans whole tables, so do not call it in the writer."""
    params = {"number": number}
    payments = _ids(reader, _PAYMENTS, params)
    orders = _ids(reader, f"SELECT id FROM transactions WHERE {_OWN}", params)
    paid = _where(reader, f"SELECT id FROM transactions WHERE payment_seq IN {_SEQS}", payments)
    held = _where(reader, f"SELECT id FROM transactions WHERE held_payment_seq IN {_SEQS}", payments)
    transactions = tuple(dict.fromkeys((*orders, *paid, *held)))
    sources = [message_id for source in _SOURCES for message_id in _where(reader, source, payments)]
    named = _ids(
        reader,
        "SELECT id FROM messages WHERE body LIKE :like OR fields LIKE :like OR sender LIKE :like",
        {"like": f"%{search_digits(number)}%"},
    )
    messages = tuple(dict.fromkeys((*sources, *named)))
    reviews = _ids(
        reader,
        "SELECT id FROM reviews WHERE payment_id IN (SELECT value ->> 0 FROM json_each(:payments)) "
        "OR message_id IN (SELECT value ->> 0 FROM json_each(:messages)) "
        "OR transaction_id IN (SELECT value ->> 0 FROM json_each(:transactions)) ORDER BY id",
        {"payments": json_ids(payments), "messages": json_ids(messages), "transactions": json_ids(transactions)},
    )
    names = _ids(
        reader,
        "SELECT payer_name FROM payments WHERE id IN (SELECT value ->> 0 FROM json_each(:payments)) UNION "
        "SELECT customer_name FROM transactions WHERE id IN (SELECT value ->> 0 FROM json_each(:orders)) UNION "
        "SELECT expected_payer_name FROM transactions WHERE id IN (SELECT value ->> 0 FROM json_each(:orders)) UNION "
        "SELECT name FROM approved_payers WHERE phone_number = :number",
        {"payments": json_ids(payments), "orders": json_ids(orders), "number": number},
    )
    return PayerRows(
        number, payments, orders, tuple(dict.fromkeys((*paid, *held))), messages,
        _ids(reader, "SELECT id FROM sms_outbox WHERE number = :number", params), reviews,
        _ids(reader, "SELECT id FROM approved_payers WHERE phone_number = :number", params),
        tuple(sorted(name for name in names if name)),
        _answers(reader, number, (*payments, *transactions, *messages, *reviews)),
    )  # fmt: skip


def _answers(reader: Reader, number: str, ids: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Find the kept answers that contain the number, or one of these ids beside other data.

    The answer of a form is only an address, which is no personal data; it must stay, because it keeps the form from acting twice.
    """
    known, digits = {one.replace("-", "") for one in ids}, search_digits(number)
    found: list[tuple[str, str]] = []
    after = {"scope": "", "key": "", "limit": BATCH}
    while True:
        rows = reader.all(
            "SELECT scope, key, body FROM idempotency_keys WHERE (scope, key) > (:scope, :key) "
            "AND sealed = 0 ORDER BY scope, key LIMIT :limit",
            after,
        )
        for scope, key, body in rows:
            about = {one.replace("-", "") for one in _ID.findall(body)}
            if digits in body or digits in key or (body.startswith("{") and about & known):
                found.append((scope, key))
        if len(rows) < BATCH:
            return tuple(found)
        after |= {"scope": rows[-1][0], "key": rows[-1][1]}


class OpenRow(Struct, frozen=True):
    """A row that is still open, so that nothing is erased: its kind, its id, and whether it is of the sandbox."""

    kind: str
    id: str
    test: bool


def unfinished(reader: Reader, found: PayerRows, late_since: int) -> list[OpenRow]:
    """Return the rows that are still open.

    A transaction that expired after `late_since` may still be paid.
    """
    statements = {
        "orders": (
            (
                "SELECT id, mode = 'test' FROM transactions WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)) AND (status IN ('PENDING', 'MANUAL_REVIEW') "
                f"OR (status = 'EXPIRED' AND expires_at > {int(late_since)})) ORDER BY seq"
            ),
            found.transactions,
        ),
        "reviews": (
            "SELECT id, mode = 'test' FROM reviews WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)) AND state = 'open' ORDER BY seq",
            found.reviews,
        ),
        "messages": (
            "SELECT id, mode = 'test' FROM messages WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)) AND state IN ('held', 'incomplete') ORDER BY seq",
            found.messages,
        ),
        "webhooks": (
            f"SELECT id, test = 1 FROM deliveries WHERE {_THEIRS} AND next_attempt_at IS NOT NULL ORDER BY seq",
            found.transactions,
        ),
        "sms": (
            "SELECT id, 1 = 0 FROM sms_outbox WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)) AND ended_at IS NULL ORDER BY seq",
            found.texts,
        ),
    }
    return [
        OpenRow(kind, row[0], bool(row[1]))
        for kind, (sql, ids) in statements.items()
        for row in reader.all(sql, {"ids": json_ids(ids)})
    ]


def counts(reader: Reader, found: PayerRows) -> dict[str, int]:
    """Return the number of rows of each kind with data about the payer."""
    return {
        "payments": len(found.payments),
        "orders": len(found.orders),
        "messages": len(found.messages),
        "sms": len(found.texts),
        "webhooks": reader.count(
            f"SELECT COUNT(*) FROM deliveries WHERE {_THEIRS}", {"ids": json_ids(found.transactions)}
        ),
        "reviews": len(found.reviews),
        "approved_names": len(found.approved),
    }


class SentText(Struct, frozen=True):
    """An SMS that the shop sent to the payer."""

    kind: str
    status: str
    created_at: int
    ended_at: int | None
    body: str


def texts(reader: Reader, found: PayerRows) -> list[SentText]:
    """Return the SMS that the shop sent to the payer."""
    return reader.every(
        SentText, "SELECT * FROM sms_outbox WHERE number = :number ORDER BY seq", {"number": found.number}
    )


def approved_names(reader: Reader, found: PayerRows) -> list[str]:
    """Return the names that were approved for the number."""
    return reader.column(
        "SELECT name FROM approved_payers WHERE phone_number = :number ORDER BY seq", {"number": found.number}
    )


_IDS: Final = "id IN (SELECT value ->> 0 FROM json_each(:ids))"
_THEIR_TRANSACTION: Final = "transaction_id IN (SELECT value ->> 0 FROM json_each(:ids))"
_OF_MESSAGES: Final = "message_seq IN (SELECT seq FROM messages WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)))"
PLACES: Final = (
    ("payments", "payments", _IDS), ("transactions", "orders", _IDS), ("sms_parts", "messages", _OF_MESSAGES),
    ("messages", "messages", _IDS), ("sms_outbox", "texts", _IDS), ("deliveries", "transactions", _THEIRS),
    ("dead_letters", "transactions", f"delivery_id IN (SELECT id FROM deliveries WHERE {_THEIRS})"),
    ("reviews", "reviews", _IDS), ("reconciliations", "transactions", _THEIR_TRANSACTION),
    ("cancellations", "transactions", _THEIR_TRANSACTION), ("routings", "payments", f"payment_seq IN {_SEQS}"),
)  # fmt: skip
"""The tables with columns that the schema marks `erased`, `forgotten` or `cleaned`: kind of ids, and which rows are the payer's."""
_DELETED: Final = (
    ("request_names", "orders", _THEIR_TRANSACTION),
    ("payer_claims", "orders", _THEIR_TRANSACTION),
    ("sms_outbox_parts", "texts", "sms_id IN (SELECT value ->> 0 FROM json_each(:ids))"),
    ("approved_payers", "approved", _IDS),
)


def erase(tx: Tx, found: PayerRows) -> None:
    """Erase the payer from every row. The old content in the file is overwritten (`secure_delete`), not only freed."""
    _overwrite_deleted(tx, "ON")
    indexed = (("payments", found.payments), ("transactions", found.transactions))
    try:
        for table, ids in indexed:
            search_index.remove(tx, table, ids)
        for table, kind, where in _DELETED:
            tx.run(f"DELETE FROM {table} WHERE {where}", {"ids": json_ids(getattr(found, kind))})
        for table, kind, where in PLACES:
            ids = getattr(found, kind)
            if changes := migrate.emptied(table, "erased", "forgotten"):
                tx.run(f"UPDATE {table} SET {changes} WHERE {where}", {"ids": json_ids(ids)})
            for column in migrate.marked_columns(table, "cleaned"):
                _clean(tx, found, table, column, where, ids)
        # An order of somebody else that the payer paid.
        for column in migrate.marked_columns("transactions", "cleaned"):
            _clean(tx, found, "transactions", column, _IDS, found.paid)
        # Another payer may have typed this number.
        _clean(tx, found, "payments", "reference_text", _OF_MESSAGES, found.messages)
        tx.run(
            "UPDATE messages SET sender = NULL WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)) AND sender LIKE :like",
            {"ids": json_ids(found.messages), "like": f"%{search_digits(found.number)}"},
        )
        seqs = _where(tx, f"SELECT seq FROM deliveries WHERE {_THEIRS}", found.transactions)
        deliveries.rewrite_bodies(tx, seqs, partial(forget_in_json, number=found.number))
        for scope, key in found.answers:
            idempotency.remove(tx, scope, key)
        for table, ids in indexed:
            search_index.add(tx, table, ids)
        search_index.begin_purge(tx)
    finally:
        _overwrite_deleted(tx, "OFF")


def _overwrite_deleted(tx: Tx, switch: str) -> None:
    if not tx.is_postgresql:  # which overwrites old rows with new ones after the next VACUUM
        tx.value(f"PRAGMA secure_delete = {switch}")


def _clean(tx: Tx, found: PayerRows, table: str, column: str, where: str, ids: Sequence[str]) -> None:
    """Mask the payer in texts that also contain other data."""
    rows = tx.all(f"SELECT seq, {column} FROM {table} WHERE {where} AND {column} IS NOT NULL", {"ids": json_ids(ids)})
    for seq, text in rows:
        if migrate.marks()[table][column].is_json:
            changed = forget_in_json(text, found.number)
        else:
            changed = forget_in_text(text, found.number, found.names)
        tx.run(f"UPDATE {table} SET {column} = :text WHERE seq = :seq", {"text": changed, "seq": seq})


def _ids(reader: Reader, sql: str, params: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[0] for row in reader.all(sql, params))


def _where(reader: Reader, sql: str, ids: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(row[0] for row in reader.all(sql, {"ids": json_ids(ids)}))
