"""Write down what came of one attempt: on the delivery, in the log, on its endpoint, in the journal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from daemon.core.delivery import (
    AUTO_PAUSE_AT,
    FAILING_NOTICES_AT,
    STREAK_MIN,
    DeadLetterReason,
    Decision,
    DeliveryError,
    DeliveryEvent,
    DeliveryFacts,
    Link,
    Outcome,
    RetryPolicy,
    decide,
    next_status,
)
from daemon.core.model import Delivery, Endpoint
from daemon.store import backlog, dead_letters, deliveries, endpoints, events, flush
from daemon.store.engine import Tx
from daemon.wire import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Leased:
    """A delivery whose attempt has begun: recorded, and ours until the lease ends."""

    delivery: Delivery
    endpoint: Endpoint
    number: int
    sealed_secrets: tuple[str, ...]

    @property
    def is_behind(self) -> bool:
        """Say whether it waits behind what is live: it is sent again in bulk, or waited for an outage or a pause to end."""
        return self.delivery.bulk or self.delivery.seq <= self.endpoint.backlog_seq


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that was made, and what is needed to judge it."""

    leased: Leased
    outcome: Outcome
    link: Link
    policy: RetryPolicy
    now: int
    unit: float


def write_all(tx: Tx, ended: Sequence[Ended], new_id: Callable[[], str]) -> list[Decision]:
    """Write down many attempts in the order in which they ended; returns what was decided, one each.

    Those that arrived as everybody hopes (a 2xx of an endpoint that did not fail before) are written together.
    """
    decisions: list[Decision] = []
    plain: list[Ended] = []
    ids = {one.leased.endpoint.id for one in ended}
    untroubled = dict.fromkeys(ids, False) | dict.fromkeys(deliveries.untroubled(tx, ids), True)
    for one in ended:
        endpoint_id = one.leased.endpoint.id
        if endpoint_id not in untroubled:
            untroubled[endpoint_id] = bool(deliveries.untroubled(tx, {endpoint_id}))
        decision = _hoped_for(one) if untroubled[endpoint_id] else None
        if decision is not None:
            plain.append(one)
        else:
            _write_plain(tx, plain)
            plain = []
            decision = write(tx, one, new_id)
            del untroubled[endpoint_id]
        decisions.append(decision)
    _write_plain(tx, plain)
    return decisions


def _hoped_for(one: Ended) -> Decision | None:
    """Return the decision about a 2xx of an endpoint without a streak; None for all else."""
    if one.leased.delivery.error_code == DeliveryError.BLOCKED_ADDRESS:
        return None  # it ends what the owner was told
    decision = _judge(one, failures=0, link_failures=0)
    return decision if decision.event is DeliveryEvent.SUCCEEDED else None


def _write_plain(tx: Tx, plain: Sequence[Ended]) -> None:
    if not plain:
        return
    now = max(one.now for one in plain)
    deliveries.record_delivered(
        tx,
        [
            (
                one.leased.delivery.seq,
                one.leased.delivery.id,
                one.leased.delivery.run,
                one.leased.number,
                one.outcome.status_code,
                one.outcome.response_body,
                one.outcome.duration_us,
            )
            for one in plain
        ],
        now,
    )
    deliveries.note_answered(tx, {one.leased.endpoint.id for one in plain}, now)
    for one in plain:
        if one.leased.delivery.run > 1:
            # Only what was given up, in a run before, has a dead letter.
            dead_letters.resolve(tx, one.leased.delivery.id, now)
    events.add_all(
        tx, [_line(one.leased, one.outcome, "delivery.delivered", one.now) for one in plain]
    )


def _judge(ended: Ended, *, failures: int, link_failures: int) -> Decision:
    delivery = ended.leased.delivery
    facts = DeliveryFacts(
        status=delivery.status,
        attempt_count=delivery.attempt_count,
        consecutive_failures=failures,
        extra=delivery.extra,
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


def write(tx: Tx, ended: Ended, new_id: Callable[[], str]) -> Decision:
    """Judge an attempt by the endpoint as it is now, write everything down, and return what was decided."""
    leased, now = ended.leased, ended.now
    delivery, endpoint = leased.delivery, leased.endpoint
    failures, link_failures = deliveries.streak_of(tx, endpoint.id)
    decision = _judge(ended, failures=failures, link_failures=link_failures)
    active, deleted = endpoints.now_in_use(tx, endpoint.id)
    if deleted and decision.next_attempt_at_us is not None:
        decision = _given_up(decision, delivery.status)
    _write(tx, leased, ended.outcome, decision, now)
    if decision.dead_letter is not None:
        dead_letters.bury(
            tx,
            letter_id=new_id(),
            delivery_id=delivery.id,
            reason=decision.dead_letter,
            now=now,
        )
    if decision.flush_endpoint:
        flush.begin(tx, endpoint.id, now)
        if failures >= STREAK_MIN:
            backlog.note(tx, endpoint.id)
    if not deleted:
        _watch_streak(tx, endpoint, failures, decision, now, active=active)
        _tell_blocked(tx, leased, ended.outcome, decision, now)
    if not deleted or decision.status is DeliveryStatus.DELIVERED:
        # A failure after the deletion was told by the deletion.
        _tell(tx, leased, ended.outcome, decision, now)
    return decision


def _write(tx: Tx, leased: Leased, outcome: Outcome, decision: Decision, now: int) -> None:
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
            # The first 2xx is kept for ever.
            "delivered_at": delivery.delivered_at or (now if delivered else None),
            "failed_at": now if failed else None,
            "waiting": None,
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
    deliveries.note_endpoint(
        tx,
        leased.endpoint.id,
        succeeded=delivered,
        failures=decision.consecutive_failures,
        link_failure=not delivered and not decision.counts,
        now=now,
    )
    if delivered:
        dead_letters.resolve(tx, delivery.id, now)


def _tell(tx: Tx, leased: Leased, outcome: Outcome, decision: Decision, now: int) -> None:
    """Tell the journal when a delivery has ended."""
    kinds = {
        DeliveryStatus.DELIVERED: "delivery.delivered",
        DeliveryStatus.FAILED: "delivery.failed",
    }
    if decision.status not in kinds:
        return
    events.add_all(tx, [_line(leased, outcome, kinds[decision.status], now)])


def _tell_blocked(tx: Tx, leased: Leased, outcome: Outcome, decision: Decision, now: int) -> None:
    """Tell the journal that an address may not be called (any more), and that it may be again.

    Once for each delivery that finds out, and again after its owner has paused or changed the endpoint.
    """
    blocked, before = DeliveryError.BLOCKED_ADDRESS, leased.delivery.error_code
    is_blocked, was_blocked = decision.error_code is blocked, before == blocked
    if is_blocked == was_blocked and not (is_blocked and _is_changed(leased.endpoint)):
        return
    events.add(
        tx,
        type="endpoint.blocked" if is_blocked else "endpoint.unblocked",
        mode=leased.endpoint.mode,
        at=now,
        endpoint_id=leased.endpoint.id,
        data={"why": outcome.error_message} if is_blocked else {},
    )


def _is_changed(endpoint: Endpoint) -> bool:
    """Say whether its owner has changed the endpoint since it failed last."""
    # An implicit one is written with each order, and has no owner who could change it.
    return endpoint.kind == "endpoint" and endpoint.updated_at > (endpoint.last_failure_at or 0)


def _line(leased: Leased, outcome: Outcome, kind: str, now: int) -> events.Line:
    return events.Line(
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
    """Judge a failure whose endpoint was deleted while the attempt was under way: there will be no other."""
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
    """Tell the journal how far a streak of failures has come, and stop sending where it is too long."""
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
            # Implicit endpoints have nobody who could resume them: they are told of and never paused.
            kind = "endpoint.failing"
    if kind is not None:
        events.add(
            tx,
            type=kind,
            mode=endpoint.mode,
            at=now,
            endpoint_id=endpoint.id,
            data={"consecutive_failures": max(failures, before)},
        )
