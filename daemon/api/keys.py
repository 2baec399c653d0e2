"""API keys: create, list, show, revoke. For dashboard sessions and the local socket only (decisions.md section 8)."""

from typing import Any, Final

from daemon.api.fields import Fields, ignored, read_uuid
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, finished, ok
from daemon.core.access import KEY_SCOPES, CallerKind, KeyKind
from daemon.core.errors import Refusal
from daemon.core.key_shapes import api_key
from daemon.core.limits import DAY_US
from daemon.core.model import ApiKey
from daemon.flows import keys
from daemon.store import api_keys
from daemon.wire import ErrorCode, Mode, Scope

KNOWN: Final = ("name", "mode", "kind", "scopes", "expires_in_days")
NAME_CHARACTERS_MAX: Final = 100
DAYS_MAX: Final = 3650
NO_STORE: Final = (b"cache-control", b"no-store")


def _owner_only(call: Call) -> None:
    if call.caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)


async def create(call: Call) -> Reply:
    """Make a key; 201. It is shown in this answer and never again."""
    _owner_only(call)
    body = await read_object(call.scope, call.receive)
    fields = Fields(body)
    name = fields.text("name", required=True, most=NAME_CHARACTERS_MAX)
    mode = _word(fields, "mode", Mode) or Mode.LIVE
    kind = _word(fields, "kind", KeyKind) or KeyKind.SECRET
    scopes = _scopes(fields, kind)
    days = fields.integer("expires_in_days", 1, DAYS_MAX)
    fields.done()
    assert name is not None
    expires_at = None if days is None else call.env.clock.now_us() + days * DAY_US
    new = keys.NewKey(name, Mode(mode), KeyKind(kind), scopes, expires_at)
    made = await keys.create(call.env, call.caller, new, ignored(fields.unknown(KNOWN)))
    return finished(made, NO_STORE)


async def get_list(call: Call) -> Reply:
    """List every key, newest first, revoked ones too."""
    _owner_only(call)
    rows = await call.env.store.read(api_keys.known)
    return ok([_shape(call, row) for row in rows])


async def get_one(call: Call) -> Reply:
    """Return one key."""
    _owner_only(call)
    key_id = _id(call)
    row = await call.env.store.read(lambda reader: api_keys.get(reader, key_id))
    if row is None:
        raise Refusal(ErrorCode.KEY_NOT_FOUND)
    return ok(_shape(call, row))


async def revoke(call: Call) -> Reply:
    """DELETE: end a key at once. It stays in the list; a second time changes nothing."""
    _owner_only(call)
    return ok(_shape(call, await keys.revoke(call.env, call.caller, _id(call))))


def _id(call: Call) -> str:
    found = read_uuid(call.path("id"))
    if found is None:
        raise Refusal(ErrorCode.KEY_NOT_FOUND)
    return found


def _shape(call: Call, row: ApiKey) -> dict[str, Any]:
    latest = call.env.key_use.latest(row.id, row.last_used_at)
    return api_key(row, call.env.clock.now_us(), latest)


def _word(fields: Fields, name: str, words: type[Mode] | type[KeyKind]) -> str | None:
    text = fields.text(name)
    if text is not None and text not in set(words):
        fields.fail(name, "invalid", f"must be one of {', '.join(words)}")
        return None
    return text


def _scopes(fields: Fields, kind: str) -> frozenset[Scope]:
    """Read the scopes of a secret key; a publishable one may initialize and nothing else."""
    value = fields.value("scopes")
    if kind == KeyKind.PUBLISHABLE:
        if value is not None:
            fields.fail("scopes", "invalid", "a publishable key may only initialize")
        return frozenset({Scope.TRANSACTIONS_INITIALIZE})
    if value is None:
        return KEY_SCOPES
    if not isinstance(value, list) or not value:
        fields.fail("scopes", "wrong_type", "must be a list of scopes, at least one")
        return frozenset()
    allowed = {str(scope) for scope in KEY_SCOPES}
    for place, scope in enumerate(value):
        if not isinstance(scope, str) or scope not in allowed:
            text = f"must be one of {', '.join(sorted(allowed))}"
            fields.fail(f"scopes[{place}]", "invalid", text)
    return (
        frozenset(Scope(scope) for scope in value if scope in allowed)
        if not fields.errors
        else frozenset()
    )
