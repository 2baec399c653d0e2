"""Settle held messages as time passes: put parts together after their seconds, and settle rows and provisional balances."""

import asyncio
from typing import Final

from daemon.core.errors import Unavailable
from daemon.env import Env
from daemon.flows.messages.settle_lines import assemble_parts, settle_lines
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log

WORKER: Final = "held"
EVERY_S: Final = 2.0
"""A customer waits at the counter for the last part of a receipt."""
SETTLE_TURNS: Final = 5
"""Lines are settled each so many turns."""
RECOVERING_S: Final = 0.5


async def settle_held_messages(env: Env, log: Log) -> None:
    """Run until cancelled."""

    def tell(fault: str) -> None:
        log.error("settle.fault", error=fault)

    turn = 0
    while True:
        turn += 1
        if env.recovering:
            # The newest messages may not be in the database yet, so silence after the stored ones is no evidence.
            env.heartbeat(WORKER, 60 * EVERY_S)
            await asyncio.sleep(RECOVERING_S)
            continue
        try:
            if joined := await assemble_parts(env, tell):
                log.info("message.assembled", count=joined)
            if turn % SETTLE_TURNS == 1 and (settled := await settle_lines(env, tell)):
                log.info("message.settled", count=settled)
            await note_work(env, log, WORKER)
        except Unavailable as error:
            log.warning("settle.unavailable", why=error.why)
        env.heartbeat(WORKER, 60 * EVERY_S)
        await asyncio.sleep(EVERY_S)
