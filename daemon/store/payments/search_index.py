"""The index of the texts that a search of transactions looks in: which rows may contain a text.

It is SQLite's FTS5 with trigrams (sqlite.org/fts5.html, 4.3.4). It knows which three characters a row contains, not in which
order, so the caller compares the rows that it names. PostgreSQL's form is a `pg_trgm` index on `TEXT_OF_...`.

Rows are added in batches, some time after they were written, so that no payment's commit pays for it: rows behind the
cursor are read one by one (docs/decisions/0014-search-exact-identifiers-in-indexes-and-text-in-trigrams.md).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_ids
from parsers.money import read_money
from parsers.pasted import plain_amount

OF_TRANSACTION: Final = ("svc_code", "customer_name", "client_reference", "description", "phone_number")
OF_PAYMENT: Final = ("telco_transaction_id", "payer_name", "payer_phone", "reference_text")
BATCH: Final = 50
"""Rows of each table that one commit adds; it takes 4 ms."""
GRAM: Final = 3
WORDS_MAX: Final = 5
_AMOUNT: Final = re.compile(r"[0-9]{1,7}(?:[.,][0-9]{1,2})?", re.ASCII)
_CURRENCY: Final = re.compile(r"(?:ghs|gh\u20b5|gh\u00a2|\u20b5|cedis?)\s*|\s*(?:ghs|cedis?)$", re.IGNORECASE)
_PHONE_DIGITS: Final = 7
"""The last digits of a number: nearly all numbers have the same first ones."""
_IN_ID: Final = re.compile(r"(?=.*[0-9])[^\s+]+", re.ASCII)
_MERGED: Final = 100
"""Pages of the index that one commit of `purge` writes."""


def _text(columns: Iterable[str]) -> str:
    """Return the indexed text of a row; no text that is searched for goes over a line's end."""
    return " || CHAR(10) || ".join(f"COALESCE({column}, '')" for column in columns)


_TABLES: Final = (("transactions", 0, _text(OF_TRANSACTION)), ("payments", 1, _text(OF_PAYMENT)))
"""Each table with the number that is added to twice a row's number for its number in the index, and its text."""


class Indexed(Struct, frozen=True):
    """The rows that the index covers: those up to these numbers.

    Attributes:
        in_tables: The tables themselves have an index of their texts, as in PostgreSQL; there is none to ask first.
    """

    transaction_seq: int
    payment_seq: int
    in_tables: bool = False


def indexed(reader: Reader) -> Indexed:
    """Return the rows that the index covers."""
    row = reader.one("SELECT transaction_seq, payment_seq FROM search_cursor WHERE id = 1")
    assert row is not None, "the schema makes this row"
    transaction_seq, payment_seq = row
    return Indexed(transaction_seq, payment_seq, in_tables=reader.is_postgresql)


def match(words: Sequence[str], dialled: str | None) -> str | None:
    """Return the index's query for the rows that may contain all words, or a phone number that begins with `dialled`.

    None if every word is too short for the index.
    """
    long = [word for word in words if len(word) >= GRAM]
    if not long or any("\0" in word for word in words):
        return None
    found = " AND ".join(_all_of(word) for word in long)
    return f"({found})" if dialled is None else f"({found}) OR ({_all_of(dialled[-_PHONE_DIGITS:])})"


def may_hold(column: str, text: str) -> bool:
    """Return whether a column may contain a text. A network ID contains no text without a digit, and none with a space or a plus.

    PostgreSQL has no trigrams of network IDs: they tripled its work for the payment of a branch. It reads all payments for such a text.
    """
    return not column.endswith("telco_transaction_id") or _IN_ID.fullmatch(text) is not None


def amount_of(text: str) -> int | None:
    """Return the amount in pesewas that a text means, such as `12.50`, `12,5` or `GHS 1,200.00`; None if it is none."""
    bare = plain_amount(_CURRENCY.sub("", text.strip()))
    if _AMOUNT.fullmatch(bare) is None:
        return None
    found = read_money(bare.replace(",", "."), currency="GHS")
    return None if found is None else found.minor


def rows(of_transaction: str, of_payment: str) -> Sequence[tuple[str, str]]:
    """Return where the rows of a `:match` are that hold the text by these tests of a row: each a source and a condition."""
    of_table = "search MATCH :match AND search.rowid % 2"
    return (
        ("search CROSS JOIN transactions t", f"{of_table} = 0 AND t.seq = search.rowid / 2 AND {of_transaction}"),
        (
            "search CROSS JOIN payments p CROSS JOIN transactions t",
            f"{of_table} = 1 AND p.seq = search.rowid / 2 AND t.payment_seq = p.seq AND {of_payment}",
        ),
    )


PAYMENTS: Final = "SELECT search.rowid / 2 FROM search WHERE search MATCH :match AND search.rowid % 2 = 1"
"""The numbers of the payments of a `:match`."""


def _all_of(text: str) -> str:
    grams = {text[place : place + GRAM].replace('"', '""') for place in range(len(text) - GRAM + 1)}
    return " AND ".join(f'"{gram}"' for gram in sorted(grams))


def is_behind(reader: Reader) -> bool:
    """Return whether enough rows for a batch wait, or an erasure is not finished."""
    if reader.is_postgresql:
        return False
    at = indexed(reader)
    return (
        (reader.value("SELECT MAX(seq) FROM transactions") or 0) >= at.transaction_seq + BATCH
        or (reader.value("SELECT MAX(seq) FROM payments") or 0) >= at.payment_seq + BATCH
        or _is_purging(reader)
    )


def catch_up(tx: Tx) -> bool:
    """Add the next rows to the index, or go on with an erasure; return whether there is more to do."""
    if tx.is_postgresql:
        return False
    at = indexed(tx)
    tops = []
    for (table, place, text), after in zip(_TABLES, (at.transaction_seq, at.payment_seq), strict=True):
        part = f"SELECT seq FROM {table} WHERE seq > :after ORDER BY seq LIMIT {BATCH}"
        top = tx.value(f"SELECT MAX(seq) FROM ({part}) part", {"after": after}) or after
        tx.run(
            f"INSERT INTO search (rowid, text) SELECT seq * 2 + {place}, {text} FROM {table} "
            "WHERE seq > :after AND seq <= :top",
            {"after": after, "top": top},
        )
        tops.append(top)
    tx.run("UPDATE search_cursor SET transaction_seq = :t, payment_seq = :p WHERE id = 1", {"t": tops[0], "p": tops[1]})
    if _is_purging(tx):
        _purge(tx)
    return is_behind(tx)


def remove(tx: Tx, table: str, ids: Sequence[str]) -> None:
    """Remove rows from the index, before their texts change; `add` adds them again."""
    _change(tx, table, ids, "INSERT INTO search (search, rowid, text) SELECT 'delete', ")


def add(tx: Tx, table: str, ids: Sequence[str]) -> None:
    """Add rows that `remove` removed, with their new texts."""
    _change(tx, table, ids, "INSERT INTO search (rowid, text) SELECT ")


def _change(tx: Tx, table: str, ids: Sequence[str], insert: str) -> None:
    if tx.is_postgresql:
        return
    place, text = next((place, text) for name, place, text in _TABLES if name == table)
    at = indexed(tx)
    top = at.payment_seq if place else at.transaction_seq
    tx.run(
        f"{insert}seq * 2 + {place}, {text} FROM {table} WHERE seq <= :top "
        "AND id IN (SELECT value ->> 0 FROM json_each(:ids))",
        {"top": top, "ids": json_ids(ids)},
    )


def begin_purge(tx: Tx) -> None:
    """Begin to rewrite the index without removed text: FTS5 otherwise keeps it until that part is rewritten."""
    if tx.is_postgresql:
        return
    tx.run("UPDATE search_cursor SET purging = 1 WHERE id = 1")
    # Below zero it joins all parts of the index into one (sqlite.org/fts5.html, 6.8).
    tx.run(f"INSERT INTO search (search, rank) VALUES ('merge', -{_MERGED})")


def _is_purging(reader: Reader) -> bool:
    return reader.exists("SELECT 1 FROM search_cursor WHERE purging = 1")


def _purge(tx: Tx) -> None:
    """Rewrite the next pages of the index; the freed ones are overwritten."""
    tx.value("PRAGMA secure_delete = ON")
    before: Any = tx.value("SELECT total_changes()")
    tx.run(f"INSERT INTO search (search, rank) VALUES ('merge', {_MERGED})")
    # "If the difference is less than 2, the merge had nothing to do" (6.8).
    if tx.value("SELECT total_changes()") - before < 2:
        tx.run("UPDATE search_cursor SET purging = 0 WHERE id = 1")
    tx.value("PRAGMA secure_delete = OFF")
