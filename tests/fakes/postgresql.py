"""A PostgreSQL server of the tests: one throw-away cluster for each test process, on a Unix socket, and databases in it.

A test that needs it is skipped with a word where PostgreSQL is not installed. As root the server runs as the user `postgres`,
because it refuses to run as root.
"""

import atexit
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from daemon.store.engine import Store
from daemon.store.migrate import migrations
from daemon.store.postgresql import dialect
from daemon.store.postgresql.connection import Connection, Params
from daemon.store.postgresql.server import Server
from tests.fakes import new_database
from tests.fakes.real_shop import wait_until

_PROGRAMS: Final = sorted(
    Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
)
SETTINGS: Final = ["-c listen_addresses='' -c fsync=off -c max_connections=200"]
"""The options of the next server; a benchmark changes them."""
START_S: Final = 100
_STOPS: Final = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class Cluster:
    """One running server."""

    def __init__(self) -> None:
        """Make and start it."""
        assert _PROGRAMS, "it is installed"
        self.programs = _PROGRAMS[-1]
        self.folder = Path(tempfile.mkdtemp(prefix="momo-pg-"))
        self._settings = SETTINGS[0]
        self._count = 0
        if os.geteuid() == 0:
            found = pwd.getpwnam("postgres")
            os.chown(self.folder, found.pw_uid, found.pw_gid)
        self._run("initdb", "-D", str(self.data), "--auth=trust", "--locale=C.UTF-8", "--encoding=UTF8",
                  "--username=momo")  # fmt: skip
        self.start()

    @property
    def data(self) -> Path:
        """The folder of its files."""
        return self.folder / "data"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # It ends with this process, however that ends.
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*self._as_user("--pdeathsig=QUIT"), str(self.programs / "postgres"),
                 "-D", str(self.data), *shlex.split(self._settings), "-k", str(self.folder)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            )  # fmt: skip
        wait_until(self._answers, START_S, "the server answers")

    def _answers(self) -> bool:
        assert self._server.poll() is None, (self.folder / "log").read_text("utf-8", "replace")
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` ends it as a crash does."""
        self._server.send_signal(_STOPS[mode])
        self._server.wait(START_S)

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql:///{database}?host={self.folder}&user=momo"

    def new_database(self, template: str = "template1") -> str:
        """Create a database and return its address."""
        self._count += 1
        name = f"shop{self._count}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return self.url(name)

    def remove(self) -> None:
        """Stop it and remove its files."""
        if self._server.poll() is None:
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as_user(), str(self.programs / program), *arguments],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=START_S, cwd="/",
        )  # fmt: skip

    def _as_user(self, *flags: str) -> list[str]:
        user = ("--reuid=postgres", "--regid=postgres", "--clear-groups")
        return ["setpriv", *(user if os.geteuid() == 0 else ()), *flags, "--"]


def is_installed() -> bool:
    """Return whether PostgreSQL's server programs are on this machine."""
    return bool(_PROGRAMS)


@cache
def cluster() -> Cluster:
    """Return the server of this test process; it is removed when the process ends."""
    if not is_installed():
        pytest.skip("PostgreSQL's server is not installed")
    made = Cluster()
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
