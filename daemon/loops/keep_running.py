"""Runs a loop of the daemon for ever: one that ends by a bug in momo is started again, and never ends another one."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from daemon.core.errors import Unavailable, only_unavailable
from daemon.env import Env
from daemon.flows.upkeep import notices
from daemon.runtime.log import Log
from daemon.store.engine import Store
from parsers.masking import describe_error, describe_traceback

BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 15.0)
"""Between the starts of a loop that fails; the last one is short enough that it works within 30 s once the cause is gone."""
FIND_DAMAGE_S: Final = 20.0


async def keep_running(
    env: Env, log: Log, loop: str, run: Callable[[], Awaitable[None]], *, needs_database: bool = True
) -> None:
    """Run a loop until cancelled; `loop` is its name in the status, the log and `Env.works`.

    Raises:
        Exception: The loop's error, if it is that the database cannot be used and the loop needs it. The daemon opens it
            again.
    """
    untold = 0
    while True:
        error: Exception = RuntimeError("it ended as if it were done")
        try:
            await run()
        except Exception as fault:  # noqa: BLE001 -- told and counted; no bug of one loop may end the others
            error = fault
        try:
            failures = await note_failure(env, log, loop, error)
            untold = 0
        except Exception as fault:
            if needs_database and (fault is error or only_unavailable(fault)):
                raise
            # The database cannot be used, or without a free descriptor not even the log can be written. The loop goes on.
            failures = untold = untold + 1
        await asyncio.sleep(BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1])


async def note_failure(env: Env, log: Log, loop: str, error: Exception) -> int:
    """Tell and count a failure of a loop by a bug; return how many there were since it last worked.

    Raises:
        Exception: The same error, if it is that the database cannot be used.
    """
    env.heartbeats.rest(loop)
    await _raise_if_database_is_at_fault(env, log, loop, error)
    why = describe_error(error)
    failures = env.faults.loop_failed(loop, why, env.new_id(), env.clock.now_us())
    # The place in the code only at the first time, so that a loop that always fails does not fill the log.
    where = describe_traceback(error) if failures == 1 else ""
    log.error("daemon.fault", loop=loop, error=why, failures=failures, where=where)
    if failures == 1:
        await _record(env, "loop.failed", {"loop": loop, "why": why})
    return failures


async def set_aside(env: Env, log: Log, loop: str, item: str, error: Exception) -> None:
    """Tell and count an item on which a loop always fails, and which it leaves out from now on.

    Raises:
        Exception: The same error, if it is that the database cannot be used.
    """
    await _raise_if_database_is_at_fault(env, log, loop, error)
    why = describe_error(error)
    if env.faults.set_aside(loop, item, why, env.new_id(), env.clock.now_us()):
        log.error("daemon.set_aside", loop=loop, item=item, where=describe_traceback(error))
        await _record(env, "loop.failed", {"loop": loop, "why": f"{item} was set aside: {why}"})


async def note_work(env: Env, log: Log, loop: str) -> None:
    """Note that a loop has done its work; it is told if the loop had failed before."""
    if env.faults.loop_works(loop):
        log.info("daemon.works_again", loop=loop)
        await _record(env, "loop.works", {"loop": loop})


async def find_damage(store: Store) -> bool:
    """Return whether the file is damaged, as far as a check finds out in a few seconds."""
    with contextlib.suppress(Unavailable, TimeoutError):  # the store's `fault` has the damage
        async with asyncio.timeout(FIND_DAMAGE_S):
            await asyncio.to_thread(store.check_sound)
    return store.is_damaged


async def _raise_if_database_is_at_fault(env: Env, log: Log, loop: str, error: Exception) -> None:
    if only_unavailable(error):
        raise error
    # Damaged pages can hold values that the program does not expect. The file is checked once for a row of failures.
    look = env.store.is_open and not env.faults.is_failing(loop)
    if env.store.is_damaged or (look and await find_damage(env.store)):
        log.error("daemon.database", loop=loop, error=describe_error(error))
        raise error


async def _record(env: Env, kind: str, data: dict[str, str]) -> None:
    with contextlib.suppress(Exception):  # the status and the log have it
        await notices.record_loop(env, kind, data)
