"""The payments of a time window from the view of one endpoint, in payment order, for a replay."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from daemon.core.model import Delivery, Payment, Transaction
from daemon.core.webhooks import routing
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.replay import ReplayDecision, decide_replay
from daemon.core.webhooks.rule_fields import PaymentFacts
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods
from daemon.store.rows import json_rows
from daemon.store.webhooks import routing as store_routing
from daemon.wire import EventKind

BATCH = 500
"""Rows per query, so that a long window is never in memory as a whole."""


class Window(Struct, frozen=True):
    """The payments to go through.

    Only payments of the endpoint's mode count, by storage or network time in [`since`, `until`), that come after the
    payment `after`.
    """

    endpoint: Endpoint
    since: int
    until: int
    after: int = 0


class Candidate(Struct, frozen=True):
    """A verified payment of the window.

    `delivery` is the endpoint's own of the verification that counts now, None if there is none; `elsewhere` says that another endpoint, deleted or not, has
    received it.
    """

    payment: Payment
    transaction: Transaction
    delivery: Delivery | None
    elsewhere: bool


def _scan(reader: Reader, window: Window, after: int) -> list[tuple[int, bool]]:
    """Return (seq, delivered to this endpoint) of the next verified payments of a window."""
    return [
        (seq, bool(had))
        for seq, had in reader.all(
            "SELECT p.seq, d.delivered_at IS NOT NULL FROM payments p JOIN transactions t ON t.payment_seq = p.seq "
            "LEFT JOIN deliveries d ON d.endpoint_seq = :endpoint AND d.event = :event AND d.subject = p.seq "
            # Of the verification that counts now: one that was taken back had a delivery of its own.
            "AND d.revision = COALESCE((SELECT last + 1 FROM event_revisions r WHERE r.kind = 'decision_taken_back' AND r.subject = p.id), 0) "
            "WHERE p.seq IN (SELECT seq FROM payments WHERE mode = :mode AND stored_at >= :since "
            "AND stored_at < :until UNION SELECT seq FROM payments WHERE mode = :mode "
            "AND telco_at >= :since AND telco_at < :until) "
            # Not rejected, and not a copy of what a branch has sent itself.
            "AND p.seq > :after AND t.rejected = 0 AND t.branch_id IS NULL ORDER BY p.seq LIMIT :limit",
            {
                "endpoint": window.endpoint.seq,
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
    if not seqs:
        return {}
    rows = reader.joined(
        "SELECT p.*, t.*, d.*, "
        "EXISTS (SELECT 1 FROM transactions own JOIN deliveries o ON o.transaction_seq = own.seq "
        "WHERE own.id IN (t.id, t.supersedes) AND o.endpoint_seq <> :endpoint AND o.event = :event AND o.delivered_at IS NOT NULL) "
        "FROM payments p JOIN transactions t ON t.payment_seq = p.seq "
        "LEFT JOIN deliveries d ON d.endpoint_seq = :endpoint AND d.event = :event AND d.subject = p.seq "
        "AND d.revision = COALESCE((SELECT last + 1 FROM event_revisions r WHERE r.kind = 'decision_taken_back' AND r.subject = p.id), 0) "
        "WHERE p.seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs)) "
        "AND t.rejected = 0 AND t.branch_id IS NULL",
        {"endpoint": endpoint.seq, "event": EventKind.FORWARDED, "seqs": json_rows(seqs)},
        p=Payment,
        t=Transaction,
        d=Delivery,
    )
    return {
        payment.seq: Candidate(payment, transaction, delivery, bool(elsewhere))
        for payment, transaction, delivery, elsewhere in rows
    }


def no_longer_sendable(reader: Reader, found: Sequence[Candidate]) -> dict[str, ReplayDecision]:
    """Return the payments that were to be sent when first read but are not now, by id, with the reason.

    A payment that moved from its holder to a transaction meanwhile was forwarded with that transaction.
    """
    if not found:
        return {}
    pairs = [(one.payment.id, one.transaction.id) for one in found]
    rows = reader.all(
        "SELECT value ->> 0, t.id FROM json_each(:pairs) LEFT JOIN payments p ON p.id = value ->> 0 "
        "LEFT JOIN transactions t ON t.id = value ->> 1 AND t.payment_seq = p.seq "
        "WHERE t.id IS NULL OR p.reversed_at IS NOT NULL",
        {"pairs": json_rows(pairs)},
    )
    return {
        payment_id: ReplayDecision.IN_FLIGHT if still_verified is None else ReplayDecision.REVERSED
        for payment_id, still_verified in rows
    }


def fates(
    reader: Reader, window: Window, *, include_failed: bool, include_historical: bool
) -> Iterator[tuple[int, Candidate | None, ReplayDecision]]:
    """Go through a window, oldest first, and yield (seq, payment, its fate in a replay) by the current rules.

    Payments that the endpoint has received already, usually most of a repeated window, are yielded without a candidate.
    """
    receivers = store_routing.receivers(reader, window.endpoint.mode)
    methods = {method.id: method for method in payment_methods.ever(reader)}
    after = window.after
    while True:
        found = _scan(reader, window, after)
        whole = _candidates(reader, window.endpoint, [seq for seq, had in found if not had])
        for seq, _had in found:
            candidate = whole.get(seq)
            if candidate is None:
                yield seq, None, ReplayDecision.DELIVERED
                continue
            payment, method_id = candidate.payment, candidate.payment.payment_method_id
            facts = PaymentFacts(candidate.transaction, payment, None if method_id is None else methods.get(method_id))
            claims = routing.claims(receivers, facts, placed=payment.placed)
            decided = decide_replay(
                payment,
                candidate.delivery,
                claimed=any(claim.endpoint.id == window.endpoint.id for claim in claims),
                include_failed=include_failed,
                include_historical=include_historical,
            )
            yield seq, candidate, decided
        if len(found) < BATCH:
            return
        after = found[-1][0]
