"""Transactions that a payment without a code may be meant for, found by a few index look-ups.

The transaction IDs that customers claim on the checkout page are hints and never count as payments.
"""

from typing import Final

from daemon.core.model import Payment, Transaction
from daemon.core.payments import suggestions as core_suggestions
from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_ids
from parsers import person_name
from parsers.svc_code import candidates

CLAIMS_MAX: Final = 8
"""Newest transactions to look at that claim one network ID."""
NEWEST_MAX: Final = 8
"""Newest transactions to look at for one number, or one pair of name words, with one amount."""
PAYMENTS_MAX: Final = 64
"""Payments of one amount to compare with a new transaction; in a shop with one price, the newest of its last hours."""


def suggestions(reader: Reader, payment: Payment) -> list[core_suggestions.Suggestion]:
    """Return the few transactions that a payment may be meant for, most likely first, as of now."""
    closed = payment.reversed_at is not None or payment.historical or payment.standing == "used"
    if closed or not payment.decided_here:
        return []
    typed = candidates(payment.reference_text or "")
    codes = core_suggestions.codes_near(payment.reference_text or "") | dict.fromkeys(
        typed, core_suggestions.SuggestionReason.CODE_OF_MORE
    )
    params = {
        "mode": payment.mode,
        "codes": json_ids(codes),
        "phone_number": payment.payer_phone,
        "amount_minor": payment.amount_minor,
        "since": core_suggestions.oldest_expiry(payment),
        "limit": NEWEST_MAX,
    }
    found = []
    if codes:
        found += reader.every(
            Transaction,
            "SELECT t.* FROM svc_codes c JOIN transactions t ON t.seq = c.transaction_seq "
            "WHERE c.mode = :mode AND c.code IN (SELECT value ->> 0 FROM json_each(:codes)) "
            "AND t.status IN ('PENDING', 'EXPIRED') AND t.expires_at > :since AND t.branch_id IS NULL",
            params,
        )
    # For exactly this amount, with the payer's number as customer or expected payer.
    if payment.payer_phone is not None:
        found += reader.every(
            Transaction,
            "SELECT t.* FROM transactions t WHERE t.mode = :mode AND t.phone_number = :phone_number "
            "AND t.expected_minor = :amount_minor AND t.status IN ('PENDING', 'EXPIRED') AND t.expires_at > :since "
            "AND t.branch_id IS NULL ORDER BY t.expires_at DESC, t.seq DESC LIMIT :limit",
            params,
        )
        found += reader.every(
            Transaction,
            "SELECT t.* FROM transactions t WHERE t.mode = :mode AND t.expected_payer_phone = :phone_number "
            "AND t.expected_minor = :amount_minor AND t.status IN ('PENDING', 'EXPIRED') AND t.expires_at > :since "
            "AND t.branch_id IS NULL ORDER BY t.expires_at DESC, t.seq DESC LIMIT :limit",
            params,
        )
    # For exactly this amount, with two words of the payer's name in a customer name.
    for pair in person_name.word_pairs(payment.payer_name or ""):
        found += reader.every(
            Transaction,
            # Stops at the newest, in index order.
            "SELECT t.* FROM request_names n JOIN transactions t ON t.id = n.transaction_id "
            "WHERE n.mode = :mode AND n.expected_minor = :amount_minor AND n.pair = :pair AND n.expires_at > :since "
            "AND t.status IN ('PENDING', 'EXPIRED') AND t.expires_at > :since AND t.branch_id IS NULL "
            "ORDER BY n.expires_at DESC, n.transaction_id DESC LIMIT :limit",
            {**params, "pair": pair},
        )
    claimed = claimed_transactions(reader, payment)
    return core_suggestions.suggest(payment, [*found, *claimed], codes, {one.id for one in claimed})


def claimed_transactions(reader: Reader, payment: Payment) -> list[Transaction]:
    """Return the unpaid transactions with a customer's claim of this payment."""
    return reader.every(
        Transaction,
        "SELECT t.* FROM payer_claims c JOIN transactions t "
        "ON t.id = c.transaction_id WHERE c.mode = :mode AND c.telco_transaction_id = :telco_id "
        "AND t.status IN ('PENDING', 'EXPIRED') ORDER BY c.said_at DESC, c.seq DESC LIMIT :limit",
        {"mode": payment.mode, "telco_id": payment.telco_transaction_id, "limit": CLAIMS_MAX},
    )


def earlier_payments(reader: Reader, transaction: Transaction) -> list[Payment]:
    """Return the newest unused payments here for exactly the amount of a new transaction, from the time before it."""
    params = {
        "mode": transaction.mode,
        "amount_minor": transaction.expected_minor,
        "since": transaction.created_at - core_suggestions.TRANSACTION_AFTER_US,
        "limit": PAYMENTS_MAX,
    }
    return reader.every(
        Payment,
        "SELECT * FROM payments WHERE mode = :mode AND amount_minor = :amount_minor "
        "AND standing = 'open' AND (decider = 'hub' OR branch_id IS NULL) AND stored_at > :since "
        "ORDER BY stored_at DESC, seq DESC LIMIT :limit",
        params,
    )


def claims_of(reader: Reader, transaction_id: str) -> dict[str, int]:
    """Return the IDs that were claimed for a transaction, with the time of each."""
    return dict(
        reader.all(
            "SELECT telco_transaction_id, said_at FROM payer_claims WHERE transaction_id = :id", {"id": transaction_id}
        )
    )


def add_claim(tx: Tx, transaction: Transaction, telco_id: str, now: int) -> None:
    """Store a claim; a repeated claim changes nothing."""
    tx.run(
        "INSERT INTO payer_claims (transaction_id, telco_transaction_id, mode, said_at) "
        "VALUES (:id, :telco_id, :mode, :now) "
        "ON CONFLICT (transaction_id, telco_transaction_id) DO NOTHING",
        {"id": transaction.id, "telco_id": telco_id, "mode": transaction.mode, "now": now},
    )
