"""Webhook endpoints: create, list, get (interface.md, Webhook endpoints)."""

from typing import Final

from daemon.api import webhook_url
from daemon.api.described import described
from daemon.api.fields import Fields, ignored, read_uuid
from daemon.api.idempotency import claim
from daemon.api.permission import needs_live
from daemon.api.read_json import read_object
from daemon.api.service import NO_STORE, Call, Reply, finished, ok
from daemon.core import collection_shapes
from daemon.core.errors import Refusal
from daemon.core.lines import UNPLACED_WINDOW_US
from daemon.core.model import Endpoint
from daemon.flows.endpoints import NewEndpoint
from daemon.flows.endpoints import create as flow
from daemon.store import delivery_log, endpoints, idempotency, routings
from daemon.store.engine import Reader
from daemon.webhooks.addresses import URL_CHARACTERS_MAX
from daemon.wire import ErrorCode, EventKind, Mode

KNOWN: Final = ("url", "description", "is_sandbox", "catch_all", "events", "include_raw")


def read_events(fields: Fields) -> tuple[str, ...] | None:
    """Read the kinds that an endpoint hears of."""
    kinds = fields.words("events", list(EventKind), most=2 * len(EventKind))
    return None if kinds is None else tuple(dict.fromkeys(kinds))


def read(fields: Fields) -> NewEndpoint:
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
    reads=read,
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
    """Make an endpoint; 201, and the only answer that shows its secret."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    new = read(Fields(body))
    if new.mode is Mode.LIVE:
        needs_live(call.caller)
    async with call.service.inflight.alone(asked):
        known = asked is not None and await call.env.store.read(
            lambda reader: idempotency.find(reader, asked) is not None
        )
        if not known:
            await webhook_url.check_endpoint(call, new.url)
        answer = await flow(
            call.env,
            call.caller,
            new,
            claim=asked,
            warnings=ignored(Fields(body).unknown(KNOWN)),
        )
    return finished(answer, NO_STORE)


@described("List endpoints", "endpoints")
async def get_list(call: Call) -> Reply:
    """List the endpoints; a test key sees sandbox endpoints only.

    `meta.unclaimed_payments` counts those of the last 30 days that no endpoint claimed when they came and that were sent
    to none since; a replay sends them. Of the sandbox for a test key, of real money otherwise.
    """
    mode = Mode.TEST if call.caller.mode is Mode.TEST else None
    since = call.env.clock.now_us() - UNPLACED_WINDOW_US

    def look(reader: Reader) -> tuple[list[Endpoint], int]:
        return endpoints.in_use(reader, mode), routings.unclaimed(reader, mode or Mode.LIVE, since)

    found, unclaimed = await call.env.store.read(look)
    shown = [collection_shapes.endpoint(endpoint) for endpoint in found]
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
    """Return one endpoint; `meta.last_error` says what it answered when it failed last."""
    endpoint = await find(call)
    failed = await call.env.store.read(lambda reader: delivery_log.last_failure(reader, endpoint))
    meta = None if failed is None else {"last_error": collection_shapes.last_error(failed)}
    return ok(collection_shapes.endpoint(endpoint), meta)


def needs_open_collections(call: Call) -> None:
    """Refuse what decisions.md section 5 names while open collections are switched off.

    Raises:
        Refusal: OPEN_COLLECTIONS_DISABLED.
    """
    if not call.env.config.open_collections.enabled:
        raise Refusal(ErrorCode.OPEN_COLLECTIONS_DISABLED)


async def find(call: Call) -> Endpoint:
    """Return the endpoint that the path names.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; LIVE_KEY_REQUIRED for a test key and a live endpoint.
    """
    endpoint_id = read_uuid(call.path("id"))
    found = None
    if endpoint_id is not None:
        found = await call.env.store.read(lambda reader: endpoints.get(reader, endpoint_id))
    if found is None:
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    if found.mode is Mode.LIVE:
        needs_live(call.caller)
    return found
