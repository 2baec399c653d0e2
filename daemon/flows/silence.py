"""Learn how often messages come to each SIM, and notice one that has fallen silent. Once a minute."""

from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final
from zoneinfo import ZoneInfo

from daemon.core import silence
from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.silence import Rhythm, Silence
from daemon.env import Env
from daemon.store import events, rhythms, shop
from daemon.store.engine import Reader, Tx
from daemon.store.rhythms import Placed
from daemon.wire import Mode
from parsers.when import from_us

BATCH: Final = 2_000
"""Messages learned at a time; the rest comes with the next minute."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A SIM that fell silent, or was heard again.

    Attributes:
        silence: What was judged; None when it was heard again.
        quiet_us: How long it was silent.
    """

    place: Placed
    silence: Silence | None
    quiet_us: int


@dataclass(frozen=True, slots=True)
class _Found:
    cursor: int
    changed: tuple[Rhythm, ...]
    turns: tuple[Turn, ...]


async def watch(env: Env) -> tuple[Turn, ...]:
    """Learn from what came since the last call, and judge every SIM that is in a phone which answers.

    An alarm ends by itself with the SIM's next message. Nobody else writes these rows, so what was read still holds
    when it is written.

    Returns:
        The SIMs that fell silent or were heard again, for the log.

    Raises:
        Unavailable: Nothing was learned; the next call learns it.
    """
    now = env.clock.now_us()
    found = await env.store.read(lambda reader: _look(reader, now))
    if found is None:
        return ()

    def job(tx: Tx) -> None:
        rhythms.move_cursor(tx, found.cursor)
        for rhythm in found.changed:
            rhythms.put(tx, rhythm)
        for turn in found.turns:
            events.add(
                tx,
                type="sim.heard_again" if turn.silence is None else "sim.silent",
                mode=Mode.LIVE,
                at=now,
                data=_facts(turn),
            )

    await env.store.write(job)
    return found.turns


def _look(reader: Reader, now: int) -> _Found | None:
    """Return what is new, None when nothing is."""
    offset = _offset(reader, now)
    known = rhythms.all_of(reader)
    current = dict(known)
    places = {place.sim_key: place for place in rhythms.placed(reader)}
    for sim_key in places:
        one = current.get(sim_key) or silence.begin(sim_key, now, offset)
        current[sim_key] = silence.watched_now(one, now, offset)
    cursor = before = rhythms.cursor(reader)
    turns = []
    for message in rhythms.heard_after(reader, before, BATCH):
        cursor = message.seq
        if (rhythm := current.get(message.sim_key)) is not None:
            # A network's clock may be wrong, and then ours is the better one.
            sent = min(message.sent_at, message.received_at)
            heard = silence.heard(rhythm, sent, message.received_at, offset)
            if (since := heard.silent_since) is not None and message.received_at > since:
                heard = replace(heard, silent_since=None)
                place = places.get(message.sim_key)
                if place is not None:
                    turns.append(Turn(place, None, message.received_at - since))
            current[message.sim_key] = heard
    for sim_key, place in places.items():
        rhythm = current[sim_key]
        if rhythm.silent_since is None and (judged := _judge(rhythm, place, now, offset)).alarm:
            current[sim_key] = replace(rhythm, silent_since=now - judged.quiet_us)
            turns.append(Turn(place, judged, judged.quiet_us))
    changed = tuple(rhythm for key, rhythm in current.items() if rhythm is not known.get(key))
    if cursor == before and not changed:
        return None
    return _Found(cursor, changed, tuple(turns))


def _judge(rhythm: Rhythm, place: Placed, now: int, offset: int) -> Silence:
    """Judge the time since the last message, or since the SIM came back: while it was away none could come."""
    since = max(rhythm.last_at or 0, rhythm.watched_since, place.back_at or 0)
    return silence.judge(rhythm, since, now, offset)


def _offset(reader: Reader, now: int) -> int:
    """Return what the shop's zone is ahead of UTC."""
    owner = shop.get(reader)
    zone = UTC if owner is None else ZoneInfo(owner.timezone)
    ahead = from_us(now).astimezone(zone).utcoffset()
    return 0 if ahead is None else int(ahead.total_seconds()) * SECOND_US


def _facts(turn: Turn) -> dict[str, object]:
    facts: dict[str, object] = {
        "device_id": turn.place.device_id,
        "slot_index": turn.place.slot_index,
        "network": turn.place.network,
        "quiet_minutes": turn.quiet_us // MINUTE_US,
    }
    if turn.silence is not None:
        facts["usually"] = round(turn.silence.expected)
    return facts
