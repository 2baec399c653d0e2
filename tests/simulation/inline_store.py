"""The real database without its thread: jobs run in the loop's own thread, so that a run can be repeated exactly."""

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar

from daemon.store.engine import Reader, Store, Tx, _Job

T = TypeVar("T")
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
