"""The outbox: every delivery with its state, and the log of its attempts.

After an outage the pending deliveries of an endpoint are released. There may be 100,000, each a row with a body to rewrite, and no payment may wait for all of them. So the first batch of
retries is written with the answer that ended the outage, and each turn of the delivery loop writes another. The
progress is a row of `flushes`, so a crash between two batches loses nothing. Until all have their times, no retry of
the endpoint is sent, because the overdue ones without a new time would be sent in a burst. First attempts are not paced
and are sent at once.
"""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import FLUSH_GAP_US, STREAK_MIN
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_ids, json_rows

TAKEN_BACK: Final = "decision_taken_back"
"""The kind under which `event_revisions` counts the verifications of a payment that were told and taken back."""
TOPIC = "deliveries"
"""Woken by every commit that made a delivery due."""

_ADD = """
INSERT INTO deliveries (id, webhook_id, endpoint_seq, event, subject, revision, transaction_seq, test, status,
                        attempt_count, run, next_attempt_at, bulk, created_at)
SELECT value ->> 'id', value ->> 'webhook_id', CAST(value ->> 'endpoint_seq' AS BIGINT), value ->> 'event',
       CAST(value ->> 'subject' AS BIGINT), CAST(value ->> 'revision' AS BIGINT),
       CAST(value ->> 'transaction_seq' AS BIGINT), CAST(value ->> 'test' AS BIGINT), 'pending', 0, 1,
       CAST(value ->> 'created_at' AS BIGINT), CAST(value ->> 'bulk' AS BIGINT),
       CAST(value ->> 'created_at' AS BIGINT)
FROM json_each(:queued) WHERE 1 = 1
ON CONFLICT (endpoint_seq, event, subject, revision) DO NOTHING
"""
_ADD_BODY = "INSERT INTO delivery_bodies (delivery_seq, deflated) SELECT seq, ? FROM deliveries WHERE id = ?"
_RAW: Final = -13
"""Deflated without header and checksum (RFC 1951), within 8 KiB: zlib's own window takes longer to allocate than to fill."""


def add(tx: Tx, queued: Sequence[Mapping[str, Any]]) -> set[str]:
    """Queue deliveries, due at once, each with its `body`; return the ids of the new ones.

    A delivery with the same endpoint, event, subject and revision is not queued twice.
    """
    ids = {str(delivery["id"]) for delivery in queued}
    if not ids:
        return ids
    rows = {"queued": json_rows([{**one, "body": None} for one in queued])}
    added = tx.run(_ADD, rows)
    tx.run_for_each(_ADD_BODY, [(deflate(one["body"]), one["id"]) for one in queued])
    tx.wake(TOPIC)
    if added == len(ids):
        return ids
    there = "SELECT d.id FROM json_each(:queued) JOIN deliveries d ON d.id = value ->> 'id'"
    return {row[0] for row in tx.all(there, rows)}


def bodies(reader: Reader, seqs: Collection[int]) -> dict[int, bytes]:
    """Return the bodies of deliveries, by `seq`."""
    rows = reader.all(
        "SELECT delivery_seq, deflated FROM delivery_bodies "
        "WHERE delivery_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs))",
        {"seqs": json_rows([*seqs])},
    )
    return {seq: inflate(deflated) for seq, deflated in rows}


def deflate(body: bytes) -> bytes:
    """Return a body as it is stored, about half as long."""
    compressor = zlib.compressobj(wbits=_RAW, memLevel=5)
    return compressor.compress(body) + compressor.flush()


def inflate(deflated: bytes) -> bytes:
    """Return the body, byte for byte as it was.

    Raises:
        zlib.error: It was damaged.
    """
    return zlib.decompress(deflated, _RAW)


def rewrite_bodies(tx: Tx, seqs: Collection[int], change: Callable[[str], str]) -> None:
    """Replace the bodies of deliveries. Otherwise they never change: every attempt sends the same bytes."""
    for seq, body in bodies(tx, seqs).items():
        tx.run(
            "UPDATE delivery_bodies SET deflated = :deflated WHERE delivery_seq = :seq",
            {"deflated": deflate(change(body.decode()).encode()), "seq": seq},
        )


def get(reader: Reader, delivery_id: str) -> Delivery | None:
    """Return one delivery."""
    return reader.first(Delivery, "SELECT * FROM deliveries WHERE id = :id", {"id": delivery_id})


def was_queued(reader: Reader, endpoint_seq: int, event: str, subject: int) -> bool:
    """Return whether an endpoint ever had a delivery of this kind about a subject."""
    return reader.exists(
        "SELECT 1 FROM deliveries WHERE endpoint_seq = :endpoint AND event = :event AND subject = :subject LIMIT 1",
        {"endpoint": endpoint_seq, "event": event, "subject": subject},
    )


def next_revision(tx: Tx, kind: str, subject: str) -> int:
    """Return the next revision of an event kind for a subject, starting at 0; a number is never used twice."""
    return tx.count(
        "INSERT INTO event_revisions (kind, subject, last) VALUES (:kind, :subject, 0) "
        "ON CONFLICT (kind, subject) DO UPDATE SET last = event_revisions.last + 1 RETURNING last",
        {"kind": kind, "subject": subject},
    )


def revision(reader: Reader, kind: str, subject: str) -> int | None:
    """Return the last revision of an event kind for a subject; None if there was none."""
    last: int | None = reader.value(
        "SELECT last FROM event_revisions WHERE kind = :kind AND subject = :subject", {"kind": kind, "subject": subject}
    )
    return last


def times_taken_back(reader: Reader, payment_id: str) -> int:
    """Return how often the verification of a payment was told and then taken back: the revision of the next one."""
    last = revision(reader, TAKEN_BACK, payment_id)
    return 0 if last is None else last + 1


def was_forwarded(reader: Reader, payment_seq: int, revision: int) -> bool:
    """Return whether a payment was forwarded, to any endpoint, since its verification was last taken back."""
    return reader.exists(
        "SELECT 1 FROM deliveries WHERE event = 'transaction.forwarded' AND subject = :subject AND revision >= :revision",
        {"subject": payment_seq, "revision": revision},
    )


def targets_told(reader: Reader, transaction_seq: int, payment_seq: int) -> list[Endpoint]:
    """Return the endpoints, implicit ones too, that were sent a payment under a transaction; not those deleted since."""
    return reader.every(
        Endpoint,
        "SELECT * FROM endpoints WHERE deleted_at IS NULL AND seq IN (SELECT endpoint_seq FROM deliveries "
        "WHERE transaction_seq = :transaction AND subject = :payment "
        "AND event IN ('transaction.forwarded', 'transaction.completed', 'transaction.updated')) ORDER BY seq",
        {"transaction": transaction_seq, "payment": payment_seq},
    )


def undo_leases(tx: Tx, unsent: Sequence[tuple[Delivery, int]]) -> None:
    """Undo leases of attempts that did not begin; the deliveries stay due and no attempt is logged.

    `unsent` has each delivery as leased, and the number of its attempt.
    """
    if not unsent:
        return
    leases = json_rows([(delivery.seq, delivery.run, number) for delivery, number in unsent])
    tx.run(
        "UPDATE deliveries SET leased_until = NULL FROM json_each(:leases) "
        "WHERE deliveries.seq = CAST(value ->> 0 AS BIGINT) AND run = CAST(value ->> 1 AS BIGINT) "
        # A delivery that was failed meanwhile, because its endpoint was deleted, has no lease.
        "AND next_attempt_at IS NOT NULL",
        {"leases": leases},
    )
    tx.run(
        "DELETE FROM attempts WHERE seq IN (SELECT a.seq FROM json_each(:leases) "
        "JOIN attempts a ON a.delivery_seq = CAST(value ->> 0 AS BIGINT) AND a.run = CAST(value ->> 1 AS BIGINT) "
        "AND a.number = CAST(value ->> 2 AS BIGINT) WHERE a.finished_at IS NULL)",
        {"leases": leases},
    )


def return_unsent(tx: Tx, delivery: Delivery, number: int, *, waiting: str, now: int, next_at: int) -> None:
    """Undo the lease of an attempt that was not sent, and record why it waits (secrets locked, shutting down).

    A result that was recorded before the shutdown interrupted the worker stays.
    """
    unfinished = tx.run(
        "UPDATE attempts SET finished_at = :now, error_code = :waiting, counted = 0 "
        "WHERE delivery_seq = :seq AND run = :run AND number = :number AND finished_at IS NULL",
        {"seq": delivery.seq, "run": delivery.run, "number": number, "waiting": waiting, "now": now},
    )
    if not unfinished:
        return
    tx.run(
        "UPDATE deliveries SET leased_until = NULL, waiting = :waiting, next_attempt_at = :next_at, "
        "tried = COALESCE((SELECT MAX(seq) FROM attempts WHERE delivery_seq = :seq AND run = :run), 0) "
        # A delivery that was failed meanwhile, because its endpoint was deleted, no longer waits.
        "WHERE seq = :seq AND run = :run AND next_attempt_at IS NOT NULL",
        {"seq": delivery.seq, "run": delivery.run, "waiting": waiting, "next_at": next_at},
    )


def requeue(tx: Tx, delivery: Delivery, now: int, *, bulk: bool = False) -> Delivery:
    """Queue an ended delivery again, under its own id.

    A new run begins: its attempts are counted from 0, and attempts of the previous run that are still active no longer
    count. With `bulk` it goes behind live deliveries.
    """
    queued = tx.only(
        Delivery,
        "UPDATE deliveries SET status = 'pending', attempt_count = 0, run = run + 1, "
        "next_attempt_at = :now, leased_until = NULL, waiting = NULL, extra = 0, tried = 0, bulk = :bulk, "
        "failed_at = NULL, clock_waits = 0 "
        "WHERE id = :id AND status IN ('delivered', 'failed') RETURNING *",
        {"id": delivery.id, "now": now, "bulk": bulk},
    )
    tx.wake(TOPIC)
    return queued


def make_due(tx: Tx, *, waiting: str, now: int) -> int:
    """Make all deliveries due that waited for this reason; return how many."""
    return tx.run(
        "UPDATE deliveries SET next_attempt_at = :now WHERE waiting = :waiting AND next_attempt_at > :now",
        {"waiting": waiting, "now": now},
    )


def count_held(reader: Reader, waiting: str) -> int:
    """Return how many deliveries wait for this reason; it reads all that are to be sent."""
    return reader.count(
        "SELECT COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL AND waiting = :waiting", {"waiting": waiting}
    )


def without_failures(reader: Reader, endpoint_ids: Collection[str]) -> set[str]:
    """Return those endpoints that are not deleted and have no streak of failures, counted or of our own link."""
    rows = reader.all(
        "SELECT id FROM endpoints WHERE deleted_at IS NULL AND consecutive_failures = 0 "
        "AND link_failures = 0 AND id IN (SELECT value ->> 0 FROM json_each(:ids))",
        {"ids": json_ids(endpoint_ids)},
    )
    return {row[0] for row in rows}


def implicit_endpoint(tx: Tx, *, endpoint_id: str, mode: str, url: str, url_normalised: str, now: int) -> Endpoint:
    """Return the implicit endpoint of a transaction's webhook address; create it at first use."""
    return tx.only(
        Endpoint,
        "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, "
        "include_raw, is_active, consecutive_failures, created_at, updated_at) "
        "VALUES (:id, 'implicit', :mode, :url, :url_normalised, '', '[]', 0, 0, 1, 0, :now, :now) "
        "ON CONFLICT (mode, url_normalised) WHERE kind = 'implicit' DO UPDATE SET updated_at = :now "
        "RETURNING *",
        {"id": endpoint_id, "mode": mode, "url": url, "url_normalised": url_normalised, "now": now},
    )


RESUME_MAX: Final = 1_000
"""Largest queue that is rescheduled at once when its endpoint is resumed; it blocks the writer for about 20 ms."""
SEQ_MAX: Final = (1 << 63) - 1
RELEASE_BATCH: Final = 250
"""Retries rescheduled in one transaction; this blocks the writer for about 10 ms."""


def count_waiting(reader: Reader, endpoint_id: str) -> int:
    """Count the deliveries that wait for an endpoint or are being sent to it."""
    return reader.count(
        "SELECT COUNT(*) FROM deliveries "
        "WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) AND next_attempt_at IS NOT NULL",
        {"id": endpoint_id},
    )


def resume_waiting(tx: Tx, endpoint_id: str, *, now: int, later: int) -> int:
    """Make the oldest waiting delivery of an endpoint due now; return how many wait or are being sent.

    The oldest one is the half-open probe. The others become due at `later`; `begin_release` brings them forward when the
    probe succeeds. A retry that is brought forward is marked extra: its failure uses up no step of the schedule.
    """
    waiting = count_waiting(tx, endpoint_id)
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
    return reader.column(
        "SELECT e.id FROM endpoints e WHERE e.deleted_at IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM deliveries d WHERE d.endpoint_seq = e.seq AND d.next_attempt_at IS NOT NULL)"
    )
