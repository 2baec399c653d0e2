"""The list of transactions: filtered, counted, and a page at a time; no dearer in a big shop than in a small one.

Totals of an unfiltered list, or of one by status, are kept by the database. A page is found in an index first, from
whichever end of the list is nearer, and only its own rows are then looked up.

A request that is past its time counts as EXPIRED here even before the sweep says so, in filters and in totals alike
(decisions.md section 2). A holder whose payment went to a request is in no list.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from daemon.core.model import Payment, Transaction
from daemon.store.engine import Reader
from daemon.store.rows import columns, load
from daemon.wire import Mode, TransactionStatus

Found = tuple[Transaction, Payment | None]
"""A transaction and the payment that verified it."""

_TRANSACTION: Final = columns(Transaction, "t.")
WIDTH: Final = len(_TRANSACTION.split(", "))
BOTH: Final = f"{_TRANSACTION}, {columns(Payment, 'p.')}"
"""What `found` loads."""
JOINED: Final = "transactions t LEFT JOIN payments p ON p.id = t.payment_id"
_SEARCHED: Final = " || ' ' || ".join(
    f"COALESCE({column}, '')"
    for column in (
        "t.svc_code", "p.telco_transaction_id", "p.payer_name", "t.customer_name", "t.client_reference",
        "t.description", "p.payer_phone", "t.phone_number",
    )
)  # fmt: skip
_REFERENCE: Final = "'svc_trx_' || REPLACE(t.id, '-', '')"
_ORIGINS: Final = ("request", "open")


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """What a list of transactions is narrowed to; None asks nothing.

    Attributes:
        mode: Live or test; None is both, for the shop's own people.
        origin: `request`, `open` or `all`.
        since: First `created_at`.
        until: First `created_at` that is too late.
        phone_number: The payer's: the receipt's, else the request's.
        search: What a code, a network ID, a name, a number, the caller's own reference or the description holds. What
            begins with `svc_` is the beginning of a reference instead, or its two ends with `…` between them.
        sort: `newest`, `oldest`, `largest` or `smallest` (by what was asked, else received) first.
        after: UUID of the transaction behind which the list goes on.
    """

    mode: Mode | None = None
    origin: str = "request"
    status: TransactionStatus | None = None
    since: int | None = None
    until: int | None = None
    phone_number: str | None = None
    search: str | None = None
    sort: str = "newest"
    after: str | None = None

    @property
    def by_amount(self) -> bool:
        """Whether the list is sorted by amounts."""
        return self.sort in ("largest", "smallest")


def transactions(
    reader: Reader, wanted: TransactionFilter, *, now: int, limit: int, offset: int
) -> tuple[list[Found], int]:
    """Return one page, newest first unless sorted otherwise, and how many there are in all.

    Behind `after` there is no need to count from either end: the page begins there.
    """
    params = _parameters(wanted, now)
    total = _total(reader, wanted, params)
    falling = wanted.sort in ("newest", "largest")
    if wanted.after is not None:
        offset = 0
        behind = _place(reader, wanted)
        if behind is None:
            return [], total
        params |= behind
    # Counted from the other end, the same rows stand in the other order.
    backwards = wanted.after is None and offset > total // 2
    if backwards:
        first = max(0, total - offset - limit)
        limit, offset = max(0, min(limit, total - offset)), first
    if not limit or offset >= total:
        return [], total
    order = "DESC" if falling is not backwards else "ASC"
    shown = "DESC" if falling else "ASC"
    found = reader.all(
        f"SELECT {BOTH} FROM ({_keys(wanted, order)} LIMIT :limit OFFSET :offset) k "
        "JOIN transactions t ON t.seq = k.seq LEFT JOIN payments p ON p.id = t.payment_id "
        f"ORDER BY k.key {shown}, k.seq {shown}",
        {**params, "limit": limit, "offset": offset},
    )
    return [found_in(row) for row in found], total


def found_in(row: tuple[Any, ...]) -> Found:
    """Load a row of `BOTH`."""
    payment = None if row[WIDTH] is None else load(Payment, row[WIDTH:])
    return load(Transaction, row[:WIDTH]), payment


def _total(reader: Reader, wanted: TransactionFilter, params: dict[str, Any]) -> int:
    if (wanted.since, wanted.until, wanted.phone_number, wanted.search) == (None, None, None, None):
        return _kept_total(reader, wanted, params)
    whole = replace(wanted, sort="newest", after=None)
    total = reader.value(f"SELECT COUNT(*) FROM ({_keys(whole, 'DESC')})", params)
    return int(total)


def _kept_total(reader: Reader, wanted: TransactionFilter, params: dict[str, Any]) -> int:
    """Add up what the database keeps; requests that are overdue and not swept yet move from one status to the other."""
    narrowed = "(:mode IS NULL OR mode = :mode) AND (:origin = 'all' OR origin = :origin)"
    counts = {
        row[0]: int(row[1])
        for row in reader.all(
            f"SELECT status, SUM(count) FROM transaction_counts WHERE {narrowed} GROUP BY status",
            {"mode": wanted.mode, "origin": wanted.origin},
        )
    }
    if wanted.status is None:
        return sum(counts.values())
    total = counts.get(wanted.status, 0)
    if wanted.status in (TransactionStatus.PENDING, TransactionStatus.EXPIRED):
        overdue = reader.value(
            "SELECT COUNT(*) FROM transactions WHERE status = 'PENDING' AND expires_at <= :now "
            f"AND merged_into IS NULL AND {narrowed}",
            {"now": params["now"], "mode": wanted.mode, "origin": wanted.origin},
        )
        total += -overdue if wanted.status is TransactionStatus.PENDING else overdue
    return total


def _parameters(wanted: TransactionFilter, now: int) -> dict[str, Any]:
    given = {
        "now": now,
        "since": wanted.since,
        "until": wanted.until,
        "phone": wanted.phone_number,
        "search": None if wanted.search is None else _pattern(wanted.search.lower()),
    }
    return {name: value for name, value in given.items() if value is not None}


def _keys(wanted: TransactionFilter, order: str) -> str:
    """Return the query of the list's keys, in order: one part for each run of an index, merged by the database."""
    parts = " UNION ALL ".join(_parts(wanted))
    return f"{parts} ORDER BY key {order}, seq {order}"


def _of_anything(wanted: TransactionFilter) -> bool:
    """Say whether what is searched for is no reference."""
    return wanted.search is not None and not _is_reference(wanted.search)


def _is_reference(search: str) -> bool:
    return search.lower().startswith("svc_")


def _pattern(search: str) -> str:
    if not _is_reference(search):
        return f"%{_escaped(search)}%"
    head, _, tail = search.partition("…")
    return f"{_escaped(head)}%{_escaped(tail)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _place(reader: Reader, wanted: TransactionFilter) -> dict[str, Any] | None:
    """Return where in the list a transaction stands; None when there is none."""
    row = reader.one(
        f"SELECT {_key(wanted)}, t.seq FROM {JOINED} WHERE t.id = :id", {"id": wanted.after}
    )
    return None if row is None else {"after_key": row[0], "after_seq": row[1]}


def _key(wanted: TransactionFilter) -> str:
    """Return what the list is sorted by."""
    amount = "COALESCE(t.expected_minor, p.amount_minor, 0)"
    return amount if wanted.by_amount else "t.created_at"


def _parts(wanted: TransactionFilter) -> Iterator[str]:
    rest = list(_narrowed(wanted))
    joined = wanted.phone_number is not None or wanted.by_amount or _of_anything(wanted)
    source = JOINED if joined else "transactions t"
    seq = "t.seq AS seq"
    modes = list(Mode) if wanted.mode is None else [wanted.mode]
    origins = _ORIGINS if wanted.origin == "all" else (wanted.origin,)
    for mode in modes:
        for origin in origins:
            for status in _statuses(wanted.status):
                # Words of our own, not of the caller: they choose the run of the index.
                tests = [f"t.mode = '{mode}'", f"t.origin = '{origin}'", *status, *rest]
                where = " AND ".join(tests)
                yield f"SELECT {seq}, {_key(wanted)} AS key FROM {source} WHERE {where}"


def _narrowed(wanted: TransactionFilter) -> Iterator[str]:
    """Yield what each row must fulfil, but for what chooses the run of the index."""
    yield "t.merged_into IS NULL"
    if wanted.since is not None:
        yield "t.created_at >= :since"
    if wanted.until is not None:
        yield "t.created_at < :until"
    if wanted.phone_number is not None:
        yield "COALESCE(p.payer_phone, t.phone_number) = :phone"
    if _of_anything(wanted):
        yield f"LOWER({_SEARCHED}) LIKE :search ESCAPE '\\'"
    elif wanted.search is not None:
        yield f"{_REFERENCE} LIKE :search ESCAPE '\\'"
    if wanted.after is not None:
        side = "<" if wanted.sort in ("newest", "largest") else ">"
        yield f"({_key(wanted)}, t.seq) {side} (:after_key, :after_seq)"


def _statuses(status: TransactionStatus | None) -> list[list[str]]:
    if status is None:
        return [[]]
    if status is TransactionStatus.PENDING:
        return [["t.status = 'PENDING'", "t.expires_at > :now"]]
    if status is TransactionStatus.EXPIRED:
        return [["t.status = 'EXPIRED'"], ["t.status = 'PENDING'", "t.expires_at <= :now"]]
    return [[f"t.status = '{status}'"]]
