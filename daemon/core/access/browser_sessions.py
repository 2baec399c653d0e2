"""Browser sessions of the dashboard: their cookie, their end, and the tokens of their forms. Pure.

The cookie holds 32 random bytes; the database has only their SHA-256. A form's token is a random number and its HMAC
under the cookie, for one path: another site cannot make one, and the number distinguishes a repeated submission from a new one.
"""

import hashlib
import hmac
from typing import Final

from daemon.core.limits import BROWSER_IDLE_US, BROWSER_LIFE_US, CONFIRMED_US
from daemon.core.model import BrowserSession

TOKEN_BYTES: Final = 32
NONCE_BYTES: Final = 16
COOKIE: Final = "momo_dash"
"""On plain HTTP, which is only ever served on this machine."""
SECURE_COOKIE: Final = "__Host-momo_dash"
"""On HTTPS. Browsers accept this name only with Secure and Path=/, and let no other host or page of a subdomain set it."""
FORMS: Final = "dash "
"""Begins the scope of a form's idempotency key. It is kept as long as a session can last, since its token is valid so long."""
_FORM_TOKEN_CHARACTERS: Final = 2 * NONCE_BYTES + 1 + 64


def cookie_name(*, secure: bool) -> str:
    """Return the name of the cookie."""
    return SECURE_COOKIE if secure else COOKIE


def set_cookie(token: str, *, secure: bool) -> str:
    """Return a Set-Cookie header that stores a token until the browser closes; an empty token removes the cookie."""
    place = "Path=/; Secure" if secure else "Path=/dash"
    end = "" if token else "; Max-Age=0"
    return f"{cookie_name(secure=secure)}={token}; {place}; HttpOnly; SameSite=Strict{end}"


def hash_token(token: str) -> str:
    """Return the stored form of a token: SHA-256, hex. A token has 256 bits, so a slow hash would add no protection."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_over(session: BrowserSession, now_us: int) -> bool:
    """Return whether a session has ended: unused for 12 hours, or 7 days old."""
    return (
        now_us - session.created_at >= BROWSER_LIFE_US
        or now_us - session.seen_at >= BROWSER_IDLE_US
    )


def is_confirmed(session: BrowserSession, now_us: int) -> bool:
    """Return whether the user typed the own password again in the last 10 minutes."""
    at = session.confirmed_at
    return at is not None and 0 <= now_us - at < CONFIRMED_US


def form_token(cookie: str, path: str, nonce: bytes) -> str:
    """Return the token of a form that posts to `path`."""
    return f"{nonce.hex()}.{_mac(cookie, path, nonce.hex())}"


def read_form_token(cookie: str, path: str, token: str) -> str | None:
    """Return the random number of a form's token, None if it was not made with this cookie for this path."""
    nonce, _, mac = token.partition(".")
    if len(token) != _FORM_TOKEN_CHARACTERS or not cookie:
        return None
    return nonce if hmac.compare_digest(mac.encode(), _mac(cookie, path, nonce).encode()) else None


def _mac(cookie: str, path: str, nonce: str) -> str:
    return hmac.new(cookie.encode(), f"{path}\n{nonce}".encode(), "sha256").hexdigest()
