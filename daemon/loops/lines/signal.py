"""Loop that notes the signal of each modem once a minute, for the last 24 hours, and stores each hour that has ended."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.lines.modem_health import ModemHealth
from daemon.env import Env
from daemon.flows.lines import signals
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log

WORKER: Final = "signals"
EVERY_S: Final = 60.0


async def note_signals(env: Env, phones: Callable[[], Sequence[ModemHealth]], log: Log) -> None:
    """Run until cancelled."""
    while True:
        note_once(env, phones())
        with suppress(Unavailable):  # the database's own loops report it
            await signals.keep(env)
        await note_work(env, log, WORKER)
        await asyncio.sleep(EVERY_S)


def note_once(env: Env, phones: Sequence[ModemHealth]) -> None:
    """Note the last reported signal of each modem; a modem without one leaves a gap."""
    now = env.clock.now_us()
    for phone in phones:
        if phone.device_id is not None and phone.signal is not None and not phone.simulated:
            env.signals.add(phone.device_id, phone.signal, now)
