"""Authentication and authorization of callers.

A caller has an API key, a session token, or on the Unix socket the user id that the kernel reports. The functions `needs*`
reject a caller without a permission.
"""

import asyncio
import contextlib
import hmac
import pwd
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace
from starlette.types import Scope as AsgiScope

from daemon.api.http.body import header
from daemon.core.access import sessions
from daemon.core.access.callers import (
    ALL_SCOPES,
    SESSION,
    Caller,
    CallerKind,
    KeyKind,
    RateLimitResult,
    Rates,
    caller_address,
    hash_key,
    parse_key,
    with_implied,
)
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.model import ApiKey
from daemon.env import Env
from daemon.flows.access.users import SESSION_KEY_PURPOSE
from daemon.runtime.secrets import SecretsLocked
from daemon.store.access import passwords
from daemon.store.access import users as store_users
from daemon.store.engine import Store
from daemon.wire import MODE_HEADER, ErrorCode, Mode, Scope

REMEMBERED_MAX: Final = 256
"""Cached API keys; a shop has only a few."""
_MODE: Final = MODE_HEADER.lower().encode()
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
_SCOPES = msgspec.json.Decoder(frozenset[str])


class Authenticator:
    """Authenticates requests on TCP and on the Unix socket."""

    def __init__(self, env: Env, own_uid: int) -> None:
        self._env = env
        self._keys = KeyCallers(env.store)
        limits = env.config.limits
        self._rates = {
            Mode.LIVE: Rates(limits.live_per_min, limits.burst),
            Mode.TEST: Rates(limits.test_per_min, limits.burst),
        }
        self._client_header = env.config.pages.client_header.lower().encode()
        self._users = LocalUsers(own_uid, env.config.access.socket_users)

    async def caller(self, scope: AsgiScope) -> Caller:
        """Return the caller of a request. On the socket a key is optional; its scopes and mode apply."""
        authorization = header(scope, b"authorization")
        peer_uid: int | None = scope["state"].get("peer_uid")
        local = None if peer_uid is None else self._users.caller(peer_uid)
        if local is not None and authorization is None:
            return _in_mode(scope, local)
        if authorization is None:
            raise unauthorized()
        now = self._env.clock.now_us()
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() == "bearer" and sessions.looks_like_token(token):
            return _in_mode(scope, await session_caller(self._env, token, now))
        caller = await self._keys.caller(authorization, now)
        assert caller.key_id is not None
        mode = header(scope, _MODE)
        # A caller that means the sandbox must not create a live transaction by mistake.
        if mode is not None and mode != caller.mode:
            why = f"a {caller.mode} key cannot use the other mode"
            raise invalid([FieldError(MODE_HEADER, "invalid", why)])
        origin, client = "socket", scope.get("client")
        if peer_uid is None and client:
            origin = caller_address(client[0], scope["headers"], self._client_header)
        self._env.key_use.note(caller.key_id, now, origin)
        return caller

    def take(self, caller: Caller) -> RateLimitResult | None:
        """Count a call against the rate limit of its key; None if no limit applies, as on the socket without a key."""
        # A branch sends one request at a time, up to ten a second while it catches up.
        if caller.key_id is None or caller.mode is None or Scope.BRANCH in caller.scopes:
            return None
        return self._rates[caller.mode].take(caller.key_id, self._env.clock.now_us())


def _in_mode(scope: AsgiScope, caller: Caller) -> Caller:
    """Bind a caller that sees both modes to the sandbox if `Svc-Mode` is `test`."""
    mode = header(scope, _MODE)
    if mode is None or mode == Mode.LIVE:
        return caller
    if mode != Mode.TEST:
        raise invalid([FieldError(MODE_HEADER, "invalid", "must be live or test")])
    return replace(caller, mode=Mode.TEST)


class KeyCallers:
    """Looks up callers by API key, with a cache that is cleared when any key changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._remembered: dict[str, tuple[ApiKey, Caller]] = {}
        self._listening = False
        self._changes = 0

    async def caller(self, authorization: str, now_us: int) -> Caller:
        """Return the caller behind an `Authorization` header."""
        scheme, _, text = authorization.partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer":
            raise unauthorized()
        sha256 = hash_key(text)
        found = self._remembered.get(sha256)
        if found is None and parse_key(text) is not None:
            found = await self._look_up(sha256)
        if found is None:
            raise unauthorized()
        key, caller = found
        if (
            not hmac.compare_digest(key.sha256, sha256)
            or key.revoked_at is not None
            or (key.expires_at is not None and now_us >= key.expires_at)
        ):
            raise unauthorized()
        return caller

    async def _look_up(self, sha256: str) -> tuple[ApiKey, Caller] | None:
        if not self._listening:
            self._listening = True
            self._store.subscribe(store_users.KEYS_TOPIC, self._forget)
        before = self._changes
        key = await self._store.look(lambda reader: store_users.key_with_hash(reader, sha256))
        if key is None:
            return None
        publishable = key.kind == KeyKind.PUBLISHABLE
        known = frozenset(Scope(each) for each in _SCOPES.decode(key.scopes) if each in set(Scope))
        scopes = frozenset({Scope.TRANSACTIONS_INITIALIZE}) if publishable else with_implied(known)
        name = f"key:{key.id}"
        found = key, Caller(CallerKind.KEY, key.mode, scopes, key.id, publishable, name, branch_id=key.branch_id)
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        if self._changes == before:  # otherwise the row may have been revoked while we read it
            self._remembered[sha256] = found
        return found

    def _forget(self) -> None:
        self._changes += 1
        self._remembered.clear()


async def session_caller(env: Env, token: str, now_us: int) -> Caller:
    """Return the caller behind a session token, or UNAUTHORIZED; Unavailable if the master key is locked."""
    sealed, ended = await env.store.read(
        lambda reader: (passwords.session_key(reader), passwords.ended_sessions(reader))
    )
    if sealed is None:
        raise unauthorized()
    try:
        key = await asyncio.to_thread(env.vault.unseal, sealed, SESSION_KEY_PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"sessions cannot be checked: {error}") from error
    session = sessions.read_token(key, token, now_us)
    if session is None or session.id in ended:
        raise unauthorized()
    return replace(SESSION, session=session)


class LocalUsers:
    """The local users allowed on the socket: the daemon's own user, root, and `[access] socket_users`."""

    def __init__(self, own_uid: int, names: Iterable[str]) -> None:
        self._own_uid = own_uid
        self._names = tuple(names)

    def caller(self, uid: int) -> Caller:
        """Return the caller for a user id that the kernel reported; reject any other user."""
        owner = uid in (0, self._own_uid)
        named = set()
        # Not cached: calls are rare, and a user may be created while the daemon runs.
        for name in self._names:
            with contextlib.suppress(KeyError):
                named.add(pwd.getpwnam(name).pw_uid)
        if not owner and uid not in named:
            try:
                own_name = pwd.getpwuid(uid).pw_name
            except KeyError:
                own_name = str(uid)
            names = ",".join([*self._names, own_name])
            raise unauthorized(
                "This user of the machine may not use the socket; the owner of the shop can let the user in with "
                f"`momo config set access.socket_users {names}` and `momo daemon restart`."
            )
        return Caller(CallerKind.SOCKET, None, ALL_SCOPES, None, False, f"socket:{uid}", owner)


def unauthorized(message: str | None = None) -> Refusal:
    """Return the one error for missing, malformed, unknown, revoked and expired keys."""
    return Refusal(ErrorCode.UNAUTHORIZED, message, headers=_CHALLENGE)


def needs(caller: Caller, *scopes: Scope) -> None:
    """Reject a caller that has none of these scopes."""
    if any(caller.may(scope) for scope in scopes):
        return
    if caller.publishable:
        raise Refusal(ErrorCode.SECRET_KEY_REQUIRED)
    raise Refusal(ErrorCode.INSUFFICIENT_SCOPE, required_scopes=list(scopes))


def needs_live(caller: Caller) -> None:
    """Reject a test key."""
    if caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)


def needs_operator(caller: Caller) -> None:
    """Reject an API key: only sessions and the socket, which operators use, are allowed."""
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)


def needs_owner(caller: Caller) -> None:
    """Reject all callers but the owner: a session, or on the socket root and the user that runs momo."""
    if caller.owner:
        return
    if caller.kind is CallerKind.SOCKET:
        raise Refusal(ErrorCode.SESSION_REQUIRED, "Only the user that runs momo, or root, may do that.")
    raise Refusal(ErrorCode.SESSION_REQUIRED)
