"""Whole tables in the order in which they were written, page by page; each page starts where the previous one ended."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from daemon.core.model import Delivery, Event, Message, Payment, Transaction
from daemon.store.engine import UNCOUNTED, Reader
from daemon.store.journal import with_texts
from daemon.store.payments.transaction_list import Found
from daemon.store.rows import Conditions, json_ids
from daemon.wire import Mode


class TablePage(Struct, frozen=True):
    """The part of a table to read; None filters nothing.

    `after` is the sequence number of the last row that was read; `until` is excluded. With `ids` only these are read,
    for deliveries the ids of their transactions; at most `payer_data.BATCH`.
    """

    after: int
    since: int | None
    until: int | None
    limit: int
    ids: Sequence[str] | None = None
    mode: Mode | None = None


def transactions(reader: Reader, part: TablePage) -> list[Found]:
    """Return transactions in order of creation, each with the payment that verified it."""
    return _rows(
        reader, part, "SELECT t.*, p.* FROM transactions t LEFT JOIN payments p ON p.seq = t.payment_seq",
        "created_at", t=Transaction, p=Payment,
    )  # fmt: skip


def payments(reader: Reader, part: TablePage) -> list[tuple[Payment, str | None, Transaction | None]]:
    """Return payments in order of storage, each with the number that received it and the transaction that it pays."""
    return _rows(
        reader,
        part,
        "SELECT p.*, pm.phone_number, t.* FROM payments p LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq "
        "LEFT JOIN transactions t ON t.payment_seq = p.seq",
        "stored_at",
        p=Payment,
        t=Transaction,
    )


def messages(reader: Reader, part: TablePage) -> list[tuple[Message, str | None]]:
    """Return SMS in order of arrival, each with the number that received it."""
    return _rows(
        reader,
        part,
        "SELECT m.*, pm.phone_number FROM messages m LEFT JOIN payment_methods pm ON pm.seq = m.payment_method_seq",
        "received_at",
        m=Message,
    )


def deliveries(reader: Reader, part: TablePage) -> list[tuple[Delivery, str]]:
    """Return deliveries in order of creation, each with its address."""
    return _rows(
        reader,
        part,
        "SELECT d.*, e.url FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq "
        "JOIN transactions t ON t.seq = d.transaction_seq",
        "created_at",
        ids="t.id IN (SELECT value ->> 0 FROM json_each(:ids))",
        owner="e",
        d=Delivery,
    )


def journal(reader: Reader, part: TablePage) -> list[Event]:
    """Return the journal."""
    rows = _rows(reader, part, "SELECT j.* FROM events j", "at", j=Event)
    return with_texts(reader, rows)


def _rows(
    reader: Reader, part: TablePage, sql: str, time: str, *, ids: str = "", owner: str = "", **models: Any
) -> list[Any]:
    """Return rows of the table of the first model: row by row from the end of the last page, so that it is read once."""
    table, chosen = next(iter(models)), Conditions()
    if table == "t":
        chosen.always("t.merged_into IS NULL")
    chosen.by(f"{table}.seq > :after", after=part.after)
    chosen.by(f"{table}.{time} >= :since", since=part.since)
    chosen.by(f"{table}.{time} < :until", until=part.until)
    chosen.by(f"{owner or table}.mode = :mode", mode=part.mode)
    if part.ids is not None:
        chosen.by(ids or table + ".id IN (SELECT value ->> 0 FROM json_each(:ids))", ids=json_ids(part.ids))
    return reader.page(sql, chosen, order=f"{table}.seq", limit=part.limit, total=UNCOUNTED, **models).rows
