"""The requests that a payment without a code may have been meant for: a few look-ups by index, however many are open."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from daemon.core import near_miss
from daemon.core.limits import LATE_WINDOW_US, PRUNE_BATCH
from daemon.core.model import Payment, Transaction
from daemon.store import payer_claims
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all
from parsers import person_name

NEWEST_MAX: Final = 8
"""Requests looked at for one number, or for one pair of words, with one amount; the newest."""
PAYMENTS_MAX: Final = 64
"""Payments of one amount that a new request is held against; in a shop of one price the newest of its last hours."""
_CODES_AT_ONCE: Final = 32
"""One shape of statement, whatever was typed, so that it stays prepared."""

_T: Final = columns(Transaction, "t.")
_UNPAID: Final = "t.status IN ('PENDING', 'EXPIRED') AND t.expires_at > :since"

_BEFORE: Final = (
    "SELECT {} FROM payments WHERE mode = :mode AND amount_minor = :amount_minor "
    "AND standing = 'open' AND stored_at > :since ORDER BY stored_at DESC LIMIT :limit"
)
_ANY_BEFORE: Final = _BEFORE.format("1")
_ALL_BEFORE: Final = _BEFORE.format(columns(Payment))
_OF_PAIR: Final = (
    f"SELECT * FROM (SELECT {_T} FROM request_names n JOIN transactions t ON t.id = n.transaction_id "
    "WHERE n.mode = :mode AND n.expected_minor = :amount_minor AND n.pair = :pair_{at} "
    f"AND n.expires_at > :since AND {_UNPAID} ORDER BY n.expires_at DESC LIMIT :limit)"
)
"""One statement for all pairs; each stops at its newest, in the order of the index."""


def suggestions(reader: Reader, payment: Payment) -> list[near_miss.Suggestion]:
    """Return the few requests that a payment may have been meant for, the likeliest first, as of now."""
    if payment.reversed_at is not None or payment.historical or payment.standing == "used":
        return []
    codes = near_miss.codes_near(payment.reference_text or "")
    since = near_miss.oldest_expiry(payment)
    found = [
        *_with_codes(reader, payment, list(codes), since),
        *_of_number(reader, payment, since),
        *_of_name(reader, payment, since),
    ]
    claimed = payer_claims.unpaid_requests(reader, payment)
    return near_miss.suggest(payment, [*found, *claimed], codes, {one.id for one in claimed})


def _with_codes(
    reader: Reader, payment: Payment, codes: Sequence[str], since: int
) -> list[Transaction]:
    names = ", ".join(f":code_{at}" for at in range(_CODES_AT_ONCE))
    found = []
    for start in range(0, len(codes), _CODES_AT_ONCE):
        some = codes[start : start + _CODES_AT_ONCE]
        padded = [*some, *[some[0]] * (_CODES_AT_ONCE - len(some))]
        params: dict[str, Any] = {f"code_{at}": code for at, code in enumerate(padded)}
        rows = reader.all(
            f"SELECT {_T} FROM svc_codes c JOIN transactions t ON t.id = c.transaction_id "
            f"WHERE c.mode = :mode AND c.code IN ({names}) AND {_UNPAID}",
            {**params, "mode": payment.mode, "since": since},
        )
        found += load_all(Transaction, rows)
    return found


def _of_number(reader: Reader, payment: Payment, since: int) -> list[Transaction]:
    """Return the unpaid requests for exactly this amount whose customer, or expected payer, has the payer's number."""
    if payment.payer_phone is None:
        return []
    params = {
        "mode": payment.mode,
        "phone_number": payment.payer_phone,
        "amount_minor": payment.amount_minor,
        "since": since,
        "limit": NEWEST_MAX,
    }
    found = []
    for column in ("phone_number", "expected_payer_phone"):
        rows = reader.all(
            f"SELECT {_T} FROM transactions t WHERE t.mode = :mode AND t.{column} = :phone_number "
            f"AND t.expected_minor = :amount_minor AND {_UNPAID} ORDER BY t.expires_at DESC LIMIT :limit",
            params,
        )
        found += load_all(Transaction, rows)
    return found


def _of_name(reader: Reader, payment: Payment, since: int) -> list[Transaction]:
    """Return the unpaid requests for exactly this amount whose customer's name shares two words with the payer's."""
    found = person_name.pairs(payment.payer_name or "")
    if not found:
        return []
    params: dict[str, Any] = {f"pair_{at}": pair for at, pair in enumerate(found)}
    rows = reader.all(
        " UNION ALL ".join(_OF_PAIR.format(at=at) for at in range(len(found))),
        {
            "mode": payment.mode,
            "amount_minor": payment.amount_minor,
            "since": since,
            "limit": NEWEST_MAX,
            **params,
        },
    )
    return load_all(Transaction, rows)


def payments_before(reader: Reader, request: Transaction) -> list[Payment]:
    """Return the newest payments for exactly the amount of a new request that pay none, of the time before it."""
    params = {
        "mode": request.mode,
        "amount_minor": request.expected_minor,
        "since": request.created_at - near_miss.REQUEST_AFTER_US,
        "limit": PAYMENTS_MAX,
    }
    # Mostly there is none, and naming its columns takes sqlite3 longer than finding that out.
    if reader.one(_ANY_BEFORE, params) is None:
        return []
    return load_all(Payment, reader.all(_ALL_BEFORE, params))


def remember_names(tx: Tx, request: Transaction) -> None:
    """Let a new request be found by the names on it."""
    for pair in _pairs((request.customer_name, request.expected_payer_name)):
        tx.run(
            "INSERT INTO request_names (mode, expected_minor, pair, expires_at, transaction_id) "
            "VALUES (:mode, :expected_minor, :pair, :expires_at, :id)",
            {
                "mode": request.mode,
                "expected_minor": request.expected_minor,
                "pair": pair,
                "expires_at": request.expires_at,
                "id": request.id,
            },
        )


def _pairs(names: Iterable[str | None]) -> set[str]:
    return {pair for name in names if name for pair in person_name.pairs(name)}


def forget_names(tx: Tx, transaction_id: str) -> None:
    """Let a request that is paid or given up be found no more."""
    tx.run("DELETE FROM request_names WHERE transaction_id = :id", {"id": transaction_id})


def forget_old_names(tx: Tx, now: int) -> int:
    """Forget some requests that are too old to be paid late; returns how many rows went."""
    return tx.run(
        "DELETE FROM request_names WHERE (mode, expected_minor, pair, expires_at, transaction_id) IN "
        "(SELECT mode, expected_minor, pair, expires_at, transaction_id FROM request_names "
        "WHERE expires_at <= :until ORDER BY expires_at LIMIT :limit)",
        {"until": now - LATE_WINDOW_US, "limit": PRUNE_BATCH},
    )
