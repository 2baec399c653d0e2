"""Webhook endpoints: change, pause, resume, delete (interface.md, Webhook endpoints)."""

from typing import Any, Final

from daemon.api import webhook_url
from daemon.api.described import described
from daemon.api.endpoints import find, needs_open_collections, read_events
from daemon.api.fields import Fields, ignored
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core import collection_shapes
from daemon.core.shapes import warned
from daemon.flows import endpoint_changes as flow
from daemon.flows.endpoint_changes import Changes
from daemon.webhooks.addresses import URL_CHARACTERS_MAX
from daemon.wire import ErrorCode

KNOWN: Final = ("url", "description", "is_active", "catch_all", "events", "include_raw")


def read(fields: Fields) -> Changes:
    """Read the body: any of the fields, at least one.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    if fields.given("is_sandbox"):
        fields.fail("is_sandbox", "invalid", "is set when the endpoint is made and stays")
    elif not any(fields.given(name) for name in KNOWN):
        fields.fail("body", "required", f"must hold at least one of {', '.join(KNOWN)}")
    # An empty description is a value: it takes the old one away.
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
    reads=read,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.URL_NOT_ALLOWED,
    ),
    example={"is_active": False},
)
async def update(call: Call) -> Reply:
    """Change any of an endpoint's settings; `meta.queued` says what a resume set going."""
    needs_open_collections(call)
    endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    changes = read(Fields(body))
    if changes.url is not None:
        await webhook_url.check_endpoint(call, changes.url)
    changed = await flow.update(call.env, call.caller, endpoint.id, changes)
    queued: dict[str, Any] = {} if changed.queued is None else {"queued": changed.queued}
    told = [*ignored(Fields(body).unknown((*KNOWN, "is_sandbox"))), *changed.warnings]
    meta = {**queued, **(warned(told) or {})}
    return ok(collection_shapes.endpoint(changed.endpoint), meta or None)


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
    """Delete an endpoint; `undelivered` deliveries become dead letters."""
    needs_open_collections(call)
    endpoint = await find(call)
    undelivered = await flow.delete(call.env, call.caller, endpoint.id)
    return Reply(200, collection_shapes.deleted_endpoint(undelivered))
