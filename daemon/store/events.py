"""The journal: append-only facts that the stream, the audit and the timeline read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.core import shapes
from daemon.core.model import Event
from daemon.store.engine import Reader, Rows, Tx
from daemon.store.rows import columns, load_all, table, values
from daemon.wire import Mode

TOPIC = "events"
"""Woken by every commit that added to the journal."""

PIECE = 1_000
"""Lines of one statement; SQLite takes 32,766 values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One fact to append; `data` holds no names, bodies or secrets that the rows do not already keep."""

    type: str
    mode: Mode
    at: int
    actor: str = "momo"
    transaction_id: str | None = None
    payment_id: str | None = None
    message_id: str | None = None
    endpoint_id: str | None = None
    data: Mapping[str, Any] | None = None


def add(
    tx: Tx,
    *,
    type: str,  # noqa: A002 -- the column's own name
    mode: Mode,
    at: int,
    actor: str = "momo",
    transaction_id: str | None = None,
    payment_id: str | None = None,
    message_id: str | None = None,
    endpoint_id: str | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Append one fact, as `Line` describes it, at the end of the commit: jobs do not decide by the journal."""
    told = shapes.dump(data or {}).decode()
    _append(
        tx,
        [(type, mode, at, actor, transaction_id, payment_id, message_id, endpoint_id, told)],
    )


def add_all(tx: Tx, lines: Sequence[Line]) -> None:
    """Append some facts, in their order."""
    if lines:
        _append(tx, [_row(line) for line in lines])


def add_at_once(tx: Tx, line: Line) -> None:
    """Append a fact that the next job looks for: two of the same may stand in one commit."""
    _write(tx, [_row(line)])
    tx.wake(TOPIC)


def _row(line: Line) -> Sequence[Any]:
    return (
        line.type, line.mode, line.at, line.actor, line.transaction_id, line.payment_id,
        line.message_id, line.endpoint_id, shapes.dump(line.data or {}).decode(),
    )  # fmt: skip


def _append(tx: Tx, rows: Rows) -> None:
    tx.write_last(_write, rows)
    tx.wake(TOPIC)


def _write(tx: Tx, rows: Rows) -> None:
    for start in range(0, len(rows), PIECE):
        piece = rows[start : start + PIECE]
        tx.run(
            "INSERT INTO events (type, mode, at, actor, transaction_id, payment_id, message_id, endpoint_id, data) "
            f"VALUES {table(piece)}",
            values(piece),
        )


def latest_at(reader: Reader, among: int) -> int | None:
    """Return the latest time among the newest lines; None when there is no line."""
    at: int | None = reader.value(
        "SELECT MAX(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT :among) newest",
        {"among": among},
    )
    return at


def after(
    reader: Reader, seq: int, *, transaction_id: str | None = None, limit: int = 200
) -> list[Event]:
    """Return what was appended after `seq`, oldest first."""
    one = "AND transaction_id = :transaction_id " if transaction_id is not None else ""
    return load_all(
        Event,
        reader.all(
            f"SELECT {columns(Event)} FROM events WHERE seq > :seq {one}ORDER BY seq LIMIT :limit",
            {"seq": seq, "transaction_id": transaction_id, "limit": limit},
        ),
    )


def of_transaction(
    reader: Reader, transaction_id: str, *, limit: int, offset: int
) -> tuple[list[Event], int]:
    """Return one page of what happened to a transaction, oldest first, and how much there is in all."""
    total = reader.value(
        "SELECT COUNT(*) FROM events WHERE transaction_id = :id", {"id": transaction_id}
    )
    rows = reader.all(
        f"SELECT {columns(Event)} FROM events WHERE transaction_id = :id "
        "ORDER BY seq LIMIT :limit OFFSET :offset",
        {"id": transaction_id, "limit": limit, "offset": offset},
    )
    return load_all(Event, rows), int(total)


def last_seq(reader: Reader) -> int:
    """Return the newest sequence number, 0 when the journal is empty."""
    return int(reader.value("SELECT MAX(seq) FROM events") or 0)
