"""Webhook endpoints: create, list, update, pause, resume, delete, test."""

from typing import Any, Final

from daemon.api.http.auth import needs_live
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields, ignored
from daemon.api.http.idempotency import claim
from daemon.api.http.service import NO_STORE, Call, Reply, finished, ok
from daemon.api.openapi.describe import described
from daemon.core import json_values
from daemon.core.errors import Refusal
from daemon.core.json_values import warnings_meta
from daemon.core.lines.readiness import UNPLACED_WINDOW_US
from daemon.core.model import Endpoint
from daemon.core.webhooks import endpoint_json
from daemon.flows.webhooks import addresses, trial
from daemon.flows.webhooks import endpoints as endpoint_flow
from daemon.flows.webhooks.endpoints import Changes, NewEndpoint
from daemon.sender.address_guard import URL_CHARACTERS_MAX
from daemon.store import idempotency
from daemon.store.engine import Reader
from daemon.store.webhooks import delivery_log, endpoints, routing
from daemon.wire import ErrorCode, EventKind, Mode

NEW_ENDPOINT_FIELDS: Final = (
    "url",
    "description",
    "is_sandbox",
    "catch_all",
    "events",
    "include_raw",
)
CHANGE_FIELDS: Final = ("url", "description", "is_active", "catch_all", "events", "include_raw")


def needs_open_collections(call: Call) -> None:
    """Reject the call if open collections are disabled.

    Raises:
        Refusal: OPEN_COLLECTIONS_DISABLED.
    """
    if not call.env.config.open_collections.enabled:
        raise Refusal(ErrorCode.OPEN_COLLECTIONS_DISABLED)


async def find(call: Call) -> Endpoint:
    """Return the endpoint named by the path.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; LIVE_KEY_REQUIRED for a test key and a live endpoint.
    """
    endpoint_id = call.uuid(ErrorCode.ENDPOINT_NOT_FOUND)
    found = await call.env.store.look(lambda reader: endpoints.get(reader, endpoint_id))
    if found is None:
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    if found.mode is Mode.LIVE:
        needs_live(call.caller)
    return found


@described("List endpoints", "endpoints")
async def get_list(call: Call) -> Reply:
    """List the endpoints. A test key sees only sandbox endpoints.

    `meta.unclaimed_payments` counts the payments of the last 30 days that matched no endpoint when they arrived and have
    not been sent since; a replay sends them. It counts sandbox payments for a test key and live payments otherwise.
    """
    mode = Mode.TEST if call.caller.mode is Mode.TEST else None
    since = call.env.clock.now_us() - UNPLACED_WINDOW_US

    def look(reader: Reader) -> tuple[list[Endpoint], int]:
        return endpoints.in_use(reader, mode), routing.count_unclaimed(
            reader, mode or Mode.LIVE, since
        )

    found, unclaimed = await call.env.store.read(look)
    shown = [endpoint_json.endpoint(endpoint) for endpoint in found]
    return ok(shown, {"unclaimed_payments": unclaimed})


@described(
    "Get an endpoint",
    "endpoint",
    errors=(
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def get_one(call: Call) -> Reply:
    """Return one endpoint. `meta.last_error` has the response of its last failed attempt."""
    endpoint = await find(call)
    failed = await call.env.store.read(lambda reader: delivery_log.last_failure(reader, endpoint))
    meta = None if failed is None else {"last_error": endpoint_json.last_error(failed)}
    return ok(endpoint_json.endpoint(endpoint), meta)


def read_events(fields: Fields) -> tuple[str, ...] | None:
    """Read the event kinds that an endpoint subscribes to."""
    kinds = fields.words("events", list(EventKind), most=2 * len(EventKind))
    return None if kinds is None else tuple(dict.fromkeys(kinds))


def read_new_endpoint(fields: Fields) -> NewEndpoint:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    url = fields.text("url", required=True, most=URL_CHARACTERS_MAX)
    description = fields.text("description") or ""
    sandbox = fields.boolean("is_sandbox", default=False)
    catch_all = fields.boolean("catch_all", default=True)
    include_raw = fields.boolean("include_raw", default=False)
    kinds = read_events(fields) or (EventKind.FORWARDED,)
    fields.done()
    assert url is not None
    mode = Mode.TEST if sandbox else Mode.LIVE
    return NewEndpoint(url, description, mode, kinds, catch_all, include_raw)


@described(
    "Create an endpoint",
    "new endpoint",
    status=201,
    reads=read_new_endpoint,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.URL_NOT_ALLOWED,
        ErrorCode.LINES_NOT_READY,
        ErrorCode.ENDPOINT_LIMIT,
    ),
    example={"url": "https://shop.example/momo", "description": "the till"},
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Create an endpoint; 201. Only this answer contains its secret."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    new = read_new_endpoint(Fields(body))
    if new.mode is Mode.LIVE:
        needs_live(call.caller)
    async with call.service.inflight.alone(asked):
        known = asked is not None and await call.env.store.look(
            lambda reader: idempotency.find(reader, asked) is not None
        )
        if not known:
            await addresses.check_endpoint(call.env, call.caller, new.url, call.service.resolver)
        answer = await endpoint_flow.create(
            call.env,
            call.caller,
            new,
            claim=asked,
            warnings=ignored(Fields(body).unknown(NEW_ENDPOINT_FIELDS)),
        )
    return finished(answer, NO_STORE)


def read_changes(fields: Fields) -> Changes:
    """Read the body: at least one of the fields.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    if fields.given("is_sandbox"):
        fields.fail("is_sandbox", "invalid", "cannot be changed after the endpoint is created")
    elif not any(fields.given(name) for name in CHANGE_FIELDS):
        fields.fail("body", "required", f"must hold at least one of {', '.join(CHANGE_FIELDS)}")
    # An empty description is a value: it removes the old description.
    description = fields.text("description")
    if description is None and fields.given("description"):
        description = ""
    changes = Changes(
        url=fields.text("url", most=URL_CHARACTERS_MAX, blank=False),
        description=description,
        is_active=fields.switch("is_active"),
        catch_all=fields.switch("catch_all"),
        events=read_events(fields),
        include_raw=fields.switch("include_raw"),
    )
    fields.done()
    return changes


@described(
    "Update an endpoint",
    "endpoint",
    reads=read_changes,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.URL_NOT_ALLOWED,
    ),
    example={"is_active": False},
)
async def update(call: Call) -> Reply:
    """Change any settings of an endpoint. After a resume, `meta.queued` counts the deliveries that were queued."""
    needs_open_collections(call)
    endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    changes = read_changes(Fields(body))
    if changes.url is not None:
        await addresses.check_endpoint(call.env, call.caller, changes.url, call.service.resolver)
    changed = await endpoint_flow.update(call.env, call.caller, endpoint.id, changes)
    queued: dict[str, Any] = {} if changed.queued is None else {"queued": changed.queued}
    warnings = [*ignored(Fields(body).unknown((*CHANGE_FIELDS, "is_sandbox"))), *changed.warnings]
    meta = {**queued, **(warnings_meta(warnings) or {})}
    return ok(endpoint_json.endpoint(changed.endpoint), meta or None)


@described(
    "Delete an endpoint",
    "deleted endpoint",
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def delete(call: Call) -> Reply:
    """Delete an endpoint. Its undelivered deliveries become dead letters; `undelivered` counts them."""
    needs_open_collections(call)
    endpoint = await find(call)
    undelivered = await endpoint_flow.delete(call.env, call.caller, endpoint.id)
    return Reply(200, endpoint_json.deleted_endpoint(undelivered))


@described(
    "Test an endpoint",
    "endpoint test",
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def test(call: Call) -> Reply:
    """Send a made-up event and return the endpoint's response. Always 200; `success` is true if the endpoint sent 2xx."""
    needs_open_collections(call)
    endpoint = await find(call)
    async with call.service.test_sends:
        tried = await trial.send(call.env, call.caller, endpoint, call.service.resolver)
    return Reply(200, json_values.dump(tried.as_json()))
