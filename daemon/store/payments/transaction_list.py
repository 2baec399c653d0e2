"""The list of transactions, and look-ups of one.

The cost of a page does not depend on the size of the shop. The database maintains the totals of an unfiltered list, or
of one by status. A page is first found in an index, from the nearer end of the list, and only its own rows are then
read. A search finds its rows first, and the page is cut from the result.

Filters and totals count an overdue transaction as EXPIRED even before the sweep marks it. A
holder with a payment that was matched to a transaction is in no list.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.model import Event, Payment, Transaction
from daemon.store.engine import Reader
from daemon.store.payments import search_index
from daemon.store.payments.search_index import Indexed
from daemon.wire import Mode, TransactionStatus
from parsers.pasted import plain_code
from parsers.phone import e164_prefix
from parsers.reading import normalize_telco_id

_OF_TRANSACTION: Final = tuple(f"t.{column}" for column in search_index.OF_TRANSACTION)
_OF_PAYMENT: Final = tuple(f"p.{column}" for column in search_index.OF_PAYMENT)
_PHONES: Final = ("t.phone_number", "p.payer_phone")
_PAID: Final = "payments p CROSS JOIN transactions t WHERE t.payment_seq = p.seq"
"""CROSS fixes the join order (SQLite, "Manual control of query plans using CROSS JOIN")."""
_NAMED: Final = f"""
    SELECT t.seq FROM svc_codes c JOIN transactions t ON t.seq = c.transaction_seq
    WHERE c.mode IN ('live', 'test') AND c.code = :code
    UNION SELECT t.seq FROM transactions t WHERE t.client_reference = :named
    UNION SELECT t.seq FROM {_PAID} AND p.telco_transaction_id = :telco_id AND p.double_of IS NULL
    UNION SELECT t.seq FROM {_PAID} AND p.telco_transaction_id = :telco_id AND p.double_of IS NOT NULL"""
_OF_AMOUNT: Final = f"""
    SELECT t.seq FROM {_PAID} AND p.mode IN ('live', 'test') AND p.amount_minor = :minor
    UNION SELECT t.seq FROM transactions t WHERE t.mode IN ('live', 'test') AND t.origin = 'request' AND t.expected_minor = :minor
    AND t.status IN ('PENDING', 'PARTIAL', 'OVERPAID', 'EXPIRED', 'MANUAL_REVIEW', 'CANCELLED') AND t.merged_into IS NULL"""
"""The paid ones are found by what was received; an order that is paid as asked has the same amount."""
_LIKE_A_NAME: Final = re.compile(r"(?=.*[0-9])\S{4,}", re.ASCII)
"""One word with a digit in it: a code, a network ID, an order number, but not a customer's name."""
_REFERENCE: Final = "'svc_trx_' || REPLACE(t.id, '-', '') LIKE :search ESCAPE '\\'"
_HEX: Final = re.compile(r"svc_trx_([0-9a-f]{1,32})", re.ASCII)
_DASHES: Final = (8, 12, 16, 20)
_BEHIND_HEX: Final = "g"


class SeqQuery(Struct, frozen=True):
    """A query of the `seq` of the matching transactions, and its parameters.

    Attributes:
        rows: Further matching transactions `t`, each a source and its condition; `t` is read once there.
    """

    seqs: str
    params: Mapping[str, Any]
    rows: Sequence[tuple[str, str]] = ()


class RowCondition(Struct, frozen=True):
    """A condition on each transaction `t` of a list, or its payment `p`, and its parameters."""

    test: str
    params: Mapping[str, Any]


def is_indexed(text: str) -> bool:
    """Return whether the index of trigrams is of use for a text."""
    return search_index.match([text], None) is not None


def search_steps(text: str, indexed: Indexed, *, in_few: bool) -> Iterator[SeqQuery | RowCondition]:
    """Yield the ways to search for a text, to be tried in turn until one has results.

    Text that starts with `svc_` is the start of a reference, or its two ends with `…` between them. One word with a
    digit is first tried as a whole code, network ID or caller's own reference, then an amount as what was asked or
    received. Several words are also looked for in any order. Rows that are not in `indexed` are read; `in_few`: the
    list is filtered to few of the transactions, so that only its rows are read.
    """
    if text.lower().startswith("svc_"):
        yield _reference(text.lower())
        return
    telco_id = normalize_telco_id(text)
    if _LIKE_A_NAME.fullmatch(text) or _LIKE_A_NAME.fullmatch(telco_id):
        params = {"code": plain_code(text), "named": text, "telco_id": telco_id}
        yield SeqQuery(_NAMED, params)
    minor = search_index.amount_of(text)
    if minor is not None:
        yield SeqQuery(_OF_AMOUNT, {"minor": minor})
    several = text.split()[: search_index.WORDS_MAX]
    for words in [[text], several] if len(several) > 1 else [[text]]:
        params = {f"search{place}": f"%{_escaped(word)}%" for place, word in enumerate(words)}
        dialled = e164_prefix(text) if words == [text] else None
        if dialled is not None:
            params["dialled"] = f"{dialled}%"
        if in_few:
            yield RowCondition(_held((*_OF_TRANSACTION, *_OF_PAYMENT), params), params)
            continue
        match = None if indexed.in_tables else search_index.match(words, dialled)
        yield _anywhere(params, match, indexed)


def _anywhere(params: dict[str, Any], match: str | None, indexed: Indexed) -> SeqQuery:
    of_transaction, of_payment = _held(_OF_TRANSACTION, params), _held(_OF_PAYMENT, params)
    # Each table is read once: looking up the payment of each transaction would take three times as long.
    found = [
        f"SELECT t.seq FROM transactions t WHERE t.seq > :transactions AND {of_transaction}",
        f"SELECT t.seq FROM {_PAID} AND p.seq > :payments AND {of_payment}",
    ]
    if match is None:
        return SeqQuery(" UNION ".join(found), {**params, "transactions": 0, "payments": 0})
    rows = search_index.rows(of_transaction, of_payment)
    last = {"transactions": indexed.transaction_seq, "payments": indexed.payment_seq}
    return SeqQuery(" UNION ".join(found), {**params, **last, "match": match}, rows)


def _held(columns: Iterable[str], params: Mapping[str, Any]) -> str:
    """Return the condition that the columns hold each text of the parameters."""
    columns = tuple(columns)
    found = []
    for name, text in params.items():
        if not name.startswith("search"):
            continue
        held_by = [column for column in columns if search_index.may_hold(column, text)]
        tests = [f"{column} LIKE :{name} ESCAPE '\\'" for column in held_by]
        if "dialled" in params:
            tests += [f"{column} LIKE :dialled" for column in columns if column in _PHONES]
        found.append(f"({' OR '.join(tests)})")
    return f"({' AND '.join(found)})"


def _reference(text: str) -> SeqQuery | RowCondition:
    head, _, tail = text.partition("…")
    params = {"search": f"{_escaped(head)}%{_escaped(tail)}"}
    known = _HEX.fullmatch(head)
    if known is None:
        return RowCondition(_REFERENCE, params)
    # A UUID is the reference's hex digits with dashes, so that a prefix is a range of the index.
    first = known[1]
    for place in reversed(_DASHES):
        if len(first) > place:
            first = f"{first[:place]}-{first[place:]}"
    run = "SELECT t.seq FROM transactions t WHERE t.id >= :first AND t.id < :behind"
    bounds = {"first": first, "behind": first + _BEHIND_HEX}
    return SeqQuery(f"{run} AND {_REFERENCE}", params | bounds)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


UNSETTLED: Final = (
    "t.merged_into IS NULL AND t.settled_at IS NULL AND t.reversed_at IS NULL AND t.branch_id IS NULL "
    "AND t.status IN ('PARTIAL', 'OVERPAID')"
)
"""The condition of a short or overpaid transaction that counts as owed; the index `transactions_unsettled` has the same words."""
_SETTLED: Final = (TransactionStatus.PARTIAL, TransactionStatus.OVERPAID)
Found = tuple[Transaction, Payment | None]
"""A transaction and the payment that verified it."""
JOINED: Final = "transactions t LEFT JOIN payments p ON p.seq = t.payment_seq"
_WALK_COSTS: Final = 3
"""Cost of reading a list row with its payment, relative to a row in a table scan (docs/decisions/0014)."""
_WALKED_MAX: Final = 2_000
"""So many rows of a list are read in 20 ms."""


class TransactionFilter(Struct, frozen=True):
    """The filters of a list of transactions; None filters nothing.

    Attributes:
        mode: Live or test; None is both, for the shop's own staff.
        origin: `request`, `open` or `all`.
        since: First `created_at`.
        until: End of `created_at`, excluded.
        phone_number: The payer's: the receipt's, else the transaction's.
        search: A code, a network ID or the caller's own reference; else text within one of those, a name, a number or
            the description. Text that starts with `svc_` is the start of a reference, or its two ends with `…` between.
        sort: `newest`, `oldest`, `largest` or `smallest` first (by the requested, else the received amount).
        after: UUID of the transaction after which the page starts.
        ended: Leave out those that wait for their payment; for a list without `status`.
        unsettled: Only short or overpaid ones that this shop may still settle.
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
    ended: bool = False
    unsettled: bool = False
    branch: str | None = None
    """At a hub, the name of a branch; None lists all of them."""

    @property
    def by_amount(self) -> bool:
        """Return whether the list is sorted by amounts."""
        return self.sort in ("largest", "smallest")

    @property
    def falling(self) -> bool:
        """Return whether the newest or the largest come first."""
        return self.sort in ("newest", "largest")

    @property
    def modes(self) -> Sequence[Mode]:
        """The listed modes."""
        return tuple(Mode) if self.mode is None else (self.mode,)

    @property
    def origins(self) -> Sequence[str]:
        """The listed origins."""
        return ("request", "open") if self.origin == "all" else (self.origin,)


_COPIES: Final = "t.branch_id = (SELECT id FROM branches WHERE name = :branch)"
_MADE_FOR: Final = "t.made_for = (SELECT id FROM branches WHERE name = :branch)"


class _Asked(Struct, frozen=True):
    """A filter, the condition of a search, and the parameters of both."""

    wanted: TransactionFilter
    test: RowCondition | None
    params: dict[str, Any]


def transactions(
    reader: Reader, wanted: TransactionFilter, *, now: int, limit: int, offset: int
) -> tuple[list[Found], int]:
    """Return one page, newest first unless sorted otherwise, and the total number.

    With `after`, the page starts there, without counting rows from either end.
    """
    if wanted.search is None:
        return _look(reader, wanted, None, now, limit, offset)
    found: tuple[list[Found], int] = [], 0
    few = _few(reader, wanted, now)
    for way in search_steps(wanted.search, search_index.indexed(reader), in_few=few):
        if isinstance(way, SeqQuery):
            found = _look_among(reader, wanted, way, now, limit, offset)
        else:
            found = _look(reader, wanted, way, now, limit, offset)
        if found[1]:
            break
    return found


def _few(reader: Reader, wanted: TransactionFilter, now: int) -> bool:
    """Return whether walking through the list is likely cheaper than the index of trigrams, or reading both tables once."""
    listed = _kept_total(reader, wanted, {"now": now})
    if wanted.search is not None and is_indexed(wanted.search):
        return listed <= _WALKED_MAX
    if wanted.since is not None or wanted.phone_number is not None:
        return True
    return listed * _WALK_COSTS < _kept_total(reader, TransactionFilter(origin="all"), {})


def _look_among(
    reader: Reader, wanted: TransactionFilter, found: SeqQuery, now: int, limit: int, offset: int
) -> tuple[list[Found], int]:
    """Return a page of the search results and their total, from one query; an empty page is one row with the total."""
    params = _parameters(wanted, found, now) | {"limit": limit, "offset": offset}
    place = None if wanted.after is None else _place(reader, wanted)
    if wanted.after is not None:
        params |= {"offset": 0} | (place or {"limit": 0})
    behind = "TRUE" if place is None else _behind(wanted, "k.key", "k.seq")
    order = "DESC" if wanted.falling else "ASC"
    listed = f"{' AND '.join(_narrowed(wanted))} AND {_run(wanted)}"
    rows = "".join(
        f" UNION SELECT t.seq, {_key(wanted)} FROM {source} "
        f"{'' if ' payments p' in source else 'LEFT JOIN payments p ON p.seq = t.payment_seq '}WHERE {where} AND {listed}"
        for source, where in found.rows
    )
    page: list[Any] = reader.joined(
        # CROSS fixes the join order, so that SQLite does not walk through the list instead.
        f"WITH found AS MATERIALIZED (SELECT t.seq AS seq, {_key(wanted)} AS key FROM ({found.seqs}) s "
        "CROSS JOIN transactions t LEFT JOIN payments p ON p.seq = t.payment_seq "
        f"WHERE t.seq = s.seq AND {listed}{rows}) "
        "SELECT c.total, t.*, p.* FROM (SELECT COUNT(*) AS total FROM found) c LEFT JOIN "
        f"(SELECT * FROM found k WHERE {behind} ORDER BY k.key {order}, k.seq {order} LIMIT :limit OFFSET :offset) k ON TRUE "
        "LEFT JOIN transactions t ON t.seq = k.seq LEFT JOIN payments p ON p.seq = t.payment_seq "
        f"ORDER BY k.key {order}, k.seq {order}",
        params,
        t=Transaction,
        p=Payment,
    )
    return [row[1:] for row in page if row[1] is not None], int(page[0][0])


def _run(wanted: TransactionFilter) -> str:
    """Return the condition that selects the range of the list's index."""
    modes = ", ".join(f"'{mode}'" for mode in wanted.modes)
    origins = ", ".join(f"'{origin}'" for origin in wanted.origins)
    statuses = " OR ".join(" AND ".join(tests) or "TRUE" for tests in _statuses(wanted))
    return f"t.mode IN ({modes}) AND t.origin IN ({origins}) AND ({statuses})"


def _look(
    reader: Reader, wanted: TransactionFilter, test: RowCondition | None, now: int, limit: int, offset: int
) -> tuple[list[Found], int]:
    asked = _Asked(wanted, test, _parameters(wanted, test, now))
    if test is not None and not offset and wanted.after is None:
        # Each query reads every row of the list: a first page that is not full has counted them.
        found = _page(reader, asked, limit, 0)
        if len(found) < limit:
            return found, len(found)
    total = _total(reader, asked)
    if wanted.after is not None:
        offset = 0
        place = _place(reader, wanted)
        if place is None:
            return [], total
        asked.params.update(place)
    # Counted from the other end, the same rows have the reverse order.
    backwards = wanted.after is None and offset > total // 2
    if backwards:
        first = max(0, total - offset - limit)
        limit, offset = max(0, min(limit, total - offset)), first
    if not limit or offset >= total:
        return [], total
    return _page(reader, asked, limit, offset, backwards=backwards), total


def _page(reader: Reader, asked: _Asked, limit: int, offset: int, *, backwards: bool = False) -> list[Found]:
    falling = asked.wanted.falling
    order = "DESC" if falling is not backwards else "ASC"
    shown = "DESC" if falling else "ASC"
    params = {**asked.params, "limit": limit, "offset": offset}
    each = ""
    if reader.is_postgresql:
        # It merges parts that are in order themselves; else it sorts all their rows.
        each = f"ORDER BY key {order}, seq {order} LIMIT :reach"
        params["reach"] = limit + offset
    return found_by(
        reader,
        f"SELECT t.*, p.* FROM ({_keys(asked, order, each)} LIMIT :limit OFFSET :offset) k "
        "JOIN transactions t ON t.seq = k.seq LEFT JOIN payments p ON p.seq = t.payment_seq "
        f"ORDER BY k.key {shown}, k.seq {shown}",
        params,
    )


def found_by(reader: Reader, sql: str, params: dict[str, Any]) -> list[Found]:
    """Return the transactions that a statement selects as `t.*, p.*`."""
    rows: list[Any] = reader.joined(sql, params, t=Transaction, p=Payment)
    return rows


def _total(reader: Reader, asked: _Asked) -> int:
    wanted = asked.wanted
    narrow = (wanted.since, wanted.until, wanted.phone_number, wanted.search, wanted.branch)
    if narrow == (None,) * len(narrow) and not wanted.unsettled:
        return _kept_total(reader, wanted, asked.params)
    whole = replace(asked, wanted=replace(wanted, sort="newest", after=None))
    return reader.count(f"SELECT COUNT(*) FROM ({_keys(whole, 'DESC')}) keys", asked.params)


def _kept_total(reader: Reader, wanted: TransactionFilter, params: dict[str, Any]) -> int:
    """Add up the stored totals; overdue transactions that are not swept yet move from one status to the other."""
    narrowed = "(CAST(:mode AS TEXT) IS NULL OR mode = :mode) AND (:origin = 'all' OR origin = :origin)"
    counts = {
        row[0]: int(row[1])
        for row in reader.all(
            f"SELECT status, SUM(count) FROM transaction_counts WHERE {narrowed} GROUP BY status",
            {"mode": wanted.mode, "origin": wanted.origin},
        )
    }
    if wanted.status is None and not wanted.ended:
        return sum(counts.values())
    pending = counts.get(TransactionStatus.PENDING, 0)
    total = counts.get(wanted.status, 0) if wanted.status else sum(counts.values()) - pending
    if wanted.ended or wanted.status in (TransactionStatus.PENDING, TransactionStatus.EXPIRED):
        overdue = reader.value(
            "SELECT COUNT(*) FROM transactions WHERE status = 'PENDING' AND expires_at <= :now "
            f"AND merged_into IS NULL AND {narrowed}",
            {"now": params["now"], "mode": wanted.mode, "origin": wanted.origin},
        )
        total += -overdue if wanted.status is TransactionStatus.PENDING else overdue
    return total


def _parameters(wanted: TransactionFilter, search: SeqQuery | RowCondition | None, now: int) -> dict[str, Any]:
    given = {
        "now": now,
        "since": wanted.since,
        "until": wanted.until,
        "phone": wanted.phone_number,
        "branch": wanted.branch,
        **({} if search is None else search.params),
    }
    return {name: value for name, value in given.items() if value is not None}


def _keys(asked: _Asked, order: str, each: str = "") -> str:
    """Return the query of the list's keys, in order: one part for each index range, merged by the database.

    `each` is the order and the limit of each part.
    """
    parts = _parts(asked)
    if each:
        parts = (f"SELECT * FROM ({part} {each}) part" for part in parts)
    return f"{' UNION ALL '.join(parts)} ORDER BY key {order}, seq {order}"


def _place(reader: Reader, wanted: TransactionFilter) -> dict[str, Any] | None:
    """Return the position of the transaction `after` in the list; None if it does not exist."""
    row = reader.one(f"SELECT {_key(wanted)}, t.seq FROM {JOINED} WHERE t.id = :id", {"id": wanted.after})
    return None if row is None else {"after_key": row[0], "after_seq": row[1]}


def _key(wanted: TransactionFilter) -> str:
    """Return the sort key."""
    amount = "COALESCE(t.expected_minor, p.amount_minor, 0)"
    return amount if wanted.by_amount else "t.created_at"


def _parts(asked: _Asked) -> Iterator[str]:
    wanted = asked.wanted
    rest = list(_narrowed(replace(wanted, branch=None)))
    if asked.test is not None:
        rest.append(asked.test.test)
    if wanted.after is not None:
        rest.append(_behind(wanted, _key(wanted), "t.seq"))
    joined = wanted.phone_number is not None or wanted.by_amount or asked.test is not None
    source = JOINED if joined else "transactions t"
    for mode in wanted.modes:
        for origin in wanted.origins:
            for status in _statuses(wanted) if origin == "request" else _of_holders(wanted):
                # Constants, not the caller's text: they select the index range.
                run = (f"t.mode = '{mode}'", f"t.origin = '{origin}'", *status)
                for of_branch in ("TRUE",) if wanted.branch is None else (_COPIES, _MADE_FOR):
                    where = " AND ".join((*run, *rest, of_branch))
                    yield f"SELECT t.seq AS seq, {_key(wanted)} AS key FROM {source} WHERE {where}"


def _behind(wanted: TransactionFilter, key: str, seq: str) -> str:
    """Return the condition of coming after `after`."""
    return f"({key}, {seq}) {'<' if wanted.falling else '>'} (:after_key, :after_seq)"


def _narrowed(wanted: TransactionFilter) -> Iterator[str]:
    """Yield the conditions of each row, except those of the index range, of the search and of `after`."""
    yield "t.merged_into IS NULL"
    if wanted.since is not None:
        yield "t.created_at >= :since"
    if wanted.until is not None:
        yield "t.created_at < :until"
    if wanted.branch is not None:
        yield f"({_COPIES} OR {_MADE_FOR})"
    if wanted.phone_number is not None:
        yield "COALESCE(p.payer_phone, t.phone_number) = :phone"


def _statuses(wanted: TransactionFilter) -> list[list[str]]:
    status = wanted.status
    if wanted.unsettled:
        asked = [[f"t.status = '{one}'", UNSETTLED] for one in _SETTLED if status in {None, one}]
        return asked or [["FALSE"]]  # no other status is short or overpaid
    if status is None:
        overdue = ["t.status = 'PENDING'", "t.expires_at <= :now"]
        return [["t.status <> 'PENDING'"], overdue] if wanted.ended else [[]]
    if status is TransactionStatus.PENDING:
        return [["t.status = 'PENDING'", "t.expires_at > :now"]]
    if status is TransactionStatus.EXPIRED:
        return [["t.status = 'EXPIRED'"], ["t.status = 'PENDING'", "t.expires_at <= :now"]]
    return [[f"t.status = '{status}'"]]


def _of_holders(wanted: TransactionFilter) -> list[list[str]]:
    """Return the conditions of holders; one of a payment is always SUCCESS, and the index of states has none."""
    return [[]] if wanted.status in (None, TransactionStatus.SUCCESS) and not wanted.unsettled else [["FALSE"]]


def by_id(reader: Reader, transaction_id: str, mode: Mode | None) -> Found | None:
    """Return one transaction by its UUID."""
    return _one(reader, "t.id = :id", {"id": transaction_id}, mode)


def by_code(reader: Reader, svc_code: str, mode: Mode | None) -> Found | None:
    """Return the newest transaction that has or had this code."""
    holders = "t.seq IN (SELECT transaction_seq FROM svc_codes WHERE mode IN ('live', 'test') AND code = :code)"
    return _one(reader, holders, {"code": svc_code}, mode)


def by_client_reference(
    reader: Reader, client_reference: str, mode: Mode | None, *, now: int
) -> tuple[Found | None, int]:
    """Return the best transaction with the caller's own reference, and the number of matches.

    Verified ones come first, then open ones, then the newest. Transactions made with a publishable key do not count,
    because publishable keys are public. At a hub its own come before those of branches: two shops may use the same reference.
    """
    where = (
        "t.client_reference = :reference AND t.created_with <> 'publishable' "
        "AND (CAST(:mode AS TEXT) IS NULL OR t.mode = :mode)"
    )
    params = {"reference": client_reference, "mode": mode, "now": now}
    matches = reader.count(f"SELECT COUNT(*) FROM transactions t WHERE {where}", params)
    rows = found_by(
        reader,
        f"SELECT t.*, p.* FROM {JOINED} WHERE {where} "
        "ORDER BY CASE WHEN t.branch_id IS NULL THEN 0 ELSE 1 END, CASE WHEN t.status IN ('SUCCESS', 'PARTIAL', 'OVERPAID') THEN 0 "
        "WHEN t.status = 'MANUAL_REVIEW' OR (t.status = 'PENDING' AND t.expires_at > :now) THEN 1 "
        "ELSE 2 END, t.seq DESC LIMIT 1",
        params,
    )
    return rows[0] if rows else None, matches


def _one(reader: Reader, where: str, params: dict[str, Any], mode: Mode | None) -> Found | None:
    rows = found_by(
        reader,
        f"SELECT t.*, p.* FROM {JOINED} WHERE {where} "
        "AND (CAST(:mode AS TEXT) IS NULL OR t.mode = :mode) ORDER BY t.seq DESC LIMIT 1",
        {**params, "mode": mode},
    )
    return rows[0] if rows else None


def events_with_transactions(reader: Reader, events: Iterable[Event]) -> list[tuple[Event, Found | None]]:
    """Join journal entries with their transactions as they are now."""
    known: dict[str, Found | None] = {}
    joined: list[tuple[Event, Found | None]] = []
    for event in events:
        key = event.transaction_id
        if key is not None and key not in known:
            known[key] = by_id(reader, key, None)
        joined.append((event, None if key is None else known[key]))
    return joined


def unsettled(reader: Reader, mode: Mode) -> dict[tuple[TransactionStatus, str], tuple[int, int]]:
    """Return by status and currency how many transactions count as owed or to give back, and their sum."""
    rows = reader.all(
        "SELECT t.status, t.currency, COUNT(*), SUM(ABS(t.expected_minor - p.amount_minor)) FROM transactions t "
        "CROSS JOIN payments p WHERE p.seq = t.payment_seq AND t.mode = :mode AND t.origin = 'request' "
        f"AND {UNSETTLED} GROUP BY t.status, t.currency",
        {"mode": mode},
    )
    return {(TransactionStatus(row[0]), str(row[1])): (int(row[2]), int(row[3])) for row in rows}


def amounts(reader: Reader, wanted: TransactionFilter, *, now: int, most: int) -> dict[str, int]:
    """Return by currency what was asked for in the transactions that the filter leaves; {} if these are more than `most`."""
    found: dict[str, int] = {}
    if wanted.search is not None:
        rows, total = transactions(reader, wanted, now=now, limit=most, offset=0)
        for transaction, _ in rows if total <= most else ():
            before = found.get(transaction.currency, 0)
            found[transaction.currency] = before + (transaction.expected_minor or 0)
        return found
    whole = _Asked(wanted, None, _parameters(wanted, None, now) | {"most": most + 1})
    rows_ = reader.all(
        "SELECT t.currency, COUNT(*), SUM(t.expected_minor) FROM "
        f"({_keys(whole, 'DESC')} LIMIT :most) k JOIN transactions t ON t.seq = k.seq GROUP BY t.currency",
        whole.params,
    )
    if sum(int(row[1]) for row in rows_) > most:
        return {}
    return {str(row[0]): int(row[2]) for row in rows_}


_MADE: Final = (
    f"SELECT t.*, p.* FROM {JOINED} WHERE t.mode = :mode AND t.origin = 'request' AND t.merged_into IS NULL "
    "AND t.created_with = 'session' AND EXISTS (SELECT 1 FROM events e "
    "WHERE e.transaction_seq = t.seq AND e.type = 'transaction.created' "
    "AND (e.actor = :actor OR CAST(:actor AS TEXT) IS NULL AND e.actor LIKE 'user:%')) "
)


def made_by(reader: Reader, actor: str | None, *, mode: Mode, since: int, limit: int) -> list[Found]:
    """Return the newest transactions that a user made, such as `user:ama`, or with None any user."""
    sql = f"{_MADE} AND t.created_at >= :since ORDER BY t.created_at DESC, t.seq DESC LIMIT :limit"
    return found_by(reader, sql, {"actor": actor, "mode": mode, "since": since, "limit": limit})


def open_of(reader: Reader, actor: str, *, mode: Mode, now: int, limit: int) -> list[Found]:
    """Return the newest transactions of a user that wait for a payment or are being checked."""
    sql = (
        f"{_MADE} AND t.status IN ('PENDING', 'MANUAL_REVIEW') AND (t.status = 'MANUAL_REVIEW' OR t.expires_at > :now) "
        "ORDER BY t.created_at DESC, t.seq DESC LIMIT :limit"
    )
    return found_by(reader, sql, {"actor": actor, "mode": mode, "now": now, "limit": limit})


def paid_of(reader: Reader, actor: str, *, mode: Mode, since: int, limit: int) -> list[Found]:
    """Return the transactions of a user that were paid last."""
    sql = f"{_MADE} AND t.completed_at >= :since ORDER BY t.completed_at DESC, t.seq DESC LIMIT :limit"
    return found_by(reader, sql, {"actor": actor, "mode": mode, "since": since, "limit": limit})
