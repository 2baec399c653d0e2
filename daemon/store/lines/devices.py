"""Modems and SIMs, present and past, and the signal of each modem by hour. The modem loop writes them from the devices' own answers."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from daemon.core.inputs import WITHOUT_SIM, PhoneIdentity, Source
from daemon.core.lines.signal_history import StoredHour
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import network_of
from daemon.store.engine import Reader, Tx
from daemon.wire import Mode
from parsers.read import network_of_imsi


def known(reader: Reader, mode: Mode = Mode.LIVE) -> list[Device]:
    """Return the phones that were not forgotten, first seen first; with Mode.TEST those of the sandbox."""
    return reader.every(
        Device,
        "SELECT * FROM devices WHERE forgotten_at IS NULL AND mode = :mode ORDER BY first_seen_at, device_id",
        {"mode": mode},
    )


def are_simulated(reader: Reader) -> bool:
    """Return whether there are phones and each of them is simulated."""
    found = reader.all("SELECT mode FROM devices WHERE forgotten_at IS NULL AND (mode = 'live' OR present = 1)")
    return bool(found) and all(mode == Mode.TEST for (mode,) in found)


def get(reader: Reader, device_id: str, mode: Mode = Mode.LIVE) -> Device | None:
    """Return one phone of this mode."""
    return reader.first(
        Device, "SELECT * FROM devices WHERE device_id = :id AND mode = :mode", {"id": device_id, "mode": mode}
    )


def named(reader: Reader, name: str) -> Device | None:
    """Return the real phone with this name, ignoring case."""
    return reader.first(
        Device,
        "SELECT * FROM devices WHERE LOWER(name) = LOWER(:name) AND forgotten_at IS NULL AND mode = 'live'",
        {"name": name},
    )


def sims_in_phones(reader: Reader, mode: Mode = Mode.LIVE) -> list[Sim]:
    """Return the SIMs that are in a slot according to the last reading; a phone that is off keeps its SIMs."""
    return reader.every(
        Sim,
        "SELECT s.* FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "WHERE s.present = 1 AND d.mode = :mode ORDER BY s.device_id, s.slot_index",
        {"mode": mode},
    )


def sims_of_lines(reader: Reader, mode: Mode = Mode.LIVE) -> list[Sim]:
    """Return the SIMs that are in a slot, and those in none that have a number."""
    return reader.every(
        Sim,
        "SELECT s.* FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "WHERE d.mode = :mode AND (s.present = 1 OR EXISTS (SELECT 1 FROM payment_methods m "
        "WHERE m.sim_seq = s.seq AND m.deleted_at IS NULL)) ORDER BY s.device_id, s.slot_index",
        {"mode": mode},
    )


def sims_told(reader: Reader) -> list[Sim]:
    """Return the SIMs about which the owner has a notice that no message can come to them."""
    return reader.every(Sim, "SELECT * FROM sims WHERE not_receiving_since IS NOT NULL")


def sim_in_slot(reader: Reader, device_id: str, slot_index: int, mode: Mode = Mode.LIVE) -> Sim | None:
    """Return the SIM in a slot of a phone of this mode that was not forgotten."""
    return reader.first(
        Sim,
        "SELECT s.* FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "WHERE s.device_id = :device_id AND s.slot_index = :slot AND s.present = 1 "
        "AND d.forgotten_at IS NULL AND d.mode = :mode",
        {"device_id": device_id, "slot": slot_index, "mode": mode},
    )


def sim_by_seq(reader: Reader, seq: int) -> Sim | None:
    """Return a SIM by its row."""
    return reader.first(Sim, "SELECT * FROM sims WHERE seq = :seq", {"seq": seq})


def sim_by_key(reader: Reader, sim_key: str) -> Sim | None:
    """Return a SIM by its key."""
    return reader.first(Sim, "SELECT * FROM sims WHERE sim_key = :key", {"key": sim_key})


NO_DEVICE: Final = "00000000-0000-0000-0000-000000000000"


class ReceivingSlot(Struct, frozen=True):
    """A SIM that receives a message, the number on it, its own home SMSCs, and whether a test payment is expected on it.

    `lacks_since` is when its oldest message began that lacks parts; None if none does.
    """

    sim: Sim
    line: PaymentMethod | None
    homes: list[str]
    expects_test_payment: bool
    lacks_since: int | None


def receiver(reader: Reader, key: str) -> ReceivingSlot | None:
    """Return all that an intake reads about a SIM, in one statement."""
    rows = reader.joined(
        "SELECT s.*, pm.*, h.smsc, t.sim_key, "
        "(SELECT MIN(m.created_at) FROM messages m WHERE m.state = 'incomplete' AND m.sim_key = s.sim_key) FROM sims s "
        "LEFT JOIN payment_methods pm ON pm.sim_seq = s.seq AND pm.deleted_at IS NULL "
        "LEFT JOIN sim_smscs h ON h.sim_key = s.sim_key AND h.source <> 'noticed' "
        "LEFT JOIN test_payments t ON t.sim_key = s.sim_key WHERE s.sim_key = :key ORDER BY h.since, h.smsc",
        {"key": key},
        s=Sim,
        pm=PaymentMethod,
    )
    if not rows:
        return _without_sim(reader, key)
    sim, line, _smsc, test_payment, lacks_since = rows[0]
    homes = [row[2] for row in rows if row[2] is not None]
    return ReceivingSlot(sim, line, homes, test_payment is not None, lacks_since)


def _without_sim(reader: Reader, key: str) -> ReceivingSlot | None:
    """Return the receiver of pasted messages of a number that was on no SIM then: no phone ever has this SIM."""
    if not key.startswith(WITHOUT_SIM):
        return None
    found = reader.first(
        PaymentMethod, "SELECT * FROM payment_methods WHERE id = :id", {"id": key.removeprefix(WITHOUT_SIM)}
    )
    if found is None:
        return None
    sim = unknown(Source(key, NO_DEVICE, 0), found.created_at).sim
    return ReceivingSlot(replace(sim, network=network_of(found.provider)), found, [], False, None)


def unknown(source: Source, at: int) -> ReceivingSlot:
    """Return the receiver of a message from a SIM that this shop does not have; `at` is when it was first seen."""
    sim = Sim(0, source.sim_key, None, None, None, source.device_id, source.slot_index, False, at, at, None, None)
    return ReceivingSlot(sim, None, [], False, None)


def known_sim_key(reader: Reader, iccid: str | None, imsi: str | None) -> str | None:
    """Return the key of the SIM with these identities, None if it was never seen.

    With an ICCID: the SIM of that ICCID, else a SIM of this IMSI without a known ICCID. Without one: the SIM that had
    this IMSI last.
    """
    if iccid is not None:
        row = reader.value("SELECT sim_key FROM sims WHERE iccid = :iccid", {"iccid": iccid})
        if row is not None:
            return str(row)
    if imsi is None:
        return None
    key: str | None = reader.value(
        "SELECT sim_key FROM sims WHERE imsi = :imsi AND (CAST(:iccid AS TEXT) IS NULL OR iccid IS NULL) "
        "ORDER BY CASE WHEN iccid IS NULL THEN 1 ELSE 0 END, last_seen_at DESC, seq DESC LIMIT 1",
        {"imsi": imsi, "iccid": iccid},
    )
    return key


def record_device(tx: Tx, phone: PhoneIdentity, device_id: str, now: int) -> None:
    """Record that a phone answered; a name given by the operator is kept."""
    tx.run(
        "INSERT INTO devices (device_id, imei, name, manufacturer, model, port, present, first_seen_at, last_seen_at) "
        "VALUES (:device_id, :imei, :name, :manufacturer, :model, :port, 1, :now, :now) "
        "ON CONFLICT (device_id) DO UPDATE SET manufacturer = excluded.manufacturer, model = excluded.model, "
        "port = excluded.port, present = 1, last_seen_at = excluded.last_seen_at, forgotten_at = NULL",
        {
            **asdict(phone),
            "device_id": device_id,
            "name": generated_name(phone.manufacturer, phone.model, device_id),
            "now": now,
        },
    )


def generated_name(manufacturer: str | None, model: str | None, device_id: str) -> str:
    """Return a generated name for a phone, such as `huawei-e3131-4f2a`."""
    words = f"{manufacturer or ''} {model or 'modem'}".lower().split()
    plain = ["".join(c for c in word if c.isascii() and c.isalnum()) for word in words]
    return "-".join([*dict.fromkeys(word for word in plain if word), device_id[:4]])


def restore_sim(tx: Tx, source: Source) -> None:
    """Store the SIM of a message that is older than the database, unless it is known; its phone adds the rest when it answers."""
    if sim_by_key(tx, source.sim_key) is not None:
        return
    tx.run(
        "INSERT INTO devices (device_id, name, present, first_seen_at, last_seen_at) "
        "VALUES (:device_id, :name, 0, :at, :at) ON CONFLICT (device_id) DO NOTHING",
        {"device_id": source.device_id, "name": generated_name(None, None, source.device_id), "at": source.since},
    )
    kind, _, rest = source.sim_key.partition(":")
    tx.run(
        "INSERT INTO sims (sim_key, iccid, imsi, network, device_id, slot_index, present, first_seen_at, last_seen_at) "
        "VALUES (:sim_key, :iccid, :imsi, :network, :device_id, :slot, 0, :at, :at)",
        {
            "sim_key": source.sim_key,
            "iccid": None if rest else source.sim_key,
            "imsi": rest if kind == "imsi" else None,
            "network": source.network,
            "device_id": source.device_id,
            "slot": source.slot_index,
            "at": source.since,
        },
    )


def rename(tx: Tx, device_id: str, name: str) -> None:
    """Rename a phone."""
    tx.run("UPDATE devices SET name = :name WHERE device_id = :id", {"id": device_id, "name": name})


def record_sim(tx: Tx, phone: PhoneIdentity, sim_key: str, device_id: str, now: int) -> tuple[Sim, Sim | None]:
    """Record that a SIM is in the slot of a phone; its number moves with it. Return (now, before)."""
    before = sim_by_key(tx, sim_key)
    network = network_of_imsi(phone.imsi or "") or phone.network
    place = {**asdict(phone), "sim_key": sim_key, "network": network, "device_id": device_id, "now": now}
    tx.run("UPDATE sim_absences SET until = :now WHERE sim_key = :sim_key AND until IS NULL", place)
    # Any other SIM that was recorded in this slot has left it.
    tx.run(
        "INSERT INTO sim_absences (sim_key, since) SELECT sim_key, :now FROM sims WHERE device_id = :device_id "
        "AND slot_index = :slot_index AND present = 1 AND sim_key <> :sim_key ON CONFLICT (sim_key) WHERE until IS NULL DO NOTHING",
        place,
    )
    tx.run(
        "UPDATE sims SET present = 0 WHERE device_id = :device_id AND slot_index = :slot_index AND sim_key <> :sim_key",
        place,
    )
    now_there = tx.only(
        Sim,
        "INSERT INTO sims (sim_key, iccid, imsi, network, device_id, slot_index, present, first_seen_at, last_seen_at) "
        "VALUES (:sim_key, :iccid, :imsi, :network, :device_id, :slot_index, 1, :now, :now) "
        "ON CONFLICT (sim_key) DO UPDATE SET iccid = COALESCE(sims.iccid, excluded.iccid), "
        "imsi = COALESCE(excluded.imsi, sims.imsi), "
        # If a SIM does not report its IMSI this time, keep the network found from the earlier one.
        "network = CASE WHEN excluded.imsi IS NULL THEN sims.network ELSE excluded.network END, "
        "device_id = excluded.device_id, slot_index = excluded.slot_index, present = 1, "
        "last_seen_at = excluded.last_seen_at RETURNING *",
        place,
    )
    return now_there, before


def set_ignored(tx: Tx, sim: Sim, at: int | None) -> Sim:
    """Set since when a SIM is not for payments, None if it is again; return it."""
    tx.run("UPDATE sims SET ignored_at = :at WHERE seq = :seq", {"seq": sim.seq, "at": at})
    return replace(sim, ignored_at=at)


def note_told(tx: Tx, seq: int, changes: Mapping[str, int | str | None]) -> None:
    """Set the states of a SIM that the owner has a notice about: `not_receiving_since`, `unused_since`, `served_by`."""
    assert changes.keys() <= {"not_receiving_since", "unused_since", "served_by"}
    tx.run(
        f"UPDATE sims SET {', '.join(f'{name} = :{name}' for name in changes)} WHERE seq = :seq",
        {"seq": seq, **changes},
    )


def see_sandbox(tx: Tx, now: int, device_id: str | None = None) -> None:
    """Record that the phones of the sandbox are connected; with `device_id`, only that one of them was used."""
    tx.run(
        "UPDATE devices SET last_seen_at = :now, present = CASE WHEN CAST(:id AS TEXT) IS NULL THEN 1 ELSE present END "
        "WHERE mode = 'test' AND (CAST(:id AS TEXT) IS NULL OR device_id = :id)",
        {"now": now, "id": device_id},
    )


def forget_placeholder(tx: Tx, device_id: str, now: int) -> None:
    """Forget the entry of a phone that was known by its port, if there is one without a SIM."""
    tx.run(
        "UPDATE devices SET forgotten_at = :now, present = 0, port = NULL WHERE device_id = :id "
        "AND forgotten_at IS NULL AND NOT EXISTS (SELECT 1 FROM sims s WHERE s.device_id = :id AND s.present = 1)",
        {"id": device_id, "now": now},
    )
    tx.run("DELETE FROM locked_sims WHERE device_id = :id", {"id": device_id})


def mark_device_absent(tx: Tx, device_id: str, now: int) -> None:
    """Record that a phone is gone. Its SIM keeps its slot until it is seen elsewhere."""
    tx.run(
        "INSERT INTO sim_absences (sim_key, since) SELECT sim_key, :now FROM sims WHERE device_id = :id AND present = 1 "
        "ON CONFLICT (sim_key) WHERE until IS NULL DO NOTHING",
        {"id": device_id, "now": now},
    )
    tx.run("DELETE FROM locked_sims WHERE device_id = :id", {"id": device_id})
    tx.run(
        "UPDATE devices SET present = 0, port = NULL, last_seen_at = :now WHERE device_id = :id",
        {"id": device_id, "now": now},
    )


def mark_all_absent(tx: Tx) -> None:
    """Mark all phones as absent at start; one without a recorded departure is away since its last contact."""
    tx.run(
        "INSERT INTO sim_absences (sim_key, since) SELECT s.sim_key, d.last_seen_at FROM sims s "
        "JOIN devices d ON d.device_id = s.device_id WHERE d.present = 1 AND s.present = 1 AND d.mode = 'live' "
        "ON CONFLICT (sim_key) WHERE until IS NULL DO NOTHING"
    )
    tx.run("UPDATE devices SET present = 0, port = NULL WHERE present = 1")
    tx.run("DELETE FROM locked_sims")


def signals_since(reader: Reader, at: int, until: int) -> list[StoredHour]:
    """Return the signal of each modem in the hours that began after one time and not after another, oldest first."""
    return reader.every(
        StoredHour,
        "SELECT * FROM signal_hours WHERE at > :at AND at <= :until ORDER BY at, device_id",
        {"at": at, "until": until},
    )


def put_signals(tx: Tx, hours: Iterable[StoredHour], old: int) -> None:
    """Store hours, each in place of the one that is stored; delete those that began at `old` or before."""
    for hour in hours:
        tx.run(
            "INSERT INTO signal_hours (device_id, at, lowest, highest) VALUES (:device_id, :at, :lowest, :highest) "
            "ON CONFLICT (device_id, at) DO UPDATE SET lowest = excluded.lowest, highest = excluded.highest",
            asdict(hour),
        )
    tx.run("DELETE FROM signal_hours WHERE at <= :old", {"old": old})
