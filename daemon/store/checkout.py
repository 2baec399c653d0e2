"""What the checkout page of one request shows, read in one snapshot."""

from typing import Final

from daemon.core.checkout import Facts, ShownLine
from daemon.core.model import PaymentMethod, Transaction
from daemon.store import payments, shop
from daemon.store.engine import Reader
from daemon.store.rows import columns, load, load_optional

_METHOD: Final = columns(PaymentMethod, "m.")
_WIDTH: Final = len(_METHOD.split(", "))


def request_of(reader: Reader, slug: str) -> Transaction | None:
    """Return the request whose page has this name."""
    return load_optional(
        Transaction,
        reader.one(
            f"SELECT {columns(Transaction)} FROM transactions WHERE public_slug = :slug",
            {"slug": slug},
        ),
    )


def facts(reader: Reader, slug: str) -> Facts | None:
    """Return what is known for a page, None when there is no such page."""
    request = request_of(reader, slug)
    here = shop.get(reader)
    if request is None or here is None:
        return None
    payment = None if request.payment_id is None else payments.get(reader, request.payment_id)
    return Facts(
        request, payment, here.name, here.timezone, _in_review(reader, request), _lines(reader)
    )


def _in_review(reader: Reader, request: Transaction) -> bool:
    """Say whether a person is asked about a trusted payment for it; a doubtful text alone shows nothing."""
    return (
        reader.value(
            "SELECT 1 FROM reviews WHERE state = 'open' AND transaction_id = :id "
            "AND payment_id IS NOT NULL LIMIT 1",
            {"id": request.id},
        )
        is not None
    )


def _lines(reader: Reader) -> tuple[ShownLine, ...]:
    """Return the shop's numbers, oldest first, and whether each one's phone is here now."""
    rows = reader.all(
        f"SELECT {_METHOD}, s.present, d.present, d.last_seen_at FROM payment_methods m "
        "LEFT JOIN sims s ON s.seq = m.sim_seq LEFT JOIN devices d ON d.device_id = s.device_id "
        "WHERE m.deleted_at IS NULL AND m.is_active = 1 ORDER BY m.seq"
    )
    return tuple(
        ShownLine(
            load(PaymentMethod, row[:_WIDTH]),
            here=bool(row[_WIDTH] and row[_WIDTH + 1]),
            seen_at=row[_WIDTH + 2],
        )
        for row in rows
    )
