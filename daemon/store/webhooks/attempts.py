"""Lease the deliveries that are sent next (docs/contributing/deliveries.md), and record the results of their attempts.

One statement chooses the deliveries, in the turn's transaction. A result is recorded on the delivery, its endpoint, the attempt
log and the journal.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import (
    AUTO_PAUSE_AT,
    FAILING_NOTICES_AT,
    LEASE_US,
    STREAK_MIN,
    AttemptOutcome,
    DeadLetterReason,
    Decision,
    DeliveryError,
    DeliveryEvent,
    DeliveryFacts,
    LinkState,
    QueueKey,
    RetryPolicy,
    Running,
    decide,
    most_behind,
    most_probes,
    next_status,
)
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.rows import json_ids, json_rows
from daemon.store.webhooks import dead_letters, deliveries, endpoints
from daemon.wire import DeliveryStatus


class Leased(Struct, frozen=True):
    """A leased delivery with the attempt that was recorded as started."""

    delivery: Delivery
    endpoint: Endpoint
    number: int
    body: bytes
    sealed_secrets: tuple[str, ...]

    @property
    def is_behind(self) -> bool:
        """Return whether it goes behind live deliveries: as a bulk resend, or as backlog of an outage or a pause."""
        return self.delivery.bulk or self.delivery.seq <= self.endpoint.backlog_seq


class EndedAttempt(Struct, frozen=True):
    """A finished attempt, with everything needed to decide about its delivery."""

    leased: Leased
    outcome: AttemptOutcome
    link: LinkState
    policy: RetryPolicy
    now: int
    unit: float


def record_all(tx: Tx, ended: Sequence[EndedAttempt], new_id: Callable[[], str]) -> list[Decision]:
    """Record many attempts in the order in which they ended; return one decision for each.

    Plain successes (a 2xx from an endpoint without earlier failures) are written together.
    """
    decisions: list[Decision] = []
    successes: list[EndedAttempt] = []
    ids = {one.leased.endpoint.id for one in ended}
    untroubled = dict.fromkeys(ids, False) | dict.fromkeys(deliveries.without_failures(tx, ids), True)
    for one in ended:
        endpoint_id = one.leased.endpoint.id
        if endpoint_id not in untroubled:
            untroubled[endpoint_id] = bool(deliveries.without_failures(tx, {endpoint_id}))
        decision = _plain_success(one) if untroubled[endpoint_id] else None
        if decision is not None:
            successes.append(one)
        else:
            _write_successes(tx, successes)
            successes = []
            decision = record(tx, one, new_id)
            del untroubled[endpoint_id]
        decisions.append(decision)
    _write_successes(tx, successes)
    return decisions


def _plain_success(one: EndedAttempt) -> Decision | None:
    """Return the decision about a 2xx from an endpoint without a streak of failures, otherwise None."""
    if one.leased.delivery.error_code == DeliveryError.BLOCKED_ADDRESS:
        return None  # the journal must record that the endpoint is unblocked
    decision = _decide(one, failures=0, link_failures=0)
    return decision if decision.event is DeliveryEvent.SUCCEEDED else None


def _write_successes(tx: Tx, successes: Sequence[EndedAttempt]) -> None:
    if not successes:
        return
    now = max(one.now for one in successes)
    delivered = [
        (
            one.leased.delivery.seq,
            one.leased.delivery.run,
            one.leased.number,
            one.outcome.status_code,
            one.outcome.response_body,
            one.outcome.duration_us,
        )
        for one in successes
    ]
    # With the same result as `_write` one by one.
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
    tx.run(
        "UPDATE endpoints SET consecutive_failures = 0, link_failures = 0, last_success_at = :now "
        "WHERE id IN (SELECT value ->> 0 FROM json_each(:ids))",
        {"now": now, "ids": json_ids({one.leased.endpoint.id for one in successes})},
    )
    for one in successes:
        if one.leased.delivery.run > 1:
            # Only a delivery that failed in an earlier run has a dead letter.
            dead_letters.resolve(tx, one.leased.delivery.id, now)
    for one in successes:
        _record_end(tx, one.leased, one.outcome, "delivery.delivered", one.now)


def _decide(ended: EndedAttempt, *, failures: int, link_failures: int) -> Decision:
    delivery = ended.leased.delivery
    facts = DeliveryFacts(
        status=delivery.status, attempt_count=delivery.attempt_count, consecutive_failures=failures,
        extra=delivery.extra, clock_waits=delivery.clock_waits, link_failures=link_failures,
    )  # fmt: skip
    return decide(facts, ended.outcome, now_us=ended.now, unit=ended.unit, link=ended.link, policy=ended.policy)


def record(tx: Tx, ended: EndedAttempt, new_id: Callable[[], str]) -> Decision:
    """Decide about an attempt by the endpoint's current state, record everything, and return the decision."""
    leased, now = ended.leased, ended.now
    delivery, endpoint = leased.delivery, leased.endpoint
    now_is = endpoints.of_any_kind(tx, endpoint.id)
    failures, deleted = now_is.consecutive_failures, now_is.deleted_at is not None
    decision = _decide(ended, failures=failures, link_failures=now_is.link_failures)
    if deleted and decision.next_attempt_at_us is not None:
        # It was deleted during the attempt, so this failure is the final one.
        decision = replace(
            decision,
            event=DeliveryEvent.ENDPOINT_DELETED,
            status=next_status(delivery.status, DeliveryEvent.ENDPOINT_DELETED),
            next_attempt_at_us=None,
            dead_letter=DeadLetterReason.ENDPOINT_DELETED,
        )
    _write(tx, leased, ended.outcome, decision, now)
    if decision.dead_letter is not None:
        dead_letters.add_all(tx, [(new_id(), delivery.id)], reason=decision.dead_letter, now=now)
    if decision.flush_endpoint:
        deliveries.begin_release(tx, endpoint.id, now)
        if failures >= STREAK_MIN:
            deliveries.mark_backlog(tx, endpoint.id)
    if not deleted:
        _watch_streak(tx, endpoint, failures, decision, now, active=now_is.is_active)
        _record_blocked(tx, leased, ended.outcome, decision, now)
    if not deleted or decision.status is DeliveryStatus.DELIVERED:
        # The deletion of the endpoint has already recorded the failure of its deliveries.
        kind = {DeliveryStatus.DELIVERED: "delivery.delivered", DeliveryStatus.FAILED: "delivery.failed"}.get(
            decision.status
        )
        if kind is not None:
            _record_end(tx, leased, ended.outcome, kind, now)
    return decision


def _write(tx: Tx, leased: Leased, outcome: AttemptOutcome, decision: Decision, now: int) -> None:
    delivery = leased.delivery
    delivered = decision.status is DeliveryStatus.DELIVERED
    tx.run(
        "UPDATE deliveries SET status = :status, next_attempt_at = :next_attempt_at, attempt_count = :attempt_count, "
        "response_status_code = :status_code, response_body = :response_body, error_code = :error_code, "
        "error_message = :error_message, delivered_at = :delivered_at, failed_at = :failed_at, waiting = :waiting, "
        "clock_waits = :clock_waits, leased_until = NULL, extra = 0, "
        "tried = COALESCE((SELECT MAX(seq) FROM attempts WHERE delivery_seq = :seq AND run = :run), 0) "
        "WHERE seq = :seq AND run = :run",
        {
            "seq": delivery.seq,
            "run": delivery.run,
            "status": decision.status,
            "next_attempt_at": decision.next_attempt_at_us,
            "attempt_count": decision.attempt_count,
            "status_code": outcome.status_code,
            "response_body": outcome.response_body if outcome.status_code else None,
            "error_code": decision.error_code,
            "error_message": None if delivered else outcome.error_message,
            # The time of the first 2xx is never overwritten.
            "delivered_at": delivery.delivered_at or (now if delivered else None),
            "failed_at": now if decision.status is DeliveryStatus.FAILED else None,
            "waiting": "clock" if decision.waits_for_clock else None,
            "clock_waits": delivery.clock_waits + decision.waits_for_clock,
        },
    )
    tx.run(
        "UPDATE attempts SET finished_at = :now, duration_us = :duration_us, status_code = :status_code, "
        "error_code = :error_code, error_message = :error_message, counted = :counted "
        "WHERE delivery_seq = :seq AND run = :run AND number = :number",
        {
            "seq": delivery.seq,
            "run": delivery.run,
            "number": leased.number,
            "now": now,
            "duration_us": outcome.duration_us,
            "status_code": outcome.status_code,
            "error_code": decision.error_code,
            "error_message": outcome.error_message,
            "counted": decision.counts,
        },
    )
    tx.run(
        "UPDATE endpoints SET consecutive_failures = :failures, "
        "link_failures = CASE WHEN :ok = 1 THEN 0 ELSE link_failures + :link END, "
        "last_success_at = CASE WHEN :ok = 1 THEN :now ELSE last_success_at END, "
        "last_failure_at = CASE WHEN :ok = 1 THEN last_failure_at ELSE :now END WHERE id = :id",
        {
            "id": leased.endpoint.id,
            "failures": decision.consecutive_failures,
            "ok": int(delivered),
            "link": int(not (delivered or decision.counts or decision.waits_for_clock)),
            "now": now,
        },
    )
    if delivered:
        dead_letters.resolve(tx, delivery.id, now)


def _record_blocked(tx: Tx, leased: Leased, outcome: AttemptOutcome, decision: Decision, now: int) -> None:
    """Record in the journal that an address became forbidden, or is allowed again.

    Each delivery that finds out records it once, and again after the owner paused or changed the endpoint.
    """
    blocked, before = DeliveryError.BLOCKED_ADDRESS, leased.delivery.error_code
    is_blocked, was_blocked = decision.error_code is blocked, before == blocked
    endpoint = leased.endpoint
    # The owner has changed it since its last failure. An implicit endpoint is updated with each transaction instead.
    is_changed = endpoint.kind == "endpoint" and endpoint.updated_at > (endpoint.last_failure_at or 0)
    if is_blocked == was_blocked and not (is_blocked and is_changed):
        return
    kind, data = ("endpoint.blocked", {"why": outcome.error_message}) if is_blocked else ("endpoint.unblocked", {})
    journal.add(tx, kind, now, leased.endpoint, data=data)


def _record_end(tx: Tx, leased: Leased, outcome: AttemptOutcome, kind: str, now: int) -> None:
    journal.add(tx, kind, now, leased.endpoint, leased.delivery, data={"code": outcome.status_code})


def _watch_streak(tx: Tx, endpoint: Endpoint, before: int, decision: Decision, now: int, *, active: bool) -> None:
    """Record in the journal how long a streak of failures is; a long one auto-pauses the endpoint (circuit breaker)."""
    failures = decision.consecutive_failures
    own = endpoint.kind == "endpoint"
    kind = None
    if failures < before:
        kind = "endpoint.recovered" if before >= FAILING_NOTICES_AT[0] else None
    elif failures > before and active:
        if own and failures >= AUTO_PAUSE_AT:
            kind = "endpoint.auto_paused"
            endpoints.change(tx, endpoint.id, {"is_active": False, "auto_paused_at": now, "updated_at": now})
        elif failures in (*FAILING_NOTICES_AT, AUTO_PAUSE_AT):
            # No owner can resume an implicit endpoint, so it is reported and never paused.
            kind = "endpoint.failing"
    if kind is not None:
        journal.add(tx, kind, now, endpoint, data={"consecutive_failures": max(failures, before)})


BATCH: Final = 16
"""The most deliveries that wait with a lease for the workers of a fast endpoint."""
_CHOICE: Final = """
WITH RECURSIVE
-- The endpoints for which deliveries wait: one look-up in an index for each, however long their queues are.
owing (endpoint_seq) AS (
    SELECT MIN(endpoint_seq) FROM deliveries WHERE next_attempt_at IS NOT NULL
    UNION ALL
    SELECT (SELECT MIN(endpoint_seq) FROM deliveries
            WHERE next_attempt_at IS NOT NULL AND endpoint_seq > owing.endpoint_seq)
    FROM owing WHERE owing.endpoint_seq IS NOT NULL
),
-- The queues that the loop knows: workers at work, how many may be leased ahead, and when each was served last.
known (endpoint_id, bulk, workers, ahead, turn) AS MATERIALIZED (
    SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), CAST(value ->> 2 AS BIGINT), CAST(value ->> 3 AS BIGINT),
           CAST(value ->> 4 AS BIGINT)
    FROM json_each(:queues)
),
-- Where something may be sent. `probe_at` is the time of the next probe; NULL unless the circuit breaker is open.
target (seq, id, backlog_seq, is_flushing, failed_at, workers, probe_at) AS MATERIALIZED (
    SELECT e.seq, e.id, e.backlog_seq, CASE WHEN f.endpoint_id IS NULL THEN 0 ELSE 1 END,
           COALESCE(e.last_failure_at, 0),
           (SELECT COALESCE(SUM(k.workers), 0) FROM known k WHERE k.endpoint_id = e.id),
           CASE
               WHEN e.consecutive_failures < 3 AND e.link_failures < 3 THEN NULL
               -- A failure in the future was recorded by a clock that was ahead.
               WHEN e.last_failure_at IS NULL OR e.last_failure_at > :now THEN 0
               -- After a resume or a new address there is nothing to wait for.
               WHEN e.updated_at BETWEEN e.last_failure_at + 1 AND :now THEN e.updated_at
               WHEN e.consecutive_failures > 4 OR e.link_failures > 4 THEN e.last_failure_at + 30000000
               WHEN e.consecutive_failures = 4 OR e.link_failures = 4 THEN e.last_failure_at + 15000000
               ELSE e.last_failure_at + 5000000
           END
    FROM owing JOIN endpoints e ON e.seq = owing.endpoint_seq
    LEFT JOIN flushes f ON f.endpoint_id = e.id
    WHERE e.is_active = 1 AND e.deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM json_each(:held)
                      WHERE SUBSTR(e.url_normalised, 1, LENGTH(value ->> 0)) = value ->> 0)
),
-- The first deliveries of each queue without a lease, due or not.
kind (bulk, status) AS (VALUES (0, 'pending'), (0, 'retrying'), (1, 'pending'), (1, 'retrying')),
first (seq, endpoint_seq, endpoint_id, bulk, at, is_old, workers, probe_at) AS MATERIALIZED (
    SELECT d.seq, t.seq, t.id, d.bulk, d.next_attempt_at, CASE WHEN d.seq <= t.backlog_seq THEN 1 ELSE 0 END,
           t.workers, t.probe_at
    FROM target t CROSS JOIN kind k CROSS JOIN json_each((
        SELECT json_group_array(few.seq) FROM (
            SELECT w.seq FROM deliveries w
            WHERE w.endpoint_seq = t.seq AND w.bulk = k.bulk AND w.status = k.status AND w.next_attempt_at IS NOT NULL
              AND (w.leased_until IS NULL OR w.leased_until <= :now)
            ORDER BY w.next_attempt_at, w.seq LIMIT :most) AS few)) AS found
    JOIN deliveries d ON d.seq = CAST(found.value AS BIGINT)
    -- While retries get their new times, they wait.
    WHERE NOT (t.is_flushing = 1 AND k.status = 'retrying')
),
-- The due ones with their place in their queue. Behind live ones go bulk, backlog, and what comes after those in a queue.
due (seq, endpoint_id, bulk, at, place, class, room, workers, ahead, turn) AS MATERIALIZED (
    SELECT f.seq, f.endpoint_id, f.bulk, f.at,
           ROW_NUMBER() OVER (PARTITION BY f.endpoint_id, f.bulk ORDER BY f.at, f.seq),
           CASE WHEN f.bulk = 1 OR MAX(f.is_old) OVER (PARTITION BY f.endpoint_id, f.bulk ORDER BY f.at, f.seq) = 1
                THEN 2 ELSE 1 END,
           CASE WHEN f.bulk = 1 AND :bulk_places - COALESCE(k.workers, 0) < :per_endpoint - f.workers
                THEN :bulk_places - COALESCE(k.workers, 0) ELSE :per_endpoint - f.workers END,
           COALESCE(k.workers, 0), COALESCE(k.ahead, 0), COALESCE(k.turn, 0)
    FROM first f LEFT JOIN known k ON k.endpoint_id = f.endpoint_id AND k.bulk = f.bulk
    WHERE f.probe_at IS NULL AND f.at <= :now
),
-- Those with a free place at their endpoint. A failing endpoint has one: for the delivery tried least recently (class 0).
offered (seq, endpoint_id, bulk, at, class, place, turn, room) AS (
    SELECT q.seq, q.endpoint_id, q.bulk, q.at, q.class, q.place, q.turn, :per_endpoint - t.workers
    FROM due q JOIN target t ON t.id = q.endpoint_id WHERE q.place <= q.room
    UNION ALL
    SELECT d.seq, t.id, d.bulk, d.next_attempt_at, 0, 1, t.failed_at, 1
    FROM target t JOIN deliveries d ON d.seq = (
        SELECT w.seq FROM deliveries w
        WHERE w.endpoint_seq = t.seq AND w.next_attempt_at <= :now
          AND (w.leased_until IS NULL OR w.leased_until <= :now)
        ORDER BY w.tried, w.bulk, w.next_attempt_at, w.seq LIMIT 1)
    WHERE t.probe_at <= :now AND t.workers = 0
),
-- No more of one endpoint than its places, of one class than its workers, and of all than the free workers.
of_endpoint (seq, endpoint_id, bulk, at, class, place, turn, room, number) AS (
    SELECT seq, endpoint_id, bulk, at, class, place, turn, room,
           ROW_NUMBER() OVER (PARTITION BY endpoint_id ORDER BY class, place, turn, at, seq)
    FROM offered
),
of_class (seq, endpoint_id, bulk, class, number) AS (
    SELECT seq, endpoint_id, bulk, class,
           ROW_NUMBER() OVER (PARTITION BY class ORDER BY place, turn, at, seq)
    FROM of_endpoint WHERE number <= room
),
of_all (seq, endpoint_id, bulk, number) AS (
    SELECT seq, endpoint_id, bulk, ROW_NUMBER() OVER (ORDER BY class, number)
    FROM of_class
    WHERE class = 1 OR (class = 2 AND number <= :behind)
       OR (class = 0 AND number <= :probes - (SELECT COUNT(*) FROM target WHERE probe_at IS NOT NULL AND workers > 0))
),
begins (seq, endpoint_id, bulk, number) AS MATERIALIZED (SELECT * FROM of_all WHERE number <= :free)
SELECT seq, number, endpoint_id, bulk, CAST(NULL AS BIGINT) AS next_at FROM begins
UNION ALL
-- Leased ahead, without a worker of their own: what follows in the queue of a fast endpoint.
SELECT q.seq, CAST(NULL AS BIGINT), q.endpoint_id, q.bulk, CAST(NULL AS BIGINT)
FROM due q LEFT JOIN (SELECT endpoint_id, bulk, COUNT(*) AS count FROM begins GROUP BY endpoint_id, bulk) AS b
    ON b.endpoint_id = q.endpoint_id AND b.bulk = q.bulk
WHERE q.ahead > 0 AND q.workers + COALESCE(b.count, 0) > 0
  AND q.place > COALESCE(b.count, 0) AND q.place <= COALESCE(b.count, 0) + q.ahead
UNION ALL
SELECT CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS TEXT), CAST(NULL AS BIGINT), MIN(next_at)
FROM (SELECT CASE WHEN probe_at > at THEN probe_at ELSE at END AS next_at FROM first) AS times WHERE next_at > :now
"""
_LEASE: Final = (
    "UPDATE deliveries SET leased_until = :until, waiting = NULL "
    "WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs))"
)
_BEGIN: Final = """
INSERT INTO attempts (delivery_seq, run, number, started_at)
SELECT d.seq, d.run,
       1 + COALESCE((SELECT MAX(a.number) FROM attempts a WHERE a.delivery_seq = d.seq AND a.run = d.run), 0), :now
FROM deliveries d WHERE d.seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs))
ORDER BY d.next_attempt_at, d.seq
RETURNING delivery_seq, number
"""
_LOAD: Final = """
SELECT d.*, e.*, b.deflated
FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq JOIN delivery_bodies b ON b.delivery_seq = d.seq
WHERE d.seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs))
ORDER BY d.next_attempt_at, d.seq
"""
_EXTEND: Final = (
    "UPDATE deliveries SET leased_until = :until WHERE leased_until IS NOT NULL "
    "AND seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:seqs))"
)


class DueDeliveries(Struct, frozen=True):
    """The deliveries to send now, and when to look again.

    Attributes:
        leased: The leased deliveries: those that begin in the order of their places, then those leased ahead, oldest first.
        places: The queue of each worker that may begin. Workers of one queue share its leased deliveries.
        next_at: When the next delivery may be sent, in microseconds; now while retries still get their new times; None
            if none waits.
    """

    leased: tuple[Leased, ...]
    places: tuple[QueueKey, ...]
    next_at: int | None


class Workers(Struct, frozen=True):
    """What the workers do and may begin; without arguments, nothing is leased.

    Attributes:
        limit: Number of free workers.
        per_endpoint: Limit of simultaneous attempts to one endpoint.
        running: Attempts that are running.
        backlog: How many of these, other than bulk, are of a backlog.
        served: When each queue was last served: the higher the number the later.
        held: The beginnings of the addresses to which nothing may be sent, because our own link is down.
        ahead: How many deliveries may be leased ahead for the workers of a queue.
        in_flight: The end of the lease of each delivery that is being sent or waits for a worker, by `seq`.
    """

    limit: int = 0
    per_endpoint: int = 0
    running: Running = field(default_factory=dict)
    backlog: int = 0
    served: Mapping[QueueKey, int] = field(default_factory=dict)
    held: Collection[str] = ()
    ahead: Mapping[QueueKey, int] = field(default_factory=dict)
    in_flight: Mapping[int, int] = field(default_factory=dict)

    def lease(self, tx: Tx, now: int) -> DueDeliveries:
        """Lease what is sent next, and record the start of each attempt."""
        if not (self.limit or any(self.ahead.values())):
            return NOTHING_DUE
        # The clock may have been set forward, or the machine slept. A second attempt beside the first could overwrite its 2xx.
        if over := [seq for seq, until in self.in_flight.items() if until <= now]:
            tx.run(_EXTEND, {"seqs": json_rows(over), "until": now + LEASE_US})
        is_flushing = deliveries.continue_release(tx, now)
        *chosen, (*_, next_at) = tx.all(_CHOICE, self._params(now))
        order = {row[0]: row[1] or len(chosen) + 1 for row in chosen}
        begins = sorted((row for row in chosen if row[1] is not None), key=lambda row: order[row[0]])
        leased = _begin(tx, [*order], now)
        leased.sort(key=lambda one: order[one.delivery.seq])
        places = tuple((row[2], bool(row[3])) for row in begins)
        return DueDeliveries(tuple(leased), places, now if is_flushing else next_at)

    def _params(self, now: int) -> dict[str, Any]:
        workers = self.limit + sum(self.running.values())
        in_bulk = sum(count for (_, bulk), count in self.running.items() if bulk)
        numbers = (self.running, self.ahead, self.served)
        queues = [
            (key[0], int(key[1]), *(one.get(key, 0) for one in numbers))
            for key in self.running.keys() | self.ahead.keys() | self.served.keys()
        ]
        return {
            "now": now,
            "queues": json_rows(queues),
            "held": json_rows([(one,) for one in self.held]),
            "free": self.limit,
            "per_endpoint": self.per_endpoint,
            "bulk_places": max(1, self.per_endpoint // 2),
            "behind": most_behind(workers) - in_bulk - self.backlog,
            "probes": most_probes(workers),
            "most": self.per_endpoint + max([0, *self.ahead.values()]),
        }


NO_WORKERS: Final = Workers()
NOTHING_DUE: Final = DueDeliveries((), (), None)


def _begin(tx: Tx, chosen: Sequence[int], now: int) -> list[Leased]:
    """Lease these deliveries and record the start of an attempt for each; return them with all that a worker needs."""
    if not chosen:
        return []
    seqs = json_rows(chosen)
    tx.run(_LEASE, {"seqs": seqs, "until": now + LEASE_US})
    numbers = dict(tx.all(_BEGIN, {"seqs": seqs, "now": now}))
    found = []
    sealed: dict[str, tuple[str, ...]] = {}
    for delivery, endpoint, deflated in tx.joined(_LOAD, {"seqs": seqs}, d=Delivery, e=Endpoint):
        owner = endpoints.secret_owner(endpoint)
        if owner not in sealed:
            sealed[owner] = tuple(endpoints.valid_secrets(tx, owner, now))
        number, body = numbers[delivery.seq], deliveries.inflate(deflated)
        found.append(Leased(delivery, endpoint, number, body, sealed[owner]))
    return found


def release_all(tx: Tx) -> int:
    """Clear every lease. Only at start: the lock of the home folder guarantees that no other process is sending."""
    return tx.run(
        "UPDATE deliveries SET leased_until = NULL WHERE leased_until IS NOT NULL AND next_attempt_at IS NOT NULL"
    )
