"""Notice that the disk runs full, and that it has room again: told once each way, looked at once a minute."""

import asyncio
from dataclasses import dataclass

from daemon import disk
from daemon.core.disk_room import Room
from daemon.core.notice_rules import disk_cause
from daemon.env import Env
from daemon.store import events, notice_outbox
from daemon.store.engine import Reader, Tx
from daemon.wire import Mode


@dataclass(frozen=True, slots=True)
class Turn:
    """What changed.

    Attributes:
        room: The step that it is now.
        free: Bytes.
        worse: A step began; else one is over.
    """

    room: Room
    free: int
    worse: bool


async def begin(env: Env) -> None:
    """Note, at the start, which steps were told of and are not over: their end is told too."""

    def read(reader: Reader) -> list[Room]:
        return [step for step in Room if notice_outbox.is_open(reader, disk_cause(step))]

    env.disk.told = await env.store.read(read)


async def watch(env: Env) -> Turn | None:
    """Look at the disk, give the reserve back or take it again, and write down what changed; None when nothing did.

    What a step stops is stopped before anything is written.

    Raises:
        Unavailable: Nothing was written; the next call tells it.
    """
    try:
        free = env.free_bytes(env.home)
    except OSError:
        return None  # whoever writes there will say why
    seen = env.disk
    seen.see(free)
    await asyncio.to_thread(_mind_ballast, env.home, seen.room)
    began, over = seen.turns()
    if began is None and not over:
        return None
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        for step in over:
            facts = {"room": step, "free_bytes": free}
            events.add(tx, type="disk.has_room", mode=Mode.LIVE, at=now, data=facts)
        if began is not None:
            facts = {"room": began, "free_bytes": free}
            events.add(tx, type=f"disk.{began}", mode=Mode.LIVE, at=now, data=facts)

    await env.store.write(job)
    seen.noted(began, over)
    return Turn(seen.room, free, worse=began is not None)


def _mind_ballast(folder: str, room: Room) -> None:
    try:
        if room is Room.FULL:
            disk.drop_ballast(folder)
        elif room is not Room.TIGHT:
            disk.keep_ballast(folder)
    except OSError:
        return  # a shop without its reserve sells all the same
