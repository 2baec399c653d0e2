"""Dashboard sessions: a JWT of one hour (RFC 7519, HS256). Pure.

A token names no user: the owner is the only role. Tokens are not stored. A token ends after its hour, at its logout (the
daemon stores the ids of those), or with the key that signed it; a new password replaces that key.
"""

from typing import Final

from msgspec import Struct

from daemon.core.limits import SECOND_US, SESSION_US

KEY_BYTES: Final = 32
_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "momo"
_SUBJECT: Final = "owner"


class Session(Struct, frozen=True):
    """A valid token: its id (`jti`), and its expiry in microseconds."""

    id: str
    ends_us: int


def issue_token(key: bytes, token_id: str, now_us: int) -> tuple[str, int]:
    """Return a new token and its expiry in microseconds.

    Args:
        key: 32 random bytes.
        token_id: A fresh UUID, so that no two tokens are equal.
        now_us: The present time.
    """
    import jwt  # noqa: PLC0415 -- it imports all of `cryptography`, which an idle daemon does not need

    now = now_us // SECOND_US
    ends = now + SESSION_US // SECOND_US
    claims = {"aud": _AUDIENCE, "sub": _SUBJECT, "jti": token_id, "iat": now, "exp": ends}
    return jwt.encode(claims, key, algorithm=_ALGORITHM), ends * SECOND_US


def read_token(key: bytes, token: str, now_us: int) -> Session | None:
    """Return the session of a token; None if it was not signed with `key` for us, or has expired."""
    import jwt  # noqa: PLC0415 -- the same

    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[_ALGORITHM],
            audience=_AUDIENCE,
            options={
                "require": ["exp", "iat", "jti", "sub"],
                # The library would use the machine's clock; the time is an argument here, so the expiry is checked below.
                "verify_exp": False,
                "verify_iat": False,
            },
        )
    except jwt.InvalidTokenError:
        return None
    ends = claims["exp"]
    if claims["sub"] != _SUBJECT or not isinstance(ends, int) or now_us >= ends * SECOND_US:
        return None
    return Session(claims["jti"], ends * SECOND_US)


def looks_like_token(text: str) -> bool:
    """Return whether a bearer credential has the form of a token (three parts), not of an API key."""
    return text.count(".") == 2 and text.startswith("eyJ")
