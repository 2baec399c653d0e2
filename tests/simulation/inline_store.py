"""The real database without its thread: jobs run in the event loop's thread, so that a run can be repeated exactly."""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from typing import NoReturn, TypeVar

from daemon.core.errors import Unavailable
from daemon.store.engine import Reader, Store, Tx, _Job
from tests.fakes.new_database import writer

T = TypeVar("T")
KILLED = "this daemon was killed"
COMMIT_S = (0.0005, 0.03)
"""Simulated time of a commit, from a fast disk to a slow one."""


class InlineStore(Store):
    """`Store` with the same file, connection, statements and transactions, but without the writer thread.

    A commit takes simulated time before and after it happens, so that other tasks may run in between and a caller can
    be cancelled before or after the commit.
    """

    rng: random.Random
    commits = 0
    dead = False

    async def write(self, job: Callable[[Tx], T]) -> T:
        await asyncio.sleep(self.rng.uniform(*COMMIT_S) / 2)
        loop = asyncio.get_running_loop()
        entry = _Job(job, loop, loop.create_future())
        self._commit(writer(self), [entry])
        self.commits += 1
        if entry.error is not None:
            raise entry.error
        await asyncio.sleep(self.rng.uniform(*COMMIT_S) / 2)
        result: T = entry.result
        return result

    async def read(self, job: Callable[[Reader], T]) -> T:
        return self.peek(job)

    async def look(self, job: Callable[[Reader], T]) -> T:
        return self.peek(job)

    def peek(self, job: Callable[[Reader], T]) -> T:
        """Read the committed state now."""
        return job(Reader(writer(self)))


class WakingStore(InlineStore):
    """Also wake the tasks that wait for a topic."""

    async def write(self, job: Callable[[Tx], T]) -> T:
        topics: set[str] = set()

        def noted(tx: Tx) -> T:
            result = job(tx)
            topics.update(tx.topics)
            return result

        result = await super().write(noted)
        for topic, _loop, wake in list(self._listeners):
            if topic in topics:
                wake()
        return result


class FaultyStore(WakingStore):
    """The database of a daemon that may be killed at any commit, on a disk that may be full.

    Attributes:
        on_kill: Called when the daemon is killed, just before or just after a commit.
        kill_chance: Probability of a kill per commit.
        full: Every write fails.
        dead: The daemon was killed; none of its later writes reach the file.
    """

    on_kill: Callable[[], None]
    kill_chance = 0.0
    full = False

    async def write(self, job: Callable[[Tx], T]) -> T:
        if self.full:
            raise Unavailable("the disk is full; free some space and momo goes on by itself", 30)
        fate = self.rng.random()
        if fate < self.kill_chance / 2:
            self._die()
        result = await super().write(job)
        if fate < self.kill_chance:
            self._die()
        return result

    def _commit(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        if self.dead:
            for job in group:
                job.error = Unavailable(KILLED)
        else:
            super()._commit(connection, group)

    def _die(self) -> NoReturn:
        """Simulate the kill, once; the caller gets no answer."""
        if self.dead:
            raise Unavailable(KILLED)  # clean-up code that a killed daemon does not run
        self.dead = True
        self.on_kill()
        raise asyncio.CancelledError
