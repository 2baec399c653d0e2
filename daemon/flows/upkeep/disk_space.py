"""Check of the free disk space once a minute; one journal event when a level begins or ends."""

import asyncio

from msgspec import Struct

from daemon.core.upkeep.disk_space import SpaceStep
from daemon.core.upkeep.notice_rules import disk_cause
from daemon.env import Env
from daemon.runtime import files
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.upkeep import notices
from daemon.wire import Mode


class LevelChange(Struct, frozen=True):
    """A change of the level.

    `worse` says that a level began; else one has ended.
    """

    room: SpaceStep
    free: int
    worse: bool


async def begin(env: Env) -> None:
    """Load at the start the levels with an open notice, so that their end gives a notice too."""

    def read(reader: Reader) -> list[SpaceStep]:
        return [step for step in SpaceStep if notices.is_open(reader, disk_cause(step))]

    env.disk.told = await env.store.read(read)


async def watch(env: Env) -> LevelChange | None:
    """Check the free space, release or recreate the reserve file, and record a change; return None if there is none.

    The level takes effect before anything is written.

    Raises:
        Unavailable: Nothing was written; the next call records it.
    """
    try:
        free = env.free_bytes(env.home)
    except OSError:
        return None  # the next write there reports the error
    seen = env.disk
    seen.see(free)
    await asyncio.to_thread(_adjust_reserve, env.home, seen.room)
    began, over = seen.turns()
    if began is None and not over:
        return None
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        for step in over:
            facts = {"room": step, "free_bytes": free}
            journal.add(tx, type="disk.has_room", mode=Mode.LIVE, at=now, data=facts)
        if began is not None:
            facts = {"room": began, "free_bytes": free}
            journal.add(tx, type=f"disk.{began}", mode=Mode.LIVE, at=now, data=facts)

    await env.store.write(job)
    seen.noted(began, over)
    return LevelChange(seen.room, free, worse=began is not None)


def _adjust_reserve(folder: str, room: SpaceStep) -> None:
    try:
        if room is SpaceStep.FULL:
            files.drop_ballast(folder)
        elif room is not SpaceStep.TIGHT:
            files.keep_ballast(folder)
    except OSError:
        return  # the shop works without its reserve too
