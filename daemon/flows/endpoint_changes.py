"""Change, pause, resume and delete webhook endpoints (decisions.md section 5)."""

import json
from dataclasses import dataclass
from typing import Any, Final

from daemon.core import routing
from daemon.core.access import Caller
from daemon.core.delivery import STREAK_MIN, DeadLetterReason
from daemon.core.errors import Refusal
from daemon.core.limits import SECOND_US
from daemon.core.model import Endpoint
from daemon.core.signing import normalise_url
from daemon.env import Env
from daemon.store import dead_letters, deliveries, endpoints, events
from daemon.store.engine import Tx
from daemon.wire import ErrorCode

PROBE_US: Final = 30 * SECOND_US
"""After a resume the first delivery is the probe; the others wait this long unless it arrives sooner."""


@dataclass(frozen=True, slots=True)
class Changes:
    """A valid `PUT /v1/open-collections/endpoints/{id}`: what is None stays. A new URL may be called."""

    url: str | None = None
    description: str | None = None
    is_active: bool | None = None
    catch_all: bool | None = None
    events: tuple[str, ...] | None = None
    include_raw: bool | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The endpoint as it is now.

    Attributes:
        endpoint: The row.
        queued: How many deliveries the resume set going; None when it was not resumed.
        warnings: What is allowed and may not be meant.
    """

    endpoint: Endpoint
    queued: int | None
    warnings: list[str]


async def update(env: Env, caller: Caller, endpoint_id: str, changes: Changes) -> Changed:
    """Change an endpoint. What waits for it goes to its new address, under the ids it has.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND.
        Unavailable: Nothing can be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Changed:
        before = _existing(tx, endpoint_id)
        columns = _columns(changes)
        queued = None
        if changes.is_active and not before.is_active:
            queued = deliveries.resume(tx, endpoint_id, now=now, later=now + PROBE_US)
            # The probe's 2xx ends an outage: it brings forward what waits behind it.
            columns["link_failures"] = STREAK_MIN
        after = endpoints.change(tx, endpoint_id, {**columns, "updated_at": now})
        events.add(
            tx,
            type=_event(before, after),
            mode=after.mode,
            at=now,
            actor=caller.name,
            endpoint_id=endpoint_id,
            data={"changed": [name for name in changes.__slots__ if _given(changes, name)]},
        )
        told = []
        if any(_given(changes, name) for name in ("url", "catch_all", "events")):
            told = routing.overlaps(after, endpoints.in_use(tx, after.mode))
        return Changed(after, queued, told)

    return await env.store.write(job)


async def delete(env: Env, caller: Caller, endpoint_id: str) -> int:
    """Delete an endpoint and return how many deliveries it will never get. Its log stays.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND, also when it was deleted before.
        Unavailable: Nothing can be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        endpoint = _existing(tx, endpoint_id)
        endpoints.change(
            tx, endpoint_id, {"is_active": False, "deleted_at": now, "updated_at": now}
        )
        owed = deliveries.give_up(tx, endpoint_id, now)
        for delivery in owed:
            dead_letters.bury(
                tx,
                letter_id=env.new_id(),
                delivery_id=delivery.id,
                reason=DeadLetterReason.ENDPOINT_DELETED,
                now=now,
            )
            events.add(
                tx,
                type="delivery.failed",
                mode=endpoint.mode,
                at=now,
                transaction_id=delivery.transaction_id,
                endpoint_id=endpoint_id,
                data={"delivery_id": delivery.id, "event": delivery.event, "code": None},
            )
        events.add(
            tx,
            type="endpoint.deleted",
            mode=endpoint.mode,
            at=now,
            actor=caller.name,
            endpoint_id=endpoint_id,
            data={"undelivered": len(owed)},
        )
        return len(owed)

    return await env.store.write(job)


def _existing(tx: Tx, endpoint_id: str) -> Endpoint:
    found = endpoints.get(tx, endpoint_id)
    if found is None:
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    return found


def _given(changes: Changes, name: str) -> bool:
    return getattr(changes, name) is not None


def _columns(changes: Changes) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: getattr(changes, name)
        for name in ("url", "description", "is_active", "catch_all", "include_raw")
        if _given(changes, name)
    }
    if changes.url is not None:
        columns["url_normalised"] = normalise_url(changes.url)
    if changes.events is not None:
        columns["events"] = json.dumps(changes.events)
    if changes.is_active:
        columns |= {"auto_paused_at": None, "consecutive_failures": 0}
    return columns


def _event(before: Endpoint, after: Endpoint) -> str:
    if before.is_active == after.is_active:
        return "endpoint.updated"
    return "endpoint.resumed" if after.is_active else "endpoint.paused"
