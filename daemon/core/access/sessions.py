"""Dashboard sessions: a JWT of one hour (RFC 7519, HS256; decisions.md section 8). Pure.

A token names no user: the owner is the only role. Tokens are not stored. A token ends after its hour, or with the key that
signed it; a new password replaces that key.
"""

from typing import Final

from daemon.core.limits import SECOND_US, SESSION_US

KEY_BYTES: Final = 32
_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "momo"
_SUBJECT: Final = "owner"


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


def is_valid_token(key: bytes, token: str, now_us: int) -> bool:
    """Return whether a token was signed with `key` for us and has not expired."""
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
        return False
    ends = claims["exp"]
    return claims["sub"] == _SUBJECT and isinstance(ends, int) and now_us < ends * SECOND_US


def looks_like_token(text: str) -> bool:
    """Return whether a bearer credential has the form of a token (three parts), not of an API key."""
    return text.count(".") == 2 and text.startswith("eyJ")
