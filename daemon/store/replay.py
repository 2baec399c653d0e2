"""The payments of a window as one endpoint has them: what a replay goes through, in payment order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from daemon.core import routing
from daemon.core.model import Delivery, Endpoint, Payment, Transaction
from daemon.core.replay import Fate, fate
from daemon.core.rule_fields import PaymentFacts
from daemon.store import payment_methods, routings
from daemon.store.engine import Reader
from daemon.store.rows import columns, load, load_optional, table, values
from daemon.wire import EventKind

BATCH = 500
"""Rows of one look, so that a long window is never in memory whole."""

_PAYMENT_P = columns(Payment, "p.")
_TRANSACTION_T = columns(Transaction, "t.")
_TO_TRANSACTION = len(_PAYMENT_P.split(", "))
_TO_DELIVERY = _TO_TRANSACTION + len(_TRANSACTION_T.split(", "))


@dataclass(frozen=True, slots=True)
class Window:
    """Which payments are gone through.

    Attributes:
        endpoint: Who should have them; only payments of its mode count.
        since: First storage or network time, in microseconds.
        until: First one that is too late.
        after: Only payments that come after this one in payment order.
    """

    endpoint: Endpoint
    since: int
    until: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A verified payment of the window.

    Attributes:
        delivery: What its endpoint was owed of it; None when nothing was.
        elsewhere: Another endpoint, now deleted or not, has had it.
    """

    payment: Payment
    transaction: Transaction
    delivery: Delivery | None
    elsewhere: bool


_WINDOW = (
    "FROM payments p JOIN transactions t ON t.payment_id = p.id "
    "LEFT JOIN deliveries d ON d.endpoint_id = :endpoint AND d.event = :event "
    "AND d.subject = p.id AND d.revision = 0 "
)


def _looked_at(reader: Reader, window: Window, after: int) -> list[tuple[int, bool]]:
    """Return the next verified payments of a window, by seq, and whether the endpoint has had each. Rejected ones are none."""
    return [
        (seq, bool(had))
        for seq, had in reader.all(
            f"SELECT p.seq, d.delivered_at IS NOT NULL {_WINDOW}"
            "WHERE p.seq IN (SELECT seq FROM payments WHERE mode = :mode AND stored_at >= :since "
            "AND stored_at < :until UNION SELECT seq FROM payments WHERE mode = :mode "
            "AND telco_at >= :since AND telco_at < :until) "
            "AND p.seq > :after AND t.rejected = 0 ORDER BY p.seq LIMIT :limit",
            {
                "endpoint": window.endpoint.id,
                "event": EventKind.FORWARDED,
                "mode": window.endpoint.mode,
                "since": window.since,
                "until": window.until,
                "after": after,
                "limit": BATCH,
            },
        )
    ]


def _candidates(reader: Reader, endpoint: Endpoint, seqs: Sequence[int]) -> dict[int, Candidate]:
    """Return payments whole, by seq."""
    if not seqs:
        return {}
    rows = reader.all(
        f"SELECT {_PAYMENT_P}, {_TRANSACTION_T}, {columns(Delivery, 'd.')}, "
        "EXISTS (SELECT 1 FROM deliveries o WHERE o.transaction_id IN (t.id, t.supersedes) "
        "AND o.endpoint_id <> :endpoint AND o.event = :event AND o.delivered_at IS NOT NULL) "
        # The numbers are our own, and SQLite finds the name of each place by going through those before it.
        f"{_WINDOW}WHERE p.seq IN ({', '.join(map(str, seqs))}) AND t.rejected = 0",
        {"endpoint": endpoint.id, "event": EventKind.FORWARDED},
    )
    return {
        row[0]: Candidate(
            load(Payment, row[:_TO_TRANSACTION]),
            load(Transaction, row[_TO_TRANSACTION:_TO_DELIVERY]),
            load_optional(Delivery, None if row[_TO_DELIVERY] is None else row[_TO_DELIVERY:-1]),
            bool(row[-1]),
        )
        for row in rows
    }


def gone_since(reader: Reader, found: Sequence[Candidate]) -> dict[str, Fate]:
    """Say which payments that were to be sent when we looked are not to be sent now, by their ids, and why.

    One that has moved from its holder to a request meanwhile was forwarded with the request.
    """
    if not found:
        return {}
    pairs = [(one.payment.id, one.transaction.id) for one in found]
    rows = reader.all(
        f"WITH looked_at (payment_id, transaction_id) AS (VALUES {table(pairs)}) "
        "SELECT l.payment_id, t.id FROM looked_at l LEFT JOIN payments p ON p.id = l.payment_id "
        "LEFT JOIN transactions t ON t.id = l.transaction_id AND t.payment_id = p.id "
        "WHERE t.id IS NULL OR p.reversed_at IS NOT NULL",
        values(pairs),
    )
    return {
        payment_id: Fate.IN_FLIGHT if still_verified is None else Fate.REVERSED
        for payment_id, still_verified in rows
    }


def fates(
    reader: Reader, window: Window, *, include_failed: bool, include_historical: bool
) -> Iterator[tuple[int, Candidate | None, Fate]]:
    """Go through a window, oldest first, and say of each payment what a replay would do with it, by the rules of today.

    What the endpoint has had already, which is most of a window that is replayed again, is only counted: of that there
    is the seq and no candidate.
    """
    receivers = routings.receivers(reader, window.endpoint.mode)
    methods = {method.id: method for method in payment_methods.ever(reader)}
    after = window.after
    while True:
        found = _looked_at(reader, window, after)
        whole = _candidates(reader, window.endpoint, [seq for seq, had in found if not had])
        for seq, _had in found:
            candidate = whole.get(seq)
            if candidate is None:
                yield seq, None, Fate.DELIVERED
                continue
            payment, method_id = candidate.payment, candidate.payment.payment_method_id
            facts = PaymentFacts(
                candidate.transaction,
                payment,
                None if method_id is None else methods.get(method_id),
            )
            claims = routing.claims(receivers, facts, placed=payment.placed)
            what = fate(
                payment,
                candidate.delivery,
                claimed=any(claim.endpoint.id == window.endpoint.id for claim in claims),
                include_failed=include_failed,
                include_historical=include_historical,
            )
            yield seq, candidate, what
        if len(found) < BATCH:
            return
        after = found[-1][0]
