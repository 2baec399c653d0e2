"""Webhook endpoints: list, create, update, delete and test them; reveal and rotate signing secrets."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from msgspec import UNSET, Struct, UnsetType

from daemon.api.http.auth import needs_live, needs_operator
from daemon.api.http.service import NO_STORE, Call, Reply, ok, once
from daemon.api.openapi.describe import answer, bare, described
from daemon.core import json_values, shape
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import HttpAnswer, Idempotency, Keep
from daemon.core.json_values import dump, success, timestamp, warnings_meta
from daemon.core.lines.readiness import UNPLACED_WINDOW_US
from daemon.core.shape import about, flat, sample, shown
from daemon.core.text import Text
from daemon.core.webhooks.delivery import Attempt
from daemon.core.webhooks.diagnosis import explain
from daemon.core.webhooks.endpoint import Endpoint, EndpointAnswer, EndpointChanges, NewEndpoint
from daemon.core.webhooks.endpoint_json import ErrorOrNone, error_of
from daemon.flows.access import users
from daemon.flows.webhooks import deliver
from daemon.flows.webhooks import endpoints as endpoint_flow
from daemon.flows.webhooks.endpoints import RevealedSecret
from daemon.flows.webhooks.endpoints import reveal_secret as reveal
from daemon.flows.webhooks.endpoints import rotate_secret as rotate
from daemon.store import idempotency
from daemon.store.engine import Reader
from daemon.store.webhooks import delivery_log, endpoints, routing
from daemon.store.webhooks.endpoints import ACCOUNT
from daemon.wire import ErrorCode, Mode


class EndpointsMeta(Struct, frozen=True):
    """The `meta` of the list."""

    unclaimed_payments: Annotated[shape.Count, about("of the last 30 days, without a receiver")]
    warnings: shape.Warnings = UNSET


class LastError(Struct, frozen=True):
    """The answer at an endpoint's last failure, as codes and in words."""

    at: shape.Time
    response_status_code: Annotated[int, sample(503, ge=0)] | None
    error: ErrorOrNone
    diagnosis: Annotated[str, sample("The receiver was overloaded.", "and how to fix it")]


class DeletedEndpoint(Struct, frozen=True):
    """The answer of a deletion; `undelivered` deliveries will never arrive there."""

    success: shape.Success
    deleted: shape.On
    undelivered: shape.Count
    hint: (
        Annotated[str, sample("They are dead letters now: replay their time window to another endpoint.")] | UnsetType
    ) = UNSET


class EndpointTest(Struct, frozen=True):
    """The endpoint's answer to a test."""

    success: Annotated[bool, sample(True, "it answered 2xx")]
    status_code: Annotated[int, sample(200, "HTTP status of the endpoint; 0 without a response", ge=0)]
    response_body: Annotated[str, sample("ok")]
    message: Annotated[str, sample("The endpoint answered 200 in 140 ms.")]


class EndpointMeta(Struct, frozen=True):
    """The `meta` of one endpoint."""

    queued: Annotated[int, sample(2, "deliveries queued by a resume", ge=0)] | UnsetType = UNSET
    last_error: Annotated[LastError, about("its last failure, if one endpoint was requested")] | UnsetType = UNSET
    warnings: shape.Warnings = UNSET


def needs_open_collections(call: Call) -> None:
    """Reject the call if open collections are disabled."""
    if not call.env.config.open_collections.enabled:
        raise Refusal(ErrorCode.OPEN_COLLECTIONS_DISABLED)


async def find(call: Call) -> Endpoint:
    """Return the endpoint named by the path."""
    endpoint_id = call.uuid(ErrorCode.ENDPOINT_NOT_FOUND)
    found = needed(
        await call.env.store.look(lambda reader: endpoints.get(reader, endpoint_id)), ErrorCode.ENDPOINT_NOT_FOUND
    )
    if found.mode is Mode.LIVE:
        needs_live(call.caller)
    return found


@described("List endpoints", answer(list[EndpointAnswer], EndpointsMeta))
async def list_endpoints(call: Call) -> Reply:
    """List the endpoints. A test key sees only sandbox endpoints.

    `meta.unclaimed_payments` counts the payments of the last 30 days that matched no endpoint when they arrived and have
    not been sent since; a replay sends them. It counts sandbox payments for a test key and live payments otherwise.
    """
    mode = Mode.TEST if call.caller.mode is Mode.TEST else None
    since = call.env.clock.now_us() - UNPLACED_WINDOW_US

    def look(reader: Reader) -> tuple[list[Endpoint], int]:
        return endpoints.in_use(reader, mode), routing.count_unclaimed(reader, mode or Mode.LIVE, since)

    found, unclaimed = await call.env.store.read(look)
    return ok([EndpointAnswer.of(endpoint) for endpoint in found], EndpointsMeta(unclaimed))


@described("Get an endpoint", answer(EndpointAnswer, EndpointMeta), errors="ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED")
async def get_endpoint(call: Call) -> Reply:
    """Return one endpoint. `meta.last_error` has the response of its last failed attempt."""
    endpoint = await find(call)
    failed = await call.env.store.read(lambda reader: delivery_log.last_failure(reader, endpoint))
    meta = None if failed is None else EndpointMeta(last_error=_last_error(failed))
    return ok(EndpointAnswer.of(endpoint), meta)


def _last_error(row: Attempt) -> LastError:
    means, mend = explain(row.status_code, row.error_code)
    assert row.finished_at is not None, "it is a failed attempt"
    diagnosis = str(Text("cause.explained", means=means, mend=mend))
    return LastError(timestamp(row.finished_at), row.status_code, error_of(row), diagnosis)


@described(
    "Create an endpoint",
    answer(EndpointAnswer, secret=shape.Secret),
    status=201,
    reads=NewEndpoint,
    errors="OPEN_COLLECTIONS_DISABLED LIVE_KEY_REQUIRED URL_NOT_ALLOWED LINES_NOT_READY ENDPOINT_LIMIT",
    example={"url": "https://shop.example/momo", "description": "the till"},
    idempotent=True,
)
async def create_endpoint(call: Call) -> Reply:
    """Create an endpoint; 201. Only this answer contains its secret."""
    needs_open_collections(call)
    new, meta = await call.asked(NewEndpoint)
    asked = meta.idempotency
    if new.mode is Mode.LIVE:
        needs_live(call.caller)

    async def flow(keep: Keep[endpoint_flow.MadeEndpoint]) -> endpoint_flow.MadeEndpoint:
        known = asked is not None and await call.env.store.look(
            lambda reader: idempotency.find(reader, asked) is not None
        )
        if not known:
            await endpoint_flow.check_endpoint(call.env, call.caller, new.url, call.service.resolver)
        return await endpoint_flow.create(call.env, call.caller, new, keep=keep)

    return await once(call, keeping(asked, meta.warnings), flow, NO_STORE)


def keeping(asked: Idempotency | None, warnings: Sequence[str] = ()) -> Keep[endpoint_flow.MadeEndpoint]:
    """Return how a new endpoint is answered: 201, with its secret."""

    def render(made: endpoint_flow.MadeEndpoint) -> HttpAnswer:
        meta = warnings_meta([*warnings, *made.warnings])
        return HttpAnswer(201, success(EndpointAnswer.of(made.endpoint), meta, secret=made.secret))

    return Keep(asked, render)


@described(
    "Update an endpoint",
    answer(EndpointAnswer, EndpointMeta),
    reads=EndpointChanges,
    errors="OPEN_COLLECTIONS_DISABLED ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED URL_NOT_ALLOWED",
    example={"is_active": False},
)
async def update_endpoint(call: Call) -> Reply:
    """Change any settings of an endpoint. After a resume, `meta.queued` counts the deliveries that were queued."""
    needs_open_collections(call)
    endpoint = await find(call)
    changes, warnings = await call.read(EndpointChanges)
    if changes.url is not None:
        await endpoint_flow.check_endpoint(call.env, call.caller, changes.url, call.service.resolver)
    changed = await endpoint_flow.update(call.env, call.caller, endpoint.id, changes)
    warnings += changed.warnings
    meta = EndpointMeta(queued=UNSET if changed.queued is None else changed.queued, warnings=warnings or UNSET)
    return ok(EndpointAnswer.of(changed.endpoint), meta)


@described(
    "Delete an endpoint", bare(DeletedEndpoint), errors="OPEN_COLLECTIONS_DISABLED ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED"
)
async def delete_endpoint(call: Call) -> Reply:
    """Delete an endpoint. Its undelivered deliveries become dead letters; `undelivered` counts them."""
    needs_open_collections(call)
    endpoint = await find(call)
    undelivered = await endpoint_flow.delete(call.env, call.caller, endpoint.id)
    hint = "They are dead letters now, and the payments are kept: replay that time to another endpoint."
    return Reply(200, dump(DeletedEndpoint(True, True, undelivered, hint if undelivered else UNSET)))


@described(
    "Test an endpoint", bare(EndpointTest), errors="OPEN_COLLECTIONS_DISABLED ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED"
)
async def test_endpoint(call: Call) -> Reply:
    """Send a made-up event and return the endpoint's response. Always 200; `success` is true if the endpoint sent 2xx."""
    needs_open_collections(call)
    endpoint = await find(call)
    async with call.service.test_sends:
        tried = await deliver.send_test(call.env, call.caller, endpoint, call.service.resolver)
    return Reply(200, dump(shown(EndpointTest, tried)))


UNTIL: Final = "previous_secret_expires_at"
_OF_PASSWORDS: Final = "SESSION_REQUIRED INVALID_PASSWORD TOO_MANY_ATTEMPTS NOT_SET_UP"
_OF_ENDPOINTS: Final = "OPEN_COLLECTIONS_DISABLED ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED"
_Until = Annotated[shape.NoTime, about("the old secret also signs until then")]
_SECRET: Final[dict[str, Any]] = {"secret": shape.Secret, UNTIL: _Until}
_SECRET_EXAMPLE: Final = {"password": "correct horse battery"}


class SecretBody(Struct, frozen=True):
    """The account password, and whether to end the old secrets."""

    password: shape.ConfirmingPassword | None = None
    expire_previous: Annotated[bool, sample(False, "expire all old secrets at once, for example after a leak")] = False


class SecretAnswer(Struct, frozen=True):
    """A signing secret."""

    success: shape.Success
    secret: shape.Secret
    previous_secret_expires_at: _Until


class AccountWebhook(Struct, frozen=True):
    """Where the secret of the account is used."""

    default_url: Annotated[str | None, sample("https://shop.example/momo", "the account's default webhook")]


@described(
    "Reveal an endpoint's secret",
    bare(SecretAnswer),
    reads=SecretBody,
    errors=f"{_OF_PASSWORDS} {_OF_ENDPOINTS}",
    example=_SECRET_EXAMPLE,
)
async def reveal_endpoint(call: Call) -> Reply:
    """Return an endpoint's signing secret."""
    endpoint = await _of_operator(call)
    _leaked, warnings = await _confirmed(call)
    return _revealed(await reveal(call.env, call.caller, endpoint.id), warnings)


@described(
    "Reveal the account's webhook secret",
    bare(SecretAnswer),
    reads=SecretBody,
    errors=_OF_PASSWORDS,
    example=_SECRET_EXAMPLE,
)
async def reveal_account(call: Call) -> Reply:
    """Return the secret that signs the webhooks of `webhook_url` and of the default URL."""
    _leaked, warnings = await _confirmed(call)
    return _revealed(await reveal(call.env, call.caller, ACCOUNT), warnings)


@described(
    "Rotate an endpoint's secret",
    answer(EndpointAnswer, **_SECRET),
    reads=SecretBody,
    errors=f"{_OF_PASSWORDS} {_OF_ENDPOINTS} ROTATION_LIMIT",
    example=_SECRET_EXAMPLE,
)
async def rotate_endpoint(call: Call) -> Reply:
    """Create a new signing secret for an endpoint and return it."""
    endpoint = await _of_operator(call)
    leaked, warnings = await _confirmed(call)
    shown = await rotate(call.env, call.caller, endpoint.id, expire_previous=leaked)
    return _rotated(EndpointAnswer.of(endpoint), shown, warnings)


@described(
    "Rotate the account's webhook secret",
    answer(AccountWebhook, **_SECRET),
    reads=SecretBody,
    errors=f"{_OF_PASSWORDS} ROTATION_LIMIT",
    example=_SECRET_EXAMPLE,
)
async def rotate_account(call: Call) -> Reply:
    """Create a new webhook secret for the account and return it."""
    leaked, warnings = await _confirmed(call)
    shown = await rotate(call.env, call.caller, ACCOUNT, expire_previous=leaked)
    return _rotated(AccountWebhook(call.env.config.webhooks.default_url or None), shown, warnings)


async def _of_operator(call: Call) -> Endpoint:
    needs_operator(call.caller)
    needs_open_collections(call)
    return await find(call)


async def _confirmed(call: Call) -> tuple[bool, dict[str, Any] | None]:
    """Check the password; return whether to expire old secrets at once, and the warnings."""
    needs_operator(call.caller)
    asked, warnings = await call.read(SecretBody)
    await users.confirm(call.env, call.caller, asked.password)
    return asked.expire_previous, json_values.warnings_meta(warnings)


def _revealed(shown: RevealedSecret, meta: dict[str, Any] | None) -> Reply:
    until = json_values.timestamp_or_none(shown.previous_expires_at)
    body = flat(SecretAnswer(True, shown.secret, until)) | ({} if meta is None else {"meta": meta})
    return Reply(200, json_values.dump(body), (NO_STORE,))


def _rotated(data: object, shown: RevealedSecret, meta: dict[str, Any] | None) -> Reply:
    until = json_values.timestamp_or_none(shown.previous_expires_at)
    body = json_values.success(data, meta, secret=shown.secret, **{UNTIL: until})
    return Reply(200, body, (NO_STORE,))
