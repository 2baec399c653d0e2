"""The second factor: six digits of an app (RFC 6238), and recovery codes for a lost phone. Pure."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Final

from daemon.core.limits import RECOVERY_CODES, SECOND_US

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
    """Return the time step of a code, None if it is wrong, too old, or not later than the last one that was used.

    Args:
        seed: The seed.
        code: As typed.
        at_us: The best known time.
        after: The step of the last code that was used.
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
        "-".join(
            "".join(_LETTERS[below(len(_LETTERS))] for _ in range(_GROUP)) for _ in range(_GROUPS)
        )
        for _ in range(RECOVERY_CODES)
    ]


def hash_recovery_code(code: str) -> str:
    """Return the stored form of a recovery code, however its groups were typed: SHA-256, hex. It has 79 random bits."""
    plain = "".join(letter for letter in code.lower() if letter.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()
