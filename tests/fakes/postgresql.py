"""A PostgreSQL server of the tests: one throw-away cluster for each test process, on a Unix socket, and databases in it.

A test that needs it is skipped with a word where PostgreSQL is not installed. As root the server runs as the user `postgres`,
because it refuses to run as root.
"""

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import psycopg
import pytest

from daemon.store.engine import Store
from daemon.store.migrate import migrations
from daemon.store.postgresql import dialect
from daemon.store.postgresql.server import Server

_PROGRAMS: Final = sorted(
    Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
)
_SETTINGS: Final = "-c listen_addresses='' -c fsync=off -c max_connections=200"
START_S: Final = 60


class Cluster:
    """One running server."""

    def __init__(self, *, settings: str = _SETTINGS) -> None:
        """Make and start it."""
        assert _PROGRAMS, "it is installed"
        self.programs = _PROGRAMS[-1]
        self.folder = Path(tempfile.mkdtemp(prefix="momo-pg-"))
        self._settings = settings
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
        options = f"{self._settings} -k {self.folder}"
        self._run(
            "pg_ctl",
            "-D",
            str(self.data),
            "-o",
            options,
            "-l",
            str(self.folder / "log"),
            "-w",
            "start",
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` ends it as a crash does."""
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

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
        subprocess.run(
            [*self._as_user(), str(self.programs / "pg_ctl"), "-D", str(self.data), "-m", "immediate", "stop"],
            check=False, capture_output=True,
        )  # fmt: skip
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        # The server keeps the pipes of `pg_ctl start`, so its output goes nowhere.
        subprocess.run(
            [*self._as_user(), str(self.programs / program), *arguments],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=START_S, cwd="/",
        )  # fmt: skip

    def _as_user(self) -> list[str]:
        return (
            ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            if os.geteuid() == 0
            else []
        )


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


def empty_store(now_us: int) -> Store:
    """Return an open store on an empty shop's database: one that no test uses now, or a new one."""
    free = [at for at, (_, store) in enumerate(_OPENED) if not store.is_open]
    url = _OPENED.pop(free[0])[0] if free else cluster().new_database()
    if free:
        _empty(url)
    store = Store(url, Server(url))
    store.connect(now_us)
    _OPENED.append((url, store))
    return store


def _empty(url: str) -> None:
    """Bring the database back to what its schema makes: to drop and make it anew takes ten times as long."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND relname <> 'schema_migrations'"
        ).fetchall()
        if not found:
            return
        connection.execute(
            f"TRUNCATE {', '.join(name for (name,) in found)} RESTART IDENTITY".encode()
        )
        for step in migrations():
            for statement in dialect.schema(step.sql):
                if statement.startswith("INSERT"):
                    connection.execute(statement.encode())
