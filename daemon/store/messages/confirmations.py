"""Wordings and senders that the shop confirmed with one genuine message."""

from msgspec import Struct

from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns
from daemon.wire import Mode


class Confirmed(Struct, frozen=True):
    """One confirmation.

    Attributes:
        network: Short name.
        wording: As stored with the messages that it reads.
        sender: The originating address of the message that proved it, byte for byte.
    """

    mode: Mode
    network: str
    wording: str
    sender: str
    message_id: str
    confirmed_by: str
    confirmed_at: int


_WORDING = columns(Confirmed)


def is_confirmed(reader: Reader, mode: Mode, network: str, wording: str, sender: str) -> bool:
    """Return whether the shop has confirmed a wording from a sender."""
    return reader.exists(
        "SELECT 1 FROM confirmed_wordings WHERE mode = :mode AND network = :network AND wording = :wording "
        "AND sender = :sender",
        {"mode": mode, "network": network, "wording": wording, "sender": sender},
    )


def senders(reader: Reader, mode: Mode, network: str) -> tuple[str, ...]:
    """Return the senders that the shop has confirmed for a network."""
    rows = reader.all(
        "SELECT DISTINCT sender FROM confirmed_wordings WHERE mode = :mode AND network = :network",
        {"mode": mode, "network": network},
    )
    return tuple(row[0] for row in rows)


def all_confirmed(reader: Reader) -> list[Confirmed]:
    """Return all confirmations, newest first."""
    return reader.every(Confirmed, "SELECT * FROM confirmed_wordings ORDER BY seq DESC")


def add_wording(tx: Tx, row: Confirmed) -> bool:
    """Store a confirmation; return False if it exists already."""
    return bool(
        tx.run(
            f"INSERT INTO confirmed_wordings ({_WORDING}) VALUES (:mode, :network, :wording, :sender, :message_id, "
            ":confirmed_by, :confirmed_at) ON CONFLICT (mode, network, wording, sender) DO NOTHING",
            {
                "mode": row.mode,
                "network": row.network,
                "wording": row.wording,
                "sender": row.sender,
                "message_id": row.message_id,
                "confirmed_by": row.confirmed_by,
                "confirmed_at": row.confirmed_at,
            },
        )
    )


def remove_wording(tx: Tx, network: str, wording: str) -> int:
    """Remove the confirmations of a wording; return the number of senders."""
    return tx.run(
        "DELETE FROM confirmed_wordings WHERE network = :network AND wording = :wording",
        {"network": network, "wording": wording},
    )
