"""Create, list, get, rotate and revoke API keys; only for sessions and the Unix socket."""

from typing import Any, Final

from daemon.api.http.auth import needs_operator
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, ignored
from daemon.api.http.idempotency import claim
from daemon.api.http.service import NO_STORE, Call, Reply, ok, once
from daemon.api.openapi.describe import described
from daemon.core.access.callers import KEY_SCOPES, KeyKind
from daemon.core.access.keys import api_key, last_written
from daemon.core.errors import Refusal
from daemon.core.inputs import Answer, Idempotency, Keep
from daemon.core.json_values import success, warnings_meta
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import ApiKey
from daemon.flows.access import keys
from daemon.store.access import api_keys
from daemon.wire import ErrorCode, Mode, Scope

KNOWN: Final = ("name", "mode", "kind", "scopes", "expires_at", "expires_in_days")
NAME_CHARACTERS_MAX: Final = 100
DAYS_MAX: Final = 3650
OVERLAP_HOURS: Final = 24
OVERLAP_HOURS_MAX: Final = 720


def read(fields: Fields, now: int = 0) -> keys.NewKey:
    """Read the body; a publishable key gets the scope `transactions:initialize` only.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    name = fields.text("name", required=True, most=NAME_CHARACTERS_MAX)
    mode = fields.word("mode", list(Mode)) or Mode.LIVE
    kind = fields.word("kind", list(KeyKind)) or KeyKind.SECRET
    allowed = sorted(KEY_SCOPES)
    scopes = fields.words("scopes", allowed, most=2 * len(allowed))
    if kind == KeyKind.PUBLISHABLE:
        if fields.given("scopes"):
            fields.fail("scopes", "invalid", "a publishable key can only initialize transactions")
        scopes = [Scope.TRANSACTIONS_INITIALIZE]
    expires_at = _end(fields, now)
    fields.done()
    assert name is not None
    granted = KEY_SCOPES if scopes is None else frozenset(Scope(scope) for scope in scopes)
    return keys.NewKey(name, Mode(mode), KeyKind(kind), granted, expires_at)


def _end(fields: Fields, now: int) -> int | None:
    """Read the expiry of a key, a time or a number of days; None is never."""
    end = fields.time("expires_at")
    days = fields.integer("expires_in_days", 1, DAYS_MAX)
    if end is not None and days is not None:
        fields.fail("expires_in_days", "invalid", "cannot be combined with expires_at")
    if end is not None and not now < end <= now + DAYS_MAX * DAY_US:
        fields.fail("expires_at", "out_of_range", f"must be within the next {DAYS_MAX} days")
    return end if days is None else now + days * DAY_US


@described(
    "Create a key",
    "new key",
    status=201,
    reads=read,
    errors=(ErrorCode.SESSION_REQUIRED,),
    example={
        "name": "web shop",
        "mode": "live",
        "scopes": ["transactions:write", "transactions:read"],
        "expires_in_days": 365,
    },
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Create an API key; 201. Only this answer contains the key."""
    needs_operator(call.caller)
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    fields = Fields(body)
    new = read(fields, call.env.clock.now_us())
    warnings = ignored(fields.unknown(KNOWN))
    keep = _keep(asked, warnings)
    return await once(
        call, keep, lambda: keys.create(call.env, call.caller, new, keep=keep), NO_STORE
    )


def _keep(asked: Idempotency | None, warnings: list[str]) -> Keep[keys.MadeKey]:
    """Return how a new key is answered: 201, with the key itself, and the one that it replaces."""

    def render(made: keys.MadeKey) -> Answer:
        previous = None if made.previous is None else api_key(made.previous, made.at)
        top = {"key": made.text} | ({} if previous is None else {"previous": previous})
        return Answer(201, success(api_key(made.row, made.at), warnings_meta(warnings), **top))

    return Keep(asked, render)


@described("List keys", "keys", errors=(ErrorCode.SESSION_REQUIRED,))
async def get_list(call: Call) -> Reply:
    """List all keys, newest first, including revoked keys."""
    needs_operator(call.caller)
    rows = await call.env.store.read(api_keys.known)
    return ok([_shape(call, row) for row in rows])


@described(
    "Get a key",
    "key",
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.KEY_NOT_FOUND,
    ),
)
async def get_one(call: Call) -> Reply:
    """Return one key."""
    needs_operator(call.caller)
    key_id = call.uuid(ErrorCode.KEY_NOT_FOUND)
    row = await call.env.store.look(lambda reader: api_keys.get(reader, key_id))
    if row is None:
        raise Refusal(ErrorCode.KEY_NOT_FOUND)
    return ok(_shape(call, row))


def read_overlap(fields: Fields) -> int:
    """Read the number of hours for which the old key stays valid.

    Raises:
        Refusal: VALIDATION_ERROR.
    """
    hours = fields.integer("overlap_hours", 0, OVERLAP_HOURS_MAX)
    fields.done()
    return OVERLAP_HOURS if hours is None else hours


@described(
    "Rotate a key",
    "rotated key",
    status=201,
    reads=read_overlap,
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.KEY_NOT_FOUND,
    ),
    example={"overlap_hours": 24},
    idempotent=True,
)
async def rotate(call: Call) -> Reply:
    """Rotate an API key: create a new key with the same scopes; 201. Both work until the overlap ends.

    Only this answer contains the new key.
    """
    needs_operator(call.caller)
    body = await read_object_if_any(call.scope, call.receive)
    asked = claim(call, body)
    fields = Fields(body)
    hours = read_overlap(fields)
    warnings = ignored(fields.unknown(("overlap_hours",)))
    keep, key_id = _keep(asked, warnings), call.uuid(ErrorCode.KEY_NOT_FOUND)
    return await once(
        call,
        keep,
        lambda: keys.rotate(call.env, call.caller, key_id, hours * HOUR_US, keep=keep),
        NO_STORE,
    )


@described(
    "Revoke a key",
    "key",
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.KEY_NOT_FOUND,
    ),
)
async def revoke(call: Call) -> Reply:
    """Revoke a key at once. It stays in the list; a second call changes nothing."""
    needs_operator(call.caller)
    return ok(
        _shape(call, await keys.revoke(call.env, call.caller, call.uuid(ErrorCode.KEY_NOT_FOUND)))
    )


def _shape(call: Call, row: ApiKey) -> dict[str, Any]:
    latest = call.env.key_use.latest(row.id, last_written(row))
    return api_key(row, call.env.clock.now_us(), latest)
