"""Requests, holders and their codes. Every change of status is a conditional UPDATE: check and act are one.

A few lines over 300, so that all changes of status stand together.
"""

import functools
from typing import Any

from daemon.core.model import Transaction
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_all, load_optional
from daemon.wire import Mode, TransactionStatus

_TRANSACTION = columns(Transaction)
_NAMES = [name for name in _TRANSACTION.split(", ") if name != "seq"]

EXPECTING_MAX = 16
"""Requests looked at that named one network ID; at most one of them is open, the others were given up."""


def add(tx: Tx, transaction: dict[str, Any]) -> Transaction:
    """Store a new request or holder; `transaction` has every column but `seq` and those that are NULL."""
    given = {name: value for name, value in transaction.items() if value is not None}
    seq = tx.add(_insert(tuple(given)), given)
    return load(Transaction, (seq, *map(transaction.get, _NAMES)))


@functools.lru_cache(maxsize=64)
def _insert(names: tuple[str, ...]) -> str:
    """Return the statement that names only what is there: binding a NULL costs as much as binding a value."""
    return (
        f"INSERT INTO transactions ({', '.join(names)}) "
        f"VALUES ({', '.join(':' + name for name in names)})"
    )


def get(reader: Reader, transaction_id: str, mode: Mode | None = None) -> Transaction | None:
    """Return one transaction by its UUID; with `mode`, only when it is of that mode."""
    return load_optional(
        Transaction,
        reader.one(
            f"SELECT {_TRANSACTION} FROM transactions WHERE id = :id "
            "AND (:mode IS NULL OR mode = :mode)",
            {"id": transaction_id, "mode": mode},
        ),
    )


def paid_by(reader: Reader, payment_id: str) -> Transaction | None:
    """Return the request or holder that this payment verifies."""
    return load_optional(
        Transaction,
        reader.one(
            f"SELECT {_TRANSACTION} FROM transactions WHERE payment_id = :id", {"id": payment_id}
        ),
    )


def holding(reader: Reader, payment_id: str) -> Transaction | None:
    """Return the request that waits in MANUAL_REVIEW because of this payment."""
    return load_optional(
        Transaction,
        reader.one(
            f"SELECT {_TRANSACTION} FROM transactions WHERE held_payment_id = :id",
            {"id": payment_id},
        ),
    )


def expecting(reader: Reader, mode: Mode, telco_id: str) -> Transaction | None:
    """Return the unpaid request that named this network ID in advance: a cancelled one only when there is no other."""
    found = load_all(
        Transaction,
        reader.all(
            f"SELECT {_TRANSACTION} FROM transactions WHERE mode = :mode "
            "AND expected_telco_transaction_id = :telco_id "
            "AND status IN ('PENDING', 'EXPIRED', 'MANUAL_REVIEW', 'CANCELLED') "
            "ORDER BY seq DESC LIMIT :limit",
            {"mode": mode, "telco_id": telco_id, "limit": EXPECTING_MAX},
        ),
    )
    standing = (one for one in found if one.status is not TransactionStatus.CANCELLED)
    return next(standing, found[0] if found else None)


# Codes ------------------------------------------------------------------------------------------------


def take_code(tx: Tx, mode: Mode, code: str, transaction_id: str, free_at: int, now: int) -> bool:
    """Claim a code for a request; False when another one still holds it."""
    return (
        tx.run(
            "INSERT INTO svc_codes (mode, code, transaction_id, free_at) "
            "VALUES (:mode, :code, :transaction_id, :free_at) "
            "ON CONFLICT (mode, code) DO UPDATE SET transaction_id = excluded.transaction_id, "
            "free_at = excluded.free_at WHERE svc_codes.free_at <= :now",
            {
                "mode": mode,
                "code": code,
                "transaction_id": transaction_id,
                "free_at": free_at,
                "now": now,
            },
        )
        == 1
    )


def change_code(tx: Tx, transaction_id: str, code: str) -> Transaction:
    """Give a request that was just made, and has told nobody its code, another one."""
    row = tx.one(
        f"UPDATE transactions SET svc_code = :code WHERE id = :id RETURNING {_TRANSACTION}",
        {"id": transaction_id, "code": code},
    )
    assert row is not None, "it was added in this transaction"
    return load(Transaction, row)


def keep_code_until(tx: Tx, request: Transaction, free_at: int) -> None:
    """Move the moment from which a request's code may be given out again, if it still is the request's."""
    tx.run(
        "UPDATE svc_codes SET free_at = :free_at "
        "WHERE mode = :mode AND code = :code AND transaction_id = :id",
        {"mode": request.mode, "code": request.svc_code, "id": request.id, "free_at": free_at},
    )


def by_codes_in_use(
    reader: Reader, mode: Mode, codes: tuple[str, ...], now: int
) -> list[Transaction]:
    """Return the requests whose codes are among these and not yet free again."""
    found = []
    for code in codes:
        row = reader.one(
            f"SELECT {columns(Transaction, 't.')} FROM svc_codes c JOIN transactions t "
            "ON t.id = c.transaction_id WHERE c.mode = :mode AND c.code = :code AND c.free_at > :now",
            {"mode": mode, "code": code, "now": now},
        )
        if row is not None:
            found.append(load(Transaction, row))
    return found


# Changes of status ------------------------------------------------------------------------------------


def verify(
    tx: Tx,
    transaction_id: str,
    *,
    payment_id: str,
    status: TransactionStatus,
    matched_by: str,
    late: bool,
    processing_at: int,
    now: int,
    supersedes: str | None,
) -> Transaction | None:
    """Mark a request paid; None when it was verified in the meantime.

    The UNIQUE column `payment_id` refuses a payment that already verifies another one.
    """
    row = tx.one(
        "UPDATE transactions SET status = :status, payment_id = :payment_id, held_payment_id = NULL, "
        "matched_by = :matched_by, late = :late, processing_at = :processing_at, completed_at = :now, "
        "supersedes = :supersedes WHERE id = :id AND payment_id IS NULL AND origin = 'request' "
        "AND status IN ('PENDING', 'EXPIRED', 'MANUAL_REVIEW', 'CANCELLED') "
        f"RETURNING {_TRANSACTION}",
        {
            "id": transaction_id,
            "status": status,
            "payment_id": payment_id,
            "matched_by": matched_by,
            "late": late,
            "processing_at": processing_at,
            "now": now,
            "supersedes": supersedes,
        },
    )
    return load_optional(Transaction, row)


def cancel(tx: Tx, transaction_id: str, now: int) -> Transaction | None:
    """Give up an unpaid request; None when it is paid, held for a person, or was given up before."""
    row = tx.one(
        "UPDATE transactions SET status = 'CANCELLED', cancelled_at = :now WHERE id = :id "
        f"AND origin = 'request' AND status IN ('PENDING', 'EXPIRED') RETURNING {_TRANSACTION}",
        {"id": transaction_id, "now": now},
    )
    return load_optional(Transaction, row)


def merge_holder(tx: Tx, holder_id: str, into: str) -> None:
    """Take the payment out of a holder; it leaves every list and total."""
    changed = tx.run(
        "UPDATE transactions SET payment_id = NULL, merged_into = :into "
        "WHERE id = :id AND origin = 'open' AND payment_id IS NOT NULL",
        {"id": holder_id, "into": into},
    )
    assert changed == 1, holder_id


def reject_holder(tx: Tx, holder: Transaction) -> Transaction:
    """Note on a holder that a person rejected its payment. What was forwarded stays forwarded."""
    row = tx.one(
        f"UPDATE transactions SET rejected = 1 WHERE id = :id AND origin = 'open' RETURNING {_TRANSACTION}",
        {"id": holder.id},
    )
    assert row is not None, "only a holder is rejected"
    return load(Transaction, row)


def reverse(tx: Tx, payment_id: str, at: int) -> Transaction | None:
    """Note on the request or holder that a payment verifies that the network took it back; its status stays."""
    row = tx.one(
        "UPDATE transactions SET reversed_at = :at WHERE payment_id = :id AND reversed_at IS NULL "
        f"RETURNING {_TRANSACTION}",
        {"id": payment_id, "at": at},
    )
    return load_optional(Transaction, row)


def hold(tx: Tx, transaction_id: str, payment_id: str | None) -> bool:
    """Put a PENDING request into MANUAL_REVIEW for a payment that a person must look at.

    `payment_id` is None for a receipt that is held itself, and has made no payment yet.
    """
    return (
        tx.run(
            "UPDATE transactions SET status = 'MANUAL_REVIEW', held_payment_id = :payment_id "
            "WHERE id = :id AND status = 'PENDING'",
            {"id": transaction_id, "payment_id": payment_id},
        )
        == 1
    )


def release(tx: Tx, transaction_id: str) -> None:
    """Put a held request back to PENDING; if its time has surely passed, the next sweep ends it (`expire_due`)."""
    tx.run(
        "UPDATE transactions SET held_payment_id = NULL, status = 'PENDING' "
        "WHERE id = :id AND status = 'MANUAL_REVIEW'",
        {"id": transaction_id},
    )


def expire_due(tx: Tx, now: int, limit: int) -> list[Transaction]:
    """Mark up to `limit` overdue requests EXPIRED and return them."""
    return load_all(
        Transaction,
        tx.all(
            "UPDATE transactions SET status = 'EXPIRED' WHERE id IN (SELECT id FROM transactions "
            "WHERE status = 'PENDING' AND expires_at <= :now ORDER BY expires_at LIMIT :limit) "
            f"RETURNING {_TRANSACTION}",
            {"now": now, "limit": limit},
        ),
    )


def expire_now(tx: Tx, transaction_id: str, at: int) -> Transaction | None:
    """Let one waiting request expire at a time that is past, and return it; the sandbox's way to be late."""
    row = tx.one(
        "UPDATE transactions SET status = 'EXPIRED', expires_at = :at "
        f"WHERE id = :id AND status = 'PENDING' AND mode = 'test' RETURNING {_TRANSACTION}",
        {"id": transaction_id, "at": at},
    )
    return load_optional(Transaction, row)


def expire_overdue_expecting(tx: Tx, mode: Mode, telco_id: str, now: int) -> Transaction | None:
    """Mark the overdue request EXPIRED that the sweep has not reached, so that its expected ID is free again."""
    row = tx.one(
        "UPDATE transactions SET status = 'EXPIRED' WHERE mode = :mode AND status = 'PENDING' "
        "AND expected_telco_transaction_id = :telco_id AND expires_at <= :now "
        f"RETURNING {_TRANSACTION}",
        {"mode": mode, "telco_id": telco_id, "now": now},
    )
    return load_optional(Transaction, row)


# The guess guard ------------------------------------------------------------------------------------


def misses_since(reader: Reader, transaction_id: str, since: int) -> dict[str, int]:
    """Return the unknown IDs tried on a request since then, with when each was first tried."""
    return {
        row[0]: row[1]
        for row in reader.all(
            "SELECT telco_transaction_id, tried_at FROM reconcile_misses "
            "WHERE transaction_id = :id AND tried_at > :since",
            {"id": transaction_id, "since": since},
        )
    }


def add_miss(tx: Tx, transaction_id: str, telco_id: str, now: int, since: int) -> None:
    """Count an unknown ID once per window."""
    tx.run(
        "INSERT INTO reconcile_misses (transaction_id, telco_transaction_id, tried_at) "
        "VALUES (:id, :telco_id, :now) ON CONFLICT (transaction_id, telco_transaction_id) "
        "DO UPDATE SET tried_at = excluded.tried_at WHERE reconcile_misses.tried_at <= :since",
        {"id": transaction_id, "telco_id": telco_id, "now": now, "since": since},
    )


def add_reconciliation(tx: Tx, reconciliation: dict[str, Any]) -> None:
    """Write down a person's word that a payment belongs to a request."""
    tx.run(
        "INSERT INTO reconciliations (id, transaction_id, payment_id, claimed_minor, notes, actor, created_at) "
        "VALUES (:id, :transaction_id, :payment_id, :claimed_minor, :notes, :actor, :created_at)",
        reconciliation,
    )
