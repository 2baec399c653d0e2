"""The area `endpoints`: do the shop's webhooks arrive."""

from collections.abc import Iterator
from typing import Final

from daemon.core.model import Endpoint
from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import asked
from daemon.store import endpoints, lists
from daemon.store.engine import Reader

FAILURES: Final = 5
"""In a row: more than a restart of the receiver explains."""


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the endpoints."""
    yield from asked(patient, "endpoints.answer", _look)


def _look(reader: Reader) -> Iterator[Check]:
    found = endpoints.in_use(reader)
    if not found:
        yield Check("endpoints.answer", Status.OK, "no webhook endpoint is in use")
    for one in found:
        yield _one(one)
    queue = lists.queue(reader)
    if dead := queue.get("dead_letters", 0):
        yield Check(
            "endpoints.dead_letters", Status.WARN,
            f"webhooks that were given up and are kept: {dead}", "momo dead-letters list",
        )  # fmt: skip
    else:
        yield Check("endpoints.dead_letters", Status.OK, "no webhook was given up")


def _one(one: Endpoint) -> Check:
    if one.auto_paused_at is not None:
        return Check(
            "endpoints.answer", Status.FAIL,
            f"{one.url} was paused after {one.consecutive_failures} failures in a row; what it is owed waits",
            f"momo endpoints resume {one.id}",
        )  # fmt: skip
    if one.consecutive_failures >= FAILURES:
        return Check(
            "endpoints.answer", Status.WARN,
            f"{one.url} failed {one.consecutive_failures} times in a row", f"momo endpoints test {one.id}",
        )  # fmt: skip
    if not one.is_active:
        return Check("endpoints.answer", Status.OK, f"{one.url} is paused, as somebody wished")
    return Check("endpoints.answer", Status.OK, f"{one.url} is fine")
