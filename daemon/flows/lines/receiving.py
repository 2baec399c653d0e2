"""Watch each line: whether it can receive, is unused, is served by a foreign network or has become silent; keep its signal."""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec import Struct, field
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.lines import receiving, silence
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.receiving import IDLE_US, TOLD_AFTER_S, ReceivingSim
from daemon.core.lines.signal_history import SPAN_US
from daemon.core.lines.silence import Rhythm, Silence
from daemon.env import Env
from daemon.steps.lines import read_lines
from daemon.store import journal, shop
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices, sms_rhythms
from daemon.store.lines.sms_rhythms import PresentSim
from daemon.store.payments import texts
from parsers.times import from_us

NOT_RECEIVING: Final = "line.not_receiving"
RECEIVING: Final = "line.receiving"
NOT_WATCHED: Final = "line.not_watched"


class Watch(Struct):
    """The memory of this process.

    It is not stored: after a restart a line has its two minutes again, because the modem has to start again too.

    Attributes:
        since: When each SIM (by its row) was first seen in a state, in monotonic seconds.
        last: Whether all lines received at the last look, and the id of the problem, such as `modem.pin`.
    """

    since: dict[tuple[int, str], float] = field(default_factory=dict)
    last: tuple[bool | None, str | None] = (None, None)

    def lasts(self, sim: int, name: str, now_s: float, *, holds: bool) -> bool:
        """Return whether a state of a SIM has held for two minutes."""
        if not holds:
            self.since.pop((sim, name), None)
            return False
        return now_s - self.since.setdefault((sim, name), now_s) >= TOLD_AFTER_S


class LineChange(Struct, frozen=True):
    """One event of a line, and the columns of its SIM that remember it."""

    event: str
    data: Mapping[str, Any]
    sim: int
    columns: Mapping[str, int | str | None]


async def watch(env: Env, phones: Sequence[ModemHealth], seen: Watch) -> tuple[LineChange, ...]:
    """Compare every line with the states that the owner has a notice about, and record the differences in the journal.

    `seen` is the memory of this process, which is changed. The changes are returned for the log.
    """
    times, now_s = env.times(), env.clock.monotonic()
    now = times.wall_us

    def look(reader: Reader) -> tuple[list[ReceivingSim], list[LineChange]]:
        lines = read_lines(reader, phones, now)
        changes = [change for line in lines for change in _changes(line, seen, now, now_s)]
        changes += _not_watched(reader, {line.sim.seq for line in lines})
        if times.doubt is None:  # a wrong year would make every SIM look unused
            changes += [change for line in lines for change in _unused(reader, line, now)]
        return lines, changes

    lines, changes = await env.store.read(look)
    problem = receiving.overall(lines, phones, now)
    seen.last = problem is None, None if problem is None else problem.id
    if changes:
        # Only this function writes these columns, so the values that were read are still valid.
        await env.store.write(lambda tx: _record(tx, changes, now))
    return tuple(changes)


def _record(tx: Tx, changes: Iterable[LineChange], now: int) -> None:
    for change in changes:
        devices.note_told(tx, change.sim, change.columns)
        journal.add(tx, change.event, now, data=dict(change.data))


def _changes(line: ReceivingSim, seen: Watch, now: int, now_s: float) -> Iterable[LineChange]:
    """Yield that a line cannot receive, or receives again, and that a foreign network serves it, or its own again."""
    sim, watched = line.sim, line.used and line.recent
    problem = line.problem if watched else None
    deaf = seen.lasts(sim.seq, "deaf", now_s, holds=problem is not None)
    if problem is not None and deaf and sim.not_receiving_since is None:
        since = now - round((now_s - seen.since[sim.seq, "deaf"]) * SECOND_US)
        more = {"problem": problem.id, "why": problem.text, "fix": problem.fix}
        yield _change(line, NOT_RECEIVING, more, not_receiving_since=since)
    elif problem is None and sim.not_receiving_since is not None:
        # A phone that was away for a week is no alarm any more, but it does not receive either.
        yield _change(line, RECEIVING if watched else NOT_WATCHED, not_receiving_since=None)
    by = receiving.elsewhere(sim, line.phone) if watched else None
    foreign = seen.lasts(sim.seq, "foreign", now_s, holds=by is not None)
    if foreign and sim.served_by is None:
        yield _change(line, "line.roaming", {"by": by}, served_by=by)
    elif by is None and line.problem is None and sim.served_by is not None:
        yield _change(line, "line.home", served_by=None)


def _not_watched(reader: Reader, watched: Container[int]) -> Iterable[LineChange]:
    """Yield the SIMs with an open notice that are no lines any more: set aside, or their number was moved or removed."""
    for sim in devices.sims_told(reader):
        if sim.seq not in watched:
            facts = {"sim": sim.seq, "device_id": sim.device_id, "slot_index": sim.slot_index}
            yield LineChange(NOT_WATCHED, facts, sim.seq, {"not_receiving_since": None})


def _unused(reader: Reader, line: ReceivingSim, now: int) -> Iterable[LineChange]:
    """Yield the begin or the end of 60 days without a received or sent SMS."""
    sim, told = line.sim, line.sim.unused_since
    if not (line.used and line.recent):
        return
    times = (sim.first_seen_at, sms_rhythms.last_message_at(reader, sim.sim_key), texts.last_sent_at(reader, sim.seq))
    last = max(at for at in times if at is not None)
    if told is None and now - last >= IDLE_US:
        yield _change(line, "line.unused", {"days": (now - last) // DAY_US}, unused_since=last)
    elif told is not None and last > told:
        yield _change(line, "line.in_use", unused_since=None)


def _change(
    line: ReceivingSim, event: str, more: Mapping[str, Any] | None = None, **columns: int | str | None
) -> LineChange:
    return LineChange(event, receiving.facts(line) | dict(more or {}), line.sim.seq, columns)


async def keep_signals(env: Env) -> None:
    """Add the stored hours once, and store the hours that have ended since the last call: one commit an hour at most.

    With a clock in doubt nothing is done: hours would be stored at the wrong time, or deleted as old ones.
    """
    times, history = env.times(), env.signals
    if times.doubt is not None:
        return
    now = times.wall_us
    if not history.restored:
        history.restore(await env.store.read(lambda reader: devices.signals_since(reader, now - SPAN_US, now)))
    if ended := history.ended(now):
        await env.store.write(lambda tx: devices.put_signals(tx, ended, now - SPAN_US))
        history.stored_until = now - now % HOUR_US


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


async def watch_silence(env: Env) -> tuple[SilenceChange, ...]:
    """Count the messages since the last call, and evaluate every SIM in a phone that answers.

    An alarm ends by itself with the SIM's next message. The SIMs that became silent or received a message again are
    returned for the log.
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
            journal.add(tx, "sim.heard_again" if turn.silence is None else "sim.silent", now, data=facts)

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
