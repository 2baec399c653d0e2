"""Look through the database once a day, and through all of it once a week: a shop that runs for months is looked at too.

What is damaged takes no money until a backup is in its place (docs/decisions/0048).
"""

import asyncio
from dataclasses import dataclass, field

from daemon.core.self_check import CAUSE, Soundness
from daemon.env import Env
from daemon.store import events, examine, ledger, notice_outbox
from daemon.store.engine import Tx
from daemon.wire import Mode


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look found: `what` names it, `whole` says that it went through every index."""

    found: Soundness
    what: list[str] = field(default_factory=list)
    whole: bool = False


async def begin(env: Env) -> None:
    """Look at the start through all of a file that was not sound when it was last looked at.

    The quick look of the start finds less than the weekly one, and what that found must not be forgotten by a restart.
    """
    if await env.store.read(lambda reader: notice_outbox.is_open(reader, CAUSE)):
        env.self_check.found = (await _look(env, whole=True)).found


async def watch(env: Env) -> Soundness | None:
    """Look, if it is time; returns what is found where the owner is to be told, None where nothing changed.

    What a finding stops is stopped before anything is written.

    Raises:
        Unavailable: It was not written down; the next day's look tells it.
    """
    check = env.self_check
    if not check.is_due(env.clock.boottime()):
        return None
    seen = await _look(env)
    before, check.found = check.found, seen.found
    told = await env.store.read(lambda reader: notice_outbox.is_open(reader, CAUSE))
    news = told if seen.found is Soundness.OK else seen.found is not before or not told
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        if seen.found is Soundness.OK and seen.whole:
            events.add(tx, type=examine.WHOLE, mode=Mode.LIVE, at=now)
        if news:
            kind = "db.sound" if seen.found is Soundness.OK else f"db.{seen.found}"
            events.add(tx, type=kind, mode=Mode.LIVE, at=now, data={"what": seen.what})

    if news or seen.whole:
        await env.store.write(job)
    return seen.found if news else None


async def _look(env: Env, *, whole: bool = False) -> _Seen:
    """Look with a connection and in a thread of its own: nobody waits, and what readers have in memory may be better."""

    def look() -> _Seen:
        try:
            with examine.opened(env.store.path) as reader:
                last = examine.last_whole_look(reader)
                at_all = whole or env.self_check.looks_at_all(env.clock.now_us(), last)
                if damage := examine.damage(reader, whole=at_all):
                    return _Seen(Soundness.DAMAGED, [damage], at_all)
                findings = [name for name, _, _ in examine.findings(reader)]
        except examine.Unreadable as error:
            return _Seen(Soundness.DAMAGED, [str(error)])
        if set(findings) & ledger.FORBIDDEN:
            # The schema itself forbids these: rows and index disagree, whatever SQLite says of the pages.
            return _Seen(Soundness.DAMAGED, findings, at_all)
        return _Seen(Soundness.FINDINGS if findings else Soundness.OK, findings, at_all)

    return await asyncio.to_thread(look)
