"""What is due to whom: which delivery goes out next, behind which probe, and what an outage's end brings forward."""

from typing import Any, Final

from daemon.core.delivery import STREAK_MIN
from daemon.core.model import Delivery, Endpoint
from daemon.core.probing import FLUSH_GAP_US
from daemon.store.deliveries import TOPIC
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load

_DELIVERY_D = columns(Delivery, "d.")
_ENDPOINT_E = columns(Endpoint, "e.")
_WIDTH: Final = len(_DELIVERY_D.split(", "))
_FREE = "{0}.next_attempt_at IS NOT NULL AND ({0}.leased_until IS NULL OR {0}.leased_until <= :now)"
_SENDS = "e.is_active = 1 AND e.deleted_at IS NULL"
_OUT = f"(e.consecutive_failures >= {STREAK_MIN} OR e.link_failures >= {STREAK_MIN})"
"""As `core.probing.is_out`."""

Waiting = tuple[Delivery, Endpoint]


def first_waiting(
    reader: Reader, *, now: int, full: tuple[str, ...], bulk_full: tuple[str, ...] | None = ()
) -> Waiting | None:
    """Return the delivery that is due first, now or later, of active endpoints that answer; None when none waits.

    Of those that are due now, what is live comes before what is sent again in bulk. One look at each endpoint's own
    first of either, so a long queue of an endpoint that is down or paused costs nothing.

    Args:
        reader: The view.
        now: Our time; what is leased beyond it is left out.
        full: Endpoints that may have no more attempts now.
        bulk_full: Endpoints that have as many of those in bulk as they may; None: nothing in bulk may start.
    """
    params: dict[str, Any] = {"now": now, "bulk": bulk_full is not None}
    tests = []
    for name, ids in (("full", full), ("bulk_full", bulk_full or ())):
        params |= {f"{name}{index}": endpoint_id for index, endpoint_id in enumerate(ids)}
        tests.append(f"e.id NOT IN ({', '.join(f':{name}{index}' for index in range(len(ids)))})")
    own_first = (
        "(SELECT w.seq FROM deliveries w WHERE w.endpoint_id = e.id AND w.bulk = {bulk} "
        f"AND {_FREE.format('w')} "
        "ORDER BY w.next_attempt_at, w.seq LIMIT 1)"
    )
    row = reader.one(
        f"SELECT {_DELIVERY_D}, {_ENDPOINT_E} FROM endpoints e JOIN deliveries d "
        f"ON d.seq IN ({own_first.replace('{bulk}', '0')}, {own_first.replace('{bulk}', '1')}) "
        f"WHERE {_SENDS} AND NOT {_OUT} AND {tests[0]} "
        f"AND (d.bulk = 0 OR (:bulk = 1 AND {tests[1]})) "
        "ORDER BY CASE WHEN d.next_attempt_at <= :now THEN d.bulk ELSE 2 END, d.next_attempt_at, d.seq "
        "LIMIT 1",
        params,
    )
    return None if row is None else _both(row)


def out(reader: Reader) -> list[tuple[str, int, int, int | None]]:
    """Return (id, consecutive_failures, link_failures, last_failure_at) of each active endpoint that is out.

    Those that have nothing waiting are left out; the one tried longest ago comes first.
    """
    return [
        (row[0], row[1], row[2], row[3])
        for row in reader.all(
            "SELECT e.id, e.consecutive_failures, e.link_failures, e.last_failure_at FROM endpoints e "
            f"WHERE {_SENDS} AND {_OUT} AND EXISTS (SELECT 1 FROM deliveries d "
            "WHERE d.endpoint_id = e.id AND d.next_attempt_at IS NOT NULL) "
            "ORDER BY COALESCE(e.last_failure_at, 0), e.seq"
        )
    ]


def probe(reader: Reader, endpoint_id: str, now: int) -> Waiting | None:
    """Return what an endpoint that is out is tried with: of what is due, the one attempted least recently.

    None when nothing of it is due. What was never attempted comes first, oldest first; a long queue of such is not
    gone through.
    """
    due = f"d.endpoint_id = :id AND {_FREE.format('d')} AND d.next_attempt_at <= :now"
    tried = "FROM attempts a WHERE a.delivery_id = d.id AND a.run = d.run"
    source = f"SELECT {_DELIVERY_D}, {_ENDPOINT_E} FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id"
    params = {"id": endpoint_id, "now": now}
    for bulk in (0, 1):
        row = reader.one(
            f"{source} WHERE {due} AND d.bulk = {bulk} AND d.status = 'pending' "
            f"AND NOT EXISTS (SELECT 1 {tried}) ORDER BY d.next_attempt_at, d.seq LIMIT 1",
            params,
        )
        if row is not None:
            return _both(row)
    row = reader.one(
        f"{source} WHERE {due} ORDER BY (SELECT MAX(a.seq) {tried}), d.seq LIMIT 1", params
    )
    return None if row is None else _both(row)


def next_due(reader: Reader, endpoint_id: str, now: int) -> int | None:
    """Return when the first delivery is due that waits for an endpoint and is not being sent; None when none waits."""
    times = [
        reader.value(
            f"SELECT d.next_attempt_at FROM deliveries d WHERE d.endpoint_id = :id AND d.bulk = {bulk} "
            f"AND {_FREE.format('d')} ORDER BY d.next_attempt_at, d.seq LIMIT 1",
            {"id": endpoint_id, "now": now},
        )
        for bulk in (0, 1)
    ]
    return min((int(at) for at in times if at is not None), default=None)


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


def _both(row: tuple[Any, ...]) -> Waiting:
    return load(Delivery, row[:_WIDTH]), load(Endpoint, row[_WIDTH:])
