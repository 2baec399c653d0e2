"""What people look at: transactions, deliveries and messages, filtered, counted and a page at a time.

A request that is past its time counts as EXPIRED here even before the sweep says so, in filters and in totals alike
(decisions.md section 2). A holder whose payment went to a request is in no list.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daemon.core.model import Delivery, Endpoint, Event, Message, Payment, Transaction
from daemon.store.engine import Reader
from daemon.store.rows import columns, load
from daemon.wire import DeliveryStatus, MessageState, Mode, TransactionStatus

_TRANSACTION_T = columns(Transaction, "t.")
_PAYMENT_P = columns(Payment, "p.")
_DELIVERY_D = columns(Delivery, "d.")
_ENDPOINT_E = columns(Endpoint, "e.")
_WIDTH_T = len(_TRANSACTION_T.split(", "))
_WIDTH_D = len(_DELIVERY_D.split(", "))

Found = tuple[Transaction, Payment | None]
"""A transaction and the payment that verified it."""


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """What a list of transactions is narrowed to; None asks nothing.

    Attributes:
        mode: Live or test; None is both, for the shop's own people.
        origin: `request`, `open` or `all`.
        since: First `created_at`.
        until: First `created_at` that is too late.
        phone_number: The payer's: the receipt's, else the request's.
    """

    mode: Mode | None = None
    origin: str = "request"
    status: TransactionStatus | None = None
    since: int | None = None
    until: int | None = None
    phone_number: str | None = None


def transactions(
    reader: Reader, wanted: TransactionFilter, *, now: int, limit: int, offset: int
) -> tuple[list[Found], int]:
    """Return one page, newest first, and how many there are in all."""
    where, params = _where(wanted, now)
    source = f"FROM transactions t LEFT JOIN payments p ON p.id = t.payment_id WHERE {where}"
    total = int(reader.value(f"SELECT COUNT(*) {source}", params))
    rows = reader.all(
        f"SELECT {_TRANSACTION_T}, {_PAYMENT_P} {source} "
        "ORDER BY t.created_at DESC, t.seq DESC LIMIT :limit OFFSET :offset",
        {**params, "limit": limit, "offset": offset},
    )
    return [_found(row) for row in rows], total


def _where(wanted: TransactionFilter, now: int) -> tuple[str, dict[str, Any]]:
    tests = ["t.merged_into IS NULL"]
    params: dict[str, Any] = {"now": now}
    if wanted.mode is not None:
        tests.append("t.mode = :mode")
        params["mode"] = wanted.mode
    if wanted.origin != "all":
        tests.append("t.origin = :origin")
        params["origin"] = wanted.origin
    if wanted.status is TransactionStatus.PENDING:
        tests.append("t.status = 'PENDING' AND t.expires_at > :now")
    elif wanted.status is TransactionStatus.EXPIRED:
        tests.append("(t.status = 'EXPIRED' OR (t.status = 'PENDING' AND t.expires_at <= :now))")
    elif wanted.status is not None:
        tests.append("t.status = :status")
        params["status"] = wanted.status
    if wanted.since is not None:
        tests.append("t.created_at >= :since")
        params["since"] = wanted.since
    if wanted.until is not None:
        tests.append("t.created_at < :until")
        params["until"] = wanted.until
    if wanted.phone_number is not None:
        tests.append("COALESCE(p.payer_phone, t.phone_number) = :phone")
        params["phone"] = wanted.phone_number
    return " AND ".join(tests), params


def by_id(reader: Reader, transaction_id: str, mode: Mode | None) -> Found | None:
    """Return one transaction by its UUID."""
    return _one(reader, "t.id = :id", {"id": transaction_id}, mode)


def by_code(reader: Reader, svc_code: str, mode: Mode | None) -> Found | None:
    """Return the newest request that has or had this code."""
    return _one(reader, "t.svc_code = :code", {"code": svc_code}, mode)


def by_client_reference(
    reader: Reader, client_reference: str, mode: Mode | None, *, now: int
) -> tuple[Found | None, int]:
    """Return the best request with the caller's own reference, and how many there are.

    Verified ones come first, then open ones, then the newest. Requests made with a publishable key do not count:
    anybody can make those.
    """
    where = (
        "t.client_reference = :reference AND t.created_with <> 'publishable' "
        "AND (:mode IS NULL OR t.mode = :mode)"
    )
    params = {"reference": client_reference, "mode": mode, "now": now}
    matches = int(reader.value(f"SELECT COUNT(*) FROM transactions t WHERE {where}", params))
    row = reader.one(
        f"SELECT {_TRANSACTION_T}, {_PAYMENT_P} FROM transactions t "
        f"LEFT JOIN payments p ON p.id = t.payment_id WHERE {where} "
        "ORDER BY CASE WHEN t.status IN ('SUCCESS', 'PARTIAL', 'OVERPAID') THEN 0 "
        "WHEN t.status = 'MANUAL_REVIEW' OR (t.status = 'PENDING' AND t.expires_at > :now) THEN 1 "
        "ELSE 2 END, t.seq DESC LIMIT 1",
        params,
    )
    return None if row is None else _found(row), matches


def _one(reader: Reader, where: str, params: dict[str, Any], mode: Mode | None) -> Found | None:
    row = reader.one(
        f"SELECT {_TRANSACTION_T}, {_PAYMENT_P} FROM transactions t "
        f"LEFT JOIN payments p ON p.id = t.payment_id WHERE {where} "
        "AND (:mode IS NULL OR t.mode = :mode) ORDER BY t.seq DESC LIMIT 1",
        {**params, "mode": mode},
    )
    return None if row is None else _found(row)


def _found(row: tuple[Any, ...]) -> Found:
    payment = None if row[_WIDTH_T] is None else load(Payment, row[_WIDTH_T:])
    return load(Transaction, row[:_WIDTH_T]), payment


# Deliveries ---------------------------------------------------------------------------------------------


def deliveries(
    reader: Reader,
    *,
    mode: Mode | None,
    endpoint_id: str | None,
    status: DeliveryStatus | None,
    implicit: bool,
    limit: int,
    offset: int,
) -> tuple[list[tuple[Delivery, Endpoint]], int]:
    """Return one page of the delivery log, newest first, and how many entries there are in all.

    `implicit` also takes in what goes to requests' own webhooks and to the default one.
    """
    tests = ["1 = 1"]
    params: dict[str, Any] = {}
    if not implicit:
        tests.append("e.kind = 'endpoint'")
    for name, value in (("e.mode", mode), ("d.endpoint_id", endpoint_id), ("d.status", status)):
        if value is not None:
            key = name.partition(".")[2]
            tests.append(f"{name} = :{key}")
            params[key] = value
    source = "FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id WHERE " + " AND ".join(
        tests
    )
    total = int(reader.value(f"SELECT COUNT(*) {source}", params))
    rows = reader.all(
        f"SELECT {_DELIVERY_D}, {_ENDPOINT_E} {source} "
        "ORDER BY d.seq DESC LIMIT :limit OFFSET :offset",
        {**params, "limit": limit, "offset": offset},
    )
    found = [(load(Delivery, row[:_WIDTH_D]), load(Endpoint, row[_WIDTH_D:])) for row in rows]
    return found, total


def queue(reader: Reader) -> dict[str, int]:
    """Count what is owed: deliveries by status, and dead letters that nobody has dealt with."""
    counts = dict(
        reader.all(
            "SELECT status, COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL "
            "GROUP BY status"
        )
    )
    dead = reader.value(
        "SELECT COUNT(*) FROM dead_letters WHERE resolved_at IS NULL AND replayed_at IS NULL"
    )
    return {
        "pending": int(counts.get("pending", 0)),
        "retrying": int(counts.get("retrying", 0)),
        "dead_letters": int(dead),
    }


# Messages -----------------------------------------------------------------------------------------------


def messages(
    reader: Reader,
    *,
    state: MessageState | None,
    since: int | None,
    until: int | None,
    limit: int,
    offset: int,
) -> tuple[list[tuple[Message, str | None]], int]:
    """Return one page of SMS with the merchant number each came to, newest first, and how many in all."""
    tests = ["1 = 1"]
    params: dict[str, Any] = {}
    if state is not None:
        tests.append("m.state = :state")
        params["state"] = state
    if since is not None:
        tests.append("m.received_at >= :since")
        params["since"] = since
    if until is not None:
        tests.append("m.received_at < :until")
        params["until"] = until
    where = " AND ".join(tests)
    total = int(reader.value(f"SELECT COUNT(*) FROM messages m WHERE {where}", params))
    rows = reader.all(
        f"SELECT {columns(Message, 'm.')}, pm.phone_number FROM messages m "
        f"LEFT JOIN payment_methods pm ON pm.id = m.payment_method_id WHERE {where} "
        "ORDER BY m.seq DESC LIMIT :limit OFFSET :offset",
        {**params, "limit": limit, "offset": offset},
    )
    return [(load(Message, row[:-1]), row[-1]) for row in rows], total


def message(reader: Reader, message_id: str) -> tuple[Message, str | None] | None:
    """Return one SMS with the merchant number it came to."""
    row = reader.one(
        f"SELECT {columns(Message, 'm.')}, pm.phone_number FROM messages m "
        "LEFT JOIN payment_methods pm ON pm.id = m.payment_method_id WHERE m.id = :id",
        {"id": message_id},
    )
    return None if row is None else (load(Message, row[:-1]), row[-1])


# The journal --------------------------------------------------------------------------------------------


def events_with_transactions(
    reader: Reader, events: Iterable[Event]
) -> list[tuple[Event, Found | None]]:
    """Join lines of the journal with the transactions they are about, as those are now."""
    known: dict[str, Found | None] = {}
    joined: list[tuple[Event, Found | None]] = []
    for event in events:
        key = event.transaction_id
        if key is not None and key not in known:
            known[key] = by_id(reader, key, None)
        joined.append((event, None if key is None else known[key]))
    return joined


# Today --------------------------------------------------------------------------------------------------


def today(reader: Reader, since: int, now: int) -> dict[str, Any]:
    """Count the live day so far: paid, short, waiting, for review, and the money per currency."""
    verified = reader.all(
        "SELECT t.status, p.currency, COUNT(*), SUM(p.amount_minor) FROM transactions t "
        "JOIN payments p ON p.id = t.payment_id WHERE t.completed_at >= :since AND t.mode = 'live' "
        "AND t.origin = 'request' GROUP BY t.status, p.currency",
        {"since": since},
    )
    counts = {"SUCCESS": 0, "PARTIAL": 0, "OVERPAID": 0}
    received: dict[str, int] = {}
    for status, currency, number, minor in verified:
        counts[status] += number
        received[currency] = received.get(currency, 0) + minor
    waiting = reader.value(
        "SELECT COUNT(*) FROM transactions WHERE status = 'PENDING' AND expires_at > :now "
        "AND mode = 'live'",
        {"now": now},
    )
    review = reader.value("SELECT COUNT(*) FROM reviews WHERE state = 'open' AND mode = 'live'")
    return {
        "paid": counts["SUCCESS"],
        "short": counts["PARTIAL"],
        "over": counts["OVERPAID"],
        "waiting": int(waiting),
        "review": int(review),
        "received_minor": received,
    }


def failed_since(reader: Reader, since: int) -> int:
    """Count the deliveries that were given up since then."""
    return int(
        reader.value(
            "SELECT COUNT(*) FROM deliveries WHERE status = 'failed' AND failed_at >= :since",
            {"since": since},
        )
    )


def waiting_by_endpoint(reader: Reader) -> dict[str, int]:
    """Count what waits for each endpoint."""
    return dict(
        reader.all(
            "SELECT endpoint_id, COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL "
            "GROUP BY endpoint_id"
        )
    )
