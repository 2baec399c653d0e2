"""How fast one API key may call: a bucket of calls that fills steadily (decisions.md section 9). Pure.

Integers only: the bucket counts microseconds of filling, not parts of calls, so that nothing is lost by rounding.
"""

from dataclasses import dataclass
from typing import Final

from daemon.core.limits import MINUTE_US, SECOND_US

KEYS_MAX: Final = 1024
"""Buckets kept at one time; a full one is the same as none, so those are dropped first."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one call.

    Attributes:
        allowed: Whether it may go on.
        limit: Calls in a minute.
        remaining: Calls that may follow at once.
        reset_s: Seconds until the bucket is full again, rounded up.
        retry_after_s: Seconds until the next call is allowed, rounded up; 0 when one is allowed now.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_s: int
    retry_after_s: int


class Rates:
    """The buckets of all keys with one limit."""

    def __init__(self, per_min: int, burst: int) -> None:
        """Let each key make `per_min` calls a minute, `burst` of them at once; `per_min` 0 means no limit."""
        self._limit = per_min
        self._each_us = MINUTE_US // per_min if per_min else 0
        self._full_us = self._each_us * max(1, burst)
        self._full_at: dict[str, int] = {}

    def take(self, key_id: str, now_us: int) -> Taken | None:
        """Count one call of a key; None when there is no limit.

        A clock that was set back does not lock a key out for longer than an empty bucket takes to fill.
        """
        if not self._each_us:
            return None
        # A bucket is one number: when it will be full. What lies between then and now is what is missing.
        missing = max(0, self._full_at.get(key_id, now_us) - now_us)
        missing = min(missing, self._full_us)
        allowed = missing + self._each_us <= self._full_us
        if allowed:
            missing += self._each_us
        self._keep(key_id, now_us + missing, now_us)
        wait = max(0, missing + self._each_us - self._full_us)
        return Taken(
            allowed=allowed,
            limit=self._limit,
            remaining=(self._full_us - missing) // self._each_us,
            reset_s=_seconds(missing),
            retry_after_s=0 if allowed else _seconds(wait),
        )

    def _keep(self, key_id: str, full_at: int, now_us: int) -> None:
        if key_id not in self._full_at and len(self._full_at) >= KEYS_MAX:
            self._full_at = {known: at for known, at in self._full_at.items() if at > now_us}
            if len(self._full_at) >= KEYS_MAX:
                self._full_at.clear()
        self._full_at[key_id] = full_at


def _seconds(us: int) -> int:
    return -(-us // SECOND_US)
