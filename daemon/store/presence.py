"""Which phones and SIMs are there: written by the modem loop, by what the devices themselves say."""

from typing import Any

from daemon.core.model import Sim
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_optional


def saw_device(
    tx: Tx,
    *,
    device_id: str,
    imei: str | None,
    name: str,
    manufacturer: str | None,
    model: str | None,
    port: str,
    now: int,
) -> None:
    """Note that a phone answered; a name given by a person is kept."""
    tx.run(
        "INSERT INTO devices (device_id, imei, name, manufacturer, model, port, present, first_seen_at, last_seen_at) "
        "VALUES (:device_id, :imei, :name, :manufacturer, :model, :port, 1, :now, :now) "
        "ON CONFLICT (device_id) DO UPDATE SET manufacturer = excluded.manufacturer, model = excluded.model, "
        "port = excluded.port, present = 1, last_seen_at = excluded.last_seen_at, forgotten_at = NULL",
        {
            "device_id": device_id,
            "imei": imei,
            "name": name,
            "manufacturer": manufacturer,
            "model": model,
            "port": port,
            "now": now,
        },
    )


def first_name(manufacturer: str | None, model: str | None, device_id: str) -> str:
    """Return a first name for a phone, such as `huawei-e3131-4f2a`; people give better ones."""
    words = f"{manufacturer or ''} {model or 'modem'}".lower().split()
    plain = ["".join(c for c in word if c.isascii() and c.isalnum()) for word in words]
    return "-".join([*dict.fromkeys(word for word in plain if word), device_id[:4]])


def saw_sim(
    tx: Tx,
    *,
    sim_key: str,
    iccid: str | None,
    imsi: str | None,
    network: str | None,
    device_id: str,
    slot_index: int,
    now: int,
) -> tuple[Sim, Sim | None]:
    """Note that a SIM is in a slot; the number follows it. Returns (now, before)."""
    before = sim(tx, sim_key)
    tx.run(
        "UPDATE sim_absences SET until = :now WHERE sim_key = :sim_key AND until IS NULL",
        {"sim_key": sim_key, "now": now},
    )
    # Whatever else was said to be in this slot is not there any more.
    _sims_left(
        tx,
        "SELECT sim_key, :now FROM sims WHERE device_id = :device_id AND slot_index = :slot "
        "AND present = 1 AND sim_key <> :sim_key",
        {"device_id": device_id, "slot": slot_index, "sim_key": sim_key, "now": now},
    )
    tx.run(
        "UPDATE sims SET present = 0 WHERE device_id = :device_id AND slot_index = :slot AND sim_key <> :sim_key",
        {"device_id": device_id, "slot": slot_index, "sim_key": sim_key},
    )
    row = tx.one(
        "INSERT INTO sims (sim_key, iccid, imsi, network, device_id, slot_index, present, first_seen_at, last_seen_at) "
        "VALUES (:sim_key, :iccid, :imsi, :network, :device_id, :slot, 1, :now, :now) "
        "ON CONFLICT (sim_key) DO UPDATE SET iccid = COALESCE(sims.iccid, excluded.iccid), "
        "imsi = COALESCE(excluded.imsi, sims.imsi), "
        # Of a SIM that does not tell its IMSI this time we still know what it told before.
        "network = CASE WHEN excluded.imsi IS NULL THEN sims.network ELSE excluded.network END, "
        "device_id = excluded.device_id, slot_index = excluded.slot_index, present = 1, "
        f"last_seen_at = excluded.last_seen_at RETURNING {columns(Sim)}",
        {
            "sim_key": sim_key,
            "iccid": iccid,
            "imsi": imsi,
            "network": network,
            "device_id": device_id,
            "slot": slot_index,
            "now": now,
        },
    )
    assert row is not None
    return load(Sim, row), before


def device_left(tx: Tx, device_id: str, now: int) -> None:
    """Note that a phone is gone. Its SIM keeps its place until it is seen elsewhere."""
    _sims_left(
        tx,
        "SELECT sim_key, :now FROM sims WHERE device_id = :id AND present = 1",
        {"id": device_id, "now": now},
    )
    tx.run("DELETE FROM locked_sims WHERE device_id = :id", {"id": device_id})
    tx.run(
        "UPDATE devices SET present = 0, port = NULL, last_seen_at = :now WHERE device_id = :id",
        {"id": device_id, "now": now},
    )


def all_left(tx: Tx) -> None:
    """Note at start that no phone has answered yet; one that did not say good-bye is away since we last heard of it."""
    _sims_left(
        tx,
        "SELECT s.sim_key, d.last_seen_at FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "WHERE d.present = 1 AND s.present = 1",
        {},
    )
    tx.run("UPDATE devices SET present = 0, port = NULL WHERE present = 1")
    tx.run("DELETE FROM locked_sims")


def _sims_left(tx: Tx, chosen: str, params: dict[str, Any]) -> None:
    """Note from when on SIMs are away; `chosen` selects (sim_key, since). One that is away already stays so."""
    tx.run(
        f"INSERT INTO sim_absences (sim_key, since) {chosen} "
        "ON CONFLICT (sim_key) WHERE until IS NULL DO NOTHING",
        params,
    )


def sim(reader: Reader, sim_key: str) -> Sim | None:
    """Return a SIM by its key."""
    return load_optional(
        Sim,
        reader.one(f"SELECT {columns(Sim)} FROM sims WHERE sim_key = :key", {"key": sim_key}),
    )


def known_sim_key(reader: Reader, iccid: str | None, imsi: str | None) -> str | None:
    """Return the key of the SIM that says this of itself, None when it was never seen.

    A SIM that tells its ICCID is the one of that ICCID, else the one of this IMSI whose ICCID was never heard. One that
    does not is the one that had this IMSI last.
    """
    if iccid is not None:
        row = reader.value("SELECT sim_key FROM sims WHERE iccid = :iccid", {"iccid": iccid})
        if row is not None:
            return str(row)
    if imsi is None:
        return None
    only = "AND iccid IS NULL " if iccid is not None else ""
    key: str | None = reader.value(
        f"SELECT sim_key FROM sims WHERE imsi = :imsi {only}"
        "ORDER BY CASE WHEN iccid IS NULL THEN 1 ELSE 0 END, last_seen_at DESC, seq DESC LIMIT 1",
        {"imsi": imsi},
    )
    return key
