"""A PostgreSQL server of the tests: one throw-away cluster for each test process, on a Unix socket, and databases in it.

A test that needs it is skipped with a word where PostgreSQL is not installed. As root the server runs as the user `postgres`,
because it refuses to run as root.
"""

import atexit
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import psycopg
import pytest

from daemon.demo.server import ThrowAwayServer, is_installed
from daemon.store.engine import Store
from daemon.store.migrate import migrations
from daemon.store.postgresql import dialect
from daemon.store.postgresql.connection import Connection, Params
from daemon.store.postgresql.server import Server
from tests.fakes import new_database

SETTINGS: Final = ["-c fsync=off -c max_connections=200"]
"""The options of the next server; a benchmark changes them."""
Cluster = ThrowAwayServer

__all__ = ["SETTINGS", "Cluster", "cluster", "empty_store", "is_installed", "reading", "refused"]


@cache
def cluster() -> Cluster:
    """Return the server of this test process; it is removed when the process ends."""
    if not is_installed():
        pytest.skip("PostgreSQL's server is not installed")
    made = Cluster(SETTINGS[0])
    atexit.register(made.remove)
    return made


_OPENED: Final[list[tuple[str, Store]]] = []
"""The databases of this process, each with its last store."""


class _Kept(Connection):
    """A connection that lives as long as the process: plans stay prepared from one test to the next."""

    def close(self) -> None:
        if self.in_transaction:
            self._raw.execute("ROLLBACK")


class _KeepingServer(Server):
    """A server whose connections are opened once for each database."""

    _known: Final[dict[str, tuple[_Kept, list[_Kept]]]] = {}

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._url = url

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        if self._url not in self._known:
            writer, _ = opened = super().connect(now_us, 0, create=create)
            for one in (writer, *opened[1]):
                one.close()
            self._known[self._url] = (
                _Kept(self._info, read_only=False),
                [_Kept(self._info, read_only=True) for _ in range(readers + 1)],
            )
        return self._known[self._url]


def empty_store(now_us: int, path: str = "", *, keep: bool = False) -> Store:
    """Return an open store on an empty shop's database: one that no test uses now, or a new one.

    The shop's own folder is that of `path`. With `keep` the connections outlive the store, and have no lock: for the many tests
    that have one shop each.
    """
    if not keep:
        url = cluster().new_database()
        store = Store(path or url, Server(url))
        store.connect(now_us)
        return store
    free = [at for at, (_, store) in enumerate(_OPENED) if not store.is_open]
    url = _OPENED.pop(free[0])[0] if free else cluster().new_database()
    store = Store(path, _KeepingServer(url))
    store.connect(now_us)
    if free:
        _empty(new_database.writer(store))
    _OPENED.append((url, store))
    return store


def refused(statements: Sequence[tuple[str, Params | None]]) -> list[str]:
    """Return what PostgreSQL has against these statements; it plans them and runs none."""
    found = []
    for sql, params in statements:
        try:
            _planner().execute(f"EXPLAIN {sql}", params or ())
        except psycopg.Error as error:
            found.append(f"{error}\n  in {sql}")
    return found


@cache
def _planner() -> Connection:
    """Return a connection to a database with the schema."""
    store = empty_store(0)
    url = store.path
    store.close()
    connection = Connection(url, read_only=False)
    atexit.register(connection.close)
    return connection


def reading(path: str) -> Connection:
    """Return a reading connection to the newest database of the shop at `path`."""
    url = next(url for url, store in reversed(_OPENED) if store.path == path)
    return Connection(url, read_only=True)


def _empty(connection: Any) -> None:
    """Bring the database back to what its schema makes. TRUNCATE takes three times as long, a new database thirty times."""
    connection.run_as_written("SET session_replication_role = replica")  # no triggers
    connection.run_as_written(_DELETE_ALL)
    for statement in _first_rows():
        connection.run_as_written(statement)
    connection.run_as_written("RESET session_replication_role")


_DELETE_ALL: Final = """
DO $$
DECLARE name text; found boolean;
BEGIN
  FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND relname <> 'schema_migrations'
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO found;
    IF found THEN EXECUTE format('DELETE FROM %I', name); END IF;
  END LOOP;
  PERFORM setval(seqrelid::regclass, 1, false) FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) IS NOT NULL;
END $$
"""


@cache
def _first_rows() -> list[str]:
    """Return the statements by which the schema itself stores rows."""
    found = [statement for step in migrations() for statement in dialect.schema(step.sql)]
    return [statement for statement in found if statement.startswith("INSERT")]
