"""The list of payments for a person: newest first or by amount, filtered and searched, page after page without a count."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from daemon.core.model import Payment, Transaction
from daemon.store.engine import UNCOUNTED, Reader
from daemon.store.payments import search_index
from daemon.store.payments.search_index import WORDS_MAX, amount_of
from daemon.store.rows import Conditions
from daemon.wire import Mode, TransactionStatus
from parsers.reading import normalize_telco_id

STATES: Final = {
    "paid": "t.origin = 'request' AND t.status = 'SUCCESS' AND p.reversed_at IS NULL",
    "short": "t.origin = 'request' AND t.status = 'PARTIAL' AND p.reversed_at IS NULL",
    "over": "t.origin = 'request' AND t.status = 'OVERPAID' AND p.reversed_at IS NULL",
    "settled": "(t.settled_at IS NOT NULL OR t.settles IS NOT NULL) AND p.reversed_at IS NULL",
    "unmatched": "p.standing = 'open' AND p.reversed_at IS NULL",
    "review": "p.standing = 'review'",
    "handed": "p.standing = 'handed' AND p.reversed_at IS NULL",
    "reversed": "p.reversed_at IS NOT NULL",
    "unplaced": "p.payment_method_seq IS NULL",
}
SORTS: Final = {
    "newest": ("p.stored_at", "DESC"),
    "oldest": ("p.stored_at", "ASC"),
    "largest": ("p.amount_minor", "DESC"),
    "smallest": ("p.amount_minor", "ASC"),
}
_OUTCOMES: Final = {
    TransactionStatus.SUCCESS: "paid",
    TransactionStatus.PARTIAL: "short",
    TransactionStatus.OVERPAID: "over",
}
_LIST: Final = (
    # Doubted as on the day sheet: only the hub of this branch had it.
    "SELECT p.*, t.*, CASE WHEN b.seq IS NULL AND p.branch_id IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM sms_parts s WHERE s.message_seq = p.message_seq) "
    "AND NOT EXISTS (SELECT 1 FROM reconciliations r WHERE r.payment_id = p.id) THEN 'doubtful' ELSE b.standing END, "
    "pm.phone_number FROM payments p LEFT JOIN line_balances b ON b.message_seq = p.message_seq "
    "LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq "
    "LEFT JOIN transactions t ON t.payment_seq = p.seq"
)
_NAMED: Final = (
    # Each part has an index.
    "p.seq IN (SELECT seq FROM payments WHERE telco_transaction_id = :telco_id AND double_of IS NULL "
    "UNION ALL SELECT seq FROM payments WHERE telco_transaction_id = :telco_id AND double_of IS NOT NULL)"
)


class PaymentFilter(Struct, frozen=True):
    """The filters of the list; None filters nothing.

    Attributes:
        mode: Live or test.
        state: A key of `STATES`.
        since: First time of storage, microseconds.
        until: End of the time of storage, excluded.
        search: A network ID, else an amount, else words in any order within a payer's name, number, network ID or what the
            payer typed.
        sort: A key of `SORTS`.
        after: Id of the payment after which the page starts.
        branch: At a hub, the name of a branch.
        payer_phone: The payer's number, E.164: the receipt's, or that of the order where the receipt has none.
        orders_since: Orders of that number are looked for from this time on; there is no index of them.
    """

    mode: Mode = Mode.LIVE
    state: str | None = None
    since: int | None = None
    until: int | None = None
    search: str | None = None
    sort: str = "newest"
    after: str | None = None
    branch: str | None = None
    payer_phone: str | None = None
    orders_since: int = 0


class Listed(Struct, frozen=True):
    """One payment with its transaction, whether its balance or its branch is in doubt, and the number that received it."""

    payment: Payment
    transaction: Transaction | None
    doubted: bool
    phone_number: str | None

    @property
    def state(self) -> str:
        """Its outcome, in one word for lists: paid, short, over, settled, unmatched, handed, review or reversed."""
        if self.payment.reversed_at is not None:
            return "reversed"
        if self.payment.standing == "review" or self.doubted:
            return "review"
        if self.payment.standing == "handed":
            return "handed"
        if self.transaction is not None and self.transaction.in_settlement:
            return "settled"
        if self.transaction is not None and self.transaction.origin == "request":
            return _OUTCOMES.get(self.transaction.status, "unmatched")
        return "unmatched"


def listed(reader: Reader, wanted: PaymentFilter, *, limit: int) -> tuple[list[Listed], bool]:
    """Return one page, and whether more payments follow."""
    key, order = SORTS[wanted.sort]
    behind = Conditions()
    if wanted.after is not None:
        place = reader.one("SELECT stored_at, amount_minor, seq FROM payments WHERE id = :id", {"id": wanted.after})
        if place is None:
            return [], False
        # Compared as a pair, the index finds the place; compared with OR, every row before it is read.
        behind.always(f"({key}, p.seq) {'<' if order == 'DESC' else '>'} (:place, :place_seq)")
        stored_at, amount, seq = place
        behind.params = {"place": stored_at if key == "p.stored_at" else amount, "place_seq": seq}
    for conditions in _ways(reader, wanted.search):
        _narrow(conditions, wanted)
        found = reader.page(
            _LIST, conditions, order=f"{key} {order}, p.seq {order}", limit=limit, behind=behind, total=UNCOUNTED,
            p=Payment, t=Transaction,
        )  # fmt: skip
        if found.rows:
            return [_listed(row) for row in found.rows], found.last is not None
    return [], False


def totals(reader: Reader, wanted: PaymentFilter, *, most: int) -> dict[str, tuple[int, int]]:
    """Return by currency how many payments the filter leaves, and their sum; at most `most` payments are counted."""
    for conditions in _ways(reader, wanted.search):
        _narrow(conditions, wanted)
        rows = reader.all(
            "SELECT found.currency, COUNT(*), SUM(found.amount_minor) FROM (SELECT p.currency, p.amount_minor FROM payments p "
            "LEFT JOIN line_balances b ON b.message_seq = p.message_seq "
            "LEFT JOIN payment_methods pm ON pm.seq = p.payment_method_seq "
            "LEFT JOIN transactions t ON t.payment_seq = p.seq "
            f"WHERE {conditions.where} LIMIT :most) found GROUP BY found.currency",
            {**conditions.params, "most": most},
        )
        if rows:
            return {str(currency): (int(count), int(minor)) for currency, count, minor in rows}
    return {}


def _ways(reader: Reader, text: str | None) -> Iterator[Conditions]:
    """Yield the ways to search for a text, to be tried in turn until one has results; one that finds all without a text."""
    if not text:
        yield Conditions()
        return
    exact, of_amount = Conditions(), Conditions()
    exact.by(_NAMED, telco_id=normalize_telco_id(text))
    yield exact
    of_amount.by("p.amount_minor = :minor", minor=amount_of(text))
    if of_amount.params:
        yield of_amount
    # Within a row, with the index of trigrams if the text is long enough for it.
    within, words = Conditions(), text.split()[:WORDS_MAX]
    for place, word in enumerate(words):
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        held_by = [name for name in search_index.OF_PAYMENT if search_index.may_hold(name, word)]
        tests = [f"p.{name} LIKE :text{place} ESCAPE '\\'" for name in held_by]
        within.by(f"({' OR '.join(tests)})", **{f"text{place}": f"%{escaped}%"})
    match = None if reader.is_postgresql else search_index.match(words, None)
    if match is not None:
        within.params["match"] = match
        last = search_index.indexed(reader).payment_seq
        within.by(f"(p.seq > :last OR p.seq IN ({search_index.PAYMENTS}))", last=last)
    yield within


def one(reader: Reader, payment_id: str) -> Listed | None:
    """Return one payment; None if there is none with this id."""
    of_one = Conditions()
    of_one.by("p.id = :id", id=payment_id)
    found = reader.page(_LIST, of_one, order="p.seq", limit=1, total=UNCOUNTED, p=Payment, t=Transaction)
    return _listed(found.rows[0]) if found.rows else None


def _narrow(conditions: Conditions, wanted: PaymentFilter) -> None:
    if wanted.payer_phone is None:
        conditions.by("p.mode = :mode", mode=wanted.mode)
    else:
        # The cast hides the index of the mode: the few payments of one number are read, not all of a mode.
        conditions.by(
            "p.seq IN (SELECT y.seq FROM payments y WHERE y.payer_phone = :payer_phone "
            "UNION ALL SELECT y.seq FROM transactions x JOIN payments y ON y.seq = x.payment_seq AND y.payer_phone IS NULL "
            "WHERE x.mode = :mode AND x.origin = 'request' AND x.merged_into IS NULL AND x.created_at >= :orders_since "
            "AND x.phone_number = :payer_phone) AND CAST(p.mode AS TEXT) = :mode",
            payer_phone=wanted.payer_phone,
        )
        conditions.params |= {"orders_since": wanted.orders_since, "mode": wanted.mode}
    conditions.by("p.stored_at >= :since", since=wanted.since)
    conditions.by("p.stored_at < :until", until=wanted.until)
    conditions.by("p.branch_id = (SELECT id FROM branches WHERE name = :branch)", branch=wanted.branch)
    if wanted.state is not None:
        conditions.always(STATES[wanted.state])


def _listed(row: tuple[Any, ...]) -> Listed:
    payment, transaction, standing, number = row
    return Listed(payment, transaction, standing == "doubtful" or payment.is_distrusted, number)
