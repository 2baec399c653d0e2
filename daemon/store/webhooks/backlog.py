"""The pending deliveries of an endpoint: count, resume or fail them, and release them after an outage.

There may be 100,000, each a row with a body to rewrite, and no payment may wait for all of them. So the first batch of
retries is written with the answer that ended the outage, and each turn of the delivery loop writes another. The
progress is a row of `flushes`, so a crash between two batches loses nothing. Until all have their times, no retry of
the endpoint is sent, because the overdue ones without a new time would be sent in a burst. First attempts are not paced
and are sent at once.
"""

from typing import Final

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import STREAK_MIN
from daemon.core.webhooks.fair_queue import FLUSH_GAP_US
from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_rows
from daemon.store.webhooks.deliveries import TOPIC

RESUME_MAX: Final = 1_000
"""Largest queue that is rescheduled at once when its endpoint is resumed; it blocks the writer for about 20 ms."""
SEQ_MAX: Final = (1 << 63) - 1
RELEASE_BATCH: Final = 250
"""Retries rescheduled in one transaction; this blocks the writer for about 10 ms."""


def count(reader: Reader, endpoint_id: str) -> int:
    """Count the deliveries that wait for an endpoint or are being sent to it."""
    return reader.count(
        "SELECT COUNT(*) FROM deliveries "
        "WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL",
        {"id": endpoint_id},
    )


def resume(tx: Tx, endpoint_id: str, *, now: int, later: int) -> int:
    """Make the oldest waiting delivery of an endpoint due now; return how many wait or are being sent.

    The oldest one is the half-open probe. The others become due at `later`; `begin_release` brings them forward when the
    probe succeeds. A retry that is brought forward is marked extra: its failure uses up no step of the schedule.
    """
    waiting = count(tx, endpoint_id)
    oldest = tx.value(
        "SELECT MIN(seq) FROM deliveries "
        "WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL AND leased_until IS NULL",
        {"id": endpoint_id},
    )
    tx.run(
        "UPDATE deliveries SET next_attempt_at = CASE WHEN seq > :oldest THEN :later "
        "WHEN next_attempt_at > :now THEN :now ELSE next_attempt_at END, "
        "extra = CASE WHEN status = 'retrying' AND next_attempt_at > :now THEN 1 ELSE extra END "
        "WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND seq BETWEEN :oldest AND :last "
        "AND next_attempt_at IS NOT NULL AND leased_until IS NULL",
        # A longer queue is left as it is, so that no payment waits while 100,000 rows are written. Its deliveries wait
        # behind a probe anyway: the one attempted least recently, as in any outage.
        {
            "id": endpoint_id,
            "now": now,
            "later": later,
            "oldest": oldest,
            "last": SEQ_MAX if waiting <= RESUME_MAX else oldest,
        },
    )
    tx.wake(TOPIC)
    return waiting


def mark_backlog(tx: Tx, endpoint_id: str) -> None:
    """Mark all current deliveries of an endpoint as backlog (`Endpoint.backlog_seq`) when its outage or pause ends.

    Backlog goes behind live deliveries.
    """
    tx.run(
        "UPDATE endpoints SET backlog_seq = (SELECT COALESCE(MAX(seq), 0) FROM deliveries) WHERE id = :id",
        {"id": endpoint_id},
    )


def begin_release(tx: Tx, endpoint_id: str, now: int) -> None:
    """Make all waiting deliveries of an endpoint due now, oldest first.

    Retries are spread at 5 a second. A retry that is brought forward is marked extra: its failure uses up no step of
    the schedule. First attempts are not paced; most of them are due already and are not written.
    """
    params = {"id": endpoint_id, "now": now}
    tx.run(
        # Due at the time of creation, not now, so that they keep the order of creation.
        "UPDATE deliveries SET next_attempt_at = CASE WHEN created_at < :now THEN created_at ELSE :now END "
        "WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND bulk IN (0, 1) AND status = 'pending' AND next_attempt_at > :now "
        "AND leased_until IS NULL",
        params,
    )
    tx.run(
        # Restarts a release that is in progress, so that all retries get new times.
        "INSERT INTO flushes (endpoint_id, after_seq, next_at) VALUES (:id, 0, :now) "
        "ON CONFLICT (endpoint_id) DO UPDATE SET after_seq = 0, next_at = :now",
        params,
    )
    _reschedule(tx, endpoint_id, 0, now, now)
    tx.wake(TOPIC)


def continue_release(tx: Tx, now: int) -> bool:
    """Reschedule the next batch of retries, of an endpoint whose outage has ended; return whether there was any to do."""
    state = tx.one(
        "SELECT e.id, f.after_seq, f.next_at, e.consecutive_failures, e.link_failures "
        "FROM flushes f JOIN endpoints e ON e.id = f.endpoint_id "
        "WHERE e.is_active = 1 AND e.deleted_at IS NULL ORDER BY e.seq LIMIT 1"
    )
    if state is None:
        return False
    endpoint_id, after, at, *failures = state
    if max(failures) >= STREAK_MIN:
        # It is down again: its deliveries wait for the success of a probe.
        _end_release(tx, endpoint_id)
    else:
        _reschedule(tx, endpoint_id, after, at, now)
    return True


def _reschedule(tx: Tx, endpoint_id: str, after: int, at: int, now: int) -> None:
    found = tx.all(
        "SELECT seq FROM deliveries "
        "WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND status = 'retrying' AND seq > :after "
        "AND leased_until IS NULL ORDER BY seq LIMIT :limit",
        {"id": endpoint_id, "after": after, "limit": RELEASE_BATCH},
    )
    timed = [(seq, at + place * FLUSH_GAP_US) for place, (seq,) in enumerate(found)]
    if timed:
        tx.run(
            "UPDATE deliveries SET next_attempt_at = CAST(value ->> 1 AS BIGINT), "
            "extra = CASE WHEN next_attempt_at > :now THEN 1 ELSE extra END "
            "FROM json_each(:timed) WHERE deliveries.seq = CAST(value ->> 0 AS BIGINT)",
            {"now": now, "timed": json_rows(timed)},
        )
    if len(found) < RELEASE_BATCH:
        _end_release(tx, endpoint_id)
    else:
        tx.run(
            "UPDATE flushes SET after_seq = :after, next_at = :at WHERE endpoint_id = :id",
            {"id": endpoint_id, "after": timed[-1][0], "at": timed[-1][1] + FLUSH_GAP_US},
        )


def _end_release(tx: Tx, endpoint_id: str) -> None:
    tx.run("DELETE FROM flushes WHERE endpoint_id = :id", {"id": endpoint_id})


def release_after_link_outage(tx: Tx, now: int) -> int:
    """Make all deliveries due that waited for our own link; return the number of endpoints.

    They are not backlog: every endpoint waited equally long, and live deliveries waited with them.
    """
    rows = tx.all("SELECT id FROM endpoints WHERE link_failures > 0")
    for (endpoint_id,) in rows:
        begin_release(tx, endpoint_id, now)
    tx.run("UPDATE endpoints SET link_failures = 0 WHERE link_failures > 0")
    tx.wake(TOPIC)
    return len(rows)


# The index has a range for each kind, and the ranges are merged in order, so a long queue is never sorted.
_PENDING: Final = """
SELECT * FROM deliveries WHERE seq IN (SELECT seq FROM (
    SELECT seq, next_attempt_at FROM deliveries
    WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL
      AND bulk = 0 AND status = 'pending'
    UNION ALL
    SELECT seq, next_attempt_at FROM deliveries
    WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL
      AND bulk = 0 AND status = 'retrying'
    UNION ALL
    SELECT seq, next_attempt_at FROM deliveries
    WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL
      AND bulk = 1 AND status = 'pending'
    UNION ALL
    SELECT seq, next_attempt_at FROM deliveries
    WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL
      AND bulk = 1 AND status = 'retrying'
    ORDER BY next_attempt_at, seq LIMIT :limit) AS part)
ORDER BY next_attempt_at, seq
"""


def fail_pending(tx: Tx, endpoint_id: str, now: int, limit: int) -> list[Delivery]:
    """Fail up to `limit` pending deliveries of an endpoint, longest due first, and return them as they were.

    Those that are being sent are included.
    """
    pending = tx.every(Delivery, _PENDING, {"id": endpoint_id, "limit": limit})
    if pending:
        tx.run(
            "UPDATE deliveries SET status = 'failed', failed_at = :now, next_attempt_at = NULL, "
            "leased_until = NULL, waiting = NULL, extra = 0 "
            "WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs))",
            {"now": now, "seqs": json_rows([one.seq for one in pending])},
        )
    return pending


def deleted_with_pending(reader: Reader) -> list[str]:
    """Return the deleted endpoints that still have pending deliveries because a crash interrupted the deletion."""
    rows = reader.all(
        "SELECT e.id FROM endpoints e WHERE e.deleted_at IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM deliveries d WHERE d.endpoint_seq = e.seq AND d.next_attempt_at IS NOT NULL)"
    )
    return [str(row[0]) for row in rows]
