"""API keys, scopes and callers: the permissions of each caller. Pure."""

import hashlib
import re
import zlib
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.access.sessions import Session
from daemon.core.ids import BASE62, base62
from daemon.core.model import BrowserSession, User
from daemon.wire import Mode, Role, Scope

_KEY: Final = re.compile(r"svc_(live|test)_(sk|pk)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})", re.ASCII)
_RANDOM_LENGTH: Final = 32

ALL_SCOPES: Final = frozenset(Scope)
KEY_SCOPES: Final = ALL_SCOPES - {Scope.KEYS_MANAGE, Scope.BRANCH}
"""Scopes that a key may be given. Keys themselves are managed only by sessions and on the socket; a branch gets its key
when it joins."""

_IMPLIED: Final = {
    Scope.TRANSACTIONS_WRITE: frozenset({Scope.TRANSACTIONS_INITIALIZE}),
    Scope.PAYMENT_METHODS_MANAGE: frozenset({Scope.PAYMENT_METHODS_READ}),
}


class KeyKind(StrEnum):
    """Kind of an API key. A secret key is for servers; a publishable key may only initialize."""

    SECRET = "secret"  # noqa: S105 -- a kind of key, no key
    PUBLISHABLE = "publishable"


class CallerKind(StrEnum):
    """How a caller authenticated."""

    NOBODY = "nobody"
    KEY = "key"
    SESSION = "session"
    SOCKET = "socket"
    BROWSER = "browser"


class KeyParts(Struct, frozen=True):
    """The parts of a well-formed key with a correct checksum. Only the database knows whether it exists."""

    mode: Mode
    kind: KeyKind
    hint: str
    """Prefix and last four characters, for lists."""


class Caller(Struct, frozen=True):
    """A caller of the API.

    Attributes:
        mode: The mode it is bound to; None for the socket and sessions, which see both.
        scopes: The scopes granted to it; `may` adds the implied ones.
        key_id: The id of the API key, None for others.
        publishable: It uses a publishable key.
        name: Name in the journal: `key:<id>`, `session`, `socket:<uid>`, `user:<name>`.
        owner: It is the owner: a session, on the socket the user that runs momo, or root, in a browser the owner.
        session: The session of a session token, None for others.
        role: The role of a user of the dashboard, None for others.
        browser: The session of a user of the dashboard, None for others.
    """

    kind: CallerKind
    mode: Mode | None
    scopes: frozenset[Scope]
    key_id: str | None
    publishable: bool
    name: str
    owner: bool = False
    session: Session | None = None
    role: Role | None = None
    browser: BrowserSession | None = None

    @property
    def lines_mode(self) -> Mode:
        """The mode of the lines that it sees: test only for a caller that is bound to the sandbox."""
        return self.mode or Mode.LIVE

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has this scope, or one that implies it."""
        return scope in self.scopes or scope in with_implied(self.scopes)


ANONYMOUS: Final = Caller(CallerKind.NOBODY, None, frozenset(), None, False, "nobody")
"""An anonymous caller: logins and the checkout page."""
SESSION: Final = Caller(CallerKind.SESSION, None, ALL_SCOPES, None, False, "session", owner=True)


def of_user(user: User, session: BrowserSession) -> Caller:
    """Return the caller for a user of the dashboard. It has all scopes, because the role decides its permissions."""
    return Caller(
        CallerKind.BROWSER,
        None,
        ALL_SCOPES,
        None,
        False,
        f"user:{user.name}",
        owner=user.role is Role.OWNER,
        role=user.role,
        browser=session,
    )


def make_key(mode: Mode, kind: KeyKind, below: Callable[[int], int]) -> str:
    """Return a new key: prefix, 32 random base-62 characters, 6 of their CRC-32.

    Args:
        mode: Live or test.
        kind: Secret or publishable.
        below: Returns a random number below its argument.
    """
    short = "sk" if kind is KeyKind.SECRET else "pk"
    body = "".join(BASE62[below(62)] for _position in range(_RANDOM_LENGTH))
    return f"svc_{mode}_{short}_{body}{_checksum(body)}"


def parse_key(text: str) -> KeyParts | None:
    """Return the parts of a key; None when it is malformed or mistyped."""
    match = _KEY.fullmatch(text)
    if match is None or _checksum(match.group(3)) != match.group(4):
        return None
    kind = KeyKind.SECRET if match.group(2) == "sk" else KeyKind.PUBLISHABLE
    prefix = f"svc_{match.group(1)}_{match.group(2)}_"
    return KeyParts(Mode(match.group(1)), kind, f"{prefix}...{text[-4:]}")


def hash_key(text: str) -> str:
    """Return the stored form of a key: SHA-256, hex. A key has 190 bits, so a slow hash would add no protection."""
    return hashlib.sha256(text.encode()).hexdigest()


def with_implied(scopes: frozenset[Scope]) -> frozenset[Scope]:
    """Return the scopes with those that they imply."""
    return scopes.union(*(_IMPLIED.get(scope, frozenset()) for scope in scopes))


def _checksum(body: str) -> str:
    return base62(zlib.crc32(body.encode()), 6)
