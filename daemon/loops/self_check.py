"""Check the database file while the shop is open: soon after the start, then daily."""

import asyncio
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.upkeep.self_check import DatabaseState
from daemon.env import Env
from daemon.flows.upkeep import self_check
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log

WORKER: Final = "self check"
EVERY_S: Final = 5.0
"""Short, because damage that a statement meets is checked at once."""


async def check_database(env: Env, log: Log) -> None:
    """Run until cancelled. One check of a large file takes minutes, so nothing else waits for it."""
    while True:
        try:
            if (found := await self_check.watch(env)) is not None:
                say = log.info if found is DatabaseState.OK else log.error
                say("db.checked", found=found)
            await note_work(env, log, WORKER)
        except Unavailable as error:
            log.warning("db.check_unavailable", why=error.why)
        await asyncio.sleep(EVERY_S)
