"""Create, change, pause, resume and delete webhook endpoints; check their addresses; show and rotate signing secrets."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, structs

from daemon.core.access.callers import ANONYMOUS, Caller, CallerKind, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.inputs import Keep
from daemon.core.limits import HOUR_US, MINUTE_US, SECOND_US
from daemon.core.lines import readiness
from daemon.core.shape import stored
from daemon.core.text import Text
from daemon.core.webhooks import routing
from daemon.core.webhooks.delivery import STREAK_MIN, DeadLetterReason
from daemon.core.webhooks.endpoint import HEADER_PURPOSE, KEPT, Endpoint, EndpointChanges, NewEndpoint
from daemon.core.webhooks.signing import SECRET_BYTES, make_secret, normalise_url
from daemon.env import Env
from daemon.sender.address_guard import EXPLANATIONS, AddressPolicy, Resolver, UrlRefusal, check_destination
from daemon.sender.live_receivers import LISTEN_SCHEME
from daemon.sender.local_targets import LocalTargetError, check_local_target, parse_local_target
from daemon.store import idempotency, journal
from daemon.store.engine import Tx
from daemon.store.lines import devices, payment_methods
from daemon.store.webhooks import dead_letters, endpoints
from daemon.store.webhooks import deliveries as store_deliveries
from daemon.wire import ErrorCode, Mode

ENDPOINTS_MAX: Final = 50
SECRET_OVERLAP_US: Final = 24 * HOUR_US
"""After a rotation the old secret also signs for this long."""
SECRET_OVERLAPS_MAX: Final = 3
"""A fourth rotation within that time is refused."""
PROBE_US: Final = 30 * SECOND_US
"""After a resume the first delivery is the probe; the others wait this long unless it is delivered sooner."""
_LOST: Final = (
    "The new address is at another host, which does not get the headers that were stored for the old one: "
    "give those that it needs again."
)
ABANDONED_US: Final = 5 * MINUTE_US
"""A listener that is disconnected for this time has ended: `momo listen` itself waits 30 s for the daemon."""
LISTENER: Final = "momo listen"
"""The label of a listener's endpoint that goes with it."""
_MOMO: Final = structs.replace(ANONYMOUS, name="momo")
DELIVERIES_BATCH: Final = 100
"""Deliveries of a deleted endpoint that are given up in one database transaction; payments wait for it."""


class MadeEndpoint(Struct, frozen=True):
    """A new endpoint with its secret, the only time that it is shown, and warnings about other endpoints."""

    endpoint: Endpoint
    secret: str
    warnings: list[str]


async def create(
    env: Env, caller: Caller, new: NewEndpoint, *, keep: Keep[MadeEndpoint] | None = None, is_listener: bool = False
) -> MadeEndpoint:
    """Create an endpoint and its signing secret.

    That of a listener (`momo listen`) is paused until it connects, and may be made while a SIM has no number.

    Raises:
        Refusal: LINES_NOT_READY, ENDPOINT_LIMIT, IDEMPOTENCY_KEY_REUSED.
        Unavailable: The secret cannot be sealed, or nothing can be written.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    now = env.clock.now_us()
    secret = make_secret(env.entropy.bytes(SECRET_BYTES))
    sealed = await env.seal(secret.encode(), endpoints.SIGNING_PURPOSE, "the signing secret")
    headers = await _sealed_headers(env, new.headers or {})

    def job(tx: Tx) -> MadeEndpoint:
        return idempotency.kept(tx, keep, now, lambda: add(tx), env.vault)

    def add(tx: Tx) -> MadeEndpoint:
        missing = readiness.sims_without_number(
            devices.known(tx, new.mode), devices.sims_in_phones(tx, new.mode), payment_methods.in_use(tx, new.mode)
        )
        if missing and not is_listener:
            raise Refusal(ErrorCode.LINES_NOT_READY, sims_without_number=missing)
        if endpoints.count(tx) >= ENDPOINTS_MAX:
            raise Refusal(ErrorCode.ENDPOINT_LIMIT)
        row = {**stored(new), "mode": new.mode, "url_normalised": normalise_url(new.url)}
        del row["is_sandbox"]
        row |= {"headers": json.dumps(headers), "is_active": not is_listener, "created_at": now, "updated_at": now}
        endpoint = endpoints.add(tx, Endpoint(seq=0, id=env.new_id(), kind="endpoint", **row))
        endpoints.add_secret(tx, owner=endpoint.id, sealed=sealed, now=now)
        journal.add(tx, "endpoint.created", now, endpoint, actor=caller.name)
        others = endpoints.in_use(tx, endpoint.mode)
        return MadeEndpoint(endpoint, secret, list(routing.endpoint_warnings(endpoint, others)))

    return await env.store.write(job)


async def _sealed_headers(env: Env, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with sealed values; those whose stored value is kept are empty."""
    return {
        name: "" if value == KEPT else await env.seal(value.encode(), HEADER_PURPOSE, f"the header {name}")
        for name, value in headers.items()
    }


class Changed(Struct, frozen=True):
    """The changed endpoint.

    `queued` is the number of deliveries queued by a resume, None if it was not resumed; `warnings` are about settings
    that are allowed but may be a mistake.
    """

    endpoint: Endpoint
    queued: int | None
    warnings: list[str]


async def update(env: Env, caller: Caller, endpoint_id: str, changes: EndpointChanges) -> Changed:
    """Change an endpoint. Its waiting deliveries go to a new address under their old ids.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    now = env.clock.now_us()

    given = stored(changes)
    headers = await _sealed_headers(env, changes.headers or {})

    def job(tx: Tx) -> Changed:
        before = _existing(tx, endpoint_id)
        columns = stored(changes)
        if changes.url is not None:
            columns["url_normalised"] = normalise_url(changes.url)
        if changes.is_active:
            columns |= {"auto_paused_at": None, "consecutive_failures": 0}
        kept, warnings = json.loads(before.headers), []
        if "url_normalised" in columns and _receiver(columns["url_normalised"]) != _receiver(before.url_normalised):
            # The values may be passwords of the receiver at the old address.
            if kept and changes.headers is None:
                columns["headers"] = "{}"
                warnings = [f"{_LOST} Removed: {', '.join(kept)}."]
            kept = {}
        if changes.headers is not None:
            columns["headers"] = json.dumps(_kept(headers, kept))
        queued = None
        if changes.is_active and not before.is_active:
            queued = store_deliveries.resume_waiting(tx, endpoint_id, now=now, later=now + PROBE_US)
            # The probe's 2xx ends an outage and brings the waiting deliveries forward. Without any there is no probe.
            columns["link_failures"] = STREAK_MIN if queued else 0
            store_deliveries.mark_backlog(tx, endpoint_id)
        elif changes.is_active and before.consecutive_failures >= STREAK_MIN:
            # The failure count is reset but the outage goes on: the 2xx that ends it brings the deliveries forward.
            columns["link_failures"] = max(before.link_failures, STREAK_MIN)
            store_deliveries.mark_backlog(tx, endpoint_id)
        after = endpoints.change(tx, endpoint_id, {**columns, "updated_at": now})
        journal.add(tx, _event(before, after), now, after, actor=caller.name, data={"changed": [*given]})
        if not given.keys().isdisjoint(("url", "catch_all", "events")):
            warnings += routing.endpoint_warnings(after, endpoints.in_use(tx, after.mode))
        return Changed(after, queued, warnings)

    return await env.store.write(job)


def _existing(tx: Tx, endpoint_id: str) -> Endpoint:
    return needed(endpoints.get(tx, endpoint_id), ErrorCode.ENDPOINT_NOT_FOUND)


def _receiver(url: str) -> tuple[str, str]:
    """Return what a normalised address leads to: the host and port, or the target on this machine."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc or parts.path


def _kept(headers: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Return the sealed headers with those whose stored value is kept.

    Raises:
        Refusal: VALIDATION_ERROR, naming each that has no stored value.
    """
    stored_values = {name.lower(): sealed for name, sealed in before.items()}
    found = {name: sealed or stored_values.get(name.lower(), "") for name, sealed in headers.items()}
    missing = [name for name, sealed in found.items() if not sealed]
    if missing:
        what = "has no stored value to keep; a new host does not get the values of the old one"
        raise invalid([FieldError(f"headers.{name}", "required", what) for name in missing])
    return found


def _event(before: Endpoint, after: Endpoint) -> str:
    if before.is_active == after.is_active:
        return "endpoint.updated"
    return "endpoint.resumed" if after.is_active else "endpoint.paused"


async def delete(env: Env, caller: Caller, endpoint_id: str) -> int:
    """Delete an endpoint and return the number of its undelivered deliveries, which are given up. Its log stays.

    After a crash `finish_deletions` gives up the rest of a long queue; nothing of it is sent meanwhile.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND, also if it was deleted before.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        endpoint = _existing(tx, endpoint_id)
        endpoints.change(tx, endpoint_id, {"is_active": False, "deleted_at": now, "updated_at": now})
        undelivered = store_deliveries.count_waiting(tx, endpoint_id)
        # Running attempts are due longest, so they are in this first piece; their end gives no second event.
        _give_up(tx, env, endpoint_id, now)
        journal.add(tx, "endpoint.deleted", now, endpoint, actor=caller.name, data={"undelivered": undelivered})
        return undelivered

    undelivered = await env.store.write(job)
    await _give_up_all(env, endpoint_id)
    return undelivered


async def delete_abandoned_listeners(env: Env) -> int:
    """Delete the endpoints of listeners whose connection was lost some minutes ago; return their number."""
    before = env.clock.now_us() - ABANDONED_US
    found = [
        endpoint
        for endpoint in await env.store.read(lambda reader: endpoints.in_use(reader, Mode.TEST))
        if endpoint.url.startswith(LISTEN_SCHEME)
        and endpoint.description == LISTENER
        and endpoint.updated_at < before
        and env.live_receivers.at(endpoint.url) is None
    ]
    for endpoint in found:
        with suppress(Refusal):  # another call has deleted it
            await delete(env, _MOMO, endpoint.id)
    return len(found)


async def finish_deletions(env: Env) -> int:
    """Give up the deliveries of deleted endpoints that a crash has left; return their number."""
    left = await env.store.read(store_deliveries.deleted_with_pending)
    return sum([await _give_up_all(env, endpoint_id) for endpoint_id in left])


async def _give_up_all(env: Env, endpoint_id: str) -> int:
    now = env.clock.now_us()
    given_up = 0
    while piece := await env.store.write(lambda tx: _give_up(tx, env, endpoint_id, now)):
        given_up += piece
    return given_up


def _give_up(tx: Tx, env: Env, endpoint_id: str, now: int) -> int:
    """Turn a piece of a deleted endpoint's queue into dead letters; return the number, 0 if the queue is empty."""
    owed = store_deliveries.fail_pending(tx, endpoint_id, now, DELIVERIES_BATCH)
    letters = [(env.new_id(), delivery.id) for delivery in owed]
    dead_letters.add_all(tx, letters, reason=DeadLetterReason.ENDPOINT_DELETED, now=now)
    for delivery in owed:
        mode = Mode.TEST if delivery.test else Mode.LIVE
        journal.add(tx, "delivery.failed", now, delivery, mode=mode, endpoint_id=endpoint_id, data={"code": None})
    return len(owed)


RESOLVE_S_MAX: Final = 5.0
"""A slow name server must not hold up the caller who saves an address."""


async def check_endpoint(env: Env, caller: Caller, url: str, resolver: Resolver) -> None:
    """Reject an address that is not allowed for an endpoint. Unlike `check`, it allows local commands and folders.

    Only the owner may set a local command or folder, and only on the socket: a stolen key or session must not run programs.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """
    try:
        place = parse_local_target(url)
    except LocalTargetError as error:
        raise _address_refusal(UrlRefusal.MALFORMED, str(error)) from error
    if place is None:
        await check_address(env, url, resolver)
        return
    if caller.kind is not CallerKind.SOCKET or not caller.owner:
        raise _address_refusal(UrlRefusal.LOCAL_TARGET, EXPLANATIONS[UrlRefusal.LOCAL_TARGET])
    why = await asyncio.to_thread(check_local_target, place)
    if why:
        raise _address_refusal(UrlRefusal.UNTRUSTED_TARGET, why)


async def check_address(env: Env, url: str, resolver: Resolver, *, offline_too: bool = False) -> None:
    """Reject an address that must not be called.

    With `offline_too` a host name that cannot be resolved now is accepted: a shop without internet still accepts transactions,
    and every attempt checks the address again.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """
    settings = env.config.webhooks
    policy = AddressPolicy.from_settings(settings.allow_private_hosts, settings.allow_private_cidrs)

    async def resolve(host: str, port: int) -> list[str]:
        async with asyncio.timeout(RESOLVE_S_MAX):
            return list(await resolver(host, port))

    reason, explanation = await check_destination(url, policy, resolve)
    if reason is None or (offline_too and reason is UrlRefusal.UNRESOLVABLE):
        return
    raise _address_refusal(reason, explanation)


def _address_refusal(reason: UrlRefusal, explanation: Text | str) -> Refusal:
    message = Text("url.refused", why=explanation)
    return Refusal(ErrorCode.URL_NOT_ALLOWED, message, reason=reason)


class RevealedSecret(Struct, frozen=True):
    """An unsealed secret, and the time until which an older one also signs; None if none does."""

    secret: str
    previous_expires_at: int | None


async def reveal_secret(env: Env, caller: Caller, owner: str) -> RevealedSecret:
    """Return the current secret of an endpoint, or of `webhook_secrets.ACCOUNT`.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND.
        Unavailable: The secret cannot be opened, or the journal cannot be written.
    """
    require(caller, Operation.MANAGE_SECRETS)
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[str, int | None]:
        sealed = endpoints.valid_secrets(tx, owner, now)
        assert sealed, "an endpoint is created with its secret, and setup creates the account's"
        _note(tx, "secret.revealed", caller, owner, now)
        return sealed[0], endpoints.previous_secret_expires_at(tx, owner, now)

    sealed, until = await env.store.write(job)
    opened = await env.unseal(sealed, endpoints.SIGNING_PURPOSE, "the signing secret")
    return RevealedSecret(opened.decode(), until)


async def rotate_secret(env: Env, caller: Caller, owner: str, *, expire_previous: bool) -> RevealedSecret:
    """Create a new secret of an endpoint, or of `webhook_secrets.ACCOUNT`, and return it, only once.

    The old ones also sign for 24 h, unless `expire_previous` ends them now, because one has leaked.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; ROTATION_LIMIT.
        Unavailable: The new secret cannot be stored.
    """
    require(caller, Operation.MANAGE_SECRETS)
    now = env.clock.now_us()
    secret = make_secret(env.entropy.bytes(SECRET_BYTES))
    sealed = await env.seal(secret.encode(), endpoints.SIGNING_PURPOSE, "the signing secret")

    def job(tx: Tx) -> int | None:
        if not expire_previous and endpoints.secret_overlaps(tx, owner, now) >= SECRET_OVERLAPS_MAX:
            raise Refusal(ErrorCode.ROTATION_LIMIT)
        _note(tx, "secret.rotated", caller, owner, now)
        endpoints.expire_secret(tx, owner, until=now + (0 if expire_previous else SECRET_OVERLAP_US))
        if expire_previous:
            endpoints.end_secret_overlaps(tx, owner, now)
        endpoints.add_secret(tx, owner=owner, sealed=sealed, now=now)
        return endpoints.previous_secret_expires_at(tx, owner, now)

    return RevealedSecret(secret, await env.store.write(job))


def _note(tx: Tx, kind: str, caller: Caller, owner: str, now: int) -> None:
    """Journal the caller; refuse if the endpoint does not exist."""
    endpoint = None
    if owner != endpoints.ACCOUNT:
        endpoint = needed(endpoints.get(tx, owner), ErrorCode.ENDPOINT_NOT_FOUND)
    journal.add(tx, kind, now, endpoint, actor=caller.name)
