"""Make webhook endpoints (interface.md, Webhook endpoints; decisions.md section 5)."""

import asyncio
import json
from dataclasses import dataclass

from daemon.core import collection_shapes, lines, routing, shapes
from daemon.core.access import Caller
from daemon.core.errors import Refusal, Unavailable
from daemon.core.limits import ENDPOINTS_MAX
from daemon.core.model import Endpoint
from daemon.core.requests import Answer, Idempotency
from daemon.core.signing import SECRET_BYTES, make_secret, normalise_url
from daemon.env import Env
from daemon.secrets import SecretsLocked, SecretsUnsafe
from daemon.store import (
    devices,
    endpoints,
    events,
    idempotency,
    payment_methods,
    webhook_secrets,
)
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, Mode


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """A valid `POST /v1/open-collections/endpoints`; its URL may be called.

    Attributes:
        is_active: False where what is owed to it waits from the beginning.
    """

    url: str
    description: str
    mode: Mode
    events: tuple[str, ...]
    catch_all: bool
    include_raw: bool
    is_active: bool = True


async def create(
    env: Env,
    caller: Caller,
    new: NewEndpoint,
    *,
    claim: Idempotency | None,
    warnings: list[str],
) -> Answer:
    """Make an endpoint and its signing secret, and return the 201 answer: the only one that shows the secret.

    Raises:
        Refusal: LINES_NOT_READY, ENDPOINT_LIMIT, IDEMPOTENCY_KEY_REUSED.
        Unavailable: The secret cannot be sealed, or nothing can be written.
    """
    now = env.clock.now_us()
    secret = make_secret(env.entropy.bytes(SECRET_BYTES))
    try:
        # A keyring may take its time to answer.
        sealed = await asyncio.to_thread(env.vault.seal, secret.encode(), webhook_secrets.PURPOSE)
    except (SecretsLocked, SecretsUnsafe) as error:
        raise Unavailable(f"the signing secret cannot be kept: {error}") from error

    def job(tx: Tx) -> Answer:
        return idempotency.once(tx, claim, now, lambda: add(tx), env.vault)

    def add(tx: Tx) -> Answer:
        _gate(tx, now)
        endpoint = _add(tx, env.new_id(), new, now)
        webhook_secrets.add(tx, owner=endpoint.id, sealed=sealed, now=now)
        events.add(
            tx,
            type="endpoint.created",
            mode=endpoint.mode,
            at=now,
            actor=caller.name,
            endpoint_id=endpoint.id,
        )
        told = [*warnings, *routing.overlaps(endpoint, endpoints.in_use(tx, endpoint.mode))]
        body = shapes.success(
            collection_shapes.endpoint(endpoint),
            shapes.warned(told),
            secret=secret,
        )
        return Answer(201, body)

    return await env.store.write(job)


def _gate(reader: Reader, now: int) -> None:
    """Refuse while a SIM has no number, or when there are too many endpoints."""
    missing = lines.sims_without_number(
        devices.known(reader), devices.sims_in_phones(reader), payment_methods.in_use(reader), now
    )
    if missing:
        raise Refusal(ErrorCode.LINES_NOT_READY, sims_without_number=missing)
    if endpoints.count(reader) >= ENDPOINTS_MAX:
        raise Refusal(ErrorCode.ENDPOINT_LIMIT)


def _add(tx: Tx, endpoint_id: str, new: NewEndpoint, now: int) -> Endpoint:
    return endpoints.add(
        tx,
        {
            "id": endpoint_id,
            "kind": "endpoint",
            "mode": new.mode,
            "url": new.url,
            "url_normalised": normalise_url(new.url),
            "description": new.description,
            "events": json.dumps(new.events),
            "catch_all": new.catch_all,
            "include_raw": new.include_raw,
            "is_active": new.is_active,
            "auto_paused_at": None,
            "last_success_at": None,
            "last_failure_at": None,
            "consecutive_failures": 0,
            "created_at": now,
            "updated_at": now,
            "deleted_at": None,
        },
    )
