"""Long messages whose parts never all came. Their row says so once somebody was told: `reasons` holds `parts_missing`."""

from typing import NamedTuple

from daemon.store.engine import Reader, Tx
from daemon.wire import Mode

REASON = "parts_missing"
_TOLD = f'["{REASON}"]'


class Lacking(NamedTuple):
    """A message that lacks parts."""

    id: str
    mode: Mode
    device_id: str
    slot_index: int
    parts_seen: int
    parts_total: int


def untold(reader: Reader, before: int, limit: int) -> list[Lacking]:
    """Return messages whose first part came before that time, that still lack some, and that nobody was told of."""
    rows = reader.all(
        "SELECT id, mode, device_id, slot_index, parts_seen, parts_total FROM messages "
        "WHERE state = 'incomplete' AND created_at <= :before AND reasons = '[]' ORDER BY seq LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [Lacking(row[0], Mode(row[1]), *row[2:]) for row in rows]


def told(tx: Tx, message_id: str) -> None:
    """Note that somebody was told; the part that completes the message takes it back."""
    tx.run("UPDATE messages SET reasons = :told WHERE id = :id", {"told": _TOLD, "id": message_id})


def count(reader: Reader) -> int:
    """Count the live messages that lack parts for long."""
    found = reader.value(
        "SELECT COUNT(*) FROM messages WHERE state = 'incomplete' AND mode = 'live' AND reasons = :told",
        {"told": _TOLD},
    )
    return int(found)
