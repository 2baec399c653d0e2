"""Merchant numbers and their SIMs. A number on a SIM is a line."""

from typing import Any

from daemon.core.model import Device, PaymentMethod, Sim
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices
from daemon.store.rows import insertion
from daemon.wire import Mode


def add(tx: Tx, method: dict[str, Any]) -> PaymentMethod | None:
    """Store a new number; return None if this provider and number are registered already.

    `method` has every column but `seq`. Its SIM must be free: check with `on_sim` first, in the same transaction.
    """
    return tx.first(
        PaymentMethod,
        f"{insertion('payment_methods', PaymentMethod, 'branch_id')} ON CONFLICT (mode, provider, phone_number) "
        f"WHERE deleted_at IS NULL AND branch_id IS NULL DO NOTHING RETURNING *",
        method,
    )


def get(reader: Reader, method_id: str, mode: Mode) -> PaymentMethod | None:
    """Return one number of this mode that was not deleted."""
    return reader.first(
        PaymentMethod,
        "SELECT * FROM payment_methods WHERE id = :id AND mode = :mode AND deleted_at IS NULL",
        {"id": method_id, "mode": mode},
    )


def in_use(reader: Reader, mode: Mode = Mode.LIVE) -> list[PaymentMethod]:
    """Return the numbers of this mode that were not deleted, oldest first."""
    return reader.every(
        PaymentMethod,
        "SELECT * FROM payment_methods WHERE mode = :mode AND deleted_at IS NULL ORDER BY seq",
        {"mode": mode},
    )


def ever(reader: Reader) -> list[PaymentMethod]:
    """Return all numbers, deleted ones too, because payments keep theirs."""
    return reader.every(PaymentMethod, "SELECT * FROM payment_methods ORDER BY seq")


def on_sim(reader: Reader, sim_seq: int) -> PaymentMethod | None:
    """Return the number on a SIM."""
    return reader.first(
        PaymentMethod, "SELECT * FROM payment_methods WHERE sim_seq = :sim AND deleted_at IS NULL", {"sim": sim_seq}
    )


def with_number(reader: Reader, mode: Mode, provider: str, phone_number: str) -> PaymentMethod | None:
    """Return the number of this provider, if it is registered in this shop."""
    return reader.first(
        PaymentMethod,
        "SELECT * FROM payment_methods WHERE mode = :mode AND provider = :provider "
        "AND phone_number = :phone AND deleted_at IS NULL AND branch_id IS NULL",
        {"mode": mode, "provider": provider, "phone": phone_number},
    )


def where(reader: Reader, method: PaymentMethod) -> tuple[Sim | None, Device | None]:
    """Return the SIM of a number and the phone that holds it."""
    sim = None if method.sim_seq is None else devices.sim_by_seq(reader, method.sim_seq)
    return sim, None if sim is None else devices.get(reader, sim.device_id, method.mode)


def place(tx: Tx, method_id: str, sim_seq: int | None, now: int) -> PaymentMethod:
    """Put a number on a SIM, or take it off its SIM with None.

    Messages older than the moment when a number came onto its SIM are history, so that moment is stored; a number that
    is on the SIM already keeps it.
    """
    return tx.only(
        PaymentMethod,
        "UPDATE payment_methods SET sim_seq = :sim, updated_at = :now, "
        "line_created_at = CASE WHEN CAST(:sim AS BIGINT) IS NULL THEN NULL "
        "WHEN sim_seq = :sim THEN line_created_at ELSE :now END "
        "WHERE id = :id AND deleted_at IS NULL RETURNING *",
        {"id": method_id, "sim": sim_seq, "now": now},
    )


def rename(tx: Tx, method_id: str, account_name: str, now: int) -> PaymentMethod:
    """Change the account name of a number."""
    return tx.only(
        PaymentMethod,
        "UPDATE payment_methods SET account_name = :name, updated_at = :now "
        "WHERE id = :id AND deleted_at IS NULL RETURNING *",
        {"id": method_id, "name": account_name, "now": now},
    )


def renumber(tx: Tx, method_id: str, phone_number: str, now: int) -> PaymentMethod:
    """Change a number that was registered wrongly; no other number of this provider may be the same."""
    return tx.only(
        PaymentMethod,
        "UPDATE payment_methods SET phone_number = :number, updated_at = :now "
        "WHERE id = :id AND deleted_at IS NULL RETURNING *",
        {"id": method_id, "number": phone_number, "now": now},
    )


def delete(tx: Tx, method_id: str, now: int) -> PaymentMethod:
    """Delete a number and take it off its SIM; its payments keep it."""
    return tx.only(
        PaymentMethod,
        "UPDATE payment_methods SET sim_seq = NULL, line_created_at = NULL, is_active = 0, updated_at = :now, "
        "deleted_at = :now WHERE id = :id AND deleted_at IS NULL RETURNING *",
        {"id": method_id, "now": now},
    )


def unplaced_by_sim(reader: Reader, since: int, mode: Mode) -> dict[str, int]:
    """Return the number of payments without a merchant number that were stored since then, by SIM key.

    Those on a SIM that is ignored are left out.
    """
    return dict(
        reader.all(
            "SELECT sim_key, COUNT(*) FROM payments WHERE payment_method_seq IS NULL AND stored_at >= :since AND mode = :mode "
            "AND sim_key NOT IN (SELECT sim_key FROM sims WHERE ignored_at IS NOT NULL) GROUP BY sim_key",
            {"since": since, "mode": mode},
        )
    )
