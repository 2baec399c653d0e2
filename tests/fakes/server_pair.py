"""Two PostgreSQL servers, the second one a synchronous standby of the first; the first one is lost."""

import time
from typing import Any, Final, Self

import psycopg

from tests.fakes.postgresql import Cluster, StandbyServer
from tests.fakes.real_shop import pause

SETTINGS: Final = "-c max_connections=60 -c wal_keep_size=256MB -c synchronous_commit=on -c fsync=on"
NAME: Final = "second"
READY_S: Final = 60.0


class ServerPair:
    """A primary and its standby. A context manager."""

    def __init__(self) -> None:
        self.primary = Cluster(SETTINGS)
        self.url = self.primary.new_database()
        self.standby = StandbyServer(self.primary, NAME, SETTINGS)
        self._set("synchronous_standby_names", NAME)
        until = time.monotonic_ns() + int(READY_S * 1e9)
        while not self.is_synchronous():
            assert time.monotonic_ns() < until, "the standby does not follow"
            pause(0.05)
        # A list of hosts: the first one that can be written is taken (docs/operators/postgresql.md).
        self.url = self.url.replace(f"host={self.primary.folder}", f"host={self.primary.folder},{self.standby.folder}")

    def is_synchronous(self) -> bool:
        """Return whether a commit now waits for the standby."""
        return self._asked("SELECT sync_state FROM pg_stat_replication") == [("sync",)]

    def lose_primary(self) -> None:
        """Kill all processes of the primary; its data is not used again."""
        self.primary.kill(whole=True)

    def promote(self) -> None:
        """Make the standby the primary, with one copy: nobody follows it."""
        self.standby.promote()

    def _set(self, name: str, value: str) -> None:
        with psycopg.connect(self.primary.url("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    def _asked(self, sql: str) -> list[Any]:
        with psycopg.connect(self.primary.url("postgres"), autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.standby.remove()
        self.primary.remove()
