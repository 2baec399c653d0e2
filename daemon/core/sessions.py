"""Dashboard sessions: a JWT of one hour (RFC 7519, HS256; decisions.md section 8). Pure.

A token names no user: there is one role, the owner. It is not kept anywhere; it ends with its hour, or with the key
that signed it, which a new password replaces.
"""

from typing import Final

from daemon.core.limits import SECOND_US, SESSION_US

KEY_BYTES: Final = 32
_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "momo"
_SUBJECT: Final = "owner"


def issue(key: bytes, token_id: str, now_us: int) -> tuple[str, int]:
    """Return a new token and the time when it ends.

    Args:
        key: 32 random bytes.
        token_id: A fresh UUID, so that no two tokens are alike.
        now_us: Now.
    """
    import jwt  # noqa: PLC0415 -- it brings the whole of `cryptography`, which an idle daemon does without

    now = now_us // SECOND_US
    ends = now + SESSION_US // SECOND_US
    claims = {"aud": _AUDIENCE, "sub": _SUBJECT, "jti": token_id, "iat": now, "exp": ends}
    return jwt.encode(claims, key, algorithm=_ALGORITHM), ends * SECOND_US


def holds(key: bytes, token: str, now_us: int) -> bool:
    """Say whether a token was signed with `key` for us and has not ended.

    The library would compare with the machine's clock; time is an argument here, so the end is compared by us.
    """
    import jwt  # noqa: PLC0415 -- the same

    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[_ALGORITHM],
            audience=_AUDIENCE,
            options={
                "require": ["exp", "iat", "jti", "sub"],
                "verify_exp": False,
                "verify_iat": False,
            },
        )
    except jwt.InvalidTokenError:
        return False
    ends = claims["exp"]
    return claims["sub"] == _SUBJECT and isinstance(ends, int) and now_us < ends * SECOND_US


def looks_like_token(text: str) -> bool:
    """Say whether a bearer's word can be a token at all: three parts, and no API key."""
    return text.count(".") == 2 and text.startswith("eyJ")
