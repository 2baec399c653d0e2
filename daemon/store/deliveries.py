"""The outbox and its log: what is owed to whom, and what came of it."""

from typing import Any

from daemon.core.model import Delivery, Endpoint
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_optional

TOPIC = "deliveries"
"""Woken by every commit that made something due."""

_DELIVERY = columns(Delivery)
_DELIVERY_D = columns(Delivery, "d.")
_ENDPOINT_E = columns(Endpoint, "e.")
_NAMES = [name for name in _DELIVERY.split(", ") if name != "seq"]


def add(tx: Tx, delivery: dict[str, Any]) -> Delivery | None:
    """Owe a delivery; None when (endpoint, event, subject, revision) is already owed or done."""
    row = tx.one(
        f"INSERT INTO deliveries ({', '.join(_NAMES)}) VALUES ({', '.join(':' + name for name in _NAMES)}) "
        f"ON CONFLICT (endpoint_id, event, subject, revision) DO NOTHING RETURNING {_DELIVERY}",
        delivery,
    )
    tx.wake(TOPIC)
    return load_optional(Delivery, row)


def get(reader: Reader, delivery_id: str) -> Delivery | None:
    """Return one delivery."""
    return load_optional(
        Delivery,
        reader.one(f"SELECT {_DELIVERY} FROM deliveries WHERE id = :id", {"id": delivery_id}),
    )


def lease_due(
    tx: Tx, *, now: int, until: int, limit: int, full: tuple[str, ...]
) -> list[tuple[Delivery, Endpoint, int]]:
    """Lease what is due, oldest first, and record that an attempt begins.

    Args:
        tx: The transaction.
        now: Our time.
        until: When the lease ends, so that a crash gives the row back.
        limit: How many at most.
        full: Endpoints that already have as many attempts running as they may.

    Returns:
        For each, the delivery as it was, its endpoint, and the number of this attempt within the run.
    """
    params: dict[str, Any] = {"now": now, "limit": limit}
    busy = ""
    if full:
        names = []
        for index, endpoint_id in enumerate(full):
            params[f"full{index}"] = endpoint_id
            names.append(f":full{index}")
        busy = f"AND d.endpoint_id NOT IN ({', '.join(names)}) "
    rows = tx.all(
        f"SELECT {_DELIVERY_D}, {_ENDPOINT_E} FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id "
        "WHERE d.next_attempt_at <= :now AND (d.leased_until IS NULL OR d.leased_until <= :now) "
        f"AND e.is_active = 1 AND e.deleted_at IS NULL {busy}"
        "ORDER BY d.next_attempt_at, d.seq LIMIT :limit",
        params,
    )
    width = len(_DELIVERY.split(", "))
    found = []
    for row in rows:
        delivery = load(Delivery, row[:width])
        leased = tx.one(
            "UPDATE deliveries SET leased_until = :until, waiting = NULL WHERE id = :id AND (leased_until IS NULL OR leased_until <= :now) "
            f"RETURNING {_DELIVERY}",
            {"id": delivery.id, "until": until, "now": now},
        )
        if leased is None:
            continue
        delivery = load(Delivery, leased)
        number = tx.value(
            "INSERT INTO attempts (delivery_id, run, number, started_at) "
            "SELECT :id, :run, COALESCE(MAX(number), 0) + 1, :now FROM attempts "
            "WHERE delivery_id = :id AND run = :run RETURNING number",
            {"id": delivery.id, "run": delivery.run, "now": now},
        )
        found.append((delivery, load(Endpoint, row[width:]), int(number)))
    return found


def next_due_at(reader: Reader, full: tuple[str, ...] = ()) -> int | None:
    """Return when the next delivery to an active endpoint is due, leases counted; None when nothing waits."""
    rows = reader.all(
        "SELECT d.endpoint_id, MIN(CASE WHEN d.leased_until IS NULL OR d.leased_until < d.next_attempt_at "
        "THEN d.next_attempt_at ELSE d.leased_until END) FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id "
        "WHERE d.next_attempt_at IS NOT NULL AND e.is_active = 1 AND e.deleted_at IS NULL GROUP BY d.endpoint_id"
    )
    return min((row[1] for row in rows if row[0] not in full), default=None)


def release_leases(tx: Tx) -> int:
    """Give back every lease. Only at start: we hold the home's lock, so nobody else is sending."""
    return tx.run(
        "UPDATE deliveries SET leased_until = NULL WHERE leased_until IS NOT NULL "
        "AND next_attempt_at IS NOT NULL"
    )


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
)


def record(
    tx: Tx, delivery: Delivery, number: int, *, changes: dict[str, Any], attempt: dict[str, Any]
) -> None:
    """Write down what came of an attempt.

    Args:
        tx: The transaction.
        delivery: As leased.
        number: The attempt's number within its run.
        changes: New values of the columns in `_RECORDED`.
        attempt: finished_at, duration_us, status_code, error_code, error_message, counted.
    """
    tx.run(
        f"UPDATE deliveries SET {', '.join(f'{name} = :{name}' for name in _RECORDED)}, "
        "leased_until = NULL, extra = 0 WHERE id = :id AND run = :run",
        {"id": delivery.id, "run": delivery.run, **changes},
    )
    tx.run(
        "UPDATE attempts SET finished_at = :finished_at, duration_us = :duration_us, "
        "status_code = :status_code, error_code = :error_code, error_message = :error_message, "
        "counted = :counted WHERE delivery_id = :id AND run = :run AND number = :number",
        {"id": delivery.id, "run": delivery.run, "number": number, **attempt},
    )


def give_back(
    tx: Tx, delivery: Delivery, number: int, *, waiting: str, now: int, next_at: int
) -> None:
    """Undo a lease whose attempt was never made, saying why it waits (secrets locked, shutting down)."""
    tx.run(
        "UPDATE deliveries SET leased_until = NULL, waiting = :waiting, next_attempt_at = :next_at "
        "WHERE id = :id AND run = :run",
        {"id": delivery.id, "run": delivery.run, "waiting": waiting, "next_at": next_at},
    )
    tx.run(
        "UPDATE attempts SET finished_at = :now, error_code = :waiting, counted = 0 "
        "WHERE delivery_id = :id AND run = :run AND number = :number",
        {"id": delivery.id, "run": delivery.run, "number": number, "waiting": waiting, "now": now},
    )


def bury(tx: Tx, *, letter_id: str, delivery_id: str, reason: str, now: int) -> None:  # noqa: A002
    """Make the dead letter of a failed delivery, or open its old one again."""
    tx.run(
        "INSERT INTO dead_letters (id, delivery_id, reason, created_at, replay_count) "
        "VALUES (:id, :delivery_id, :reason, :now, 0) "
        "ON CONFLICT (delivery_id) DO UPDATE SET reason = excluded.reason, replayed_at = NULL, resolved_at = NULL",
        {"id": letter_id, "delivery_id": delivery_id, "reason": reason, "now": now},
    )


def resolve_dead_letter(tx: Tx, delivery_id: str, now: int) -> None:
    """Note that the delivery of a dead letter arrived after all."""
    tx.run(
        "UPDATE dead_letters SET resolved_at = :now WHERE delivery_id = :id AND resolved_at IS NULL",
        {"id": delivery_id, "now": now},
    )


def note_endpoint(
    tx: Tx, endpoint_id: str, *, succeeded: bool, failures: int, link_failure: bool, now: int
) -> None:
    """Write the endpoint's streak and when it last answered well or badly."""
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


def streak_of(reader: Reader, endpoint_id: str) -> tuple[int, int]:
    """Return (consecutive_failures, link_failures) as they are now."""
    row = reader.one(
        "SELECT consecutive_failures, link_failures FROM endpoints WHERE id = :id",
        {"id": endpoint_id},
    )
    return (0, 0) if row is None else (row[0], row[1])


def flush(tx: Tx, endpoint_id: str, now: int) -> int:
    """Make everything that waits for an endpoint due now, oldest first; returns how many.

    A retry brought forward like this is extra: if it fails it has used up no step of its schedule.
    """
    changed = tx.run(
        "UPDATE deliveries SET next_attempt_at = :now, "
        "extra = CASE WHEN status = 'retrying' AND next_attempt_at > :now THEN 1 ELSE extra END "
        "WHERE endpoint_id = :id AND next_attempt_at IS NOT NULL AND leased_until IS NULL",
        {"id": endpoint_id, "now": now},
    )
    tx.wake(TOPIC)
    return changed


def implicit_endpoint(
    tx: Tx,
    *,
    endpoint_id: str,
    mode: str,
    url: str,
    url_normalised: str,
    now: int,
) -> Endpoint:
    """Return the implicit endpoint of a request's webhook address, making it at first use."""
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
