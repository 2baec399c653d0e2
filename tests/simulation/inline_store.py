"""The real database without its thread: jobs run in the loop's own thread, so that a run can be repeated exactly."""

import asyncio
import random
from collections.abc import Callable
from typing import NoReturn, TypeVar

from daemon.core.errors import Unavailable
from daemon.store.engine import Reader, Store, Tx, _Job

T = TypeVar("T")
KILLED = "this daemon was killed"
COMMIT_S = (0.0005, 0.03)
"""What a commit takes in simulated time, from a good disk to a bad one."""


class InlineStore(Store):
    """`Store` with the same file, connection, statements and transactions; only the hand-over differs.

    A commit takes simulated time before and after it happens, so that whatever may overtake it does, and so that who
    is cancelled meanwhile is so before or after the commit.
    """

    dice: random.Random
    commits = 0

    async def write(self, job: Callable[[Tx], T]) -> T:
        await asyncio.sleep(self.dice.uniform(*COMMIT_S) / 2)
        loop = asyncio.get_running_loop()
        entry = _Job(job, loop, loop.create_future())
        self._commit([entry])
        self.commits += 1
        if entry.error is not None:
            raise entry.error
        await asyncio.sleep(self.dice.uniform(*COMMIT_S) / 2)
        result: T = entry.result
        return result

    async def read(self, job: Callable[[Reader], T]) -> T:
        return self.look(job)

    def look(self, job: Callable[[Reader], T]) -> T:
        """Read what is committed, now."""
        return job(Reader(self._writer))


class WakingStore(InlineStore):
    """Also tells who waits for a topic."""

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
        on_kill: Called when the daemon is to die, just before a commit or just after it.
        kill_chance: Of each commit.
        full: Nothing can be written.
        dead: The daemon was killed: nothing that it still does reaches the file.
    """

    on_kill: Callable[[], None]
    kill_chance = 0.0
    full = False
    dead = False

    async def write(self, job: Callable[[Tx], T]) -> T:
        if self.full:
            raise Unavailable("the disk is full; free some space and momo goes on by itself", 30)
        fate = self.dice.random()
        if fate < self.kill_chance / 2:
            self._die()
        result = await super().write(job)
        if fate < self.kill_chance:
            self._die()
        return result

    def _commit(self, group: list[_Job]) -> None:
        if self.dead:
            for job in group:
                job.error = Unavailable(KILLED)
        else:
            super()._commit(group)

    def _die(self) -> NoReturn:
        """Be killed, once; the caller gets no answer."""
        if self.dead:
            raise Unavailable(KILLED)  # somebody tidies up, which a killed daemon does not
        self.dead = True
        self.on_kill()
        raise asyncio.CancelledError
