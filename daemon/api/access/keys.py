"""Create, list, get, rotate and revoke API keys; only for sessions and the Unix socket."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from daemon.api.http.auth import needs_operator
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.idempotency import claim
from daemon.api.http.service import NO_STORE, Call, Reply, ok, once
from daemon.api.openapi.describe import answer, described
from daemon.core.access.callers import KEY_SCOPES, ApiKeyAnswer, KeyKind, last_written
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.inputs import HttpAnswer, Idempotency, Keep
from daemon.core.json_values import success, warnings_meta
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import ApiKey
from daemon.core.reading import read
from daemon.core.shape import marked, sample
from daemon.flows.access import keys
from daemon.store.access import api_keys
from daemon.wire import ErrorCode, Mode, Scope

NAME_CHARACTERS_MAX: Final = 100
DAYS_MAX: Final = 3650
OVERLAP_HOURS: Final = 24
OVERLAP_HOURS_MAX: Final = 720


class KeyBody(Struct, frozen=True):
    """A new key; a publishable one gets the scope `transactions:initialize` only."""

    name: Annotated[
        str,
        sample("web shop", "a name for people"),
        Meta(min_length=1, max_length=NAME_CHARACTERS_MAX),
    ]
    mode: Annotated[Mode, sample("live", "live money or the sandbox; default `live`")] = Mode.LIVE
    kind: Annotated[
        KeyKind,
        sample("secret", "a publishable key can only initialize transactions; default `secret`"),
    ] = KeyKind.SECRET
    scopes: (
        Annotated[
            list[Annotated[Scope, marked(words=sorted(KEY_SCOPES))]],
            sample(["transactions:read"], "the scopes of the key; default: all"),
            Meta(max_length=2 * len(KEY_SCOPES)),
        ]
        | None
    ) = None
    expires_at: (
        Annotated[
            int, sample("2027-12-31T23:59:59Z", "the expiry; default: never"), marked(read="time")
        ]
        | None
    ) = None
    expires_in_days: (
        Annotated[int, sample(365, "the expiry in days from now"), Meta(ge=1, le=DAYS_MAX)] | None
    ) = None

    @staticmethod
    def check(
        given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]
    ) -> None:
        """Refuse scopes of a publishable key, and two expiries."""
        if given.get("kind") is KeyKind.PUBLISHABLE and body.get("scopes") is not None:
            fail("scopes", "invalid", "a publishable key can only initialize transactions")
        if "expires_at" in given and "expires_in_days" in given:
            fail("expires_in_days", "invalid", "cannot be combined with expires_at")

    def new_key(self, now: int) -> keys.NewKey:
        """Return the key to make.

        Raises:
            Refusal: VALIDATION_ERROR, if it would have ended or ends too late.
        """
        end = self.expires_at
        if end is not None and not now < end <= now + DAYS_MAX * DAY_US:
            why = f"must be within the next {DAYS_MAX} days"
            raise invalid([FieldError("expires_at", "out_of_range", why)])
        if self.expires_in_days is not None:
            end = now + self.expires_in_days * DAY_US
        scopes = KEY_SCOPES if self.scopes is None else frozenset(self.scopes)
        if self.kind is KeyKind.PUBLISHABLE:
            scopes = frozenset({Scope.TRANSACTIONS_INITIALIZE})
        return keys.NewKey(self.name, self.mode, self.kind, scopes, end)


@described(
    "Create a key",
    answer(
        ApiKeyAnswer,
        key=Annotated[str, sample("svc_live_sk_...", "the key itself, shown only once")],
    ),
    status=201,
    reads=KeyBody,
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
    asked_for, warnings = read(KeyBody, body)
    new = asked_for.new_key(call.env.clock.now_us())
    keep = _keep(asked, warnings)
    return await once(
        call, keep, lambda: keys.create(call.env, call.caller, new, keep=keep), NO_STORE
    )


def _keep(asked: Idempotency | None, warnings: list[str]) -> Keep[keys.MadeKey]:
    """Return how a new key is answered: 201, with the key itself, and the one that it replaces."""

    def render(made: keys.MadeKey) -> HttpAnswer:
        previous = None if made.previous is None else ApiKeyAnswer.of(made.previous, made.at)
        top = {"key": made.text} | ({} if previous is None else {"previous": previous})
        return HttpAnswer(
            201, success(ApiKeyAnswer.of(made.row, made.at), warnings_meta(warnings), **top)
        )

    return Keep(asked, render)


@described("List keys", answer(list[ApiKeyAnswer]), errors=(ErrorCode.SESSION_REQUIRED,))
async def get_list(call: Call) -> Reply:
    """List all keys, newest first, including revoked keys."""
    needs_operator(call.caller)
    rows = await call.env.store.read(api_keys.known)
    return ok([_shape(call, row) for row in rows])


@described(
    "Get a key",
    answer(ApiKeyAnswer),
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


class RotateBody(Struct, frozen=True):
    """How long the old key stays valid."""

    overlap_hours: Annotated[
        int,
        sample(24, "hours for which the old key stays valid; default 24; 0 ends it at once"),
        Meta(ge=0, le=OVERLAP_HOURS_MAX),
    ] = OVERLAP_HOURS


@described(
    "Rotate a key",
    answer(
        ApiKeyAnswer,
        key=Annotated[str, sample("svc_live_sk_...", "the new key itself, shown only once")],
        previous=ApiKeyAnswer,
    ),
    status=201,
    reads=RotateBody,
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
    asked_for, warnings = read(RotateBody, body)
    keep, key_id = _keep(asked, warnings), call.uuid(ErrorCode.KEY_NOT_FOUND)
    return await once(
        call,
        keep,
        lambda: keys.rotate(
            call.env, call.caller, key_id, asked_for.overlap_hours * HOUR_US, keep=keep
        ),
        NO_STORE,
    )


@described(
    "Revoke a key",
    answer(ApiKeyAnswer),
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


def _shape(call: Call, row: ApiKey) -> ApiKeyAnswer:
    latest = call.env.key_use.latest(row.id, last_written(row))
    return ApiKeyAnswer.of(row, call.env.clock.now_us(), latest)
