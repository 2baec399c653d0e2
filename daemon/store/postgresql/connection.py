"""A PostgreSQL connection that takes the store's statements as a SQLite connection does, and gives the same values.

Integers come back as `int` also where PostgreSQL makes them `numeric` (SUM) or `boolean` (comparisons).

The store's SQL in PostgreSQL's words: the schema, converted by rule, and the parameters of statements.

The statements themselves are written in the subset that both databases share. The differences are:

| SQLite | PostgreSQL |
|---|---|
| `INTEGER` of 64 bits, `BLOB` | `BIGINT`, `BYTEA` |
| `INTEGER ... CHECK (x IN (0, 1))`, and a few small numbers | `SMALLINT` |
| the order of the columns | by the size of their type, so that no room is lost between them |
| `seq INTEGER PRIMARY KEY` | an identity column |
| `STRICT`, `WITHOUT ROWID` | left out |
| `REFERENCES` to a table that comes later | added when all tables are there |
| a trigger with its statements | a function in PL/pgSQL, and a trigger that calls it, both made last |
| `DROP TRIGGER` | the function is dropped, and the trigger with it |
| `DROP TABLE` of a table that others refer to, to make it anew | `CASCADE`; `server.py` restores the references |
| the FTS5 table `search` | trigram indexes (`pg_trgm`) on the texts themselves |
| `:name`, `?` | `%(name)s`, `%s` |
| `LIKE`, which ignores the case of ASCII letters | `ILIKE` |
| `json_each`, `json_group_array` | `jsonb_array_elements`, `jsonb_agg` |
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import msgspec
import psycopg
from psycopg import adapt, pq, sql
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper, StrDumperUnknown

_SEARCHED: Final = {
    "transactions": ("svc_code", "customer_name", "client_reference", "description", "phone_number"),
    "payments": ("payer_name", "payer_phone", "reference_text"),
}
_SEARCH: Final = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    *(
        f"CREATE INDEX IF NOT EXISTS {table}_text_{one} ON {table} "
        f"USING gin ({one} gin_trgm_ops) WITH (gin_pending_list_limit = 256) WHERE {one} IS NOT NULL"
        for table, columns in _SEARCHED.items()
        for one in columns
    ),
)
"""In place of the FTS5 table, which `daemon/store/payments/search_index.py` fills.

An index each, because one of several columns has an entry for each NULL, and most rows of a branch are NULL in all of them.
"""
_OTHERWISE: Final = {
    "messages_by_sender": "",
    "messages_by_state": "CREATE INDEX messages_by_state ON messages (state, seq) WHERE state <> 'payment'",
    "messages_by_arrival": "CREATE INDEX messages_by_arrival ON messages USING brin (received_at)",
    "payments_by_telco_time": "CREATE INDEX payments_by_telco_time ON payments USING brin (telco_at)",
}
"""Indexes that are other ones here, or none, so that a hub's millions of copies take less room.

BRIN, a summary of each run of pages, serves where a period is read and not an order. Nearly all copied messages are payments,
and of few senders.
"""
_SMALL: Final = re.compile(
    r"(\b(?:slot_index|parts_total|parts_seen|reference_width) +)INTEGER\b|()\bINTEGER\b(?=[^,]* CHECK \(\w+ IN \(0, 1\)\))"
)
_COMMENT: Final = re.compile(r"--[^\n]*")
_REFERENCE: Final = re.compile(
    r"^(?P<before>\s*(?P<column>\w+)\s.*?)\s*\b(?P<clause>REFERENCES \w+ \(\w+\)(?: DEFERRABLE INITIALLY DEFERRED)?)(?P<after>.*)$",
    re.MULTILINE,
)
_TRIGGER: Final = re.compile(
    r"CREATE TRIGGER (?P<name>\w+) (?P<event>(?:AFTER|BEFORE) .*? ON \w+)(?:\s+WHEN (?P<when>.*?))?\s+BEGIN\s(?P<body>.*)END$",
    re.DOTALL,
)
_TOKEN: Final = re.compile(
    r"'(?:[^']|'')*'|--[^\n]*|::|:(?P<name>[a-z_]\w*)|(?P<mark>\?)|(?P<percent>%)|\b(?:LIKE|json_each|json_group_array)\b|\bmain\."
)
_WORDS: Final = {
    "LIKE": "ILIKE",
    "json_each": "jsonb_array_elements",
    "json_group_array": "jsonb_agg",
    "main.": "public.",
}
_RENAME: Final = re.compile(r"ALTER TABLE (\w+) RENAME TO (\w+)")
_DROP_TRIGGER: Final = re.compile(r"DROP TRIGGER (?:IF EXISTS )?(\w+)")
RECORD: Final = (
    "CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, "
    "applied_at BIGINT NOT NULL, sha256 TEXT NOT NULL)"
)
"""The table of the applied steps."""


def schema(sql: str) -> list[str]:
    """Return the statements of a step of the schema in PostgreSQL, from a file of the folder `migrations`."""
    made, later, renamed = list[str](), list[str](), dict[str, str]()
    for statement in _statements(_COMMENT.sub("", sql)):
        if statement.startswith("CREATE VIRTUAL TABLE"):
            later += _SEARCH
        elif statement.startswith("CREATE TRIGGER"):
            later += _trigger(statement)
        elif statement.startswith("CREATE TABLE"):
            table, references = _table(statement)
            made.append(table)
            later += references
        elif match := _RENAME.fullmatch(statement):
            made.append(statement)
            renamed[match[1]] = match[2]
        elif match := _DROP_TRIGGER.fullmatch(statement):
            made.append(f"DROP FUNCTION {match[1]}() CASCADE")
        elif statement.startswith("ALTER TABLE"):
            made.append(_typed(statement))
        else:
            made += filter(None, [_OTHERWISE.get(statement.split()[2], statement)])
    if set(renamed.values()) & _SEARCHED.keys():
        later += _SEARCH  # the table made anew has no such index yet
    for old, new in renamed.items():
        later = [re.sub(rf"\b{old}\b", new, statement) for statement in later]
    return [*made, *later]


@lru_cache(maxsize=4096)
def statement(sql: str) -> str:
    """Return a statement with psycopg's placeholders; a `%` is doubled, as psycopg wants it."""

    def replaced(match: re.Match[str]) -> str:
        if match["name"]:
            return f"%({match['name']})s"
        if match["mark"]:
            return "%s"
        return _WORDS.get(match[0]) or match[0].replace("%", "%%")

    return _TOKEN.sub(replaced, sql)


def _statements(sql: str) -> Iterator[str]:
    """Yield each statement; a trigger's own statements are a part of it."""
    kept = ""
    for piece in sql.split(";"):
        kept = f"{kept};{piece}" if kept else piece
        plain = kept.strip()
        if plain.startswith("CREATE TRIGGER") and not plain.endswith("END"):
            continue
        if plain:
            yield plain
        kept = ""


def _table(statement: str) -> tuple[str, list[str]]:
    name = statement.split()[2]
    plain = re.sub(r"\)\s*STRICT(, WITHOUT ROWID)?$", ")", statement)
    counted = re.sub(
        r"\bseq(\s+)INTEGER PRIMARY KEY(?! CHECK)", r"seq\1BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", plain
    )
    typed = _typed(counted)
    later = [
        f"ALTER TABLE {name} ADD FOREIGN KEY ({match['column']}) {match['clause']}"
        for match in _REFERENCE.finditer(typed)
    ]
    if counted != plain:
        # Rows that were copied into it brought their own numbers.
        last = f"(SELECT MAX(seq) FROM {name})"
        later.append(f"SELECT setval(pg_get_serial_sequence('{name}', 'seq'), {last})")
    return _in_order(_REFERENCE.sub(r"\g<before>\g<after>", typed)), later


def _in_order(statement: str) -> str:
    """Put the columns of 8 bytes first, then the small ones, then texts, then the conditions of the table."""
    head, _, body = statement.partition("(")
    parts, depth = [""], 0
    for character in body.removesuffix(")"):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    ranks = {"BIGINT": 0, "SMALLINT": 1, "TEXT": 2, "BYTEA": 2}
    parts.sort(key=lambda part: ranks.get((part.split()[1:2] or [""])[0], 3))
    return f"{head}({','.join(parts)})"


def _typed(statement: str) -> str:
    small = _SMALL.sub(r"\1SMALLINT", statement)
    return re.sub(r"\bBLOB\b", "BYTEA", re.sub(r"\bINTEGER\b", "BIGINT", small))


def _trigger(statement: str) -> list[str]:
    match = _TRIGGER.fullmatch(statement)
    assert match is not None, statement
    body = re.sub(r"SELECT RAISE\(ABORT, ('[^']*')\)", r"RAISE EXCEPTION \1", match["body"])
    when = f" WHEN ({match['when']})" if match["when"] else ""
    return [
        f"CREATE OR REPLACE FUNCTION {match['name']}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$",
        f"CREATE TRIGGER {match['name']} {match['event']} FOR EACH ROW{when} EXECUTE FUNCTION {match['name']}()",
    ]


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
        return self._raw.execute(statement(sql).encode(), params or None)

    def execute_planned(self, sql: str, params: Sequence[Any]) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement with a plan of its own: one that was made for a small table would read all of a large one."""
        return self._raw.execute(statement(sql).encode(), params, prepare=False)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement of the store for each row of values, without waiting for the answer to each."""
        self._raw.cursor().executemany(statement(sql).encode(), rows)

    def insert_rows(self, table: str, names: Sequence[str], rows: Sequence[Sequence[Any]], conflict: str) -> None:
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
        return self._raw.info.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)

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
