"""Whole tables in the order in which they were written, page by page; each page starts where the previous one ended."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.model import Event, Message, Payment, Transaction
from daemon.store.engine import Reader
from daemon.store.journal_texts import with_texts
from daemon.store.payments.transaction_list import BOTH, JOINED, Found, found_in
from daemon.store.rows import columns, load, load_optional
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


class DeliveryRow(Struct, frozen=True):
    """A delivery, without its body."""

    seq: int
    id: str
    webhook_id: str
    endpoint_id: str
    url: str
    event: str
    transaction_id: str
    test: bool
    status: str
    attempt_count: int
    response_status_code: int | None
    error_code: str | None
    created_at: int
    delivered_at: int | None


_SENT: Final = ", ".join(
    {"url": "e.url", "endpoint_id": "e.id", "transaction_id": "t.id"}.get(name, f"d.{name}")
    for name in DeliveryRow.__struct_fields__
)


def transactions(reader: Reader, part: TablePage) -> list[Found]:
    """Return transactions in order of creation, each with the payment that verified it."""
    rows = _rows(reader, part, BOTH, JOINED, "t", "created_at", "t.merged_into IS NULL")
    return [found_in(row) for row in rows]


def payments(
    reader: Reader, part: TablePage
) -> list[tuple[Payment, str | None, Transaction | None]]:
    """Return payments in order of storage, each with the number that received it and the transaction that it pays."""
    source = (
        "payments p LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq "
        "LEFT JOIN transactions t ON t.payment_seq = p.seq"
    )
    wanted = f"{columns(Payment, 'p.')}, pm.phone_number, {columns(Transaction, 't.')}"
    width = len(Payment.__struct_fields__)
    return [
        (
            load(Payment, row[:width]),
            row[width],
            load_optional(Transaction, None if row[width + 1] is None else row[width + 1 :]),
        )
        for row in _rows(reader, part, wanted, source, "p", "stored_at")
    ]


def messages(reader: Reader, part: TablePage) -> list[tuple[Message, str | None]]:
    """Return SMS in order of arrival, each with the number that received it."""
    source = "messages m LEFT JOIN payment_methods pm ON pm.seq = m.payment_method_seq"
    wanted = f"{columns(Message, 'm.')}, pm.phone_number"
    return [
        (load(Message, row[:-1]), row[-1])
        for row in _rows(reader, part, wanted, source, "m", "received_at")
    ]


def deliveries(reader: Reader, part: TablePage) -> list[DeliveryRow]:
    """Return deliveries in order of creation."""
    source = (
        "deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq "
        "JOIN transactions t ON t.seq = d.transaction_seq"
    )
    rows = _rows(reader, part, _SENT, source, "d", "created_at", by="t.id", owner="e")
    return [load(DeliveryRow, row) for row in rows]


def journal(reader: Reader, part: TablePage) -> list[Event]:
    """Return the journal."""
    rows = _rows(reader, part, columns(Event, "j."), "events j", "j", "at")
    return with_texts(reader, [load(Event, row) for row in rows])


def _rows(  # noqa: PLR0917 -- the parts of one query
    reader: Reader,
    part: TablePage,
    wanted: str,
    source: str,
    table: str,
    time: str,
    test: str = "1 = 1",
    by: str = "",
    owner: str = "",
) -> list[tuple[Any, ...]]:
    tests = [f"{table}.seq > :after", test]
    params: dict[str, Any] = {"after": part.after, "limit": part.limit}
    # Row by row from the end of the last page: over all pages the table is read once, for any times.
    if part.since is not None:
        tests.append(f"{table}.{time} >= :since")
        params["since"] = part.since
    if part.until is not None:
        tests.append(f"{table}.{time} < :until")
        params["until"] = part.until
    if part.mode is not None:
        tests.append(f"{owner or table}.mode = :mode")
        params["mode"] = part.mode
    if part.ids is not None:
        names = {f"id{place}": one for place, one in enumerate(part.ids)}
        tests.append(f"{by or table + '.id'} IN ({', '.join(f':{name}' for name in names)})")
        params |= names
    return reader.all(
        f"SELECT {wanted} FROM {source} WHERE {' AND '.join(tests)} ORDER BY {table}.seq LIMIT :limit",
        params,
    )
