"""Money that came in: one row per transaction of the network."""

from dataclasses import replace
from typing import Any

from daemon.core.model import Payment
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_all, load_optional
from daemon.wire import Mode

_PAYMENT = columns(Payment)
_NAMES = [name for name in _PAYMENT.split(", ") if name != "seq"]
_VALUES = ", ".join(f":{name}" for name in _NAMES).replace(
    ":reversed_at",
    "COALESCE(:reversed_at, (SELECT at FROM reversals WHERE mode = :mode AND provider = :provider "
    "AND original_telco_id = :telco_transaction_id))",
)

_UNPLACED = (
    "sim_key = :sim_key AND provider = :provider AND payment_method_id IS NULL "
    "AND stored_at >= :since AND mode = 'live'"
)


def add(tx: Tx, payment: dict[str, Any]) -> Payment | None:
    """Store a payment, or return None when (mode, provider, telco ID) is already there.

    `payment` has every column but `seq`. One that the network took back before it was seen here is reversed at once.
    """
    row = tx.one(
        f"INSERT INTO payments ({', '.join(_NAMES)}) VALUES ({_VALUES}) "
        f"ON CONFLICT (mode, provider, telco_transaction_id) DO NOTHING RETURNING {_PAYMENT}",
        payment,
    )
    return load_optional(Payment, row)


def get(reader: Reader, payment_id: str) -> Payment | None:
    """Return one payment by its id."""
    return load_optional(
        Payment,
        reader.one(f"SELECT {_PAYMENT} FROM payments WHERE id = :id", {"id": payment_id}),
    )


def with_telco_id(reader: Reader, mode: Mode, telco_id: str) -> list[Payment]:
    """Return every payment that carries this network ID, of any provider, oldest first."""
    return load_all(
        Payment,
        reader.all(
            f"SELECT {_PAYMENT} FROM payments WHERE telco_transaction_id = :telco_id AND mode = :mode "
            "ORDER BY seq",
            {"telco_id": telco_id, "mode": mode},
        ),
    )


def read_by_phone(tx: Tx, payment_id: str, payment: dict[str, Any]) -> Payment:
    """Let a payment be what `payment` says, every column but `seq`; its id, transaction ID and standing stay."""
    kept = {"id", "mode", "provider", "telco_transaction_id", "standing", "reversed_at"}
    changed = ", ".join(f"{name} = :{name}" for name in _NAMES if name not in kept)
    row = tx.one(
        f"UPDATE payments SET {changed} WHERE id = :id RETURNING {_PAYMENT}",
        {**payment, "id": payment_id},
    )
    assert row is not None, payment_id
    return load(Payment, row)


def set_history(tx: Tx, payment: Payment, *, historical: bool) -> Payment:
    """Say whether a payment is history, and return it as it is then."""
    tx.run(
        "UPDATE payments SET historical = :historical WHERE id = :id",
        {"id": payment.id, "historical": historical},
    )
    return replace(payment, historical=historical)


def set_standing(tx: Tx, payment_id: str, standing: str) -> None:
    """Say where a payment stands: used, open or review."""
    tx.run(
        "UPDATE payments SET standing = :standing WHERE id = :id",
        {"id": payment_id, "standing": standing},
    )


def reverse(tx: Tx, payment_id: str, at: int) -> bool:
    """Note that the network took a payment back; False when that is known already."""
    return (
        tx.run(
            "UPDATE payments SET reversed_at = :at WHERE id = :id AND reversed_at IS NULL",
            {"id": payment_id, "at": at},
        )
        == 1
    )


def touch_line(tx: Tx, payment_method_id: str | None, sim_key: str, now_us: int) -> None:
    """Note on the line and on the SIM that a payment was read."""
    tx.run(
        "UPDATE sims SET read_payment_at = :now WHERE sim_key = :sim_key",
        {"now": now_us, "sim_key": sim_key},
    )
    if payment_method_id is not None:
        tx.run(
            "UPDATE payment_methods SET last_payment_at = :now WHERE id = :id",
            {"now": now_us, "id": payment_method_id},
        )


def unplaced(
    reader: Reader, sim_key: str, provider: str, since: int
) -> tuple[int, int | None, int | None]:
    """Return how many live payments of a SIM and network have no number, and when the first and last were stored."""
    row = reader.one(
        f"SELECT COUNT(*), MIN(stored_at), MAX(stored_at) FROM payments WHERE {_UNPLACED}",
        {"sim_key": sim_key, "provider": provider, "since": since},
    )
    assert row is not None, "an aggregate has one row"
    return int(row[0]), row[1], row[2]


def unplaced_first(
    reader: Reader, sim_key: str, provider: str, since: int, limit: int
) -> list[Payment]:
    """Return the first of those payments, in the order in which they were stored."""
    rows = reader.all(
        f"SELECT {_PAYMENT} FROM payments WHERE {_UNPLACED} ORDER BY seq LIMIT :limit",
        {"sim_key": sim_key, "provider": provider, "since": since, "limit": limit},
    )
    return load_all(Payment, rows)


def unplaced_amounts(
    reader: Reader, sim_key: str, provider: str, since: int
) -> list[tuple[str, int]]:
    """Return each currency of those payments, and what they come to in it."""
    rows = reader.all(
        f"SELECT currency, SUM(amount_minor) FROM payments WHERE {_UNPLACED} GROUP BY currency ORDER BY currency",
        {"sim_key": sim_key, "provider": provider, "since": since},
    )
    return [(row[0], int(row[1])) for row in rows]


def claim(
    tx: Tx, sim_key: str, provider: str, since: int, payment_method_id: str
) -> list[tuple[Payment, Payment]]:
    """Give those payments a number, and return each as it was and as it is."""
    rows = tx.all(
        f"UPDATE payments SET payment_method_id = :method WHERE {_UNPLACED} RETURNING {_PAYMENT}",
        {"sim_key": sim_key, "provider": provider, "since": since, "method": payment_method_id},
    )
    now = sorted(load_all(Payment, rows), key=lambda payment: payment.seq)
    return [(replace(payment, payment_method_id=None), payment) for payment in now]
