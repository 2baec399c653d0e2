"""Update the message statistics of each SIM once a minute, and detect SIMs that have become silent."""

from datetime import UTC
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.lines import silence
from daemon.core.lines.silence import Rhythm, Silence
from daemon.env import Env
from daemon.store import journal, shop
from daemon.store.engine import Reader, Tx
from daemon.store.lines import sms_rhythms
from daemon.store.lines.sms_rhythms import PresentSim
from daemon.wire import Mode
from parsers.times import from_us

BATCH: Final = 2_000
"""Messages counted at a time; the rest is counted in the next minute."""


class SilenceChange(Struct, frozen=True):
    """A SIM that became silent or received a message again.

    Attributes:
        silence: The evaluation; None if it received a message again.
        quiet_us: Length of the silence.
    """

    place: PresentSim
    silence: Silence | None
    quiet_us: int


class _Found(Struct, frozen=True):
    cursor: int
    changed: tuple[Rhythm, ...]
    turns: tuple[SilenceChange, ...]


async def watch(env: Env) -> tuple[SilenceChange, ...]:
    """Count the messages since the last call, and evaluate every SIM in a phone that answers.

    An alarm ends by itself with the SIM's next message.

    Returns:
        The SIMs that became silent or received a message again, for the log.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    now = env.clock.now_us()
    found = await env.store.read(lambda reader: _look(reader, now))
    if found is None:
        return ()

    # Only this function writes these rows, so the values that were read are still valid.
    def job(tx: Tx) -> None:
        sms_rhythms.move_cursor(tx, found.cursor)
        for rhythm in found.changed:
            sms_rhythms.put(tx, rhythm)
        for turn in found.turns:
            facts: dict[str, object] = {
                "device_id": turn.place.device_id,
                "slot_index": turn.place.slot_index,
                "network": turn.place.network,
                "quiet_minutes": turn.quiet_us // MINUTE_US,
            }
            if turn.silence is not None:
                facts["usually"] = round(turn.silence.expected)
            journal.add(
                tx,
                type="sim.heard_again" if turn.silence is None else "sim.silent",
                mode=Mode.LIVE,
                at=now,
                data=facts,
            )

    await env.store.write(job)
    return found.turns


def _look(reader: Reader, now: int) -> _Found | None:
    """Return the changes, or None if there are none."""
    owner = shop.get(reader)
    zone = UTC if owner is None else ZoneInfo(owner.timezone)
    ahead = from_us(now).astimezone(zone).utcoffset()
    offset = 0 if ahead is None else int(ahead.total_seconds()) * SECOND_US
    known = sms_rhythms.all_rhythms(reader)
    current = dict(known)
    places = {place.sim_key: place for place in sms_rhythms.present_sims(reader)}
    for sim_key in places:
        one = current.get(sim_key) or silence.new_rhythm(sim_key, now, offset)
        current[sim_key] = silence.mark_monitored_now(one, now, offset)
    cursor = before = sms_rhythms.cursor(reader)
    turns = []
    for message in sms_rhythms.messages_after(reader, before, BATCH):
        cursor = message.seq
        if (rhythm := current.get(message.sim_key)) is not None:
            # A network's clock may be wrong; then ours is better.
            sent = min(message.sent_at, message.received_at)
            heard = silence.count_message(rhythm, sent, message.received_at, offset)
            if (since := heard.silent_since) is not None and message.received_at > since:
                heard = replace(heard, silent_since=None)
                place = places.get(message.sim_key)
                if place is not None:
                    turns.append(SilenceChange(place, None, message.received_at - since))
            current[message.sim_key] = heard
    for sim_key, place in places.items():
        rhythm = current[sim_key]
        if rhythm.silent_since is None and (judged := _judge(rhythm, place, now, offset)).alarm:
            current[sim_key] = replace(rhythm, silent_since=now - judged.quiet_us)
            turns.append(SilenceChange(place, judged, judged.quiet_us))
    changed = tuple(rhythm for key, rhythm in current.items() if rhythm is not known.get(key))
    if cursor == before and not changed:
        return None
    return _Found(cursor, changed, tuple(turns))


def _judge(rhythm: Rhythm, place: PresentSim, now: int, offset: int) -> Silence:
    """Evaluate the time since the last message, or since the SIM was connected again: without a phone none can come."""
    since = max(rhythm.last_at or 0, rhythm.watched_since, place.back_at or 0)
    return silence.evaluate(rhythm, since, now, offset)
