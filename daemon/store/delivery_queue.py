"""What is due to whom: which delivery goes out next, behind which probe, and what an outage's end brings forward."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.model import Delivery, Endpoint
from daemon.core.probing import FLUSH_GAP_US, is_out
from daemon.store.deliveries import TOPIC
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_all, table, values

_FREE = "{0}.next_attempt_at IS NOT NULL AND ({0}.leased_until IS NULL OR {0}.leased_until <= :now)"
_SENDS = "e.is_active = 1 AND e.deleted_at IS NULL"
_OWED: Final = (
    "WITH RECURSIVE owed (id) AS (SELECT MIN(endpoint_id) FROM deliveries WHERE next_attempt_at IS NOT NULL "
    "UNION ALL SELECT (SELECT MIN(endpoint_id) FROM deliveries WHERE next_attempt_at IS NOT NULL "
    "AND endpoint_id > owed.id) FROM owed WHERE owed.id IS NOT NULL) "
)
"""The endpoints that are owed something: one look into the index for each, however long their queues are."""


@dataclass(frozen=True, slots=True)
class Queue:
    """An endpoint that is owed something, and what of one kind (live, or sent again in bulk) it is sent first.

    Attributes:
        endpoint_id: Whose.
        endpoint_seq: Its place among the endpoints.
        url: Where it is sent.
        failures: Its consecutive failures that counted.
        link_failures: Those of our own link.
        last_failure_at: Of either kind.
        updated_at: When its owner last changed it.
        bulk: Which kind; None when everything is being sent already, then the following are None too.
        next_at: When its first is due.
        seq: Its first.
    """

    endpoint_id: str
    endpoint_seq: int
    url: str
    failures: int
    link_failures: int
    last_failure_at: int | None
    updated_at: int
    bulk: bool | None
    next_at: int | None
    seq: int | None

    @property
    def is_out(self) -> bool:
        """Everything else of it waits behind a probe."""
        return is_out(self.failures, self.link_failures)

    @property
    def place(self) -> tuple[int, int]:
        """Who is due first; only of a queue that has a first."""
        assert self.next_at is not None
        assert self.seq is not None
        return self.next_at, self.seq


def queues(reader: Reader, now: int, endpoint_id: str | None = None) -> list[Queue]:
    """Return what waits for each active endpoint, live and in bulk: one look at each one's own first.

    It goes from endpoint to endpoint through the index of what is owed, so neither endpoints that are owed nothing
    nor a long queue of one that is down or paused cost anything.

    Args:
        reader: The view.
        now: Our time; what is leased beyond it is left out.
        endpoint_id: Only of this one.
    """
    first = (
        "(SELECT w.seq FROM deliveries w WHERE w.endpoint_id = e.id AND w.bulk = {0} "
        f"AND {_FREE.format('w')} ORDER BY w.next_attempt_at, w.seq LIMIT 1)"
    )
    one = "SELECT :id AS id" if endpoint_id is not None else "SELECT id FROM owed"
    rows = reader.all(
        f"{_OWED}SELECT e.id, e.seq, e.url, e.consecutive_failures, e.link_failures, e.last_failure_at, "
        "e.updated_at, d.bulk, d.next_attempt_at, d.seq "
        f"FROM endpoints e LEFT JOIN deliveries d ON d.seq IN ({first.format(0)}, {first.format(1)}) "
        f"WHERE {_SENDS} AND e.id IN ({one})",
        {"now": now, "id": endpoint_id},
    )
    return [load(Queue, row) for row in rows]


def endpoint(reader: Reader, endpoint_id: str) -> Endpoint:
    """Return an endpoint that is owed something, of whatever kind it is."""
    row = reader.one(
        f"SELECT {columns(Endpoint)} FROM endpoints WHERE id = :id", {"id": endpoint_id}
    )
    assert row is not None, "a delivery refers to it"
    return load(Endpoint, row)


def lease_due(
    tx: Tx, endpoint_id: str, *, bulk: bool, limit: int, now: int, until: int
) -> list[tuple[Delivery, int]]:
    """Keep for ourselves what is due to an endpoint, oldest first, and record that attempts begin.

    Args:
        tx: The transaction.
        endpoint_id: Whose.
        bulk: Of which kind.
        limit: How many at most.
        now: Our time.
        until: When the leases end, so that a crash gives the rows back.

    Returns:
        Each delivery as it is now, and the number of the attempt within its run.
    """
    return _lease(
        tx,
        "SELECT w.seq FROM deliveries w WHERE w.endpoint_id = :id AND w.bulk = :bulk "
        f"AND {_FREE.format('w')} AND w.next_attempt_at <= :now "
        "ORDER BY w.next_attempt_at, w.seq LIMIT :limit",
        {"id": endpoint_id, "bulk": bulk, "limit": limit, "now": now, "until": until},
    )


def lease_probe(tx: Tx, endpoint_id: str, *, now: int, until: int) -> tuple[Delivery, int] | None:
    """Lease what an endpoint that is out is tried with; None when nothing of it is due."""
    seq = probe(tx, endpoint_id, now)
    if seq is None:
        return None
    (leased,) = _lease(tx, ":seq", {"seq": seq, "now": now, "until": until})
    return leased


def _lease(tx: Tx, which: str, params: dict[str, Any]) -> list[tuple[Delivery, int]]:
    rows = tx.all(
        f"UPDATE deliveries SET leased_until = :until, waiting = NULL WHERE seq IN ({which}) "
        f"RETURNING {columns(Delivery)}",
        params,
    )
    found = sorted(load_all(Delivery, rows), key=lambda one: (one.next_attempt_at, one.seq))
    numbers = _numbers(tx, found)
    leased = [(delivery, numbers[delivery.id, delivery.run] + 1) for delivery in found]
    begun = [(delivery.id, delivery.run, number, params["now"]) for delivery, number in leased]
    if begun:
        tx.run(
            "INSERT INTO attempts (delivery_id, run, number, started_at) VALUES " + table(begun),
            values(begun),
        )
    return leased


def probe(reader: Reader, endpoint_id: str, now: int) -> int | None:
    """Return what an endpoint that is out is tried with: of what is due, the one attempted least recently.

    None when nothing of it is due. What was never attempted comes first, oldest first; a long queue of such is not
    gone through.
    """
    due = f"d.endpoint_id = :id AND {_FREE.format('d')} AND d.next_attempt_at <= :now"
    tried = "FROM attempts a WHERE a.delivery_id = d.id AND a.run = d.run"
    params = {"id": endpoint_id, "now": now}
    for bulk in (0, 1):
        seq = reader.value(
            f"SELECT d.seq FROM deliveries d WHERE {due} AND d.bulk = {bulk} AND d.status = 'pending' "
            f"AND NOT EXISTS (SELECT 1 {tried}) ORDER BY d.next_attempt_at, d.seq LIMIT 1",
            params,
        )
        if seq is not None:
            return int(seq)
    seq = reader.value(
        f"SELECT d.seq FROM deliveries d WHERE {due} ORDER BY (SELECT MAX(a.seq) {tried}), d.seq LIMIT 1",
        params,
    )
    return None if seq is None else int(seq)


def flush(tx: Tx, endpoint_id: str, now: int) -> None:
    """Make everything that waits for an endpoint due now, oldest first.

    Retries go 5 a second; one that is brought forward is extra: if it fails it has used up no step of its schedule.
    First attempts are not paced; most of them are due already, and are not written.
    """
    waits = "endpoint_id = :id AND next_attempt_at IS NOT NULL AND leased_until IS NULL"
    params = {"id": endpoint_id, "now": now}
    tx.run(
        # The time it was made, and not this moment, keeps them in the order of their making.
        "UPDATE deliveries SET next_attempt_at = CASE WHEN created_at < :now THEN created_at ELSE :now END "
        f"WHERE {waits} AND next_attempt_at > :now AND status = 'pending'",
        params,
    )
    tx.run(
        "UPDATE deliveries SET next_attempt_at = :now + paced.place * :gap, "
        "extra = CASE WHEN next_attempt_at > :now THEN 1 ELSE extra END "
        "FROM (SELECT seq, ROW_NUMBER() OVER (ORDER BY seq) - 1 AS place FROM deliveries "
        f"WHERE {waits} AND status = 'retrying') AS paced WHERE deliveries.seq = paced.seq",
        {**params, "gap": FLUSH_GAP_US},
    )
    tx.wake(TOPIC)


def link_returned(tx: Tx, now: int) -> int:
    """Our own link is back: what it held up at any endpoint is due now; returns at how many endpoints."""
    rows = tx.all("SELECT id FROM endpoints WHERE link_failures > 0")
    for (endpoint_id,) in rows:
        flush(tx, endpoint_id, now)
    tx.run("UPDATE endpoints SET link_failures = 0 WHERE link_failures > 0")
    tx.wake(TOPIC)
    return len(rows)


def addresses(reader: Reader) -> list[str]:
    """Return the URLs of the endpoints that could answer: the shop's own, and implicit ones that are owed something."""
    return [
        str(row[0])
        for row in reader.all(
            f"SELECT DISTINCT e.url FROM endpoints e WHERE {_SENDS} AND (e.kind = 'endpoint' OR EXISTS "
            "(SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id AND d.next_attempt_at IS NOT NULL))"
        )
    ]


def _numbers(reader: Reader, found: Sequence[Delivery]) -> Counter[tuple[str, int]]:
    """Return the number of the last attempt by delivery and run."""
    # Not within RETURNING: SQLite 3.40 goes through the whole table of attempts there.
    ids = {f"id{index}": delivery.id for index, delivery in enumerate(found)}
    last: Counter[tuple[str, int]] = Counter()
    for delivery_id, run, number in reader.all(
        "SELECT delivery_id, run, number FROM attempts "
        f"WHERE delivery_id IN ({', '.join(f':{name}' for name in ids)})",
        ids,
    ):
        last[delivery_id, run] = max(last[delivery_id, run], number)
    return last
