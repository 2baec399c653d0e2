"""Transactions, holders and their codes. Every change of status is one conditional UPDATE that checks and acts."""

from collections.abc import Sequence
from typing import Any

from daemon.core import ids
from daemon.core.limits import LATE_WINDOW_US, PRUNE_BATCH
from daemon.core.model import PaymentMethod, Transaction
from daemon.core.payments.checkout import CheckoutFacts, ShownLine
from daemon.store import shop
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments
from daemon.store.rows import insertion, json_ids, load
from daemon.wire import Mode, TransactionStatus
from parsers import person_name

_NAMES = [name for name in Transaction.__struct_fields__ if name != "seq"]
_ADD = insertion("transactions", Transaction)

EXPECTING_MAX = 16
"""Transactions to look at that expect one network ID; at most one of them is open, the others are cancelled."""


def add(tx: Tx, transaction: dict[str, Any]) -> Transaction:
    """Store a new transaction or holder; `transaction` has every column but `seq` and those that are NULL."""
    given = {name: transaction.get(name) for name in _NAMES}
    return load(Transaction, (tx.add(_ADD, given), *given.values()))


def get(reader: Reader, transaction_id: str, mode: Mode | None = None) -> Transaction | None:
    """Return one transaction by its UUID; with `mode`, only if it is of that mode."""
    return reader.first(
        Transaction,
        "SELECT * FROM transactions WHERE id = :id AND (CAST(:mode AS TEXT) IS NULL OR mode = :mode)",
        {"id": transaction_id, "mode": mode},
    )


def by_reference(reader: Reader, reference: str, mode: Mode | None = None) -> Transaction | None:
    """Like `get`, by `svc_trx_` and the hex digits; None also for a text that is no reference."""
    return get(reader, ids.split_reference(reference) or "", mode)


def paid_by(reader: Reader, payment_id: str) -> Transaction | None:
    """Return the transaction or holder that this payment verifies."""
    return reader.first(
        Transaction,
        "SELECT * FROM transactions WHERE payment_seq = (SELECT seq FROM payments WHERE id = :id)",
        {"id": payment_id},
    )


def holding(reader: Reader, payment_id: str) -> Transaction | None:
    """Return the transaction that waits in MANUAL_REVIEW because of this payment."""
    return reader.first(
        Transaction,
        "SELECT * FROM transactions WHERE held_payment_seq = (SELECT seq FROM payments WHERE id = :id)",
        {"id": payment_id},
    )


def expecting(reader: Reader, mode: Mode, telco_id: str) -> Transaction | None:
    """Return the unpaid transaction that expects this network ID; a cancelled one only if there is no other."""
    found = reader.every(
        Transaction,
        "SELECT * FROM transactions WHERE mode = :mode AND expected_telco_transaction_id = :telco_id "
        "AND branch_id IS NULL AND status IN ('PENDING', 'EXPIRED', 'MANUAL_REVIEW', 'CANCELLED') "
        "ORDER BY seq DESC LIMIT :limit",
        {"mode": mode, "telco_id": telco_id, "limit": EXPECTING_MAX},
    )
    standing = (one for one in found if one.status is not TransactionStatus.CANCELLED)
    return next(standing, found[0] if found else None)


def claim_code(tx: Tx, mode: Mode, code: str, transaction_id: str, free_at: int, now: int) -> bool:
    """Claim a code for a transaction; return False if it is not free."""
    return tx.changed(
        "INSERT INTO svc_codes (mode, code, transaction_seq, free_at) "
        "VALUES (:mode, :code, (SELECT seq FROM transactions WHERE id = :transaction_id), :free_at) "
        "ON CONFLICT (mode, code) DO UPDATE SET transaction_seq = excluded.transaction_seq, "
        "free_at = excluded.free_at WHERE svc_codes.free_at <= :now",
        {"mode": mode.value, "code": code, "transaction_id": transaction_id, "free_at": free_at, "now": now},
    )


def change_code(tx: Tx, transaction_id: str, code: str) -> Transaction:
    """Change the code of a transaction that was just made, before its code is published."""
    return tx.only(
        Transaction,
        "UPDATE transactions SET svc_code = :code WHERE id = :id RETURNING *",
        {"id": transaction_id, "code": code},
    )


def reserve_code_until(tx: Tx, transaction: Transaction, free_at: int) -> None:
    """Change the time from which a transaction's code may be reused, if it still is the transaction's code."""
    tx.run(
        "UPDATE svc_codes SET free_at = :free_at WHERE mode = :mode AND code = :code AND transaction_seq = :seq",
        {"mode": transaction.mode, "code": transaction.svc_code, "seq": transaction.seq, "free_at": free_at},
    )


def by_codes_in_use(reader: Reader, mode: Mode, codes: Sequence[str], now: int) -> list[Transaction]:
    """Return the transactions with these codes, in their order, except codes that may be reused."""
    if not codes:
        return []
    rows = reader.joined(
        "SELECT c.code, t.* FROM svc_codes c JOIN transactions t ON t.seq = c.transaction_seq "
        "WHERE c.mode = :mode AND c.code IN (SELECT value ->> 0 FROM json_each(:codes)) AND c.free_at > :now",
        {"mode": mode, "codes": json_ids(codes), "now": now},
        t=Transaction,
    )
    found = dict(rows)
    return [found[code] for code in codes if code in found]


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
    """Mark a transaction paid; return None if it was verified in the meantime.

    The UNIQUE column `payment_seq` refuses a payment that already verifies another one.
    """
    return tx.first(
        Transaction,
        "UPDATE transactions SET status = :status, "
        "payment_seq = COALESCE((SELECT seq FROM payments WHERE id = :payment_id), 0), held_payment_seq = NULL, "
        "matched_by = :matched_by, late = :late, processing_at = :processing_at, completed_at = :now, "
        "supersedes = :supersedes WHERE id = :id AND payment_seq IS NULL AND origin = 'request' "
        "AND status IN ('PENDING', 'EXPIRED', 'MANUAL_REVIEW', 'CANCELLED') "
        "RETURNING *",
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


def cancel(tx: Tx, transaction_id: str, now: int) -> Transaction | None:
    """Cancel an unpaid transaction; return None if it is paid, held for review or was cancelled before."""
    return tx.first(
        Transaction,
        "UPDATE transactions SET status = 'CANCELLED', cancelled_at = :now WHERE id = :id "
        "AND origin = 'request' AND status IN ('PENDING', 'EXPIRED') RETURNING *",
        {"id": transaction_id, "now": now},
    )


def settle(tx: Tx, transaction_id: str, *, settlement: str, by: str, now: int) -> Transaction | None:
    """Record how a short or overpaid transaction was settled; None if that was done meanwhile or the money was reversed."""
    return tx.first(
        Transaction,
        "UPDATE transactions SET settled_at = :now, settled_by = :by, settlement = :settlement WHERE id = :id "
        "AND origin = 'request' AND status IN ('PARTIAL', 'OVERPAID') AND settled_at IS NULL AND reversed_at IS NULL "
        "RETURNING *",
        {"id": transaction_id, "settlement": settlement, "by": by, "now": now},
    )


def unsettle(tx: Tx, transaction_id: str) -> Transaction:
    """Remove the settlement of a transaction."""
    return tx.only(
        Transaction,
        "UPDATE transactions SET settled_at = NULL, settled_by = NULL, settlement = NULL "
        "WHERE id = :id AND settled_at IS NOT NULL RETURNING *",
        {"id": transaction_id},
    )


def settling(reader: Reader, transaction_id: str) -> Transaction | None:
    """Return the holder of the payment that settles a transaction."""
    return reader.first(Transaction, "SELECT * FROM transactions WHERE settles = :id", {"id": transaction_id})


def set_settles(tx: Tx, holder_id: str, transaction_id: str | None) -> Transaction:
    """Record on a holder which transaction its payment settles; the UNIQUE column allows one holder for each.

    A holder that was rejected is so no longer.
    """
    return tx.only(
        Transaction,
        "UPDATE transactions SET settles = :settles, rejected = 0 WHERE id = :id AND origin = 'open' RETURNING *",
        {"id": holder_id, "settles": transaction_id},
    )


def merge_holder(tx: Tx, holder_id: str, into: str) -> None:
    """Remove the payment from a holder, which leaves all lists and totals."""
    changed = tx.run(
        "UPDATE transactions SET payment_seq = NULL, merged_into = :into "
        "WHERE id = :id AND origin = 'open' AND payment_seq IS NOT NULL",
        {"id": holder_id, "into": into},
    )
    assert changed == 1, holder_id


def unverify(tx: Tx, transaction_id: str) -> Transaction:
    """Take the payment from a verified transaction: it is cancelled if it was, else PENDING until the next sweep."""
    unverified = tx.only(
        Transaction,
        "UPDATE transactions SET status = CASE WHEN cancelled_at IS NULL THEN 'PENDING' ELSE 'CANCELLED' END, "
        "payment_seq = NULL, matched_by = NULL, late = 0, processing_at = NULL, completed_at = NULL, supersedes = NULL "
        "WHERE id = :id AND origin = 'request' AND payment_seq IS NOT NULL RETURNING *",
        {"id": transaction_id},
    )
    tx.run("DELETE FROM reconciliations WHERE transaction_id = :id", {"id": transaction_id})
    return unverified


def retire_holder(tx: Tx, holder_id: str) -> Transaction:
    """Take the payment from a holder, which leaves all lists and totals until it gets the payment again."""
    return tx.only(
        Transaction,
        "UPDATE transactions SET payment_seq = NULL, merged_into = id, rejected = 0 "
        "WHERE id = :id AND origin = 'open' RETURNING *",
        {"id": holder_id},
    )


def revive_holder(tx: Tx, holder_id: str, payment_id: str) -> None:
    """Give a payment that came back from a hub or branch to the holder that it had before, if there is one."""
    tx.run(
        "UPDATE transactions SET payment_seq = COALESCE((SELECT seq FROM payments WHERE id = :payment_id), 0), "
        "merged_into = NULL "
        "WHERE id = :id AND payment_seq IS NULL AND origin = 'open'",
        {"id": holder_id, "payment_id": payment_id},
    )


def reject_holder(tx: Tx, holder: Transaction) -> Transaction:
    """Record on a holder that an operator rejected its payment. Webhooks that were sent are not recalled."""
    return tx.only(
        Transaction,
        "UPDATE transactions SET rejected = 1 WHERE id = :id AND origin = 'open' RETURNING *",
        {"id": holder.id},
    )


def reverse(tx: Tx, payment_id: str, at: int) -> Transaction | None:
    """Record the reversal on the transaction or holder that a payment verifies; its status stays."""
    return tx.first(
        Transaction,
        "UPDATE transactions SET reversed_at = :at WHERE payment_seq = (SELECT seq FROM payments WHERE id = :id) AND reversed_at IS NULL "
        "RETURNING *",
        {"id": payment_id, "at": at},
    )


def hold(tx: Tx, transaction_id: str, payment_id: str | None) -> bool:
    """Put a PENDING transaction into MANUAL_REVIEW for a payment that an operator must review.

    `payment_id` is None for a receipt that is held itself and has made no payment yet.
    """
    return tx.changed(
        "UPDATE transactions SET status = 'MANUAL_REVIEW', held_payment_seq = CASE "
        "WHEN CAST(:payment_id AS TEXT) IS NOT NULL "
        "THEN COALESCE((SELECT seq FROM payments WHERE id = :payment_id), 0) END "
        "WHERE id = :id AND status = 'PENDING'",
        {"id": transaction_id, "payment_id": payment_id},
    )


def release(tx: Tx, transaction_id: str) -> None:
    """Return a held transaction to PENDING; if it is overdue, the next sweep marks it EXPIRED (`expire_due`)."""
    tx.run(
        "UPDATE transactions SET held_payment_seq = NULL, status = 'PENDING' "
        "WHERE id = :id AND status = 'MANUAL_REVIEW'",
        {"id": transaction_id},
    )


def expire_due(tx: Tx, now: int, limit: int) -> list[Transaction]:
    """Mark up to `limit` overdue transactions EXPIRED and return them."""
    return tx.every(
        Transaction,
        "UPDATE transactions SET status = 'EXPIRED' WHERE id IN (SELECT id FROM transactions "
        "WHERE status = 'PENDING' AND expires_at <= :now AND branch_id IS NULL "
        "ORDER BY expires_at, seq LIMIT :limit) "
        "RETURNING *",
        {"now": now, "limit": limit},
    )


def expire_now(tx: Tx, transaction_id: str, at: int) -> Transaction | None:
    """Expire one waiting test transaction at a past time and return it; the sandbox uses it to simulate lateness."""
    return tx.first(
        Transaction,
        "UPDATE transactions SET status = 'EXPIRED', expires_at = :at "
        "WHERE id = :id AND status = 'PENDING' AND mode = 'test' RETURNING *",
        {"id": transaction_id, "at": at},
    )


def expire_overdue_expecting(tx: Tx, mode: Mode, telco_id: str, now: int) -> Transaction | None:
    """Mark an overdue transaction EXPIRED before the sweep does, so that its expected ID is free again."""
    return tx.first(
        Transaction,
        "UPDATE transactions SET status = 'EXPIRED' WHERE mode = :mode AND status = 'PENDING' "
        "AND expected_telco_transaction_id = :telco_id AND expires_at <= :now AND branch_id IS NULL "
        "RETURNING *",
        {"mode": mode, "telco_id": telco_id, "now": now},
    )


def misses_since(reader: Reader, transaction_id: str, since: int) -> dict[str, int]:
    """Return the unknown IDs tried on a transaction since then, with the time of the first try of each."""
    return dict(
        reader.all(
            "SELECT telco_transaction_id, tried_at FROM reconcile_misses WHERE transaction_id = :id AND tried_at > :since",
            {"id": transaction_id, "since": since},
        )
    )


def add_miss(tx: Tx, transaction_id: str, telco_id: str, now: int, since: int) -> None:
    """Count an unknown ID once per window."""
    tx.run(
        "INSERT INTO reconcile_misses (transaction_id, telco_transaction_id, tried_at) "
        "VALUES (:id, :telco_id, :now) ON CONFLICT (transaction_id, telco_transaction_id) "
        "DO UPDATE SET tried_at = excluded.tried_at WHERE reconcile_misses.tried_at <= :since",
        {"id": transaction_id, "telco_id": telco_id, "now": now, "since": since},
    )


def add_reconciliation(tx: Tx, reconciliation: dict[str, Any]) -> None:
    """Store an operator's decision that a payment pays a transaction."""
    tx.run(
        "INSERT INTO reconciliations (id, transaction_id, payment_id, claimed_minor, notes, actor, created_at) "
        "VALUES (:id, :transaction_id, :payment_id, :claimed_minor, :notes, :actor, :created_at)",
        reconciliation,
    )


def index_names(tx: Tx, transaction: Transaction) -> None:
    """Index a new transaction by the names on it."""
    names = (transaction.customer_name, transaction.expected_payer_name)
    for pair in {pair for name in names if name for pair in person_name.word_pairs(name)}:
        tx.run(
            "INSERT INTO request_names (mode, expected_minor, pair, expires_at, transaction_id) "
            "VALUES (:mode, :expected_minor, :pair, :expires_at, :id)",
            {
                "mode": transaction.mode,
                "expected_minor": transaction.expected_minor,
                "pair": pair,
                "expires_at": transaction.expires_at,
                "id": transaction.id,
            },
        )


def unindex_names(tx: Tx, transaction_id: str) -> None:
    """Remove the names of a paid or cancelled transaction from the index."""
    tx.run("DELETE FROM request_names WHERE transaction_id = :id", {"id": transaction_id})


def prune_names(tx: Tx, now: int) -> int:
    """Remove names of transactions that are too old to be paid late; return the number of rows."""
    return tx.run(
        "DELETE FROM request_names WHERE (mode, expected_minor, pair, expires_at, transaction_id) IN "
        "(SELECT mode, expected_minor, pair, expires_at, transaction_id FROM request_names "
        "WHERE expires_at <= :until LIMIT :limit)",
        {"until": now - LATE_WINDOW_US, "limit": PRUNE_BATCH},
    )


def by_slug(reader: Reader, slug: str) -> Transaction | None:
    """Return the transaction with this page name."""
    return reader.first(Transaction, "SELECT * FROM transactions WHERE public_slug = :slug", {"slug": slug})


def checkout_facts(reader: Reader, slug: str) -> CheckoutFacts | None:
    """Return the data of a page, None if there is no such page."""
    transaction = by_slug(reader, slug)
    own_shop = shop.get(reader)
    if transaction is None or own_shop is None:
        return None
    payment = None if transaction.payment_id is None else payments.get(reader, transaction.payment_id)
    return CheckoutFacts(
        transaction,
        payment,
        own_shop.name,
        own_shop.timezone,
        # A doubtful message alone is not shown.
        reader.exists(
            "SELECT 1 FROM reviews WHERE state = 'open' AND transaction_id = :id AND payment_id IS NOT NULL LIMIT 1",
            {"id": transaction.id},
        ),
        shown_lines(reader, transaction.mode),
    )


def shown_lines(reader: Reader, mode: Mode) -> tuple[ShownLine, ...]:
    """Return the shop's numbers of the mode, oldest first, each with whether its phone is connected now."""
    rows = reader.joined(
        "SELECT m.*, s.present, d.present, s.not_receiving_since, d.last_seen_at FROM payment_methods m "
        "LEFT JOIN sims s ON s.seq = m.sim_seq LEFT JOIN devices d ON d.device_id = s.device_id "
        "WHERE m.mode = :mode AND m.deleted_at IS NULL AND m.is_active = 1 ORDER BY m.seq",
        {"mode": mode},
        m=PaymentMethod,
    )
    return tuple(
        ShownLine(method, here=bool(has_sim and has_phone), receives=not_receiving_since is None, seen_at=seen_at)
        for method, has_sim, has_phone, not_receiving_since, seen_at in rows
    )
