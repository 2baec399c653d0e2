"""What customers say on the checkout page: the transaction ID that they paid an order with. A hint, never money."""

from typing import Final

from daemon.core.model import Payment, Transaction
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all

CLAIMS_MAX: Final = 8
"""Requests looked at that claim one network ID; the newest."""


def of_request(reader: Reader, transaction_id: str) -> dict[str, int]:
    """Return the IDs that were said of a request, with when."""
    return {
        row[0]: row[1]
        for row in reader.all(
            "SELECT telco_transaction_id, said_at FROM payer_claims WHERE transaction_id = :id",
            {"id": transaction_id},
        )
    }


def add(tx: Tx, request: Transaction, telco_id: str, now: int) -> None:
    """Write down what was said; the same word again changes nothing."""
    tx.run(
        "INSERT INTO payer_claims (transaction_id, telco_transaction_id, mode, said_at) "
        "VALUES (:id, :telco_id, :mode, :now) "
        "ON CONFLICT (transaction_id, telco_transaction_id) DO NOTHING",
        {"id": request.id, "telco_id": telco_id, "mode": request.mode, "now": now},
    )


def unpaid_requests(reader: Reader, payment: Payment) -> list[Transaction]:
    """Return the unpaid requests whose customers say that they paid with this payment."""
    return load_all(
        Transaction,
        reader.all(
            f"SELECT {columns(Transaction, 't.')} FROM payer_claims c JOIN transactions t "
            "ON t.id = c.transaction_id WHERE c.mode = :mode AND c.telco_transaction_id = :telco_id "
            "AND t.status IN ('PENDING', 'EXPIRED') ORDER BY c.said_at DESC LIMIT :limit",
            {
                "mode": payment.mode,
                "telco_id": payment.telco_transaction_id,
                "limit": CLAIMS_MAX,
            },
        ),
    )
