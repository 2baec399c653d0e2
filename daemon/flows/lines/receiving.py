"""Notices to the owner when a line cannot receive, is unused, or is served by a foreign network, and when that has ended."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from daemon.core.limits import DAY_US, SECOND_US
from daemon.core.lines import receiving
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.receiving import IDLE_US, TOLD_AFTER_S, ReceivingSim
from daemon.env import Env
from daemon.steps.lines import read_lines
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices, sms_rhythms
from daemon.store.payments import texts
from daemon.wire import Mode

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

    Args:
        env: The environment.
        phones: The current state of the ports.
        seen: The memory of this process; it is changed.

    Returns:
        The changes, for the log.

    Raises:
        Unavailable: Nothing was written; the next call does it.
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
        journal.add(tx, type=change.event, mode=Mode.LIVE, at=now, data=dict(change.data))


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
    times = (
        sim.first_seen_at,
        sms_rhythms.last_message_at(reader, sim.sim_key),
        texts.last_sent_at(reader, sim.seq),
    )
    last = max(at for at in times if at is not None)
    if told is None and now - last >= IDLE_US:
        yield _change(line, "line.unused", {"days": (now - last) // DAY_US}, unused_since=last)
    elif told is not None and last > told:
        yield _change(line, "line.in_use", unused_since=None)


def _change(
    line: ReceivingSim,
    event: str,
    more: Mapping[str, Any] | None = None,
    **columns: int | str | None,
) -> LineChange:
    return LineChange(event, receiving.facts(line) | dict(more or {}), line.sim.seq, columns)
