"""Sealed SIM PINs with the outcome of their last try, and the SIMs that are locked now."""

from msgspec import Struct
from msgspec.structs import asdict

from daemon.store.engine import Reader, Tx

PURPOSE = "sim-pin:"
"""Prefix of the purpose of the sealed bytes, before the owner."""


class Pin(Struct, frozen=True):
    """A stored PIN; `outcome` is `opened`, `wrong`, or None if the result of the last try is unknown."""

    owner: str
    sealed: str
    tried_at: int | None
    outcome: str | None

    @property
    def may_be_tried(self) -> bool:
        """Return whether it was never tried, or is known to be right."""
        return self.tried_at is None or self.outcome == "opened"


class PinnedSim(Struct, frozen=True):
    """A SIM that asks for a code; `owner` is the owner of the PIN that would unlock it, if known."""

    device_id: str
    slot_index: int
    owner: str | None
    wants: str


def get(reader: Reader, owner: str) -> Pin | None:
    """Return the PIN of a SIM."""
    return reader.first(Pin, "SELECT * FROM sim_pins WHERE owner = :owner", {"owner": owner})


def put(tx: Tx, owner: str, sealed: str, now: int) -> None:
    """Store a PIN, not tried yet, and replace the previous one."""
    tx.run(
        "INSERT INTO sim_pins (owner, sealed, stored_at) VALUES (:owner, :sealed, :now) "
        "ON CONFLICT (owner) DO UPDATE SET sealed = excluded.sealed, stored_at = excluded.stored_at, "
        "tried_at = NULL, outcome = NULL",
        {"owner": owner, "sealed": sealed, "now": now},
    )


def begin_try(tx: Tx, pin: Pin, now: int) -> bool:
    """Record that this PIN is about to be tried; return False if it must not be tried or was replaced."""
    row = tx.one(
        "UPDATE sim_pins SET tried_at = :now, outcome = NULL WHERE owner = :owner AND sealed = :sealed "
        "AND (tried_at IS NULL OR outcome = 'opened') RETURNING owner",
        {"owner": pin.owner, "sealed": pin.sealed, "now": now},
    )
    return row is not None


def record_outcome(tx: Tx, owner: str, outcome: str) -> None:
    """Record the outcome of the try."""
    tx.run(
        "UPDATE sim_pins SET outcome = :outcome WHERE owner = :owner AND tried_at IS NOT NULL",
        {"owner": owner, "outcome": outcome},
    )


def locked(reader: Reader, device_id: str, slot_index: int) -> PinnedSim | None:
    """Return the lock of the SIM in a slot, None if it is unlocked, absent or unknown."""
    return reader.first(
        PinnedSim,
        "SELECT * FROM locked_sims WHERE device_id = :device_id AND slot_index = :slot",
        {"device_id": device_id, "slot": slot_index},
    )


def lock(tx: Tx, sim: PinnedSim, now: int) -> None:
    """Record that the SIM in a slot is locked."""
    tx.run(
        "INSERT INTO locked_sims (device_id, slot_index, owner, wants, since) "
        "VALUES (:device_id, :slot_index, :owner, :wants, :now) "
        "ON CONFLICT (device_id, slot_index) DO UPDATE SET owner = excluded.owner, wants = excluded.wants, "
        "since = excluded.since",
        {**asdict(sim), "now": now},
    )


def unlock(tx: Tx, device_id: str) -> None:
    """Record that no SIM in this phone is known to be locked."""
    tx.run("DELETE FROM locked_sims WHERE device_id = :device_id", {"device_id": device_id})
