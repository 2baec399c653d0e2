"""Checks every few seconds whether messages can come to each line (`flows.lines.receiving`)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.lines.modem_health import ModemHealth
from daemon.env import Env
from daemon.flows.lines import receiving
from daemon.flows.lines.receiving import Watch
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log

WORKER: Final = "receiving"
LOOK_S: Final = 5.0


async def watch_receiving(
    env: Env, log: Log, phones: Callable[[], Sequence[ModemHealth]], seen: Watch
) -> None:
    """Run until cancelled; `seen` is the result of the last look, for `/healthz`."""
    while True:
        try:
            for change in await receiving.watch(env, phones(), seen):
                say = log.warning if change.event == receiving.NOT_RECEIVING else log.info
                say(change.event, device=change.data["device_id"], why=change.data.get("why"))
            await note_work(env, log, WORKER)
        except Unavailable as error:
            log.warning("receiving.unavailable", why=error.why)
        await asyncio.sleep(LOOK_S)
