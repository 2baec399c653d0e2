"""The data of a transaction's checkout page, read in one snapshot."""

from daemon.core.model import PaymentMethod, Transaction
from daemon.core.payments.checkout import CheckoutFacts, ShownLine
from daemon.store import shop
from daemon.store.engine import Reader
from daemon.store.payments import payments
from daemon.wire import Mode


def transaction_of(reader: Reader, slug: str) -> Transaction | None:
    """Return the transaction with this page name."""
    return reader.first(
        Transaction, "SELECT * FROM transactions WHERE public_slug = :slug", {"slug": slug}
    )


def facts(reader: Reader, slug: str) -> CheckoutFacts | None:
    """Return the data of a page, None if there is no such page."""
    transaction = transaction_of(reader, slug)
    own_shop = shop.get(reader)
    if transaction is None or own_shop is None:
        return None
    payment = (
        None if transaction.payment_id is None else payments.get(reader, transaction.payment_id)
    )
    return CheckoutFacts(
        transaction,
        payment,
        own_shop.name,
        own_shop.timezone,
        _in_review(reader, transaction),
        lines(reader, transaction.mode),
    )


def _in_review(reader: Reader, transaction: Transaction) -> bool:
    """Return whether a trusted payment for it is in review; a doubtful message alone is not shown."""
    return reader.exists(
        "SELECT 1 FROM reviews WHERE state = 'open' AND transaction_id = :id "
        "AND payment_id IS NOT NULL LIMIT 1",
        {"id": transaction.id},
    )


def lines(reader: Reader, mode: Mode) -> tuple[ShownLine, ...]:
    """Return the shop's numbers of the mode, oldest first, each with whether its phone is connected now."""
    rows = reader.joined(
        "SELECT m.*, s.present, d.present, s.not_receiving_since, d.last_seen_at FROM payment_methods m "
        "LEFT JOIN sims s ON s.seq = m.sim_seq LEFT JOIN devices d ON d.device_id = s.device_id "
        "WHERE m.mode = :mode AND m.deleted_at IS NULL AND m.is_active = 1 ORDER BY m.seq",
        {"mode": mode},
        m=PaymentMethod,
    )
    return tuple(
        ShownLine(
            method,
            here=bool(has_sim and has_phone),
            receives=not_receiving_since is None,
            seen_at=seen_at,
        )
        for method, has_sim, has_phone, not_receiving_since, seen_at in rows
    )
