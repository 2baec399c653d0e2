"""The open database: checked soon after the start and then daily; and signs of life of its writer."""

import asyncio
import contextlib
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.upkeep.self_check import DatabaseState
from daemon.env import Env
from daemon.flows.upkeep import machine
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log

WORKER: Final = "self check"
CHECK_EVERY_S: Final = 5.0
"""Short, because damage that a statement meets is checked at once."""


async def check_database(env: Env, log: Log) -> None:
    """Run until cancelled. One check of a large file takes minutes, so nothing else waits for it."""
    while True:
        try:
            if (found := await machine.watch_database(env)) is not None:
                say = log.info if found is DatabaseState.OK else log.error
                say("db.checked", found=found)
            await note_work(env, log, WORKER)
        except Unavailable as error:
            log.warning("db.check_unavailable", why=error.why)
        await asyncio.sleep(CHECK_EVERY_S)


BEAT_S: Final = 1.0
"""A standby daemon takes over from a writer that is silent for three times as long (`daemon.store.postgresql.server`)."""
LOOK_S: Final = 0.5
THREAD_LOOK_S: Final = 5.0


async def until_writer_ends(env: Env) -> None:
    """Raise when the writing thread has ended by a bug: nothing can be stored then, and only a new process helps.

    Raises:
        RuntimeError: It has ended.
    """
    while True:
        if env.store.writer_has_died:
            raise RuntimeError("the thread that writes the database has ended")
        await asyncio.sleep(THREAD_LOOK_S)


async def beat(env: Env, log: Log) -> None:
    """Write nothing every second, until cancelled: the server notes when a connection was last used."""
    while True:
        if env.store.is_open:
            with contextlib.suppress(Unavailable):
                await env.store.check_writable()
        await note_work(env, log, "beat")
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
