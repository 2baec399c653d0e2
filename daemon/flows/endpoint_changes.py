"""Change, pause, resume and delete webhook endpoints (decisions.md section 5)."""

import json
from dataclasses import dataclass
from typing import Any, Final

from daemon.core import routing
from daemon.core.access import Caller
from daemon.core.delivery import STREAK_MIN, DeadLetterReason
from daemon.core.errors import Refusal
from daemon.core.limits import SECOND_US
from daemon.core.model import Delivery, Endpoint
from daemon.core.signing import normalise_url
from daemon.env import Env
from daemon.store import backlog, dead_letters, endpoints, events
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode

PROBE_US: Final = 30 * SECOND_US
"""After a resume the first delivery is the probe; the others wait this long unless it arrives sooner."""

PIECE: Final = 100
"""Deliveries of a deleted endpoint that are given up in one transaction, for which payments wait."""


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
            queued = backlog.resume(tx, endpoint_id, now=now, later=now + PROBE_US)
            # The probe's 2xx ends an outage: it brings forward what waits behind it. Where nothing waits there is none.
            columns["link_failures"] = STREAK_MIN if queued else 0
            backlog.note(tx, endpoint_id)
        elif changes.is_active and before.consecutive_failures >= STREAK_MIN:
            # Its streak is forgotten and its outage goes on: the 2xx that ends it brings forward what waits.
            columns["link_failures"] = max(before.link_failures, STREAK_MIN)
            backlog.note(tx, endpoint_id)
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

    What a crash leaves of a long queue is given up by `finish_deletions`; nothing of it is sent meanwhile.

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
        undelivered = backlog.count(tx, endpoint_id)
        # What is on its way is due longest, so it is among these: how it ends does not tell of it a second time.
        _give_up(tx, env, endpoint_id, now)
        events.add(
            tx,
            type="endpoint.deleted",
            mode=endpoint.mode,
            at=now,
            actor=caller.name,
            endpoint_id=endpoint_id,
            data={"undelivered": undelivered},
        )
        return undelivered

    undelivered = await env.store.write(job)
    await _give_up_all(env, endpoint_id)
    return undelivered


async def finish_deletions(env: Env) -> int:
    """Give up what is still owed to endpoints whose deletion a crash cut off; returns how many deliveries.

    Raises:
        Unavailable: Nothing can be written.
    """
    left = await env.store.read(backlog.owed_to_deleted)
    return sum([await _give_up_all(env, endpoint_id) for endpoint_id in left])


async def _give_up_all(env: Env, endpoint_id: str) -> int:
    now = env.clock.now_us()
    given_up = 0
    while piece := await env.store.write(lambda tx: _give_up(tx, env, endpoint_id, now)):
        given_up += piece
    return given_up


def _give_up(tx: Tx, env: Env, endpoint_id: str, now: int) -> int:
    """Make dead letters of a piece of what is owed to a deleted endpoint; returns how many, 0 when that was all."""
    owed = backlog.give_up(tx, endpoint_id, now, PIECE)
    letters = [(env.new_id(), delivery.id) for delivery in owed]
    dead_letters.bury_all(tx, letters, reason=DeadLetterReason.ENDPOINT_DELETED, now=now)
    events.add_all(tx, [_given_up(delivery, now) for delivery in owed])
    return len(owed)


def _given_up(delivery: Delivery, now: int) -> events.Line:
    return events.Line(
        type="delivery.failed",
        mode=Mode.TEST if delivery.test else Mode.LIVE,
        at=now,
        transaction_id=delivery.transaction_id,
        endpoint_id=delivery.endpoint_id,
        data={"delivery_id": delivery.id, "event": delivery.event, "code": None},
    )


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
