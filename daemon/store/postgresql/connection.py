"""A PostgreSQL connection that takes the store's statements as a SQLite connection does, and gives the same values.

Integers come back as `int` also where PostgreSQL makes them `numeric` (SUM) or `boolean` (comparisons).
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
import psycopg
from psycopg import adapt, pq, sql
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper, StrDumperUnknown

from daemon.store.postgresql import dialect

PREPARE_AFTER: Final = 2
"""Executions of a statement after which it is prepared; nearly all statements run again and again."""

Params = Mapping[str, Any] | Sequence[Any]


class _NumericLoader(adapt.Loader):
    """Loads `numeric`: every sum of the store is whole."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text else int(text)


class _BooleanLoader(adapt.Loader):
    """Loads `boolean` as 1 or 0."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


class _BooleanDumper(Int8Dumper):
    """Dumps `bool` as 1 or 0: the columns are numbers."""

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


class _TextDumper(StrDumperUnknown):
    """Dumps `str`. PostgreSQL has no U+0000: a text that a shop's file holds with one gets U+FFFD, and one that is looked for is not found."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class _EnumDumper(StrDumper):
    """Dumps a member by its value."""

    def dump(self, obj: Any) -> Any:
        return super().dump(obj.value)


class Connection:
    """One connection in autocommit mode: the store begins and ends its transactions itself."""

    def __init__(self, url: str, *, read_only: bool) -> None:
        """Connect.

        Raises:
            psycopg.OperationalError: There is no such server or database, or it refuses this user.
        """
        self._raw: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(
            url, autocommit=True, prepare_threshold=PREPARE_AFTER
        )
        # The default of 4 is for a disk that turns. With it, a large table is read through where an index would find the rows.
        self._raw.execute("SET random_page_cost = 1.1")
        # A page must be of one moment, as it is in SQLite.
        self._begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if read_only else "BEGIN"
        types = self._raw.adapters
        types.register_loader("numeric", _NumericLoader)
        types.register_loader("bool", _BooleanLoader)
        types.register_dumper(bool, _BooleanDumper)
        types.register_dumper(str, _TextDumper)
        types.register_dumper(Enum, _EnumDumper)

    def execute(self, sql: str, params: Params = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement of the store."""
        if sql.startswith("BEGIN"):
            return self._raw.execute(self._begin)
        return self._raw.execute(dialect.statement(sql).encode(), params or None)

    def execute_planned(self, sql: str, params: Sequence[Any]) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement with a plan of its own: one that was made for a small table would read all of a large one."""
        return self._raw.execute(dialect.statement(sql).encode(), params, prepare=False)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement of the store for each row of values, without waiting for the answer to each."""
        self._raw.cursor().executemany(dialect.statement(sql).encode(), rows)

    def insert_rows(
        self, table: str, names: Sequence[str], rows: Sequence[Sequence[Any]], conflict: str
    ) -> None:
        """Insert rows in one statement: as JSON, which takes a third of the server's time for one statement a row."""
        columns = ", ".join(names)
        objects = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows])
        self._raw.execute(
            f"INSERT INTO {table} ({columns}) SELECT {columns} "
            f"FROM json_populate_recordset(NULL::{table}, %s) {conflict}".encode(),
            [objects.decode()],
        )

    def run_as_written(self, sql: str) -> None:
        """Run a statement of the schema, which has no parameters."""
        self._raw.execute(sql.encode())

    def copy_rows(self, copy: sql.Composed, rows: Iterable[Sequence[Any]]) -> int:
        """Run a `COPY ... FROM STDIN` with these rows; return their number."""
        count = 0
        with self._raw.cursor().copy(copy) as sink:
            for row in rows:
                sink.write_row(row)
                count += 1
        return count

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, also a failed one."""
        return self._raw.info.transaction_status in (
            pq.TransactionStatus.INTRANS,
            pq.TransactionStatus.INERROR,
        )

    @property
    def is_broken(self) -> bool:
        """Whether the server has gone."""
        return self._raw.closed

    def interrupt(self) -> None:
        """End a running statement from another thread."""
        self._raw.cancel_safe()

    def close(self) -> None:
        """Close it; the writer's lock is free when this returns, and not when the server notices."""
        with contextlib.suppress(psycopg.Error):
            self._raw.execute("SELECT pg_advisory_unlock_all()")
        self._raw.close()
