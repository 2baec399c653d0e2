"""How much a branch sends in one request, so that it passes a line of any width in time. Pure."""

from typing import Final

from daemon.core.branches.facts import BYTES_MAX

AIM_S: Final = 5.0
"""A request should take this long at most: a hub gives up one that comes for more than 15 s."""
BYTES_MIN: Final = 4 * 1024
SMALLER: Final = 4
"""After a failure the next request has at most this part of the size."""


def after_answer(limit: int, size: int, took_s: float) -> int:
    """Return the new limit in bytes of JSON, after a request of `size` was answered.

    A request may have been smaller than the limit, so a quick answer only raises it, to twice at most, and a slow one only
    lowers it.
    """
    fits = int(size * AIM_S / max(took_s, 0.001))
    wanted = min(max(limit, fits), 2 * limit) if took_s < AIM_S else min(limit, fits)
    return min(max(wanted, BYTES_MIN), BYTES_MAX)


def after_failure(limit: int, size: int) -> int:
    """Return the new limit after a request of `size` was not answered; the line may be too narrow for it."""
    return max(min(limit, size // SMALLER), BYTES_MIN)
