"""Who calls: an API key or a session on either address, or the kernel's word about the socket's other end."""

import asyncio
import hmac
import pwd
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import msgspec
from starlette.types import Scope as AsgiScope

from daemon.api.headers import header
from daemon.core import sessions
from daemon.core.access import (
    ALL_SCOPES,
    SESSION,
    Caller,
    CallerKind,
    KeyKind,
    hash_key,
    parse_key,
    with_implied,
)
from daemon.core.client_address import origin
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.model import ApiKey
from daemon.core.rate import Rates, Taken
from daemon.env import Env
from daemon.flows.sessions import PURPOSE
from daemon.secrets import SecretsLocked
from daemon.store import api_keys, session_keys
from daemon.store.engine import Store
from daemon.wire import MODE_HEADER, ErrorCode, Mode, Scope

REMEMBERED_MAX: Final = 256
"""Keys looked up before; a shop has a handful."""
_MODE: Final = MODE_HEADER.lower().encode()
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
_SCOPES = msgspec.json.Decoder(frozenset[str])


def unauthorized(message: str | None = None) -> Refusal:
    """Make the one refusal for missing, malformed, unknown, revoked and expired keys."""
    return Refusal(ErrorCode.UNAUTHORIZED, message, headers=_CHALLENGE)


class Keys:
    """Finds callers by their keys, and remembers what it found until a key changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._remembered: dict[str, tuple[ApiKey, Caller]] = {}
        self._listening = False
        self._changes = 0

    async def caller(self, authorization: str, now_us: int) -> Caller:
        """Return the caller behind an `Authorization` header.

        Raises:
            Refusal: UNAUTHORIZED.
        """
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
            self._store.subscribe(api_keys.TOPIC, self._forget)
        before = self._changes
        key = await self._store.read(lambda reader: api_keys.with_hash(reader, sha256))
        if key is None:
            return None
        found = key, _caller(key)
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        if self._changes == before:  # else what we read may be what was just revoked
            self._remembered[sha256] = found
        return found

    def _forget(self) -> None:
        self._changes += 1
        self._remembered.clear()


def _caller(key: ApiKey) -> Caller:
    publishable = key.kind == KeyKind.PUBLISHABLE
    known = frozenset(Scope(scope) for scope in _SCOPES.decode(key.scopes) if scope in set(Scope))
    scopes = frozenset({Scope.TRANSACTIONS_INITIALIZE}) if publishable else with_implied(known)
    return Caller(CallerKind.KEY, key.mode, scopes, key.id, publishable, f"key:{key.id}")


class Sessions:
    """Knows a session's token, and remembers the key that signs them until it changes."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._key: bytes | None = None
        self._listening = False
        self._changes = 0

    async def caller(self, token: str, now_us: int) -> Caller:
        """Return the caller behind a token.

        Raises:
            Refusal: UNAUTHORIZED.
            Unavailable: The master key cannot be had, so nobody can say whether the token holds.
        """
        key = self._key or await self._look_up()
        if key is None or not sessions.holds(key, token, now_us):
            raise unauthorized()
        return SESSION

    async def _look_up(self) -> bytes | None:
        store, vault = self._env.store, self._env.vault
        if not self._listening:
            self._listening = True
            store.subscribe(session_keys.TOPIC, self._forget)
        before = self._changes
        sealed = await store.read(session_keys.get)
        if sealed is None:
            return None
        try:
            key = await asyncio.to_thread(vault.unseal, sealed, PURPOSE)
        except SecretsLocked as error:
            raise Unavailable(f"sessions cannot be checked: {error}") from error
        if self._changes == before:
            self._key = key
        return key

    def _forget(self) -> None:
        self._changes += 1
        self._key = None


class LocalUsers:
    """The users of this machine who may use the socket: our own, root, and those the settings name."""

    def __init__(self, own_uid: int, names: Iterable[str]) -> None:
        self._own_uid = own_uid
        self._names = tuple(names)

    def caller(self, uid: int) -> Caller:
        """Return the caller for a user that the kernel vouches for.

        Raises:
            Refusal: UNAUTHORIZED, for anybody else.
        """
        if uid not in (0, self._own_uid) and uid not in self._named():
            raise unauthorized(
                "This user of the machine may not use the socket; the owner can name the user in "
                "`[access] socket_users` of config.toml."
            )
        owner = uid in (0, self._own_uid)
        return Caller(CallerKind.SOCKET, None, ALL_SCOPES, None, False, f"socket:{uid}", owner)

    def _named(self) -> set[int]:
        """Look the names up each time: it is rare, and a user may be made while we run."""
        found = set()
        for name in self._names:
            try:
                found.add(pwd.getpwnam(name).pw_uid)
            except KeyError:
                continue
        return found


class Doorkeeper:
    """Says who calls, on either address."""

    def __init__(self, env: Env, own_uid: int) -> None:
        self._env = env
        self._keys = Keys(env.store)
        self._sessions = Sessions(env)
        limits = env.config.limits
        self._rates = {
            Mode.LIVE: Rates(limits.live_per_min, limits.burst),
            Mode.TEST: Rates(limits.test_per_min, limits.burst),
        }
        self._client_header = env.config.pages.client_header.lower().encode()
        self._users = LocalUsers(own_uid, env.config.access.socket_users)

    async def caller(self, scope: AsgiScope) -> Caller:
        """Return the caller of a request.

        On the socket no key is needed; one that is given counts, with its own rights and mode.

        Raises:
            Refusal: UNAUTHORIZED; VALIDATION_ERROR, the call asks for another mode than it can have.
        """
        authorization = header(scope, b"authorization")
        peer_uid: int | None = scope["state"].get("peer_uid")
        local = None if peer_uid is None else self._users.caller(peer_uid)
        if local is not None and authorization is None:
            return _in_mode(scope, local)
        if authorization is None:
            raise unauthorized()
        now = self._env.clock.now_us()
        token = authorization.partition(" ")[2].strip()
        if sessions.looks_like_token(token):
            return _in_mode(scope, await self._sessions.caller(token, now))
        caller = await self._keys.caller(authorization, now)
        assert caller.key_id is not None
        _of_its_mode(scope, caller)
        self._env.key_use.note(caller.key_id, now, self._origin(scope))
        return caller

    def _origin(self, scope: AsgiScope) -> str:
        """Return where a call came from: an IP address, or `socket`."""
        client = scope.get("client")
        if scope["state"].get("peer_uid") is not None or not client:
            return "socket"
        return origin(client[0], scope["headers"], self._client_header)

    def take(self, caller: Caller) -> Taken | None:
        """Count a call against its key's rate; None where there is no limit, as on the socket without a key."""
        if caller.key_id is None or caller.mode is None:
            return None
        return self._rates[caller.mode].take(caller.key_id, self._env.clock.now_us())


def _of_its_mode(scope: AsgiScope, caller: Caller) -> None:
    """Refuse a key whose call asks for the other mode: whoever means the sandbox must not ask a customer for money."""
    mode = header(scope, _MODE)
    if mode is not None and mode != caller.mode:
        raise invalid(
            [FieldError(MODE_HEADER, "invalid", f"a {caller.mode} key has no other mode")]
        )


def _in_mode(scope: AsgiScope, caller: Caller) -> Caller:
    """Bind a caller that sees both modes to the sandbox, when the call says so.

    Raises:
        Refusal: VALIDATION_ERROR, the header names no mode.
    """
    mode = header(scope, _MODE)
    if mode is None or mode == Mode.LIVE:
        return caller
    if mode != Mode.TEST:
        raise invalid([FieldError(MODE_HEADER, "invalid", "must be live or test")])
    return replace(caller, mode=Mode.TEST)
