"""Once a day, look through the whole database and at what always holds: a shop that runs for months is looked at too."""

import asyncio
from collections.abc import Sequence

from daemon.core.self_check import CAUSE, Soundness
from daemon.env import Env
from daemon.store import events, examine, notice_outbox
from daemon.wire import Mode


async def watch(env: Env) -> Soundness | None:
    """Look, if a day is over; returns what is found where the owner is to be told, None where nothing changed.

    Raises:
        Unavailable: It was not written down; the next day's look tells it.
    """
    check = env.self_check
    if not check.is_due(env.clock.boottime()):
        return None
    found, what = await asyncio.to_thread(_look, env.store.path)
    before, check.found = check.found, found
    told = await env.store.read(lambda reader: notice_outbox.is_open(reader, CAUSE))
    if found is before if found is not Soundness.OK else not told:
        return None
    now = env.clock.now_us()
    kind = "db.sound" if found is Soundness.OK else f"db.{found}"
    data = {"what": list(what)}
    await env.store.write(lambda tx: events.add(tx, type=kind, mode=Mode.LIVE, at=now, data=data))
    return found


def _look(path: str) -> tuple[Soundness, Sequence[str]]:
    """Look with a connection of its own: what the shop's readers have in memory may be better than the file."""
    try:
        with examine.opened(path) as reader:
            if damage := examine.damage(reader):
                return Soundness.DAMAGED, (damage,)
            findings = tuple(name for name, _, _ in examine.findings(reader))
    except examine.Unreadable as error:
        return Soundness.DAMAGED, (str(error),)
    return (Soundness.FINDINGS if findings else Soundness.OK), findings
