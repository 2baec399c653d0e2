"""The rows around a delivery as values: its attempts, and the dead letter of one that was given up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST of one run of a delivery; times are microseconds.

    Attributes:
        number: Within its run, from 1.
        finished_at: None while it is in flight, and for ever when a crash cut it off.
        counted: It was a failure that added to the endpoint's streak.
    """

    seq: int
    delivery_id: str
    run: int
    number: int
    started_at: int
    finished_at: int | None
    duration_us: int | None
    status_code: int | None
    error_code: str | None
    error_message: str | None
    counted: bool | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A delivery that was given up, and what it failed of then; times are microseconds.

    Attributes:
        created_at: Of its first failure.
        replayed_at: When it was queued again; None when it waits for somebody, or failed anew.
        resolved_at: When its delivery arrived after all.
        failed_at: Of its latest failure.
        failing_since: The first attempt of the run that failed; None when none was made.
        attempt_count: Of that run.
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
