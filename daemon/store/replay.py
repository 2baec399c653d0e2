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


def candidates(reader: Reader, window: Window) -> Iterator[Candidate]:
    """Return the verified payments of a window one by one, oldest first. Rejected ones are none."""
    after = window.after
    while True:
        rows = reader.all(
            f"SELECT {_PAYMENT_P}, {_TRANSACTION_T}, {columns(Delivery, 'd.')}, "
            "EXISTS (SELECT 1 FROM deliveries o WHERE o.transaction_id IN (t.id, t.supersedes) "
            "AND o.endpoint_id <> :endpoint AND o.event = :event AND o.delivered_at IS NOT NULL) "
            "FROM payments p JOIN transactions t ON t.payment_id = p.id "
            "LEFT JOIN deliveries d ON d.endpoint_id = :endpoint AND d.event = :event "
            "AND d.subject = p.id AND d.revision = 0 "
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
        for row in rows:
            found = row[_TO_DELIVERY:-1]
            yield Candidate(
                load(Payment, row[:_TO_TRANSACTION]),
                load(Transaction, row[_TO_TRANSACTION:_TO_DELIVERY]),
                load_optional(Delivery, None if found[0] is None else found),
                bool(row[-1]),
            )
        if len(rows) < BATCH:
            return
        after = rows[-1][0]


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
) -> Iterator[tuple[Candidate, Fate]]:
    """Go through a window and say of each payment what a replay would do with it, by the rules of today."""
    receivers = routings.receivers(reader, window.endpoint.mode)
    methods = {method.id: method for method in payment_methods.ever(reader)}
    for candidate in candidates(reader, window):
        payment, method_id = candidate.payment, candidate.payment.payment_method_id
        facts = PaymentFacts(
            candidate.transaction, payment, None if method_id is None else methods.get(method_id)
        )
        claims = routing.claims(receivers, facts, placed=payment.placed)
        yield (
            candidate,
            fate(
                payment,
                candidate.delivery,
                claimed=any(claim.endpoint.id == window.endpoint.id for claim in claims),
                include_failed=include_failed,
                include_historical=include_historical,
            ),
        )
