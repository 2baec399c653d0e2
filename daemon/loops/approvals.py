"""Carry out the approvals of the dashboard once they can no longer be undone, also if the browser is gone."""

import asyncio
import contextlib
from typing import Final

from daemon.core.errors import Unavailable
from daemon.env import Env
from daemon.flows.payments.review import carry_out_waiting
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log
from daemon.store.payments import reviews

WORKER: Final = "approvals"
LOOK_S: Final = 30.0
"""Longest time between two looks; timers may be late after a sleep of the machine."""


async def carry_out_approvals(env: Env, log: Log) -> None:
    """Run until cancelled."""
    wake = asyncio.Event()
    unsubscribe = env.store.subscribe(reviews.WAITING, wake.set)
    try:
        while True:
            wake.clear()
            wait_s = LOOK_S
            try:
                if not env.recovering:
                    due_s = await carry_out_waiting(env)
                    wait_s = LOOK_S if due_s is None else min(due_s, LOOK_S)
                    await note_work(env, log, WORKER)
            except Unavailable as error:
                log.warning("approvals.unavailable", why=error.why)
            env.heartbeat(WORKER, 4 * LOOK_S)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), wait_s)
    finally:
        unsubscribe()
