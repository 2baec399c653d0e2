"""Look at each line every few seconds: whether messages can come to it, and how strong its signal is."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
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


async def watch_receiving(env: Env, log: Log, phones: Callable[[], Sequence[ModemHealth]], seen: Watch) -> None:
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


SIGNALS_WORKER: Final = "signals"
EVERY_S: Final = 60.0


async def note_signals(env: Env, phones: Callable[[], Sequence[ModemHealth]], log: Log) -> None:
    """Run until cancelled."""
    while True:
        note_once(env, phones())
        with suppress(Unavailable):  # the database's own loops report it
            await receiving.keep_signals(env)
        await note_work(env, log, SIGNALS_WORKER)
        await asyncio.sleep(EVERY_S)


def note_once(env: Env, phones: Sequence[ModemHealth]) -> None:
    """Note the last reported signal of each modem; a modem without one leaves a gap."""
    now = env.clock.now_us()
    for phone in phones:
        if phone.device_id is not None and phone.signal is not None and not phone.simulated:
            env.signals.add(phone.device_id, phone.signal, now)
