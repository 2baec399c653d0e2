"""The outbox: every delivery with its state, and the log of its attempts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from daemon.core.model import Delivery
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, evened, listed, load, load_optional, table, values
from daemon.store.webhooks import bodies

TOPIC = "deliveries"
"""Woken by every commit that made a delivery due."""

_DELIVERY = columns(Delivery)
_STORED = {"endpoint_id": "endpoint_seq", "transaction_id": "transaction_seq"}
_NAMES = [_STORED.get(name, name) for name in Delivery.__struct_fields__ if name != "seq"]


def add(tx: Tx, queued: Sequence[Mapping[str, Any]]) -> set[str]:
    """Queue deliveries, each with its `body`; return the ids of the new ones.

    A delivery with the same endpoint, event, subject and revision is not queued twice.
    """
    ids = {str(delivery["id"]) for delivery in queued}
    if not ids:
        return ids
    rows = [[delivery.get(name) for name in _NAMES] for delivery in queued]
    added = tx.run(
        f"INSERT INTO deliveries ({', '.join(_NAMES)}) VALUES {table(rows)} "
        "ON CONFLICT (endpoint_seq, event, subject, revision) DO NOTHING",
        values(rows),
    )
    bodies.add(tx, [(delivery["id"], delivery["body"]) for delivery in queued])
    tx.wake(TOPIC)
    if added == len(ids):
        return ids
    there = f"SELECT id FROM deliveries WHERE id IN ({listed(ids)})"
    return {row[0] for row in tx.all(there, [*ids])}


def get(reader: Reader, delivery_id: str) -> Delivery | None:
    """Return one delivery."""
    return load_optional(
        Delivery,
        reader.one(f"SELECT {_DELIVERY} FROM deliveries WHERE id = :id", {"id": delivery_id}),
    )


def was_queued(reader: Reader, endpoint_seq: int, event: str, subject: int) -> bool:
    """Return whether an endpoint ever had a delivery of the first event of this kind about a subject."""
    return reader.exists(
        "SELECT 1 FROM deliveries WHERE endpoint_seq = :endpoint AND event = :event "
        "AND subject = :subject AND revision = 0",
        {"endpoint": endpoint_seq, "event": event, "subject": subject},
    )


def next_revision(tx: Tx, kind: str, subject: str) -> int:
    """Return the next revision of an event kind for a subject, starting at 0; a number is never used twice."""
    revision = tx.value(
        "INSERT INTO event_revisions (kind, subject, last) VALUES (:kind, :subject, 0) "
        "ON CONFLICT (kind, subject) DO UPDATE SET last = event_revisions.last + 1 RETURNING last",
        {"kind": kind, "subject": subject},
    )
    return int(revision)


def release_leases(tx: Tx) -> int:
    """Clear every lease. Only at start: the lock of the home folder guarantees that no other process is sending."""
    return tx.run(
        "UPDATE deliveries SET leased_until = NULL WHERE leased_until IS NOT NULL "
        "AND next_attempt_at IS NOT NULL"
    )


_LAST = "(SELECT MAX(seq) FROM attempts WHERE delivery_seq = :seq AND run = :run)"
_RECORDED = (
    "status",
    "next_attempt_at",
    "attempt_count",
    "response_status_code",
    "response_body",
    "error_code",
    "error_message",
    "delivered_at",
    "failed_at",
    "waiting",
    "clock_waits",
)


def record(
    tx: Tx, delivery: Delivery, number: int, *, changes: dict[str, Any], attempt: dict[str, Any]
) -> None:
    """Record the result of an attempt.

    `number` is the attempt's number within its run. `changes` are new values of the columns in `_RECORDED`; `attempt`
    has finished_at, duration_us, status_code, error_code, error_message, counted.
    """
    tx.run(
        f"UPDATE deliveries SET {', '.join(f'{name} = :{name}' for name in _RECORDED)}, "
        f"leased_until = NULL, extra = 0, tried = {_LAST} WHERE seq = :seq AND run = :run",
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
    # Two statements for all: a worker that gives up its slot may have 64 of them.
    leases = evened([(delivery.seq, delivery.run, number) for delivery, number in unsent])
    rows, params = table(leases), values(leases)
    tx.run(
        f"UPDATE deliveries SET leased_until = NULL FROM (VALUES {rows}) AS v "
        "WHERE deliveries.seq = v.column1 AND deliveries.run = v.column2 "
        # A delivery that was failed meanwhile, because its endpoint was deleted, has no lease.
        "AND deliveries.next_attempt_at IS NOT NULL",
        params,
    )
    tx.run(
        f"DELETE FROM attempts WHERE seq IN (SELECT a.seq FROM (VALUES {rows}) AS v JOIN attempts a "
        "ON a.delivery_seq = v.column1 AND a.run = v.column2 AND a.number = v.column3 AND a.finished_at IS NULL)",
        params,
    )


def record_delivered(tx: Tx, delivered: Sequence[Sequence[Any]], now: int) -> None:
    """Record attempts that were answered with 2xx in a few statements, with the same result as `record` one by one.

    `delivered` has of each, as leased: seq, run, the attempt's number, the status code, the response's body, the
    duration in microseconds.
    """
    delivered = evened(delivered)
    rows, params = table(delivered), [now, *values(delivered)]
    tx.run(
        "UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, attempt_count = attempt_count + 1, "
        "response_status_code = v.column4, response_body = v.column5, error_code = NULL, error_message = NULL, "
        # The time of the first 2xx is never overwritten.
        "delivered_at = COALESCE(delivered_at, ?), failed_at = NULL, waiting = NULL, leased_until = NULL, "
        f"extra = 0 FROM (VALUES {rows}) AS v "
        "WHERE deliveries.seq = v.column1 AND deliveries.run = v.column2",
        params,
    )
    tx.run(
        "UPDATE attempts SET finished_at = ?, duration_us = v.column6, status_code = v.column4, counted = 0 "
        f"FROM (VALUES {rows}) AS v WHERE attempts.delivery_seq = v.column1 AND attempts.run = v.column2 "
        "AND attempts.number = v.column3",
        params,
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
        f"tried = {_LAST} "
        # A delivery that was failed meanwhile, because its endpoint was deleted, no longer waits.
        "WHERE seq = :seq AND run = :run AND next_attempt_at IS NOT NULL",
        {"seq": delivery.seq, "run": delivery.run, "waiting": waiting, "next_at": next_at},
    )


def requeue(tx: Tx, delivery: Delivery, now: int, *, bulk: bool = False) -> Delivery:
    """Queue an ended delivery again, under its own id.

    A new run begins: its attempts are counted from 0, and attempts of the previous run that are still active no longer
    count. With `bulk` it goes behind live deliveries.
    """
    row = tx.one(
        "UPDATE deliveries SET status = 'pending', attempt_count = 0, run = run + 1, "
        "next_attempt_at = :now, leased_until = NULL, waiting = NULL, extra = 0, tried = NULL, bulk = :bulk, "
        "failed_at = NULL, clock_waits = 0 "
        f"WHERE id = :id AND status IN ('delivered', 'failed') RETURNING {_DELIVERY}",
        {"id": delivery.id, "now": now, "bulk": bulk},
    )
    assert row is not None, "the caller has just read it as ended, inside this transaction"
    tx.wake(TOPIC)
    return load(Delivery, row)


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
        "UPDATE endpoints SET consecutive_failures = 0, link_failures = 0, last_success_at = ? "
        f"WHERE id IN ({listed(endpoint_ids)})",
        [now, *endpoint_ids],
    )


def without_failures(reader: Reader, endpoint_ids: Collection[str]) -> set[str]:
    """Return those endpoints that are not deleted and have no streak of failures, counted or of our own link."""
    if not endpoint_ids:
        return set()
    return {
        row[0]
        for row in reader.all(
            "SELECT id FROM endpoints WHERE deleted_at IS NULL AND consecutive_failures = 0 "
            f"AND link_failures = 0 AND id IN ({listed(endpoint_ids)})",
            [*endpoint_ids],
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
    row = tx.one(
        "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, "
        "include_raw, is_active, consecutive_failures, created_at, updated_at) "
        "VALUES (:id, 'implicit', :mode, :url, :url_normalised, '', '[]', 0, 0, 1, 0, :now, :now) "
        "ON CONFLICT (mode, url_normalised) WHERE kind = 'implicit' DO UPDATE SET updated_at = :now "
        f"RETURNING {columns(Endpoint)}",
        {"id": endpoint_id, "mode": mode, "url": url, "url_normalised": url_normalised, "now": now},
    )
    assert row is not None
    return load(Endpoint, row)
