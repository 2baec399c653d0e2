"""Whether a 4xx may be the fault of a clock: then its delivery waits and is signed again. Pure."""

from typing import Final

from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.upkeep.clock_check import HOSTS_AGREE_US, Times, span

TOLERANCE_US: Final = 5 * MINUTE_US
"""Receivers refuse a signature that is older or newer than this (`docs/webhooks.md`)."""
RETRY_US: Final = 10 * MINUTE_US
"""Between two attempts, if there is no new knowledge about the time; `delivery.CLOCK_WAITS_MAX` of them are 24 hours."""


def clock_wait_us(
    date_us: int | None, signed: Times, ended: Times, *, remote: bool = True
) -> int | None:
    """Return how long a delivery waits after a 4xx before it is signed again; None if the 4xx is final.

    Args:
        date_us: The `Date` of the answer, None without one.
        signed: The time when the attempt was signed, with `best_us`.
        ended: The time when the answer had come.
        remote: The receiver is on another machine; one on this machine has our clock.
    """
    if signed.doubt is None and ended.doubt is None:
        if date_us is None:
            in_question = remote and not signed.confirmed
        else:
            in_question = abs(date_us - _second(signed)) > TOLERANCE_US
        if not in_question:
            return None
    known_now = signed.doubt is not None and ended.doubt is None
    changed = abs(ended.offset_us - signed.offset_us) > HOSTS_AGREE_US
    return 0 if known_now or changed else RETRY_US


def difference(date_us: int | None, signed: Times) -> str:
    """Return how the receiver's clock differs from the time that we signed with, "" if it does not."""
    apart_us = 0 if date_us is None else date_us - _second(signed)
    if abs(apart_us) <= TOLERANCE_US:
        return ""
    side = "ahead of" if apart_us > 0 else "behind"
    return f"its clock is {span(abs(apart_us))} {side} the time of our signature"


def _second(signed: Times) -> int:
    return signed.best_us // SECOND_US * SECOND_US
