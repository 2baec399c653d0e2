"""Record the result of a delivery attempt: on the delivery, its endpoint, the attempt log and the journal."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import (
    AUTO_PAUSE_AT,
    FAILING_NOTICES_AT,
    STREAK_MIN,
    AttemptOutcome,
    DeadLetterReason,
    Decision,
    DeliveryError,
    DeliveryEvent,
    DeliveryFacts,
    LinkState,
    RetryPolicy,
    decide,
    next_status,
)
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.webhooks import backlog, dead_letters, deliveries, endpoints
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
    untroubled = dict.fromkeys(ids, False) | dict.fromkeys(
        deliveries.without_failures(tx, ids), True
    )
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
    deliveries.record_delivered(
        tx,
        [
            (
                one.leased.delivery.seq,
                one.leased.delivery.run,
                one.leased.number,
                one.outcome.status_code,
                one.outcome.response_body,
                one.outcome.duration_us,
            )
            for one in successes
        ],
        now,
    )
    deliveries.record_endpoint_success(tx, {one.leased.endpoint.id for one in successes}, now)
    for one in successes:
        if one.leased.delivery.run > 1:
            # Only a delivery that failed in an earlier run has a dead letter.
            dead_letters.resolve(tx, one.leased.delivery.id, now)
    journal.add_all(
        tx, [_line(one.leased, one.outcome, "delivery.delivered", one.now) for one in successes]
    )


def _decide(ended: EndedAttempt, *, failures: int, link_failures: int) -> Decision:
    delivery = ended.leased.delivery
    facts = DeliveryFacts(
        status=delivery.status,
        attempt_count=delivery.attempt_count,
        consecutive_failures=failures,
        extra=delivery.extra,
        clock_waits=delivery.clock_waits,
        link_failures=link_failures,
    )
    return decide(
        facts,
        ended.outcome,
        now_us=ended.now,
        unit=ended.unit,
        link=ended.link,
        policy=ended.policy,
    )


def record(tx: Tx, ended: EndedAttempt, new_id: Callable[[], str]) -> Decision:
    """Decide about an attempt by the endpoint's current state, record everything, and return the decision."""
    leased, now = ended.leased, ended.now
    delivery, endpoint = leased.delivery, leased.endpoint
    failures, link_failures = deliveries.streak_of(tx, endpoint.id)
    decision = _decide(ended, failures=failures, link_failures=link_failures)
    active, deleted = endpoints.current_state(tx, endpoint.id)
    if deleted and decision.next_attempt_at_us is not None:
        decision = _given_up(decision, delivery.status)
    _write(tx, leased, ended.outcome, decision, now)
    if decision.dead_letter is not None:
        dead_letters.add(
            tx, letter_id=new_id(), delivery_id=delivery.id, reason=decision.dead_letter, now=now
        )
    if decision.flush_endpoint:
        backlog.begin_release(tx, endpoint.id, now)
        if failures >= STREAK_MIN:
            backlog.mark_backlog(tx, endpoint.id)
    if not deleted:
        _watch_streak(tx, endpoint, failures, decision, now, active=active)
        _record_blocked(tx, leased, ended.outcome, decision, now)
    if not deleted or decision.status is DeliveryStatus.DELIVERED:
        # The deletion of the endpoint has already recorded the failure of its deliveries.
        _record_end(tx, leased, ended.outcome, decision, now)
    return decision


def _write(tx: Tx, leased: Leased, outcome: AttemptOutcome, decision: Decision, now: int) -> None:
    delivery = leased.delivery
    delivered = decision.status is DeliveryStatus.DELIVERED
    failed = decision.status is DeliveryStatus.FAILED
    deliveries.record(
        tx,
        delivery,
        leased.number,
        changes={
            "status": decision.status,
            "next_attempt_at": decision.next_attempt_at_us,
            "attempt_count": decision.attempt_count,
            "response_status_code": outcome.status_code,
            "response_body": outcome.response_body if outcome.status_code else None,
            "error_code": decision.error_code,
            "error_message": None if delivered else outcome.error_message,
            # The time of the first 2xx is never overwritten.
            "delivered_at": delivery.delivered_at or (now if delivered else None),
            "failed_at": now if failed else None,
            "waiting": "clock" if decision.waits_for_clock else None,
            "clock_waits": delivery.clock_waits + decision.waits_for_clock,
        },
        attempt={
            "finished_at": now,
            "duration_us": outcome.duration_us,
            "status_code": outcome.status_code,
            "error_code": decision.error_code,
            "error_message": outcome.error_message,
            "counted": decision.counts,
        },
    )
    deliveries.record_endpoint_result(
        tx,
        leased.endpoint.id,
        succeeded=delivered,
        failures=decision.consecutive_failures,
        link_failure=not (delivered or decision.counts or decision.waits_for_clock),
        now=now,
    )
    if delivered:
        dead_letters.resolve(tx, delivery.id, now)


def _record_end(
    tx: Tx, leased: Leased, outcome: AttemptOutcome, decision: Decision, now: int
) -> None:
    kinds = {
        DeliveryStatus.DELIVERED: "delivery.delivered",
        DeliveryStatus.FAILED: "delivery.failed",
    }
    if decision.status not in kinds:
        return
    journal.add_all(tx, [_line(leased, outcome, kinds[decision.status], now)])


def _record_blocked(
    tx: Tx, leased: Leased, outcome: AttemptOutcome, decision: Decision, now: int
) -> None:
    """Record in the journal that an address became forbidden, or is allowed again.

    Each delivery that finds out records it once, and again after the owner paused or changed the endpoint.
    """
    blocked, before = DeliveryError.BLOCKED_ADDRESS, leased.delivery.error_code
    is_blocked, was_blocked = decision.error_code is blocked, before == blocked
    if is_blocked == was_blocked and not (is_blocked and _is_changed(leased.endpoint)):
        return
    journal.add(
        tx,
        type="endpoint.blocked" if is_blocked else "endpoint.unblocked",
        mode=leased.endpoint.mode,
        at=now,
        endpoint_id=leased.endpoint.id,
        data={"why": outcome.error_message} if is_blocked else {},
    )


def _is_changed(endpoint: Endpoint) -> bool:
    """Return whether the owner has changed the endpoint since its last failure."""
    # An implicit endpoint is updated with each transaction, and no owner can change it.
    return endpoint.kind == "endpoint" and endpoint.updated_at > (endpoint.last_failure_at or 0)


def _line(leased: Leased, outcome: AttemptOutcome, kind: str, now: int) -> journal.JournalEntry:
    return journal.JournalEntry(
        type=kind,
        mode=leased.endpoint.mode,
        at=now,
        transaction_id=leased.delivery.transaction_id,
        endpoint_id=leased.endpoint.id,
        data={
            "delivery_id": leased.delivery.id,
            "event": leased.delivery.event,
            "code": outcome.status_code,
        },
    )


def _given_up(decision: Decision, status: DeliveryStatus) -> Decision:
    """Turn a failure into the final one because the endpoint was deleted during the attempt."""
    return replace(
        decision,
        event=DeliveryEvent.ENDPOINT_DELETED,
        status=next_status(status, DeliveryEvent.ENDPOINT_DELETED),
        next_attempt_at_us=None,
        dead_letter=DeadLetterReason.ENDPOINT_DELETED,
    )


def _watch_streak(
    tx: Tx, endpoint: Endpoint, before: int, decision: Decision, now: int, *, active: bool
) -> None:
    """Record in the journal how long a streak of failures is; a long one auto-pauses the endpoint (circuit breaker)."""
    failures = decision.consecutive_failures
    own = endpoint.kind == "endpoint"
    kind = None
    if failures < before:
        kind = "endpoint.recovered" if before >= FAILING_NOTICES_AT[0] else None
    elif failures > before and active:
        if own and failures >= AUTO_PAUSE_AT:
            kind = "endpoint.auto_paused"
            endpoints.change(
                tx, endpoint.id, {"is_active": False, "auto_paused_at": now, "updated_at": now}
            )
        elif failures in (*FAILING_NOTICES_AT, AUTO_PAUSE_AT):
            # No owner can resume an implicit endpoint, so it is reported and never paused.
            kind = "endpoint.failing"
    if kind is not None:
        journal.add(
            tx,
            type=kind,
            mode=endpoint.mode,
            at=now,
            endpoint_id=endpoint.id,
            data={"consecutive_failures": max(failures, before)},
        )
