"""What becomes of a webhook delivery: its states, the judgement of one attempt, and when the next one is.

The states are a table (decisions.md section 7); a pair that is not in it raises and changes nothing. `decide` is
called once per finished attempt by the flow, which writes down what it says.

`attempt_count` counts the attempts of this run that used up a step of the schedule, and the one that succeeded.
An attempt made while our own link was down, or an extra one made by the flush after an outage, leaves it as it
was, so that the number left is always `len(steps) + 1 - attempt_count`. All attempts are in the attempts log.

Over 300 lines because the states and the judgement that moves along them are read together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from daemon.core.limits import HOUR_US, SECOND_US
from daemon.wire import DeliveryStatus

SCHEDULE_S: Final = (
    5,
    30,
    120,
    600,
    1800,
    3600,
    7200,
    14_400,
    28_800,
    43_200,
    86_400,
    86_400,
)
"""decisions.md section 7: 13 attempts over 75.7 h, long enough for a weekend."""
JITTER: Final = 0.2
RETRY_AFTER_US_MAX: Final = 12 * HOUR_US
STREAK_MIN: Final = 3
"""From a streak of this many failures the endpoint counts as being out, and its first 2xx flushes the queue."""
AUTO_PAUSE_AT: Final = 20
"""interface.md, Limits: so many failures in a row pause the shop's own endpoint."""
FAILING_NOTICES_AT: Final = (10, 14, 18)
"""decisions.md section 5: the owner hears of a streak before the pause, and of its end from the first of these on."""
LINK_PROBE_US_MIN: Final = 10 * SECOND_US
LINK_PROBE_US_MAX: Final = 60 * SECOND_US


class DeliveryEvent(StrEnum):
    """What can happen to a delivery."""

    SUCCEEDED = "succeeded"
    FAILED_FOR_NOW = "failed_for_now"
    """A failure worth a retry, with attempts left."""
    EXHAUSTED = "exhausted"
    """The same, none left."""
    REFUSED = "refused"
    """A 4xx: the receiver will never take it."""
    NOT_COUNTED = "not_counted"
    """Failed, but not by the receiver's fault, or in an extra attempt."""
    ENDPOINT_PAUSED = "endpoint_paused"
    ENDPOINT_DELETED = "endpoint_deleted"
    REDELIVER = "redeliver"
    REPLAY = "replay"
    """Replay of its dead letter, or of a window that it is in."""


_P, _R, _D, _F = (
    DeliveryStatus.PENDING,
    DeliveryStatus.RETRYING,
    DeliveryStatus.DELIVERED,
    DeliveryStatus.FAILED,
)
TRANSITIONS: Final[Mapping[DeliveryStatus, Mapping[DeliveryEvent, DeliveryStatus]]] = {
    _P: {
        DeliveryEvent.SUCCEEDED: _D,
        DeliveryEvent.FAILED_FOR_NOW: _R,
        DeliveryEvent.REFUSED: _F,
        DeliveryEvent.NOT_COUNTED: _P,
        DeliveryEvent.ENDPOINT_PAUSED: _P,
        DeliveryEvent.ENDPOINT_DELETED: _F,
    },
    _R: {
        DeliveryEvent.SUCCEEDED: _D,
        DeliveryEvent.FAILED_FOR_NOW: _R,
        DeliveryEvent.EXHAUSTED: _F,
        DeliveryEvent.REFUSED: _F,
        DeliveryEvent.NOT_COUNTED: _R,
        DeliveryEvent.ENDPOINT_PAUSED: _R,
        DeliveryEvent.ENDPOINT_DELETED: _F,
    },
    _D: {DeliveryEvent.REDELIVER: _P},
    _F: {DeliveryEvent.REDELIVER: _P, DeliveryEvent.REPLAY: _P},
}


class TransitionError(ValueError):
    """This cannot happen to a delivery in this state; nothing was changed."""

    def __init__(self, status: DeliveryStatus, event: DeliveryEvent) -> None:
        self.status = status
        self.event = event
        super().__init__(f"a {status} delivery knows no {event}")


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
    """Why a delivery was given up."""

    PERMANENT_4XX = "permanent_4xx"
    RETRIES_EXHAUSTED = "retries_exhausted"
    ENDPOINT_DELETED = "endpoint_deleted"


class DeliveryError(StrEnum):
    """The `error.code` of a delivery or attempt (decisions.md section 7)."""

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one POST met. `webhooks.sender` makes it; it never raises for anything the network does."""

    status_code: int | None
    """The receiver's status, if one was read. With `error_code` set the answer was not whole."""
    response_body: str
    """At most 8 KiB of text, "" when there was none."""
    error_code: DeliveryError | None
    error_message: str | None
    """A sentence for people; never a secret."""
    duration_us: int
    retry_after_s: int | None = None
    connected: bool = False
    """The receiver's host answered TCP: whatever failed, our own link works."""


class AttemptResult(StrEnum):
    """The kinds of outcome that `decide` tells apart."""

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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`[webhooks] retry_schedule_s, jitter, retry_4xx`."""

    schedule_s: tuple[float, ...] = SCHEDULE_S
    jitter: float = JITTER
    retry_4xx: frozenset[int] = frozenset()
    """4xx statuses that are retried like a 5xx. Default none."""

    def __post_init__(self) -> None:
        assert self.schedule_s, "at least one retry: a delivery is never given up after one attempt"
        assert all(step > 0 for step in self.schedule_s)
        assert 0 <= self.jitter < 1


@dataclass(frozen=True, slots=True)
class Link:
    """What we know of our own connection to the world when the attempt ended."""

    other_host_answered: bool
    """Another host answered TCP within the last 60 s."""
    other_host_known: bool
    """There is another host that could have."""


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """The delivery and its endpoint as they were when the attempt ended."""

    status: DeliveryStatus
    attempt_count: int
    consecutive_failures: int
    """The endpoint's, towards the auto-pause."""
    extra: bool = False
    """This attempt was made early by the flush after an outage: its failure uses up no step."""
    link_failures: int = 0
    """Failures of this endpoint since its last 2xx that did not count, for the flush when the link returns."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the flow writes down after an attempt."""

    event: DeliveryEvent
    status: DeliveryStatus
    result: AttemptResult
    error_code: DeliveryError | None
    attempt_count: int
    next_attempt_at_us: int | None
    """None when there will be none: delivered or failed."""
    dead_letter: DeadLetterReason | None
    counts: bool
    """It adds to the streak towards the auto-pause (False too for a success)."""
    consecutive_failures: int
    """The endpoint's new value."""
    flush_endpoint: bool
    """An outage ended: everything that waits for this endpoint is due now, oldest first."""


_ERROR_RESULTS: Final[Mapping[DeliveryError | None, AttemptResult]] = MappingProxyType(
    {
        error: AttemptResult(error.value)
        for error in DeliveryError
        if error not in {DeliveryError.HTTP_ERROR, DeliveryError.REDIRECT}
    }
)


def classify(outcome: Outcome) -> AttemptResult:
    """Say what kind of outcome it is. An answer that was cut short is judged by what cut it, not by its status."""
    if outcome.error_code in _ERROR_RESULTS:
        return _ERROR_RESULTS[outcome.error_code]
    kind = (outcome.status_code or 0) // 100
    return {
        2: AttemptResult.DELIVERED,
        3: AttemptResult.REDIRECT,
        4: AttemptResult.REFUSED,
        5: AttemptResult.SERVER_ERROR,
    }.get(kind, AttemptResult.PROTOCOL_ERROR)


def error_code(result: AttemptResult) -> DeliveryError | None:
    """Return the `error.code` of a result, None for a success."""
    if result is AttemptResult.DELIVERED:
        return None
    if result in {AttemptResult.REFUSED, AttemptResult.SERVER_ERROR}:
        return DeliveryError.HTTP_ERROR
    return DeliveryError(result.value)


def next_delay_us(
    attempt_number: int,
    schedule_s: tuple[float, ...],
    jitter: float,
    unit: float,
    retry_after_s: int | None = None,
) -> int:
    """Return how long to wait after an attempt that failed.

    Args:
        attempt_number: Which attempt of the run failed, from 1 to `len(schedule_s)`.
        schedule_s: The steps in seconds.
        jitter: The fraction by which a step is stretched or shrunk, so that receivers are not hit in step.
        unit: A random number in [0, 1).
        retry_after_s: What the receiver asked for. It lengthens the step, to 12 h at most, and never shortens it.
    """
    assert 1 <= attempt_number <= len(schedule_s), "there is no attempt left"
    assert 0 <= unit < 1
    step_us = schedule_s[attempt_number - 1] * SECOND_US
    delay_us = round(step_us * (1 + jitter * (2 * unit - 1)))
    if retry_after_s is None:
        return delay_us
    return max(delay_us, min(retry_after_s * SECOND_US, RETRY_AFTER_US_MAX))


def is_own_link(result: AttemptResult, outcome: Outcome) -> bool:
    """Say whether the failure could be our own link's: the receiver's host was never reached."""
    return not outcome.connected and result in {
        AttemptResult.DNS_ERROR,
        AttemptResult.NETWORK_UNREACHABLE,
        AttemptResult.TIMEOUT,
        AttemptResult.CONNECTION_RESET,
    }


LINK_WORKS: Final = Link(other_host_answered=True, other_host_known=True)
DEFAULT_POLICY: Final = RetryPolicy()


def decide(
    facts: DeliveryFacts,
    outcome: Outcome,
    *,
    now_us: int,
    unit: float,
    link: Link = LINK_WORKS,
    policy: RetryPolicy = DEFAULT_POLICY,
) -> Decision:
    """Judge one finished attempt.

    Args:
        facts: The delivery (pending or retrying) and its endpoint.
        outcome: What the attempt met.
        now_us: When it ended.
        unit: A random number in [0, 1), for the jitter.
        link: Whether a failure to reach the host may be our own link's.
        policy: The settings.

    Raises:
        TransitionError: The delivery is not one that can be attempted.
    """
    result = classify(outcome)
    if result is AttemptResult.DELIVERED:
        return _delivered(facts, result)
    link_down = is_own_link(result, outcome) and not link.other_host_answered
    free = link_down and link.other_host_known
    event = _failure_event(facts, outcome, result, policy, unused=free)
    attempt_count = facts.attempt_count + (event is not DeliveryEvent.NOT_COUNTED)
    status = next_status(facts.status, event)
    next_at = None
    if status is not DeliveryStatus.FAILED:
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
        counts=not link_down,
        consecutive_failures=facts.consecutive_failures + (not link_down),
        flush_endpoint=False,
    )


def _delivered(facts: DeliveryFacts, result: AttemptResult) -> Decision:
    """Judge a 2xx. One that ends an outage brings forward all that waits."""
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


def _step_us(
    attempt_count: int, result: AttemptResult, outcome: Outcome, unit: float, policy: RetryPolicy
) -> int:
    # An extra attempt may follow the last step of the schedule, or (settings changed) lie beyond it.
    step = min(max(attempt_count, 1), len(policy.schedule_s))
    # A redirect or a cut-off answer is not the receiver's considered wish.
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
    facts: DeliveryFacts,
    outcome: Outcome,
    result: AttemptResult,
    policy: RetryPolicy,
    *,
    unused: bool,
) -> DeliveryEvent:
    """Say which row of the table a failure takes; `unused` when our own link was down."""
    if result is AttemptResult.REFUSED and outcome.status_code not in policy.retry_4xx:
        return DeliveryEvent.REFUSED
    if unused or facts.extra:
        return DeliveryEvent.NOT_COUNTED
    # Attempt n is followed by step n, so the attempt after the last step has nothing left.
    if facts.status is DeliveryStatus.RETRYING and facts.attempt_count >= len(policy.schedule_s):
        return DeliveryEvent.EXHAUSTED
    return DeliveryEvent.FAILED_FOR_NOW
