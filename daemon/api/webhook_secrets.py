"""Reveal and rotate signing secrets, of an endpoint and of the account: people only, with the account password."""

from typing import Any, Final

from daemon.api.described import described
from daemon.api.endpoints import find, needs_open_collections
from daemon.api.fields import Fields, ignored
from daemon.api.permission import needs_person
from daemon.api.read_json import read_object
from daemon.api.service import NO_STORE, Call, Reply
from daemon.core import collection_shapes, shapes
from daemon.core.model import Endpoint
from daemon.flows import password
from daemon.flows.webhook_secret import Shown, reveal, rotate
from daemon.store.webhook_secrets import ACCOUNT
from daemon.wire import ErrorCode

UNTIL: Final = "previous_secret_expires_at"
_PASSWORD: Final = (
    ErrorCode.SESSION_REQUIRED,
    ErrorCode.INVALID_PASSWORD,
    ErrorCode.TOO_MANY_ATTEMPTS,
    ErrorCode.NOT_SET_UP,
)
_ENDPOINT: Final = (
    ErrorCode.OPEN_COLLECTIONS_DISABLED,
    ErrorCode.ENDPOINT_NOT_FOUND,
    ErrorCode.LIVE_KEY_REQUIRED,
)
_EXAMPLE: Final = {"password": "correct horse battery"}


def read(fields: Fields) -> tuple[str | None, bool]:
    """Read the account password, and whether the old secrets end now."""
    given = fields.secret("password")
    leaked = fields.boolean("expire_previous", default=False)
    fields.done()
    return given, leaked


@described(
    "Reveal an endpoint's secret",
    "secret",
    reads=read,
    errors=(*_PASSWORD, *_ENDPOINT),
    example=_EXAMPLE,
)
async def reveal_endpoint(call: Call) -> Reply:
    """Show an endpoint's signing secret."""
    endpoint, _fields, warnings = await _confirmed(call, of_endpoint=True)
    assert endpoint is not None
    return _revealed(await reveal(call.env, call.caller, endpoint.id), warnings)


@described(
    "Reveal the account's webhook secret",
    "secret",
    reads=read,
    errors=_PASSWORD,
    example=_EXAMPLE,
)
async def reveal_account(call: Call) -> Reply:
    """Show the secret that signs for requests' own webhooks and the default one."""
    _endpoint, _fields, warnings = await _confirmed(call, of_endpoint=False)
    return _revealed(await reveal(call.env, call.caller, ACCOUNT), warnings)


@described(
    "Rotate an endpoint's secret",
    "rotated endpoint secret",
    reads=read,
    errors=(*_PASSWORD, *_ENDPOINT, ErrorCode.ROTATION_LIMIT),
    example=_EXAMPLE,
)
async def rotate_endpoint(call: Call) -> Reply:
    """Give an endpoint a new secret, shown this once."""
    endpoint, leaked, warnings = await _confirmed(call, of_endpoint=True)
    assert endpoint is not None
    shown = await rotate(call.env, call.caller, endpoint.id, expire_previous=leaked)
    return _rotated(collection_shapes.endpoint(endpoint), shown, warnings)


@described(
    "Rotate the account's webhook secret",
    "rotated account secret",
    reads=read,
    errors=(*_PASSWORD, ErrorCode.ROTATION_LIMIT),
    example=_EXAMPLE,
)
async def rotate_account(call: Call) -> Reply:
    """Give the account a new webhook secret, shown this once."""
    _endpoint, leaked, warnings = await _confirmed(call, of_endpoint=False)
    shown = await rotate(call.env, call.caller, ACCOUNT, expire_previous=leaked)
    return _rotated({"default_url": call.env.config.webhooks.default_url or None}, shown, warnings)


async def _confirmed(
    call: Call, *, of_endpoint: bool
) -> tuple[Endpoint | None, bool, dict[str, Any] | None]:
    """Return the endpoint, whether the old secrets end now, and the warnings; the password was the account's.

    Raises:
        Refusal: SESSION_REQUIRED for a key, OPEN_COLLECTIONS_DISABLED, ENDPOINT_NOT_FOUND, VALIDATION_ERROR,
            INVALID_PASSWORD with `attempts_remaining`, TOO_MANY_ATTEMPTS with `retry_after`.
    """
    needs_person(call.caller)
    endpoint = None
    if of_endpoint:
        needs_open_collections(call)
        endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    fields = Fields(body)
    given, leaked = read(fields)
    await password.confirm(call.env, call.caller, given)
    warnings = ignored(fields.unknown(("password", "expire_previous")))
    return endpoint, leaked, shapes.warned(warnings)


def _revealed(shown: Shown, meta: dict[str, Any] | None) -> Reply:
    body: shapes.Json = {
        "success": True,
        "secret": shown.secret,
        UNTIL: shapes.timestamp_or_none(shown.previous_expires_at),
    }
    if meta is not None:
        body["meta"] = meta
    return Reply(200, shapes.dump(body), (NO_STORE,))


def _rotated(data: shapes.Json, shown: Shown, meta: dict[str, Any] | None) -> Reply:
    until = shapes.timestamp_or_none(shown.previous_expires_at)
    body = shapes.success(data, meta, secret=shown.secret, **{UNTIL: until})
    return Reply(200, body, (NO_STORE,))
