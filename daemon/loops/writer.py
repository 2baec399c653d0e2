"""The writer of a database on a server: signs of life for a standby daemon, and the end of its connections."""

import asyncio
import contextlib
from typing import Final

from daemon.core.errors import Unavailable
from daemon.env import Env

BEAT_S: Final = 1.0
"""A standby daemon takes over from a writer that is silent for three times as long (`daemon.store.postgresql.server`)."""
LOOK_S: Final = 0.5


async def beat(env: Env) -> None:
    """Write nothing every second, until cancelled: the server notes when a connection was last used."""
    while True:
        if env.store.is_open:
            with contextlib.suppress(Unavailable):
                await env.store.check_writable()
        await asyncio.sleep(BEAT_S)


async def until_cut_off(env: Env) -> None:
    """Raise when a connection to the server has ended.

    Raises:
        Unavailable: It has ended. The loops begin again when the database is open again.
    """
    while True:
        if env.store.is_cut_off:
            raise env.store.fault or Unavailable("the connection to the database server has ended")
        await asyncio.sleep(LOOK_S)
