"""Rows that come back from the hub and contradict rows here: the same number, payment or review under another id, a payment twice."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from daemon.store.engine import Tx

_NATURAL: Final = {
    "method": ("payment_methods", "phone_number", ("mode", "provider"), "deleted_at IS NULL"),
    "payment": ("payments", "telco_transaction_id", ("mode", "provider"), "double_of IS NULL"),
    "reversal": ("reversals", "original_telco_id", ("mode", "provider"), "TRUE"),
}
"""Kind -> table, the column that says what it is, the columns within which that is unique, and for which rows."""
_NEEDS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "payment": (("message_id", "messages"), ("payment_method_id", "payment_methods")),
    "message": (("payment_method_id", "payment_methods"),),
    "transaction": (("payment_id", "payments"), ("held_payment_id", "payments")),
    "review": (
        ("message_id", "messages"), ("payment_id", "payments"), ("transaction_id", "transactions"),
    ),
    "reversal": (("message_id", "messages"),),
}  # fmt: skip
"""Kind -> the columns that name rows, with their tables."""


def without(
    tx: Tx,
    kind: str,
    rows: Iterable[dict[str, Any]],
    same: dict[str, str],
    aside: set[tuple[str, str]],
) -> list[dict[str, Any]]:
    """Return the rows that can be stored, and change the rows here that were only the second choice.

    Args:
        tx: The database transaction.
        kind: The kind of fact, or `message`.
        rows: The rows that are to be stored.
        same: The id here of a number or payment that the hub knows by another id; some are added.
        aside: Kind and id of rows that cannot be stored; some are added.
    """
    found = _named(tx, kind, rows, aside)
    if kind in _NATURAL:
        found = _new(tx, kind, found, same)
    if kind == "transaction":
        return _transactions(tx, found, aside)
    if kind == "review":
        return [_beside_others(tx, row) for row in found]
    return found


def _named(
    tx: Tx, kind: str, rows: Iterable[dict[str, Any]], aside: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return the rows that name only rows that are here: those that they name may have been kept aside."""
    found = [*rows]
    for field, name in _NEEDS.get(kind, ()):
        ids = {row[field] for row in found if row.get(field) is not None}
        here = {row[0] for row in tx.all_among(f"SELECT id FROM {name} WHERE id IN (members)", ids)}
        lacking = [row for row in found if row.get(field) is not None and row[field] not in here]
        aside.update((kind, str(row.get("id") or row["message_id"])) for row in lacking)
        found = [row for row in found if row not in lacking]
    return found


def _new(
    tx: Tx, kind: str, rows: Sequence[dict[str, Any]], same: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the rows without those that are here under another id."""
    name, column, within, condition = _NATURAL[kind]
    key = "message_id" if kind == "reversal" else "id"
    known: dict[tuple[Any, ...], str] = {
        tuple(row[1:]): row[0]
        for row in tx.all_among(
            f"SELECT {key}, {column}, {', '.join(within)} FROM {name} WHERE {column} IN (members) AND {condition}",
            {row[column] for row in rows},
        )
    }
    found = []
    for row in rows:
        what = tuple(row[each] for each in (column, *within))
        own = row[key] if row.get("deleted_at") is not None else known.setdefault(what, row[key])
        if own == row[key]:
            found.append(row)
            continue
        same[row[key]] = own
        if kind == "payment":
            _follow(tx, row, own)
    return found


def _follow(tx: Tx, row: Mapping[str, Any], own: str) -> None:
    """Let a payment here be handed up as the hub's copy of it is, unless an order here has it."""
    tx.run(
        "UPDATE messages SET state = 'duplicate', payment_id = :own WHERE id = :message AND payment_id = :theirs",
        {"own": own, "message": row["message_id"], "theirs": row["id"]},
    )
    if row.get("decider") == "hub":
        tx.run(
            "UPDATE payments SET decider = 'hub', standing = 'handed' WHERE id = :own AND decider = 'branch' "
            "AND NOT EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = payments.seq AND t.origin = 'request')",
            {"own": own},
        )


def _transactions(
    tx: Tx, rows: Sequence[dict[str, Any]], aside: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return the transactions that can be stored. A holder gives way to an order: it only says that nothing has the payment."""
    found, taken = dict[str, dict[str, Any]](), set[str]()
    for row in sorted(rows, key=lambda each: bool(each["origin"] == "open")):
        is_request = row["origin"] == "request"
        if not taken.isdisjoint(_payments_of(row)) or not _take_payments(tx, row):
            if is_request:
                aside.add(("transaction", row["id"]))
        elif is_request or _agrees(tx, row, found):
            found[row["id"]] = row
            taken.update(_payments_of(row))
    return [*found.values()]


def _agrees(tx: Tx, holder: Mapping[str, Any], orders: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the order that a holder's payment moved to, if it did, names this holder and not another one of here."""
    into = holder.get("merged_into")
    if into is None:
        return True
    if into in orders:
        return bool(orders[into].get("supersedes") == holder["id"])
    # At the hub it may have moved to an order of head office, which is not here.
    named = tx.one("SELECT supersedes FROM transactions WHERE id = :id", {"id": into})
    return named is None or bool(named[0] == holder["id"])


def _payments_of(row: Mapping[str, Any]) -> list[str]:
    return [row[each] for each in ("payment_id", "held_payment_id") if row.get(each) is not None]


def _take_payments(tx: Tx, row: dict[str, Any]) -> bool:
    """Free the payments of a transaction that comes back; return False if it cannot be stored beside the orders here."""
    own = row["id"]
    wanted = _payments_of(row)
    paid = _others(tx, "payment_seq", own, wanted)
    has_order = any(origin == "request" for _id, origin in paid)
    if has_order or (paid and row["origin"] == "open") or _is_taken(tx, row):
        return False
    for holder, _origin in paid:
        if row.get("payment_id") is not None:
            row["supersedes"] = holder
            tx.run(
                "UPDATE transactions SET payment_seq = NULL, merged_into = :into WHERE id = :id",
                {"into": own, "id": holder},
            )
    for other, _origin in _others(tx, "held_payment_seq", own, wanted):
        tx.run(
            "UPDATE transactions SET held_payment_seq = NULL, status = 'PENDING' WHERE id = :id",
            {"id": other},
        )
        tx.run(
            "UPDATE reviews SET state = 'used_elsewhere' WHERE transaction_id = :id AND state = 'open'",
            {"id": other},
        )
    return True


def _others(tx: Tx, place: str, own: str, payment_ids: Collection[str]) -> list[tuple[str, str]]:
    """Return the other transactions with these payments, each with its origin."""
    rows = tx.all_among(
        f"SELECT id, origin FROM transactions WHERE {place} IN (SELECT seq FROM payments WHERE id IN (members)) AND id <> ?",
        payment_ids,
        own,
    )
    return [(str(row[0]), str(row[1])) for row in rows]


def _is_taken(tx: Tx, row: Mapping[str, Any]) -> bool:
    """Return whether another order has the same page, or waits for the same network ID."""
    if tx.exists(
        "SELECT 1 FROM transactions WHERE public_slug = :slug AND id <> :id",
        {"slug": row.get("public_slug"), "id": row["id"]},
    ):
        return True
    return row["status"] == "PENDING" and tx.exists(
        "SELECT 1 FROM transactions WHERE mode = :mode AND expected_telco_transaction_id = :telco_id "
        "AND status = 'PENDING' AND branch_id IS NULL AND id <> :id",
        {
            "mode": row["mode"], "telco_id": row.get("expected_telco_transaction_id"), "id": row["id"],
        },
    )  # fmt: skip


def _beside_others(tx: Tx, row: dict[str, Any]) -> dict[str, Any]:
    """Close the other open reviews of the message, which was read again; one that a person decided counts instead."""
    params = {"message": row["message_id"], "id": row["id"]}
    others = "message_id = :message AND id <> :id"
    if row["state"] == "open" and tx.exists(
        f"SELECT 1 FROM reviews WHERE {others} AND state IN ('approved', 'rejected')", params
    ):
        return {**row, "state": "superseded"}
    tx.run(f"UPDATE reviews SET state = 'superseded' WHERE {others} AND state = 'open'", params)
    return row
