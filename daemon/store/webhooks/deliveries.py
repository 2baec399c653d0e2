"""The outbox: every delivery with its state, and the log of its attempts."""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from daemon.core.model import Delivery
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_rows

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
    """Return whether an endpoint ever had a delivery of the first event of this kind about a subject."""
    return reader.exists(
        "SELECT 1 FROM deliveries WHERE endpoint_seq = :endpoint AND event = :event "
        "AND subject = :subject AND revision = 0",
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
        "SELECT last FROM event_revisions WHERE kind = :kind AND subject = :subject",
        {"kind": kind, "subject": subject},
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


def record(
    tx: Tx, delivery: Delivery, number: int, *, changes: dict[str, Any], attempt: dict[str, Any]
) -> None:
    """Record the result of an attempt.

    `number` is the attempt's number within its run. `changes` are new values of the columns named here; `attempt` has
    finished_at, duration_us, status_code, error_code, error_message, counted.
    """
    tx.run(
        "UPDATE deliveries SET status = :status, next_attempt_at = :next_attempt_at, attempt_count = :attempt_count, "
        "response_status_code = :response_status_code, response_body = :response_body, error_code = :error_code, "
        "error_message = :error_message, delivered_at = :delivered_at, failed_at = :failed_at, waiting = :waiting, "
        "clock_waits = :clock_waits, leased_until = NULL, extra = 0, "
        "tried = COALESCE((SELECT MAX(seq) FROM attempts WHERE delivery_seq = :seq AND run = :run), 0) "
        "WHERE seq = :seq AND run = :run",
        {"seq": delivery.seq, "run": delivery.run, **changes},
    )
    tx.run(
        "UPDATE attempts SET finished_at = :finished_at, duration_us = :duration_us, "
        "status_code = :status_code, error_code = :error_code, error_message = :error_message, "
        "counted = :counted WHERE delivery_seq = :seq AND run = :run AND number = :number",
        {"seq": delivery.seq, "run": delivery.run, "number": number, **attempt},
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


def record_delivered(tx: Tx, delivered: Sequence[Sequence[Any]], now: int) -> None:
    """Record attempts that were answered with 2xx in a few statements, with the same result as `record` one by one.

    `delivered` has of each, as leased: seq, run, the attempt's number, the status code, the response's body, the
    duration in microseconds.
    """
    rows = {"now": now, "delivered": json_rows(delivered)}
    tx.run(
        "UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, attempt_count = attempt_count + 1, "
        "response_status_code = CAST(value ->> 3 AS BIGINT), response_body = value ->> 4, error_code = NULL, "
        # The time of the first 2xx is never overwritten.
        "error_message = NULL, delivered_at = COALESCE(delivered_at, :now), failed_at = NULL, waiting = NULL, "
        "leased_until = NULL, extra = 0 FROM json_each(:delivered) "
        "WHERE deliveries.seq = CAST(value ->> 0 AS BIGINT) AND run = CAST(value ->> 1 AS BIGINT)",
        rows,
    )
    tx.run(
        "UPDATE attempts SET finished_at = :now, duration_us = CAST(value ->> 5 AS BIGINT), "
        "status_code = CAST(value ->> 3 AS BIGINT), counted = 0 FROM json_each(:delivered) "
        "WHERE delivery_seq = CAST(value ->> 0 AS BIGINT) AND run = CAST(value ->> 1 AS BIGINT) "
        "AND number = CAST(value ->> 2 AS BIGINT)",
        rows,
    )


def return_unsent(
    tx: Tx, delivery: Delivery, number: int, *, waiting: str, now: int, next_at: int
) -> None:
    """Undo the lease of an attempt that was not sent, and record why it waits (secrets locked, shutting down).

    A result that was recorded before the shutdown interrupted the worker stays.
    """
    unfinished = tx.run(
        "UPDATE attempts SET finished_at = :now, error_code = :waiting, counted = 0 "
        "WHERE delivery_seq = :seq AND run = :run AND number = :number AND finished_at IS NULL",
        {
            "seq": delivery.seq,
            "run": delivery.run,
            "number": number,
            "waiting": waiting,
            "now": now,
        },
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
        "UPDATE deliveries SET next_attempt_at = :now "
        "WHERE waiting = :waiting AND next_attempt_at > :now",
        {"waiting": waiting, "now": now},
    )


def record_endpoint_result(
    tx: Tx, endpoint_id: str, *, succeeded: bool, failures: int, link_failure: bool, now: int
) -> None:
    """Record an endpoint's streak of failures and the time of its last success or failure."""
    tx.run(
        "UPDATE endpoints SET consecutive_failures = :failures, "
        "link_failures = CASE WHEN :ok = 1 THEN 0 ELSE link_failures + :link END, "
        "last_success_at = CASE WHEN :ok = 1 THEN :now ELSE last_success_at END, "
        "last_failure_at = CASE WHEN :ok = 1 THEN last_failure_at ELSE :now END WHERE id = :id",
        {
            "id": endpoint_id,
            "failures": failures,
            "ok": int(succeeded),
            "link": int(link_failure),
            "now": now,
        },
    )


def record_endpoint_success(tx: Tx, endpoint_ids: Collection[str], now: int) -> None:
    """Record a success of endpoints that have no streak of failures."""
    tx.run(
        "UPDATE endpoints SET consecutive_failures = 0, link_failures = 0, last_success_at = :now "
        "WHERE id IN (SELECT value ->> 0 FROM json_each(:ids))",
        {"now": now, "ids": json_rows([(one,) for one in endpoint_ids])},
    )


def without_failures(reader: Reader, endpoint_ids: Collection[str]) -> set[str]:
    """Return those endpoints that are not deleted and have no streak of failures, counted or of our own link."""
    if not endpoint_ids:
        return set()
    return {
        row[0]
        for row in reader.all(
            "SELECT id FROM endpoints WHERE deleted_at IS NULL AND consecutive_failures = 0 "
            "AND link_failures = 0 AND id IN (SELECT value ->> 0 FROM json_each(:ids))",
            {"ids": json_rows([(one,) for one in endpoint_ids])},
        )
    }


def streak_of(reader: Reader, endpoint_id: str) -> tuple[int, int]:
    """Return the current (consecutive_failures, link_failures) of an endpoint."""
    row = reader.one(
        "SELECT consecutive_failures, link_failures FROM endpoints WHERE id = :id",
        {"id": endpoint_id},
    )
    return (0, 0) if row is None else (row[0], row[1])


def implicit_endpoint(
    tx: Tx, *, endpoint_id: str, mode: str, url: str, url_normalised: str, now: int
) -> Endpoint:
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
