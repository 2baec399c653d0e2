"""Webhook endpoints: change, pause, resume, delete (interface.md, Webhook endpoints)."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.api import webhook_url
from daemon.api.endpoints import find, needs_open_collections, read_events
from daemon.api.fields import Fields, ignored
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core import collection_shapes
from daemon.flows import endpoint_changes as flow
from daemon.flows.endpoint_changes import Changes
from daemon.webhooks.addresses import URL_CHARACTERS_MAX

KNOWN: Final = ("url", "description", "is_active", "catch_all", "events", "include_raw")


async def update(call: Call) -> Reply:
    """Change any of an endpoint's settings; `meta.queued` says what a resume set going."""
    needs_open_collections(call)
    endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    changes = read(body)
    if changes.url is not None:
        await webhook_url.check(call.service, changes.url)
    changed = await flow.update(call.env, call.caller, endpoint.id, changes)
    meta: dict[str, Any] = {} if changed.queued is None else {"queued": changed.queued}
    told = [*ignored(Fields(body).unknown((*KNOWN, "is_sandbox"))), *changed.warnings]
    if told:
        meta["warnings"] = told
    return ok(collection_shapes.endpoint(changed.endpoint), meta or None)


async def delete(call: Call) -> Reply:
    """Delete an endpoint; `undelivered` deliveries become dead letters."""
    needs_open_collections(call)
    endpoint = await find(call)
    undelivered = await flow.delete(call.env, call.caller, endpoint.id)
    return Reply(200, collection_shapes.deleted_endpoint(undelivered))


def read(body: Mapping[str, Any]) -> Changes:
    """Read the body: any of the fields, at least one.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    fields = Fields(body)
    if fields.value("is_sandbox") is not None:
        fields.fail("is_sandbox", "invalid", "is set when the endpoint is made and stays")
    elif all(fields.value(name) is None for name in KNOWN):
        fields.fail("body", "required", f"must hold at least one of {', '.join(KNOWN)}")
    # An empty description is a value: it takes the old one away.
    description = None if fields.value("description") is None else fields.text("description") or ""
    changes = Changes(
        url=_url(fields),
        description=description,
        is_active=_flag(fields, "is_active"),
        catch_all=_flag(fields, "catch_all"),
        events=None if fields.value("events") is None else read_events(fields),
        include_raw=_flag(fields, "include_raw"),
    )
    fields.done()
    return changes


def _url(fields: Fields) -> str | None:
    given = fields.value("url") is not None
    return fields.text("url", required=given, most=URL_CHARACTERS_MAX)


def _flag(fields: Fields, name: str) -> bool | None:
    return None if fields.value(name) is None else fields.boolean(name, default=False)
