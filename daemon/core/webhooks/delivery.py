"""The life of a webhook delivery: its states, the result of an attempt, and the time of the next one. Pure.

The states are a table. A pair that is not in it raises and changes nothing. The flow calls
`decide` once for each finished attempt and stores its result.

`attempt_count` counts the attempts of this run that used a step of the schedule, and the successful one. An attempt while
our own connection was down, or an extra one by the flush after an outage, does not count, so the attempts left are always
`len(steps) + 1 - attempt_count`. All attempts are in the attempts log.

The numbers of the fair queue (docs/contributing/deliveries.md) and the priority of live work stand here too.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from daemon.core.limits import HOUR_US, SECOND_US
from daemon.wire import DeliveryStatus

LEASE_US: Final = 60 * SECOND_US
ANSWER_KEPT_BYTES_MAX: Final = 8 * 1024
WORKERS_PER_PROBE: Final = 2
"""At most one worker in this many probes failing endpoints: a dead one blocks its worker for up to 15 s."""
SERVED_MAX: Final = 100
"""The number of queues with a remembered last turn; any other queue counts as least recently served."""
QueueKey = tuple[str, bool]
"""One queue: an endpoint's id, and whether it holds bulk resends or live deliveries."""
Running = Mapping[QueueKey, int]
"""Number of running attempts by queue."""
LIVE_STEP_S: Final = 0.05
"""Longest pause between two steps of live work. Work without a step for longer (a receiver that does not answer) no longer
delays bulk."""
BULK_WAIT_S_MAX: Final = 0.15
"""A bulk POST waits no longer than this in total, so that a replay also ends in a busy shop."""
FLUSH_GAP_US: Final = SECOND_US // 5
"""Gap between the retries of one endpoint after an outage (5/s); first attempts are not limited."""


def most_behind(workers: int) -> int:
    """Return how many workers may send bulk resends and backlog: half of them, at least one."""
    return max(1, workers // 2)


def most_probes(workers: int) -> int:
    """Return how many workers may probe failing endpoints: a dead one blocks its worker for up to 15 s."""
    return max(1, workers // WORKERS_PER_PROBE)


def mark_served(served: dict[QueueKey, int], key: QueueKey) -> None:
    """Mark a queue as most recently served: `served` holds the queues in round-robin order, with rising numbers."""
    latest = next(reversed(served.values()), 0)
    served.pop(key, None)
    served[key] = latest + 1
    if len(served) > SERVED_MAX:
        del served[next(iter(served))]


class LivePriority:
    """Time of the last step of live work, on the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._until = float("-inf")

    def step(self, now: float) -> None:
        """Record a step of live work: an SMS was announced or read, or a live webhook is sent."""
        self._until = now + LIVE_STEP_S

    def wait_s(self, now: float, waited_s: float) -> float:
        """Return how many seconds a bulk attempt must still wait after `waited_s`; 0 if it may start."""
        return max(0.0, min(self._until - now, BULK_WAIT_S_MAX - waited_s))


SCHEDULE_S: Final = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 86_400)
"""13 attempts over 75.7 h, long enough for a weekend."""
JITTER: Final = 0.2
RETRY_AFTER_US_MAX: Final = 12 * HOUR_US
CLOCK_WAITS_MAX: Final = 144
"""After so many waits for the right time, 24 hours, a 4xx is final. They are counted: the clock may be wrong."""
STREAK_MIN: Final = 3
"""After this many failures in a row the endpoint counts as down, and its first 2xx flushes the queue."""
AUTO_PAUSE_AT: Final = 20
"""This many failures in a row pause an endpoint of the shop (auto-pause of the circuit breaker)."""
FAILING_NOTICES_AT: Final = (10, 14, 18)
"""The owner gets a notice at these counts before the pause, and one when the endpoint recovers."""
LINK_PROBE_US_MIN: Final = 10 * SECOND_US
LINK_PROBE_US_MAX: Final = 60 * SECOND_US
_P, _R, _D, _F = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING, DeliveryStatus.DELIVERED, DeliveryStatus.FAILED)


class DeliveryEvent(StrEnum):
    """An event in the life of a delivery."""

    SUCCEEDED = "succeeded"
    FAILED_FOR_NOW = "failed_for_now"
    """A failure worth a retry, with attempts left."""
    EXHAUSTED = "exhausted"
    """A failure worth a retry, without attempts left."""
    REFUSED = "refused"
    """A 4xx: the receiver will never take it."""
    NOT_COUNTED = "not_counted"
    """A failure that is not the receiver's fault, or one of an extra attempt."""
    CLOCK_WRONG = "clock_wrong"
    """A 4xx that may be the fault of a wrong clock: it is signed again later."""
    ENDPOINT_PAUSED = "endpoint_paused"
    ENDPOINT_DELETED = "endpoint_deleted"
    REDELIVER = "redeliver"
    REPLAY = "replay"
    """Replay of its dead letter, or of a window that it is in."""


TRANSITIONS: Final[Mapping[DeliveryStatus, Mapping[DeliveryEvent, DeliveryStatus]]] = {
    _P: {
        DeliveryEvent.SUCCEEDED: _D,
        DeliveryEvent.FAILED_FOR_NOW: _R,
        DeliveryEvent.REFUSED: _F,
        DeliveryEvent.NOT_COUNTED: _P,
        DeliveryEvent.CLOCK_WRONG: _P,
        DeliveryEvent.ENDPOINT_PAUSED: _P,
        DeliveryEvent.ENDPOINT_DELETED: _F,
    },
    _R: {
        DeliveryEvent.SUCCEEDED: _D,
        DeliveryEvent.FAILED_FOR_NOW: _R,
        DeliveryEvent.EXHAUSTED: _F,
        DeliveryEvent.REFUSED: _F,
        DeliveryEvent.NOT_COUNTED: _R,
        DeliveryEvent.CLOCK_WRONG: _R,
        DeliveryEvent.ENDPOINT_PAUSED: _R,
        DeliveryEvent.ENDPOINT_DELETED: _F,
    },
    _D: {DeliveryEvent.REDELIVER: _P},
    _F: {DeliveryEvent.REDELIVER: _P, DeliveryEvent.REPLAY: _P},
}


class TransitionError(ValueError):
    """The event is not allowed in the delivery's state; nothing was changed."""

    def __init__(self, status: DeliveryStatus, event: DeliveryEvent) -> None:
        self.status = status
        self.event = event
        super().__init__(f"event {event} is not allowed for a {status} delivery")


def next_status(status: DeliveryStatus, event: DeliveryEvent) -> DeliveryStatus:
    """Return the state after `event`.

    Raises:
        TransitionError: The table has no such pair.
    """
    try:
        return TRANSITIONS[status][event]
    except KeyError:
        raise TransitionError(status, event) from None


class DeadLetterReason(StrEnum):
    """The reason of a dead letter."""

    PERMANENT_4XX = "permanent_4xx"
    RETRIES_EXHAUSTED = "retries_exhausted"
    ENDPOINT_DELETED = "endpoint_deleted"


class DeliveryError(StrEnum):
    """The `error.code` of a delivery or attempt."""

    TIMEOUT = "timeout"
    DNS_ERROR = "dns_error"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    NETWORK_UNREACHABLE = "network_unreachable"
    TLS_ERROR = "tls_error"
    REDIRECT = "redirect"
    BLOCKED_ADDRESS = "blocked_address"
    HTTP_ERROR = "http_error"
    PROTOCOL_ERROR = "protocol_error"


class AttemptOutcome(Struct, frozen=True):
    """The outcome of one POST, made by `daemon.sender`, which raises for no network failure."""

    status_code: int | None
    """The receiver's status, if one was read. With `error_code` set the answer was incomplete."""
    response_body: str
    """At most 8 KiB of text, "" when there was none."""
    error_code: DeliveryError | None
    error_message: str | None
    """A sentence for people; never a secret."""
    duration_us: int
    retry_after_s: int | None = None
    connected: bool = False
    """The receiver's host answered TCP, so our own connection works."""
    date_us: int | None = None
    """The `Date` of the answer, in microseconds since 1970; None without one."""
    without_cas: bool = False
    """It was not made: the file of `[webhooks] ca_file` cannot be read now."""
    clock_wait_us: int | None = None
    """How long the delivery waits to be signed again, if a 4xx may be the fault of a clock; set by the flow."""


class AttemptResult(StrEnum):
    """The kinds of outcome that `decide` distinguishes."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    SERVER_ERROR = "server_error"
    REDIRECT = "redirect"
    TIMEOUT = "timeout"
    DNS_ERROR = "dns_error"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    NETWORK_UNREACHABLE = "network_unreachable"
    TLS_ERROR = "tls_error"
    BLOCKED_ADDRESS = "blocked_address"
    PROTOCOL_ERROR = "protocol_error"


class RetryPolicy(Struct, frozen=True):
    """`[webhooks] retry_schedule_s, jitter, retry_4xx`."""

    schedule_s: tuple[float, ...] = SCHEDULE_S
    jitter: float = JITTER
    retry_4xx: frozenset[int] = frozenset()
    """4xx statuses that are retried like a 5xx. Default none."""

    def __post_init__(self) -> None:
        assert self.schedule_s, "at least one retry: a delivery is never given up after one attempt"
        assert all(step > 0 for step in self.schedule_s)
        assert 0 <= self.jitter < 1


class LinkState(Struct, frozen=True):
    """The state of our own connection when the attempt ended."""

    other_host_answered: bool
    """Another host answered TCP within the last 60 s."""
    other_host_known: bool
    """There is another host that could have answered."""


class DeliveryFacts(Struct, frozen=True):
    """The delivery and its endpoint as they were when the attempt ended."""

    status: DeliveryStatus
    attempt_count: int
    consecutive_failures: int
    """The endpoint's failures in a row, which lead to the auto-pause."""
    extra: bool = False
    """The flush after an outage made this attempt early: its failure uses no step of the schedule."""
    clock_waits: int = 0
    """How often this run has waited for the right time."""
    link_failures: int = 0
    """The endpoint's uncounted failures since its last 2xx; they decide about the flush when the connection returns."""


class Decision(Struct, frozen=True):
    """The result of an attempt, which the flow stores."""

    event: DeliveryEvent
    status: DeliveryStatus
    result: AttemptResult
    error_code: DeliveryError | None
    attempt_count: int
    next_attempt_at_us: int | None
    """None after the last attempt: delivered or failed."""
    dead_letter: DeadLetterReason | None
    counts: bool
    """The failure counts towards the auto-pause (False also for a success)."""
    consecutive_failures: int
    """The endpoint's new value."""
    flush_endpoint: bool
    """An outage ended: all waiting deliveries of this endpoint are due now, oldest first."""

    @property
    def waits_for_clock(self) -> bool:
        """Return whether the delivery waits for the right time."""
        return self.event is DeliveryEvent.CLOCK_WRONG


_ERROR_RESULTS: Final[Mapping[DeliveryError | None, AttemptResult]] = MappingProxyType(
    {
        error: AttemptResult(error.value)
        for error in DeliveryError
        if error not in {DeliveryError.HTTP_ERROR, DeliveryError.REDIRECT}
    }
)

_STATUS_RESULTS: Final[Mapping[int, AttemptResult]] = MappingProxyType(
    {2: AttemptResult.DELIVERED, 3: AttemptResult.REDIRECT, 4: AttemptResult.REFUSED, 5: AttemptResult.SERVER_ERROR}
)


def classify(outcome: AttemptOutcome) -> AttemptResult:
    """Return the kind of an outcome. An incomplete answer is classified by its error, not by its status."""
    if outcome.error_code in _ERROR_RESULTS:
        return _ERROR_RESULTS[outcome.error_code]
    return _STATUS_RESULTS.get((outcome.status_code or 0) // 100, AttemptResult.PROTOCOL_ERROR)


def error_code(result: AttemptResult) -> DeliveryError | None:
    """Return the `error.code` of a result, None for a success."""
    if result is AttemptResult.DELIVERED:
        return None
    if result in {AttemptResult.REFUSED, AttemptResult.SERVER_ERROR}:
        return DeliveryError.HTTP_ERROR
    return DeliveryError(result.value)


def next_delay_us(
    attempt_number: int, schedule_s: tuple[float, ...], jitter: float, unit: float, retry_after_s: int | None = None
) -> int:
    """Return the delay in microseconds after failed attempt `attempt_number` of a run, from 1 to `len(schedule_s)`.

    Each step is lengthened or shortened by up to `jitter`, with `unit` in [0, 1), so that retries do not arrive
    together. The receiver's `Retry-After` lengthens the step, to 12 h at most, and never shortens it.
    """
    assert 1 <= attempt_number <= len(schedule_s), "there is no attempt left"
    assert 0 <= unit < 1
    step_us = schedule_s[attempt_number - 1] * SECOND_US
    delay_us = round(step_us * (1 + jitter * (2 * unit - 1)))
    if retry_after_s is None:
        return delay_us
    return max(delay_us, min(retry_after_s * SECOND_US, RETRY_AFTER_US_MAX))


def is_own_link(result: AttemptResult, outcome: AttemptOutcome) -> bool:
    """Return whether our own connection may have caused the failure: the receiver's host was never reached."""
    return not outcome.connected and result in {
        AttemptResult.DNS_ERROR,
        AttemptResult.NETWORK_UNREACHABLE,
        AttemptResult.TIMEOUT,
        AttemptResult.CONNECTION_RESET,
    }


LINK_WORKS: Final = LinkState(other_host_answered=True, other_host_known=True)
DEFAULT_POLICY: Final = RetryPolicy()


def decide(
    facts: DeliveryFacts,
    outcome: AttemptOutcome,
    *,
    now_us: int,
    unit: float,
    link: LinkState = LINK_WORKS,
    policy: RetryPolicy = DEFAULT_POLICY,
) -> Decision:
    """Return the decision about one attempt that ended at `now_us`.

    `unit` is a random number in [0, 1), for the jitter. `link` says whether our own connection may have caused a
    failure to reach the host.

    Raises:
        TransitionError: The delivery is in a state without attempts.
    """
    result = classify(outcome)
    if result is AttemptResult.DELIVERED:
        return Decision(
            event=DeliveryEvent.SUCCEEDED,
            status=next_status(facts.status, DeliveryEvent.SUCCEEDED),
            result=result,
            error_code=None,
            attempt_count=facts.attempt_count + 1,
            next_attempt_at_us=None,
            dead_letter=None,
            counts=False,
            consecutive_failures=0,
            flush_endpoint=max(facts.consecutive_failures, facts.link_failures) >= STREAK_MIN,
        )
    link_down = is_own_link(result, outcome) and not link.other_host_answered
    free = link_down and link.other_host_known
    event = _failure_event(facts, outcome, result, policy, unused=free)
    clock_wrong = event is DeliveryEvent.CLOCK_WRONG
    unused = clock_wrong or event is DeliveryEvent.NOT_COUNTED
    attempt_count = facts.attempt_count + (not unused)
    status = next_status(facts.status, event)
    next_at = None
    if clock_wrong:
        next_at = now_us + (outcome.clock_wait_us or 0)
    elif status is not DeliveryStatus.FAILED:
        next_at = now_us + (
            LINK_PROBE_US_MIN + round(unit * (LINK_PROBE_US_MAX - LINK_PROBE_US_MIN))
            if free
            else _step_us(attempt_count, result, outcome, unit, policy)
        )
    return Decision(
        event=event,
        status=status,
        result=result,
        error_code=error_code(result),
        attempt_count=attempt_count,
        next_attempt_at_us=next_at,
        dead_letter=_DEAD_LETTERS.get(event),
        counts=not (link_down or clock_wrong),
        consecutive_failures=facts.consecutive_failures + (not (link_down or clock_wrong)),
        flush_endpoint=False,
    )


def _step_us(
    attempt_count: int, result: AttemptResult, outcome: AttemptOutcome, unit: float, policy: RetryPolicy
) -> int:
    # An extra attempt may come after the last step of the schedule, or beyond it if the settings changed.
    step = min(max(attempt_count, 1), len(policy.schedule_s))
    # The Retry-After of a redirect or an incomplete answer is not deliberate, so it is ignored.
    heeded = error_code(result) is DeliveryError.HTTP_ERROR
    asked = outcome.retry_after_s if heeded else None
    return next_delay_us(step, policy.schedule_s, policy.jitter, unit, asked)


_DEAD_LETTERS: Final = MappingProxyType(
    {
        DeliveryEvent.REFUSED: DeadLetterReason.PERMANENT_4XX,
        DeliveryEvent.EXHAUSTED: DeadLetterReason.RETRIES_EXHAUSTED,
        DeliveryEvent.ENDPOINT_DELETED: DeadLetterReason.ENDPOINT_DELETED,
    }
)


def _failure_event(
    facts: DeliveryFacts, outcome: AttemptOutcome, result: AttemptResult, policy: RetryPolicy, *, unused: bool
) -> DeliveryEvent:
    """Return the event of a failure; `unused` when our own connection was down."""
    if result is AttemptResult.REFUSED and outcome.status_code not in policy.retry_4xx:
        waits = outcome.clock_wait_us is not None and facts.clock_waits < CLOCK_WAITS_MAX
        return DeliveryEvent.CLOCK_WRONG if waits else DeliveryEvent.REFUSED
    if unused or facts.extra:
        return DeliveryEvent.NOT_COUNTED
    # Attempt n is followed by step n, so no step is left after the last one.
    if facts.status is DeliveryStatus.RETRYING and facts.attempt_count >= len(policy.schedule_s):
        return DeliveryEvent.EXHAUSTED
    return DeliveryEvent.FAILED_FOR_NOW


class Attempt(Struct, frozen=True):
    """One POST of one run of a delivery; times are microseconds.

    `number` counts within its run, from 1. `finished_at` is None while it is in flight, and for ever if a crash
    interrupted it. `counted` says that it was a failure that counted towards the auto-pause.
    """

    seq: int
    delivery_seq: int
    run: int
    number: int
    started_at: int
    finished_at: int | None
    duration_us: int | None
    status_code: int | None
    error_code: str | None
    error_message: str | None
    counted: bool | None


class DeadLetter(Struct, frozen=True):
    """A delivery that failed for good, with the reason; times are microseconds.

    `created_at` is of its first failure, `failed_at` of the latest. `replayed_at` is None when it waits for an
    operator, or failed again; `resolved_at` is when its delivery arrived after all. `failing_since` is the first
    attempt of the run that failed, None when none was made; `attempt_count` and `clock_waits` are of that run.
    `dismissed_at` is when an operator closed it with `notes`; None also when it failed again since.
    """

    seq: int
    id: str
    delivery_id: str
    reason: str
    created_at: int
    replayed_at: int | None
    replay_count: int
    resolved_at: int | None
    failed_at: int
    failing_since: int | None
    error_code: str | None
    error_message: str | None
    last_status_code: int | None
    last_response_body: str | None
    attempt_count: int
    clock_waits: int = 0
    dismissed_at: int | None = None
    dismissed_by: str | None = None
    notes: str | None = None
