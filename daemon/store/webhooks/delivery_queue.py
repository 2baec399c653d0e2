"""The queue of due deliveries: the next delivery of each endpoint, probes, leases."""

import functools
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.model import Delivery
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.fair_queue import is_breaker_open
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, evened, listed, load, load_all, pieces, table, values

_FREE = "{0}.next_attempt_at IS NOT NULL AND ({0}.leased_until IS NULL OR {0}.leased_until <= :now)"
_SENDS = "e.is_active = 1 AND e.deleted_at IS NULL"
_QUEUED: Final = (
    "WITH RECURSIVE queued (seq) AS (SELECT MIN(endpoint_seq) FROM deliveries WHERE next_attempt_at IS NOT NULL "
    "UNION ALL SELECT (SELECT MIN(endpoint_seq) FROM deliveries WHERE next_attempt_at IS NOT NULL "
    "AND endpoint_seq > queued.seq) FROM queued WHERE queued.seq IS NOT NULL) "
)
"""The endpoints with pending deliveries: one index look-up for each, however long their queues are."""


class Queue(Struct, frozen=True):
    """An endpoint with pending deliveries, and its first one of one kind (live or bulk resend).

    Attributes:
        failures: Its consecutive failures that counted.
        link_failures: Its failures caused by our own link.
        last_failure_at: Of either kind.
        backlog_seq: Deliveries up to this one are backlog: they waited for the end of an outage or a pause.
        flushing: Its retries are being rescheduled (`backlog.begin_release`), and wait until all are.
        bulk: The kind; None if everything is being sent already, then `next_at` and `seq` are None too.
    """

    endpoint_id: str
    endpoint_seq: int
    url: str
    failures: int
    link_failures: int
    last_failure_at: int | None
    updated_at: int
    backlog_seq: int
    flushing: bool
    bulk: bool | None
    next_at: int | None
    seq: int | None

    @property
    def is_behind(self) -> bool:
        """Return whether its first delivery goes behind live ones; only for a queue that has a first."""
        assert self.seq is not None
        return bool(self.bulk) or self.seq <= self.backlog_seq

    @property
    def is_out(self) -> bool:
        """Return whether the endpoint is down, so that all its other deliveries wait behind a probe."""
        return is_breaker_open(self.failures, self.link_failures)

    @property
    def place(self) -> tuple[int, int]:
        """Return the sort key by due time; only for a queue that has a first."""
        assert self.next_at is not None
        assert self.seq is not None
        return self.next_at, self.seq


def queues(reader: Reader, now: int, endpoint_id: str | None = None) -> list[Queue]:
    """Return the first waiting delivery of each active endpoint, live and bulk.

    The endpoints come from the index of pending deliveries, so endpoints without any, and long queues of endpoints that
    are down or paused, cost nothing. Deliveries with a lease beyond `now` are left out. With `endpoint_id` only this
    endpoint is read.
    """
    found: dict[tuple[str, bool | None], Queue] = {}
    for row in reader.all(_queues(endpoint_id is None), {"now": now, "id": endpoint_id}):
        queue = load(Queue, row)
        other = found.setdefault((queue.endpoint_id, queue.bulk), queue)
        # First attempts and retries of the same kind: take the one due first.
        if queue.bulk is not None and queue.place < other.place:
            found[queue.endpoint_id, queue.bulk] = queue
    return list(found.values())


@functools.cache
def _queues(of_all: bool) -> str:  # noqa: FBT001 -- the two statements of `queues`
    first = (
        "(SELECT w.seq FROM deliveries w WHERE w.endpoint_seq = e.seq AND w.bulk = {bulk} AND w.status = '{status}' "
        f"AND {_FREE.format('w')} {{more}} ORDER BY w.next_attempt_at, w.seq LIMIT 1)"
    )
    firsts = ", ".join(
        first.format(bulk=bulk, status=status, more=more)
        for bulk in (0, 1)
        for status, more in (("pending", ""), ("retrying", "AND f.endpoint_id IS NULL"))
    )
    which = "e.seq IN (SELECT seq FROM queued)" if of_all else "e.id = :id"
    return (
        f"{_QUEUED}SELECT e.id, e.seq, e.url, e.consecutive_failures, e.link_failures, e.last_failure_at, "
        "e.updated_at, e.backlog_seq, f.endpoint_id IS NOT NULL, d.bulk, d.next_attempt_at, d.seq "
        f"FROM endpoints e LEFT JOIN flushes f ON f.endpoint_id = e.id "
        f"LEFT JOIN deliveries d ON d.seq IN ({firsts}) WHERE {_SENDS} AND {which}"
    )


def endpoints(reader: Reader, ids: Collection[str]) -> list[Endpoint]:
    """Return endpoints by id, of any kind."""
    rows = reader.all(
        f"SELECT {columns(Endpoint)} FROM endpoints WHERE id IN ({listed(ids)})", [*ids]
    )
    return load_all(Endpoint, rows)


class Wanted(Struct, frozen=True):
    """How many due deliveries of one kind to lease for one endpoint."""

    endpoint_id: str
    bulk: bool
    limit: int


def lease_due(tx: Tx, wanted: Sequence[Wanted], *, now: int, until: int) -> list[Delivery]:
    """Lease due deliveries, the oldest of each requested endpoint and kind.

    Each endpoint and kind is wanted once. The leases end at `until`, so that a crash releases the rows.

    Returns:
        Each delivery as it is now, oldest first.
    """
    if not wanted:
        return []
    params: dict[str, Any] = {"now": now, "until": until}
    for place, one in enumerate(wanted):
        params |= {
            f"id{place}": one.endpoint_id,
            f"bulk{place}": one.bulk,
            f"limit{place}": one.limit,
        }
    return _lease(tx, _due(len(wanted)), params)


@functools.lru_cache(maxsize=64)
def _due(count: int) -> str:
    due = (
        "SELECT w.seq, w.next_attempt_at FROM deliveries w WHERE w.endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id{place}) AND w.bulk = :bulk{place} "
        f"AND w.status = '{{status}}' AND {_FREE.format('w')} AND w.next_attempt_at <= :now"
    )
    settled = "AND NOT EXISTS (SELECT 1 FROM flushes f WHERE f.endpoint_id = :id{place})"
    # One statement for all: after each statement another thread may run, and the writer waits for its next turn. First
    # attempts and retries are merged in index order, so a long queue is neither scanned nor sorted.
    return " UNION ALL ".join(
        f"SELECT seq FROM ({due.format(place=place, status='pending')} "
        f"UNION ALL {due.format(place=place, status='retrying')} {settled.format(place=place)} "
        f"ORDER BY next_attempt_at, seq LIMIT :limit{place}) part"
        for place in range(count)
    )


def lease_probe(tx: Tx, endpoint_id: str, *, now: int, until: int) -> Delivery | None:
    """Lease the half-open probe of an endpoint that is down; None if no delivery is due."""
    seq = probe(tx, endpoint_id, now)
    if seq is None:
        return None
    (leased,) = _lease(tx, ":seq", {"seq": seq, "until": until})
    return leased


def _lease(tx: Tx, which: str, params: dict[str, Any]) -> list[Delivery]:
    rows = tx.all(
        f"UPDATE deliveries SET leased_until = :until, waiting = NULL WHERE seq IN ({which}) "
        f"RETURNING {columns(Delivery)}",
        params,
    )
    return sorted(load_all(Delivery, rows), key=lambda one: (one.next_attempt_at, one.seq))


def extend_leases(tx: Tx, seqs: Sequence[int], until: int) -> None:
    """Move the end of leases; a delivery that has none gets none."""
    members = evened(seqs)
    tx.run(
        "UPDATE deliveries SET leased_until = ? WHERE leased_until IS NOT NULL "
        f"AND seq IN ({listed(members)})",
        [until, *members],
    )


def begin(tx: Tx, leased: Sequence[Delivery], now: int) -> list[int]:
    """Record the start of an attempt for each leased delivery; return its number within its run."""
    if not leased:
        return []
    last = _numbers(tx, leased)
    numbers = [last[delivery.seq, delivery.run] + 1 for delivery in leased]
    begun = [
        (delivery.seq, delivery.run, number, now)
        for delivery, number in zip(leased, numbers, strict=True)
    ]
    for piece in pieces(begun):
        tx.run(
            f"INSERT INTO attempts (delivery_seq, run, number, started_at) VALUES {table(piece)}",
            values(piece),
        )
    return numbers


def probe(reader: Reader, endpoint_id: str, now: int) -> int | None:
    """Return the delivery that serves as half-open probe: of those due, the one attempted least recently.

    None if none is due. Deliveries without an attempt come first, live before bulk, oldest first. Each query is an
    index look-up, however long the queue is.
    """
    due = f"d.endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND {_FREE.format('d')} AND d.next_attempt_at <= :now"
    params = {"id": endpoint_id, "now": now}
    for bulk in (0, 1):
        seq = reader.value(
            f"SELECT d.seq FROM deliveries d WHERE {due} AND d.bulk = {bulk} AND d.status = 'pending' "
            "AND d.tried IS NULL ORDER BY d.next_attempt_at, d.seq LIMIT 1",
            params,
        )
        if seq is not None:
            return int(seq)
    for which in (
        "AND d.tried IS NOT NULL ORDER BY d.tried, d.next_attempt_at, d.seq LIMIT 1",
        # A retry without attempts, because those were pruned. Without a probe the endpoint would stay down for ever.
        "LIMIT 1",
    ):
        seq = reader.value(f"SELECT d.seq FROM deliveries d WHERE {due} {which}", params)
        if seq is not None:
            return int(seq)
    return None


def addresses(reader: Reader) -> list[str]:
    """Return the URLs of endpoints that may be called: the shop's own, and implicit ones with pending deliveries."""
    return [
        str(row[0])
        for row in reader.all(
            f"SELECT DISTINCT e.url FROM endpoints e WHERE {_SENDS} AND (e.kind = 'endpoint' OR EXISTS "
            "(SELECT 1 FROM deliveries d WHERE d.endpoint_seq = e.seq AND d.next_attempt_at IS NOT NULL))"
        )
    ]


def _numbers(reader: Reader, found: Sequence[Delivery]) -> Counter[tuple[int, int]]:
    # Not within RETURNING: SQLite 3.40 would scan the whole attempts table there.
    seqs = evened([delivery.seq for delivery in found])
    last: Counter[tuple[int, int]] = Counter()
    for seq, run, number in reader.all(
        f"SELECT delivery_seq, run, number FROM attempts WHERE delivery_seq IN ({listed(seqs)})",
        seqs,
    ):
        last[seq, run] = max(last[seq, run], number)
    return last
