"""How often messages come to each SIM, and the last message that was learned from."""

from typing import NamedTuple

from msgspec.structs import asdict

from daemon.core.lines import silence
from daemon.core.lines.silence import Rhythm
from daemon.store.engine import Reader, Tx
from daemon.store.rows import anew, insertion

_ADD = insertion("sim_rhythms", Rhythm)
_ANEW = anew(Rhythm)


class RhythmMessage(NamedTuple):
    """The parts of a message that matter for the rhythm; times in microseconds."""

    seq: int
    sim_key: str
    sent_at: int
    received_at: int


class PresentSim(NamedTuple):
    """A SIM in a phone that answers."""

    sim_key: str
    device_id: str
    device_name: str
    slot_index: int
    network: str | None
    back_at: int | None
    """When it last came back after an absence; None if it never was away."""


def all_rhythms(reader: Reader) -> dict[str, Rhythm]:
    """Return all rhythms by SIM."""
    found = reader.every(Rhythm, "SELECT * FROM sim_rhythms")
    return {rhythm.sim_key: rhythm for rhythm in found}


def put(tx: Tx, rhythm: Rhythm) -> None:
    """Store the rhythm of one SIM."""
    tx.run(
        f"{_ADD} ON CONFLICT (sim_key) DO UPDATE SET {_ANEW}",
        {**asdict(rhythm), "counts": silence.to_text(rhythm.counts)},
    )


def last_message_at(reader: Reader, sim_key: str) -> int | None:
    """Return when the last message came to a SIM, None if none is known."""
    at: int | None = reader.value("SELECT last_at FROM sim_rhythms WHERE sim_key = :key", {"key": sim_key})
    return at


def cursor(reader: Reader) -> int:
    """Return the last message that was learned from."""
    return reader.count("SELECT message_seq FROM rhythm_cursor WHERE id = 1")


def move_cursor(tx: Tx, seq: int) -> None:
    """Record the last message that was learned from."""
    tx.run("UPDATE rhythm_cursor SET message_seq = :seq WHERE id = 1", {"seq": seq})


def messages_after(reader: Reader, seq: int, limit: int) -> list[RhythmMessage]:
    """Return live messages read by phones after this one, oldest first."""
    rows = reader.all(
        "SELECT seq, sim_key, COALESCE(sent_at, created_at), created_at FROM messages "
        "WHERE seq > :seq AND mode = 'live' AND imported = 0 ORDER BY seq LIMIT :limit",
        {"seq": seq, "limit": limit},
    )
    return [RhythmMessage(*row) for row in rows]


def present_sims(reader: Reader) -> list[PresentSim]:
    """Return the SIMs for payments that can receive now, as far as their phones answer."""
    rows = reader.all(
        "SELECT s.sim_key, s.device_id, d.name, s.slot_index, s.network, "
        "(SELECT MAX(a.until) FROM sim_absences a WHERE a.sim_key = s.sim_key) "
        "FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "WHERE s.present = 1 AND d.present = 1 AND d.forgotten_at IS NULL AND s.ignored_at IS NULL "
        "AND d.mode = 'live'"
    )
    return [PresentSim(*row) for row in rows]
