"""Phones and SIMs as people see them: what is there, and which slot holds which SIM."""

from daemon.core.model import Device, Sim
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all, load_optional

_DEVICE = columns(Device)
_SIM = columns(Sim)


def known(reader: Reader) -> list[Device]:
    """Return the phones that were not forgotten, first seen first."""
    return load_all(
        Device,
        reader.all(
            f"SELECT {_DEVICE} FROM devices WHERE forgotten_at IS NULL "
            "ORDER BY first_seen_at, device_id"
        ),
    )


def get(reader: Reader, device_id: str) -> Device | None:
    """Return one phone."""
    return load_optional(
        Device,
        reader.one(f"SELECT {_DEVICE} FROM devices WHERE device_id = :id", {"id": device_id}),
    )


def sims_in_phones(reader: Reader) -> list[Sim]:
    """Return the SIMs that are in a slot, as far as we know; a phone that is off keeps its SIMs."""
    return load_all(
        Sim,
        reader.all(f"SELECT {_SIM} FROM sims WHERE present = 1 ORDER BY device_id, slot_index"),
    )


def sim_in_slot(reader: Reader, device_id: str, slot_index: int) -> Sim | None:
    """Return the SIM that is in a slot of a phone that was not forgotten."""
    return load_optional(
        Sim,
        reader.one(
            f"SELECT {columns(Sim, 's.')} FROM sims s JOIN devices d ON d.device_id = s.device_id "
            "WHERE s.device_id = :device_id AND s.slot_index = :slot AND s.present = 1 "
            "AND d.forgotten_at IS NULL",
            {"device_id": device_id, "slot": slot_index},
        ),
    )


def sim(reader: Reader, seq: int) -> Sim | None:
    """Return a SIM by its row."""
    return load_optional(Sim, reader.one(f"SELECT {_SIM} FROM sims WHERE seq = :seq", {"seq": seq}))


def named(reader: Reader, name: str) -> Device | None:
    """Return the phone that is called so, whatever the case of its letters."""
    return load_optional(
        Device,
        reader.one(
            f"SELECT {_DEVICE} FROM devices WHERE LOWER(name) = LOWER(:name) AND forgotten_at IS NULL",
            {"name": name},
        ),
    )


def rename(tx: Tx, device_id: str, name: str) -> None:
    """Call a phone by another name."""
    tx.run("UPDATE devices SET name = :name WHERE device_id = :id", {"id": device_id, "name": name})
