"""Read-only SQL for the shop's operator, over the tables without secrets, and with masked phone numbers.

Each table is offered as a temporary view of its name, which leaves hidden columns out and masks phone numbers where they
are read, so that no expression sees a whole one. An authorizer refuses everything but SELECT on these views: a query
may read only through the view below an offered one. That view has a random part in its name, since a query can choose
the name of a CTE.

Only this module uses sqlite-utils. A money amount stays an integer of minor units.
"""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec import Struct, field
from sqlite_utils import Database

from daemon.core.errors import MomoError
from daemon.store import migrate
from daemon.store.sqlite_file import BUSY_MS, file_uri

QUERY_S_MAX: Final = 10.0
VALUE_BYTES_MAX: Final = 1_000_000
"""The longest text that an expression may make."""
_JSON_INTEGER_MAX: Final = (1 << 53) - 1
"""Larger integers are not exact in most readers of JSON (RFC 8259, section 6)."""
_STEPS: Final = 20_000
"""Instructions of SQLite between two looks at the clock: a few milliseconds."""
_BATCH: Final = 1_000

_NOT_OFFERED: Final = "search"
"""The search index and its own tables: they contain the texts of other tables, unmasked."""
_NUMBER: Final = re.compile(
    r"(?P<other>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}|ocl_[0-9a-z]{24}"
    r"|(?<!\d)\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?(?!\d))"
    r"|(?<!\d)\+?\d(?:[ -]?\d){8,14}(?!\d)",
    re.ASCII,
)
"""Nine to fifteen digits (E.164), also in groups. Our own ids, UUIDs and dates are not phone numbers."""
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_SAVEPOINT}
)
_OF_JSON: Final = ("json_each", "json_tree")


class SqlRefused(MomoError):
    """The query was refused, or took too long; the text says why."""


class PhoneMask(Struct):
    """Masks phone numbers: `024 *** 4567`. Different numbers stay different, as `024 *** 4567 #2`, so that groups stay true."""

    _known: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, value: Any) -> Any:
        """Return a value with the phone numbers in it masked; only texts have some."""
        return _NUMBER.sub(self._masked, value) if isinstance(value, str) else value

    def _masked(self, match: re.Match[str]) -> str:
        if match["other"]:
            return match[0]
        digits = re.sub(r"\D", "", match[0])
        digits = "0" + digits[3:] if len(digits) == 12 and digits.startswith("233") else digits
        short = f"{digits[:3]} *** {digits[-4:]}"
        known = self._known.setdefault(short, [])
        if digits not in known:
            known.append(digits)
        place = known.index(digits) + 1
        return short if place == 1 else f"{short} #{place}"


class QueryResult(Struct, frozen=True):
    """The result of a query: the names of the columns, the rows, and whether there are more."""

    columns: list[str]
    rows: list[dict[str, Any]]
    more: bool


class OperatorSql:
    """The tables of a shop as an operator may read them; made by `open_for_operator`."""

    def __init__(self, base: sqlite3.Connection, offered: Mapping[str, Mapping[str, str]], limit: "_TimeLimit") -> None:
        self._base = Database(base, recursive_triggers=False, execute_plugins=False)
        self._offered = offered
        self._limit = limit

    def tables(self) -> list[dict[str, Any]]:
        """Return `{table, rows, columns}` for each table."""
        self._limit.begin()
        return [
            {
                "table": table,
                "rows": next(iter(self._run(f"SELECT COUNT(*) AS rows FROM {table}", {})))["rows"],
                "columns": len(columns),
            }
            for table, columns in sorted(self._offered.items())
        ]

    def columns(self, table: str | None) -> list[dict[str, Any]]:
        """Return `{table, column, type, shown}` of a table, or of all; `shown` is `yes`, `masked` or `no`.

        Raises:
            SqlRefused: There is no such table.
        """
        if table is not None and table not in self._offered:
            raise SqlRefused(f"there is no table {table!r} to read")
        return [
            {"table": name, "column": column, "type": kind, "shown": shown}
            for name, columns in sorted(self._offered.items())
            if table in (None, name)
            for column, kind, shown in [
                *(
                    (each, kind, "masked" if each in migrate.marked_columns(name, "masked") else "yes")
                    for each, kind in columns.items()
                ),
                *((each, None, "no") for each in migrate.marked_columns(name, "hidden")),
            ]
        ]

    def query(self, sql: str, values: Mapping[str, str], limit: int) -> QueryResult:
        """Run one SELECT with its named parameters; at most `limit` rows.

        Raises:
            SqlRefused: It is no SELECT, is wrong, reads something hidden, or takes over 10 s.
        """
        self._limit.begin()
        rows = list(islice(self._run(sql, values), limit + 1))
        columns = list(rows[0]) if rows else []
        return QueryResult(columns, rows[:limit], len(rows) > limit)

    def export(self, path: str) -> dict[str, int]:
        """Write all tables to a new SQLite file, and return the number of rows of each.

        Raises:
            SqlRefused: The file exists, or cannot be written.
        """
        self._limit.end()
        copied: dict[str, int] = {}
        try:
            with contextlib.closing(sqlite3.connect(file_uri(path, "mode=rwc"), uri=True)) as file:
                target = Database(file, recursive_triggers=False, execute_plugins=False)
                for table, columns in sorted(self._offered.items()):
                    rows = self._run(f"SELECT {', '.join(columns)} FROM {table}", {})
                    target.table(table).create(
                        {name: int if kind == "INTEGER" else str for name, kind in columns.items()}
                    )
                    target.table(table).insert_all(rows, batch_size=_BATCH)
                    copied[table] = target.table(table).count
        except (sqlite3.Error, OSError) as error:
            raise SqlRefused(f"{path} cannot be written: {error}") from error
        return copied

    def _run(self, sql: str, values: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        try:
            for row in self._base.query(sql, dict(values)):
                yield {name.replace(".", "_"): _plain(value) for name, value in row.items()}
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise SqlRefused(self._why(error)) from error

    def _why(self, error: Exception) -> str:
        if self._limit.exceeded:
            return f"the query took longer than {QUERY_S_MAX:.0f} s; read fewer rows, for example of one day"
        text = str(error)
        if isinstance(error, ValueError):
            return "only a SELECT can be run"
        if any(words in text for words in ("not authorized", "prohibited", "cannot modify")):
            return "this cannot be read here: only a SELECT from the tables of `momo data tables` can be run"
        if text.startswith("no such column"):
            return f"{text}: `momo data schema TABLE` lists those that can be read"
        if text.startswith("no such table"):
            return f"{text}: `momo data tables` lists those that can be read"
        return text


class _TimeLimit:
    """Ends a statement that takes too long."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: float | None = None
        self.exceeded = False

    def begin(self) -> None:
        self._until = self._monotonic() + QUERY_S_MAX

    def end(self) -> None:
        self._until = None

    def check(self) -> int:
        """Return 1 to interrupt SQLite (sqlite.org/c3ref/progress_handler.html)."""
        self.exceeded = self._until is not None and self._monotonic() > self._until
        return int(self.exceeded)


@contextlib.contextmanager
def open_for_operator(
    path: str, monotonic: Callable[[], float], token: str, *, show_phones: bool
) -> Iterator[OperatorSql]:
    """Open a snapshot of a shop's database for an operator's queries; `token` is a random text of hex digits.

    Raises:
        SqlRefused: It cannot be opened.
    """
    limit = _TimeLimit(monotonic)
    try:
        base = sqlite3.connect(file_uri(path, "mode=ro"), uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise SqlRefused(f"{path}: {error}") from error
    with contextlib.closing(base):
        try:
            base.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            offered = _make_views(base, token, show_phones=show_phones)
            base.execute("PRAGMA query_only = ON")
            base.execute("BEGIN")
        except sqlite3.Error as error:
            raise SqlRefused(f"{path}: {error}") from error
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
        base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        base.set_progress_handler(limit.check, _STEPS)
        base.set_authorizer(_authorizer(token, frozenset(offered)))
        yield OperatorSql(base, offered, limit)


def _make_views(base: sqlite3.Connection, token: str, *, show_phones: bool) -> dict[str, dict[str, str]]:
    """Make the views, and return the columns of each table that is offered, with their types."""
    base.create_function("masked", 1, PhoneMask(), deterministic=True)
    for function in _OF_JSON:  # their first use declares a table, which is refused later
        base.execute(f"SELECT 1 FROM {function}('[]')").fetchall()
    tables = base.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()
    offered: dict[str, dict[str, str]] = {}
    for (table,) in tables:
        if table.startswith(_NOT_OFFERED):
            continue
        masked = () if show_phones else migrate.marked_columns(table, "masked")
        # A text without a mark is hidden, and a test fails.
        texts = migrate.marked_columns(table, "masked", "public")
        columns = {
            str(name): str(kind)
            for _, name, kind, *_ in base.execute(f"PRAGMA main.table_info({table})")
            if kind == "INTEGER" or name in texts
        }
        if not columns:
            continue
        read = ", ".join(f"masked({each}) AS {each}" if each in masked else each for each in columns)
        base.execute(f"CREATE TEMP VIEW momo_{token}_{table} AS SELECT {read} FROM main.{table}")
        base.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM temp.momo_{token}_{table}")
        offered[table] = columns
    return offered


def _authorizer(
    token: str, offered: frozenset[str]
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return the authorizer (sqlite.org/c3ref/set_authorizer.html): reading the views is all that is allowed."""
    own = f"momo_{token}_"

    def decide(action: int, table: str | None, column: str | None, base: str | None, view: str | None) -> int:
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        if action != sqlite3.SQLITE_READ or table is None:
            return sqlite3.SQLITE_DENY
        if base == "main" and table not in _OF_JSON:
            # Without a column, rows are only counted.
            allowed = (view or "").startswith(own) or (column == "" and table in offered)
        elif base == "temp":
            allowed = table in offered or table.startswith(own)
        else:
            # A CTE or a subquery, which has no database, or the parts of a JSON text.
            allowed = table in _OF_JSON or not base
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return decide


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it: bytes in hex, and an integer as text if it is too long to stay exact."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and abs(value) > _JSON_INTEGER_MAX:
        return str(value)
    return value
