"""Sessions of the API and of the dashboard's browser, and the one-time links of `momo open`. Pure.

A session of the API is a JWT of one hour (RFC 7519, HS256). A token names no user: the owner is the only role. Tokens are not
stored. A token ends after its hour, at its logout (the daemon stores the ids of those), or with the key that signed it; a new
password replaces that key.

The cookie of a browser session holds 32 random bytes; the database has only their SHA-256. A form's token is a random number
and its HMAC under the cookie, for one path: another site cannot make one, and the number distinguishes a repeated submission
from a new one.

A one-time link is kept in memory by its hash, for 60 seconds of the boot clock. The boot clock cannot be set, so a link works
while the wall clock is wrong. A restart forgets all links.

The second factor is six digits of an app (RFC 6238), with recovery codes for a lost phone.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import Struct

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.model import BrowserSession

SESSION_US: Final = HOUR_US
"""Lifetime of a login of the API."""
BROWSER_IDLE_US: Final = 12 * HOUR_US
"""Idle limit of a browser session: one login in the morning lasts for a shop's day."""
BROWSER_LIFE_US: Final = 7 * DAY_US
CONFIRMED_US: Final = 10 * MINUTE_US
"""After the own password was typed again, dangerous actions are allowed for this long in that browser."""
ONE_TIME_LINK_S: Final = 60.0
"""Lifetime of the link of `momo open`."""
RECOVERY_CODES: Final = 10
KEY_BYTES: Final = 32
_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "momo"
_SUBJECT: Final = "owner"


class SessionToken(Struct, frozen=True):
    """A valid token: its id (`jti`), and its expiry in microseconds."""

    id: str
    ends_us: int


def issue_token(key: bytes, token_id: str, now_us: int) -> tuple[str, int]:
    """Return a new token and its expiry in microseconds. `token_id` is a fresh UUID, so that no two tokens are equal."""
    import jwt  # noqa: PLC0415 -- it imports all of `cryptography`, which an idle daemon does not need

    now = now_us // SECOND_US
    ends = now + SESSION_US // SECOND_US
    claims = {"aud": _AUDIENCE, "sub": _SUBJECT, "jti": token_id, "iat": now, "exp": ends}
    return jwt.encode(claims, key, algorithm=_ALGORITHM), ends * SECOND_US


def read_token(key: bytes, token: str, now_us: int) -> SessionToken | None:
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
    return SessionToken(claims["jti"], ends * SECOND_US)


def looks_like_token(text: str) -> bool:
    """Return whether a bearer credential has the form of a token (three parts), not of an API key."""
    return text.count(".") == 2 and text.startswith("eyJ")


TOKEN_BYTES: Final = 32
NONCE_BYTES: Final = 16
COOKIE: Final = "momo_dash"
"""On plain HTTP, which is only ever served on this machine."""
SECURE_COOKIE: Final = "__Host-momo_dash"
"""On HTTPS. Browsers accept this name only with Secure and Path=/, and let no other host or page of a subdomain set it."""
COOKIE_CHARACTERS: Final = 8
FORMS: Final = "dash "
"""Begins the scope of a form's idempotency key. It is kept as long as a session can last, since its token is valid so long."""
_FORM_TOKEN_CHARACTERS: Final = 2 * NONCE_BYTES + 1 + 64


def cookie_name(home: str, *, secure: bool) -> str:
    """Return the name of the cookie of a shop; a browser has one for each shop, also of two on one machine."""
    shop = hashlib.sha256(home.encode()).hexdigest()[:COOKIE_CHARACTERS]
    return f"{SECURE_COOKIE if secure else COOKIE}_{shop}"


def set_cookie(home: str, token: str, *, secure: bool) -> str:
    """Return a Set-Cookie header that stores a token until the browser closes; an empty token removes the cookie."""
    place = "Path=/; Secure" if secure else "Path=/dash"
    end = "" if token else "; Max-Age=0"
    return f"{cookie_name(home, secure=secure)}={token}; {place}; HttpOnly; SameSite=Strict{end}"


def hash_token(token: str) -> str:
    """Return the stored form of a token: SHA-256, hex. A token has 256 bits, so a slow hash would add no protection."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_over(session: BrowserSession, now_us: int) -> bool:
    """Return whether a session has ended: unused for 12 hours, or 7 days old."""
    return now_us - session.created_at >= BROWSER_LIFE_US or now_us - session.seen_at >= BROWSER_IDLE_US


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


LINKS_MAX: Final = 20


class _Link(NamedTuple):
    user_id: str
    ends_s: float
    anywhere: bool


class OneTimeLinks:
    """The links that were made and not used yet."""

    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}

    def add(self, token: str, user_id: str, boot_s: float, *, anywhere: bool = False) -> None:
        """Store a link; `anywhere` lets it be used from another machine too."""
        while len(self._links) >= LINKS_MAX:
            del self._links[next(iter(self._links))]
        self._links[hash_token(token)] = _Link(user_id, boot_s + ONE_TIME_LINK_S, anywhere)

    def take(self, token: str, boot_s: float, *, own_machine: bool) -> str | None:
        """Use a link up and return its user's id; None if it is unknown, used, too old or bound to this machine."""
        found = self._links.get(hash_token(token))
        if found is None or (not own_machine and not found.anywhere):
            return None
        del self._links[hash_token(token)]
        return found.user_id if boot_s < found.ends_s else None


SEED_BYTES: Final = 20
"""RFC 4226, section 4: the length of an HMAC-SHA-1."""
STEP_S: Final = 30
STEPS_APART: Final = 1
"""The code before and the code after the present one are accepted too, because typing takes time."""
_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that look alike."""
_GROUPS: Final = 4
_GROUP: Final = 4


def new_seed(entropy: bytes) -> str:
    """Return a new seed in base 32."""
    return base64.b32encode(entropy).decode()


def address(seed: str, user: str, shop: str) -> str:
    """Return the `otpauth://` address that an app reads from a QR code."""
    import pyotp  # noqa: PLC0415 -- only users with a second factor need it

    return pyotp.TOTP(seed).provisioning_uri(name=user, issuer_name=shop)


def matching_step(seed: str, code: str, at_us: int, after: int | None) -> int | None:
    """Return the time step of a code as typed at the best known time.

    None if it is wrong, too old, or not later than `after`, the step of the last code that was used.
    """
    import pyotp  # noqa: PLC0415 -- the same

    digits = "".join(code.split())
    if len(digits) != 6 or not digits.isascii() or not digits.isdigit():
        return None
    totp, now = pyotp.TOTP(seed, interval=STEP_S), at_us // SECOND_US // STEP_S
    for step in range(max(0, now - STEPS_APART), now + STEPS_APART + 1):
        if hmac.compare_digest(totp.generate_otp(step), digits):
            return step if after is None or step > after else None
    return None


def recovery_codes(below: Callable[[int], int]) -> list[str]:
    """Return ten new recovery codes, such as `k7wq-m2tx-9fhe-bd4n`; `below` returns a random number below its argument."""
    return [
        "-".join("".join(_LETTERS[below(len(_LETTERS))] for _ in range(_GROUP)) for _ in range(_GROUPS))
        for _ in range(RECOVERY_CODES)
    ]


def hash_recovery_code(code: str) -> str:
    """Return the stored form of a recovery code, however its groups were typed: SHA-256, hex. It has 79 random bits."""
    plain = "".join(letter for letter in code.lower() if letter.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()
