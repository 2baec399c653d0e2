"""Once a minute: look at the disk and the clock, let what is overdue expire, tell of what is held or silent for long, write down what was noted."""

import asyncio
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import EXPIRE_EVERY_S, MINUTE_US
from daemon.core.self_check import Soundness
from daemon.env import Env
from daemon.flows import clock, disk_room, endpoint_changes, expire, self_check, send_text
from daemon.flows.drop_suggestions import drop_suggestions
from daemon.flows.missing_parts import tell_missing_parts
from daemon.flows.note_key_use import note_key_use
from daemon.flows.overdue import tell_overdue
from daemon.flows.prune import prune
from daemon.flows.silence import watch
from daemon.log import Log

WORKER: Final = "sweep"
BACKLOG_S: Final = 120.0
"""A shop that was off for weeks has much to let expire, batch after batch: that is no hang."""


async def sweep(env: Env, log: Log) -> None:
    """Run until cancelled."""
    while True:
        try:
            env.promise(WORKER, BACKLOG_S)
            await _look_at_machine(env, log)
            expired = await expire.expire(env)
            if expired:
                log.info("expire", count=expired)
            if held := await tell_overdue(env):
                log.warning("held", count=held)
            if dropped := await drop_suggestions(env):
                log.info("suggestions.dropped", count=dropped)
            for turn in await watch(env):
                event = "sim.heard_again" if turn.silence is None else "sim.silent"
                log.warning(event, device=turn.place.device_id, minutes=turn.quiet_us // MINUTE_US)
            if given_up := await endpoint_changes.finish_deletions(env):
                log.info("endpoint.deletion_finished", count=given_up)
            if lacking := await tell_missing_parts(env):
                log.warning("message.incomplete", count=lacking)
            env.promise(WORKER)
            await send_text.expire(env)
            await note_key_use(env)
            pruned = sum((await prune(env)).counts.values())
            if pruned:
                log.info("prune", count=pruned)
        except Unavailable as error:
            log.warning("expire.unavailable", why=error.why)
        env.promise(WORKER, EXPIRE_EVERY_S)
        await asyncio.sleep(EXPIRE_EVERY_S)


async def _look_at_machine(env: Env, log: Log) -> None:
    """See whether its disk has room, its clock is right, and the database is whole."""
    if (room := await disk_room.watch(env)) is not None:
        say = log.warning if room.worse else log.info
        say("disk.room", room=room.room, free_bytes=room.free)
    if (turn := await clock.watch(env)) is not None:
        log.warning("clock.right" if turn == "" else "clock.suspect", why=turn)
    if (found := await self_check.watch(env)) is not None:
        say = log.info if found is Soundness.OK else log.error
        say("db.checked", found=found)
