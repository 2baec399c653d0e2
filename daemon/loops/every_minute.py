"""Periodic jobs, once a minute: check disk and clock, expire and prune, report long holds and silences."""

import asyncio
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import EXPIRE_EVERY_S, MINUTE_US
from daemon.env import Env
from daemon.flows.access.keys import note_key_use
from daemon.flows.lines.receiving import watch_silence as watch
from daemon.flows.messages.overdue import notify_overdue, report_missing_parts
from daemon.flows.payments import cancel_expire, texts
from daemon.flows.payments.cancel_expire import drop_suggestions
from daemon.flows.upkeep import machine
from daemon.flows.upkeep.erasure import index_for_search, prune
from daemon.flows.webhooks import endpoints
from daemon.loops.keep_running import note_failure, note_work
from daemon.runtime.log import Log

WORKER: Final = "sweep"
BACKLOG_S: Final = 120.0
"""After weeks off a shop has many batches to expire; the watchdog must not report that as a hang."""
RECOVERING_S: Final = 0.5


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
            for job in (
                _expire,
                _tell_overdue,
                _drop_suggestions,
                _tell_silences,
                _finish_deletions,
                _tell_missing_parts,
                _expire_texts,
                _note_key_use,
                _prune,
                _index_for_search,
            ):
                env.heartbeat(WORKER, BACKLOG_S)
                try:
                    await job(env, log)
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


async def _expire(env: Env, log: Log) -> None:
    if expired := await cancel_expire.expire(env):
        log.info("expire", count=expired)


async def _tell_overdue(env: Env, log: Log) -> None:
    if held := await notify_overdue(env):
        log.warning("held", count=held)


async def _drop_suggestions(env: Env, log: Log) -> None:
    if dropped := await drop_suggestions(env):
        log.info("suggestions.dropped", count=dropped)


async def _tell_silences(env: Env, log: Log) -> None:
    for turn in await watch(env):
        event = "sim.heard_again" if turn.silence is None else "sim.silent"
        log.warning(event, device=turn.place.device_id, minutes=turn.quiet_us // MINUTE_US)


async def _finish_deletions(env: Env, log: Log) -> None:
    if given_up := await endpoints.finish_deletions(env):
        log.info("endpoint.deletion_finished", count=given_up)


async def _tell_missing_parts(env: Env, log: Log) -> None:
    if lacking := await report_missing_parts(env):
        log.warning("message.incomplete", count=lacking)


async def _expire_texts(env: Env, _log: Log) -> None:
    await texts.expire(env)


async def _note_key_use(env: Env, _log: Log) -> None:
    await note_key_use(env)


async def _prune(env: Env, log: Log) -> None:
    pruned = sum((await prune(env)).counts.values())
    if pruned:
        log.info("prune", count=pruned)


async def _index_for_search(env: Env, _log: Log) -> None:
    await index_for_search(env)


async def _look_at_machine(env: Env, log: Log) -> None:
    if (room := await machine.watch_space(env)) is not None:
        say = log.warning if room.worse else log.info
        say("disk.room", room=room.room, free_bytes=room.free)
    if (turn := await machine.watch_clock(env)) is not None:
        log.warning("clock.right" if turn == "" else "clock.suspect", why=turn)
