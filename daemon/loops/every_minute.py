"""Periodic jobs, once a minute: check disk and clock, expire and prune, report long holds and silences."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import MINUTE_US
from daemon.env import Env
from daemon.flows.access.keys import note_key_use
from daemon.flows.lines.receiving import watch_silence
from daemon.flows.messages.overdue import notify_overdue, report_missing_parts
from daemon.flows.payments import cancel_expire, texts
from daemon.flows.payments.cancel_expire import drop_suggestions
from daemon.flows.upkeep import machine
from daemon.flows.upkeep.erasure import index_for_search, prune
from daemon.flows.upkeep.notices import end_of_reviews
from daemon.flows.webhooks import endpoints
from daemon.loops.keep_running import note_failure, note_work
from daemon.runtime.log import Log

EXPIRE_EVERY_S: Final = 60.0
WORKER: Final = "sweep"
BACKLOG_S: Final = 120.0
"""After weeks off a shop has many batches to expire; the watchdog must not report that as a hang."""
RECOVERING_S: Final = 0.5
_WARNINGS: Final = frozenset({"held", "message.incomplete"})


async def run_every_minute(env: Env, log: Log) -> None:
    """Run until cancelled."""
    while True:
        try:
            env.heartbeat(WORKER, BACKLOG_S)
            await _look_at_machine(env, log)
            if env.recovering:
                # A transaction that was paid in time must not expire before its payment is in the database again.
                await asyncio.sleep(RECOVERING_S)
                continue
            failed = False
            # Each returns a number, which is logged as the event if there is one.
            jobs: tuple[tuple[str, Callable[[Env], Awaitable[object]]], ...] = (
                ("expire", cancel_expire.expire), ("held", notify_overdue), ("suggestions.dropped", drop_suggestions),
                ("", partial(_tell_silences, log)), ("endpoint.deletion_finished", endpoints.finish_deletions),
                ("message.incomplete", report_missing_parts), ("", end_of_reviews),
                ("listeners.deleted", endpoints.delete_abandoned_listeners), ("", texts.expire), ("", note_key_use),
                ("prune", _prune), ("", index_for_search),
            )  # fmt: skip
            for event, job in jobs:
                env.heartbeat(WORKER, BACKLOG_S)
                try:
                    count = await job(env)
                    if event and count:
                        say = log.warning if event in _WARNINGS else log.info
                        say(event, count=count)
                except Unavailable:
                    raise
                except Exception as error:  # noqa: BLE001 -- told and counted
                    failed = True
                    await note_failure(env, log, WORKER, error)
            if not failed:
                await note_work(env, log, WORKER)
        except Unavailable as error:
            log.warning("expire.unavailable", why=error.why)
        env.heartbeat(WORKER, EXPIRE_EVERY_S)
        await asyncio.sleep(EXPIRE_EVERY_S)


async def _tell_silences(log: Log, env: Env) -> None:
    for turn in await watch_silence(env):
        event = "sim.heard_again" if turn.silence is None else "sim.silent"
        log.warning(event, device=turn.place.device_id, minutes=turn.quiet_us // MINUTE_US)


async def _prune(env: Env) -> int:
    return sum((await prune(env)).counts.values())


async def _look_at_machine(env: Env, log: Log) -> None:
    if (room := await machine.watch_space(env)) is not None:
        say = log.warning if room.worse else log.info
        say("disk.room", room=room.room, free_bytes=room.free)
    if (turn := await machine.watch_clock(env)) is not None:
        log.warning("clock.right" if turn == "" else "clock.suspect", why=turn)
