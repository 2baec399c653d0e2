"""Who may do what: API keys, scopes, callers (decisions.md section 8). Pure."""

import hashlib
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.ids import BASE62, base62
from daemon.wire import Mode, Scope

_KEY: Final = re.compile(r"svc_(live|test)_(sk|pk)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})", re.ASCII)
_RANDOM_LENGTH: Final = 32

ALL_SCOPES: Final = frozenset(Scope)
KEY_SCOPES: Final = ALL_SCOPES - {Scope.KEYS_MANAGE}
"""What a key may be given; keys are managed by sessions and on the socket only."""

_IMPLIED: Final = {
    Scope.TRANSACTIONS_WRITE: frozenset({Scope.TRANSACTIONS_INITIALIZE}),
    Scope.PAYMENT_METHODS_MANAGE: frozenset({Scope.PAYMENT_METHODS_READ}),
}


class KeyKind(StrEnum):
    """A secret key is for servers; a publishable one may only initialize."""

    SECRET = "secret"  # noqa: S105 -- a kind of key, no key
    PUBLISHABLE = "publishable"


class CallerKind(StrEnum):
    """How a caller proved who it is."""

    NOBODY = "nobody"
    KEY = "key"
    SESSION = "session"
    SOCKET = "socket"


@dataclass(frozen=True, slots=True)
class KeyParts:
    """A well-formed key whose checksum fits; whether it exists only the database knows."""

    mode: Mode
    kind: KeyKind
    hint: str
    """Prefix and last four characters, for lists."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        mode: The mode it is bound to; None for the socket and sessions, which see both.
        scopes: As they were granted; `may` knows what they imply.
        key_id: The id of the API key, None for others.
        publishable: A publishable key.
        name: For the journal: `key:<id>`, `session`, `socket:<uid>`.
        owner: It is the owner: a session, or on the socket the user that runs momo, or root.
    """

    kind: CallerKind
    mode: Mode | None
    scopes: frozenset[Scope]
    key_id: str | None
    publishable: bool
    name: str
    owner: bool = False

    def may(self, scope: Scope) -> bool:
        """Say whether the caller has this scope, or one that implies it."""
        return scope in self.scopes or scope in with_implied(self.scopes)


NOBODY: Final = Caller(CallerKind.NOBODY, None, frozenset(), None, False, "nobody")
"""Somebody who need not say who they are: logins and the checkout page."""
SESSION: Final = Caller(CallerKind.SESSION, None, ALL_SCOPES, None, False, "session", owner=True)


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
    """Return what a key says of itself, None when it is malformed or mistyped."""
    match = _KEY.fullmatch(text)
    if match is None or _checksum(match.group(3)) != match.group(4):
        return None
    kind = KeyKind.SECRET if match.group(2) == "sk" else KeyKind.PUBLISHABLE
    prefix = f"svc_{match.group(1)}_{match.group(2)}_"
    return KeyParts(Mode(match.group(1)), kind, f"{prefix}...{text[-4:]}")


def hash_key(text: str) -> str:
    """Return how a key is stored: SHA-256, hex. A key has 190 bits, so a slow hash would protect nothing."""
    return hashlib.sha256(text.encode()).hexdigest()


def with_implied(scopes: frozenset[Scope]) -> frozenset[Scope]:
    """Return the scopes and what they imply."""
    return scopes.union(*(_IMPLIED.get(scope, frozenset()) for scope in scopes))


def _checksum(body: str) -> str:
    return base62(zlib.crc32(body.encode()), 6)
