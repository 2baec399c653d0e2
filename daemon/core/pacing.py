"""Who may begin another attempt: what is live always finds a place beside what waits behind it. Pure.

What waits behind it is what is sent again in bulk, and the backlog that an outage or a pause has left.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PROBES: Final = 2
"""Endpoints that are out are tried by one in so many of the workers at most: a dead one may take 15 s to say nothing."""

SERVED_MAX: Final = 1_000
"""Of so many lanes it is known when each had a place; the others wait longest."""

Key = tuple[str, bool]
"""An endpoint's id, and whether it is about what is sent again in bulk."""

Running = Mapping[Key, int]
"""How many attempts run, by endpoint and by whether they are of what is sent again in bulk."""


@dataclass(frozen=True, slots=True)
class Full:
    """Who may have no more now.

    Attributes:
        endpoints: They have as many attempts running as they may.
        bulk: Endpoints that have as many of those in bulk as they may.
        behind: Nothing that waits behind what is live may begin, neither in bulk nor of a backlog.
    """

    endpoints: tuple[str, ...]
    bulk: tuple[str, ...]
    behind: bool


def places_behind(workers: int) -> int:
    """Return how many of the workers may send what waits behind what is live: half of them, at least one."""
    return max(1, workers // 2)


def full(running: Running, *, backlog: int = 0, per_endpoint: int, workers: int) -> Full:
    """Say who is full: bulk has at most half of an endpoint's attempts, and with backlogs half of all (at least one).

    So a live payment waits neither for a place nor for a slow answer to an old one. A backlog may have all of its own
    endpoint's: what is live there comes after it, oldest first.

    Args:
        running: Attempts.
        backlog: How many of them, not in bulk, are of a backlog.
        per_endpoint: How many an endpoint may have.
        workers: How many there may be in all.
    """
    totals: Counter[str] = Counter()
    bulk: Counter[str] = Counter()
    for (endpoint_id, is_bulk), count in running.items():
        totals[endpoint_id] += count
        bulk[endpoint_id] += count * is_bulk
    share = max(1, per_endpoint // 2)
    return Full(
        tuple(key for key, count in totals.items() if count >= per_endpoint),
        tuple(key for key, count in bulk.items() if count >= share),
        bulk.total() + backlog >= places_behind(workers),
    )


def serve(served: dict[Key, int], key: Key) -> None:
    """Note that a lane has a place now: `served` holds the lanes in the order in which they had theirs, numbered by it."""
    latest = next(reversed(served.values()), 0)
    served.pop(key, None)
    served[key] = latest + 1
    if len(served) > SERVED_MAX:
        del served[next(iter(served))]
