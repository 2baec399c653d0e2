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
