"""A PostgreSQL server of the tests: one throw-away cluster for each test process, on a Unix socket, and databases in it.

A test that needs it is skipped with a word where PostgreSQL is not installed. As root the server runs as the user `postgres`,
because it refuses to run as root.
"""

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from daemon.store.engine import Store
from daemon.store.migrate import migrations
from daemon.store.postgresql import connection as store_connection
from daemon.store.postgresql.connection import Connection, Params
from daemon.store.postgresql.server import Server
from tests.fakes import new_database
from tests.fakes.postgresql_server import ThrowAwayServer, is_installed

SETTINGS: Final = ["-c fsync=off -c max_connections=200"]
"""The options of the next server; a benchmark changes them."""
GONE_S: Final = 60.0


class Cluster(ThrowAwayServer):
    """A server that tests may kill."""

    def processes(self) -> list[int]:
        """Return the process numbers of the server and of its connections and helpers."""
        found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [self.pid, *map(int, found.split())]

    def kill(self, *, whole: bool) -> None:
        """Kill the server with SIGKILL: `whole` with its connections, as a power cut does; else these notice it and end."""
        others = self.processes()[1:]
        self.stop("kill")
        until = time.monotonic_ns() + int(GONE_S * 1e9)
        for pid in others:
            while _runs(pid):
                assert time.monotonic_ns() < until, f"process {pid} of the server goes on"
                if whole:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                threading.Event().wait(0.01)

    def kill_a_connection(self) -> None:
        """Kill one of its connections; the server then ends all others, recovers and goes on by itself."""
        try:
            with psycopg.connect(self.url("postgres")) as connection:
                found = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'momo%' ORDER BY backend_start LIMIT 1"
                ).fetchone()
        except psycopg.OperationalError as error:
            if "recovery mode" not in str(error):
                raise
            return  # it recovers from the kill before, and has no connection yet
        if found is not None:
            os.kill(found[0], signal.SIGKILL)


class StandbyServer(Cluster):
    """A second server that follows a first one, from a copy of its data."""

    def __init__(self, primary: Cluster, name: str, settings: str = "") -> None:
        """Copy the data of `primary` and follow it; `name` is for its `synchronous_standby_names`."""
        self._primary = f"host={primary.folder} user=momo application_name={name}"
        super().__init__(settings)

    def make_data(self) -> None:
        """Copy the data of the first server."""
        self.run(
            "pg_basebackup", "-D", str(self._data), "-d", self._primary, "-R", "-X", "stream", "--checkpoint=fast",
            "--no-sync",
        )  # fmt: skip

    def promote(self) -> None:
        """Make it a server that writes."""
        self.run("pg_ctl", "-D", str(self._data), "promote", "-w")


def _runs(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


__all__ = [
    "SETTINGS", "Cluster", "StandbyServer", "cluster", "empty_store", "is_installed", "keep",
    "put_back", "reading", "refused", "url_of",
]  # fmt: skip


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
    """A server that opens its connections once for each database."""

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
    """Return PostgreSQL's errors for these statements; it plans them and runs none."""
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
    """Return a reading connection to the newest database of the shop at `path`; it stays open for the next test."""
    return _reading(url_of(path))


@cache
def _reading(url: str) -> Connection:
    made = _Kept(url, read_only=True)
    atexit.register(made._raw.close)
    return made


def url_of(path: str) -> str:
    """Return the address of the newest database of the shop at `path`."""
    return next(url for url, store in reversed(_OPENED) if store.path == path)


def keep(path: str) -> dict[str, bytes]:
    """Return the rows of every table of the shop at `path`, as a backup has them."""
    found = {}
    with psycopg.connect(url_of(path)) as connection:
        for name in _tables(connection):
            with connection.cursor().copy(f'COPY "{name}" TO STDOUT'.encode()) as source:
                found[name] = b"".join(map(bytes, source))
    return found


def put_back(path: str, kept: dict[str, bytes]) -> None:
    """Replace the rows of the shop at `path` by those of a backup; its store must be closed."""
    with psycopg.connect(url_of(path)) as connection:
        connection.execute("SET session_replication_role = replica")  # no triggers
        for name in _tables(connection):
            connection.execute(f'DELETE FROM "{name}"'.encode())
            with connection.cursor().copy(f'COPY "{name}" FROM STDIN'.encode()) as sink:
                sink.write(kept[name])
        for name, column in connection.execute(_COUNTED).fetchall():
            next_free = f"SELECT setval('{name}_{column}_seq', COALESCE(MAX({column}), 0) + 1, false) FROM {name}"
            connection.execute(next_free.encode())


_COUNTED: Final = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = 'public' AND is_identity = 'YES' ORDER BY 1"
)


def _tables(connection: "psycopg.Connection[tuple[Any, ...]]") -> list[str]:
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND relname <> 'schema_migrations' ORDER BY relname"
    )
    return [str(name) for (name,) in rows.fetchall()]


def _empty(connection: Any) -> None:
    """Bring the database back to the state after its schema was made. TRUNCATE takes three times as long, a new database thirty times."""
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
    found = [statement for step in migrations() for statement in store_connection.schema(step.sql)]
    return [statement for statement in found if statement.startswith("INSERT")]
