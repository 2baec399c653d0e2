"""The signal of each modem by hour, for the last day."""

from collections.abc import Iterable

from daemon.core.lines.signal_history import StoredHour
from daemon.store.engine import Reader, Tx


def since(reader: Reader, at: int, until: int) -> list[StoredHour]:
    """Return the hours that began after one time and not after another, oldest first."""
    rows = reader.all(
        "SELECT device_id, at, lowest, highest FROM signal_hours WHERE at > :at AND at <= :until "
        "ORDER BY at, device_id",
        {"at": at, "until": until},
    )
    return [StoredHour(*row) for row in rows]


def put(tx: Tx, hours: Iterable[StoredHour], old: int) -> None:
    """Store hours, each in place of the one that is stored; delete those that began at `old` or before."""
    for hour in hours:
        tx.run(
            "INSERT INTO signal_hours (device_id, at, lowest, highest) VALUES (:device, :at, :lowest, :highest) "
            "ON CONFLICT (device_id, at) DO UPDATE SET lowest = excluded.lowest, highest = excluded.highest",
            {
                "device": hour.device_id,
                "at": hour.at,
                "lowest": hour.lowest,
                "highest": hour.highest,
            },
        )
    tx.run("DELETE FROM signal_hours WHERE at <= :old", {"old": old})
