"""Loop that notes the signal of each modem once a minute, for the last 24 hours."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from daemon.core.lines.modem_health import ModemHealth
from daemon.env import Env

EVERY_S: Final = 60.0


async def note_signals(env: Env, phones: Callable[[], Sequence[ModemHealth]]) -> None:
    """Run until cancelled."""
    while True:
        note_once(env, phones())
        await asyncio.sleep(EVERY_S)


def note_once(env: Env, phones: Sequence[ModemHealth]) -> None:
    """Note what each modem has said last; a modem that said nothing leaves a gap."""
    now = env.clock.now_us()
    for phone in phones:
        if phone.device_id is not None and phone.signal is not None and not phone.simulated:
            env.signals.add(phone.device_id, phone.signal, now)
