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
from daemon.store.transaction_search import Search, ways
from daemon.wire import Mode, TransactionStatus

Found = tuple[Transaction, Payment | None]
"""A transaction and the payment that verified it."""

_TRANSACTION: Final = columns(Transaction, "t.")
WIDTH: Final = len(_TRANSACTION.split(", "))
BOTH: Final = f"{_TRANSACTION}, {columns(Payment, 'p.')}"
"""What `found` loads."""
JOINED: Final = "transactions t LEFT JOIN payments p ON p.id = t.payment_id"
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
        search: A code, a network ID or the caller's own reference; else what one of those, a name, a number or the
            description holds. What begins with `svc_` is the beginning of a reference instead, or its two ends with
            `…` between them.
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """A filter, one way to look for what it searches, and the parameters of both."""

    wanted: TransactionFilter
    search: Search | None
    params: dict[str, Any]


def transactions(
    reader: Reader, wanted: TransactionFilter, *, now: int, limit: int, offset: int
) -> tuple[list[Found], int]:
    """Return one page, newest first unless sorted otherwise, and how many there are in all.

    Behind `after` there is no need to count from either end: the page begins there.
    """
    if wanted.search is None:
        return _look(reader, wanted, None, now, limit, offset)
    found: tuple[list[Found], int] = [], 0
    for search in ways(wanted.search):
        found = _look(reader, wanted, search, now, limit, offset)
        if found[1]:
            break
    return found


def _look(
    reader: Reader,
    wanted: TransactionFilter,
    search: Search | None,
    now: int,
    limit: int,
    offset: int,
) -> tuple[list[Found], int]:
    asked = _Asked(wanted, search, _parameters(wanted, search, now))
    if search is not None and not offset and wanted.after is None:
        # Each look may read every row: a first page with room left over has counted them.
        found = _page(reader, asked, limit, 0)
        if len(found) < limit:
            return found, len(found)
    total = _total(reader, asked)
    if wanted.after is not None:
        offset = 0
        behind = _place(reader, wanted)
        if behind is None:
            return [], total
        asked.params.update(behind)
    # Counted from the other end, the same rows stand in the other order.
    backwards = wanted.after is None and offset > total // 2
    if backwards:
        first = max(0, total - offset - limit)
        limit, offset = max(0, min(limit, total - offset)), first
    if not limit or offset >= total:
        return [], total
    return _page(reader, asked, limit, offset, backwards=backwards), total


def _page(
    reader: Reader, asked: _Asked, limit: int, offset: int, *, backwards: bool = False
) -> list[Found]:
    falling = asked.wanted.sort in ("newest", "largest")
    order = "DESC" if falling is not backwards else "ASC"
    shown = "DESC" if falling else "ASC"
    rows = reader.all(
        f"SELECT {BOTH} FROM ({_keys(asked, order)} LIMIT :limit OFFSET :offset) k "
        "JOIN transactions t ON t.seq = k.seq LEFT JOIN payments p ON p.id = t.payment_id "
        f"ORDER BY k.key {shown}, k.seq {shown}",
        {**asked.params, "limit": limit, "offset": offset},
    )
    return [found_in(row) for row in rows]


def found_in(row: tuple[Any, ...]) -> Found:
    """Load a row of `BOTH`."""
    payment = None if row[WIDTH] is None else load(Payment, row[WIDTH:])
    return load(Transaction, row[:WIDTH]), payment


def _total(reader: Reader, asked: _Asked) -> int:
    wanted = asked.wanted
    if (wanted.since, wanted.until, wanted.phone_number, wanted.search) == (None, None, None, None):
        return _kept_total(reader, wanted, asked.params)
    whole = replace(asked, wanted=replace(wanted, sort="newest", after=None))
    total = reader.value(f"SELECT COUNT(*) FROM ({_keys(whole, 'DESC')})", asked.params)
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


def _parameters(wanted: TransactionFilter, search: Search | None, now: int) -> dict[str, Any]:
    given = {
        "now": now,
        "since": wanted.since,
        "until": wanted.until,
        "phone": wanted.phone_number,
        **({} if search is None else search.params),
    }
    return {name: value for name, value in given.items() if value is not None}


def _keys(asked: _Asked, order: str) -> str:
    """Return the query of the list's keys, in order: one part for each run of an index, merged by the database."""
    parts = " UNION ALL ".join(_parts(asked))
    return f"{parts} ORDER BY key {order}, seq {order}"


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


def _parts(asked: _Asked) -> Iterator[str]:
    wanted, search = asked.wanted, asked.search
    rest = list(_narrowed(asked))
    joined = wanted.phone_number is not None or wanted.by_amount
    source = JOINED if joined or (search and search.joined) else "transactions t"
    seq = "t.seq AS seq"
    # A plus keeps the database from this index (SQLite, "Unary + to disable an index"), whatever it guesses.
    plus = "+" if search and search.by_id else ""
    modes = list(Mode) if wanted.mode is None else [wanted.mode]
    origins = _ORIGINS if wanted.origin == "all" else (wanted.origin,)
    for mode in modes:
        for origin in origins:
            for status in _statuses(wanted.status):
                # Words of our own, not of the caller: they choose the run of the index.
                tests = [f"{plus}t.mode = '{mode}'", f"t.origin = '{origin}'", *status, *rest]
                where = " AND ".join(tests)
                yield f"SELECT {seq}, {_key(wanted)} AS key FROM {source} WHERE {where}"


def _narrowed(asked: _Asked) -> Iterator[str]:
    """Yield what each row must fulfil, but for what chooses the run of the index."""
    wanted = asked.wanted
    yield "t.merged_into IS NULL"
    if wanted.since is not None:
        yield "t.created_at >= :since"
    if wanted.until is not None:
        yield "t.created_at < :until"
    if wanted.phone_number is not None:
        yield "COALESCE(p.payer_phone, t.phone_number) = :phone"
    if asked.search is not None:
        yield asked.search.test
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
