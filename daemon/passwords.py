"""The owner's password at rest: argon2id, with the library's own parameters and salt (decisions.md section 8)."""

import asyncio

from daemon.core.errors import FieldError
from daemon.core.limits import PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN


def wrong(field: str, password: str | None) -> FieldError | None:
    """Return what is wrong with a new password, None when it will do.

    Args:
        field: The request's field that holds it.
        password: As it was typed.
    """
    if not password:
        return FieldError(field, "required", "the owner's password is needed")
    if len(password) < PASSWORD_CHARACTERS_MIN:
        text = f"the owner's password needs at least {PASSWORD_CHARACTERS_MIN} characters"
        return FieldError(field, "too_short", text)
    if len(password) > PASSWORD_CHARACTERS_MAX:
        text = f"the owner's password has more than {PASSWORD_CHARACTERS_MAX} characters"
        return FieldError(field, "too_long", text)
    return None


async def hashed(password: str) -> str:
    """Return what is kept of a password. It takes its tenths of a second on purpose; meanwhile SMS are read."""
    return await asyncio.to_thread(_hash, password)


async def fits(kept: str, password: str) -> bool:
    """Say whether this is the password that was kept. A password beyond all measure is not looked at."""
    if len(password) > PASSWORD_CHARACTERS_MAX:
        return False
    return await asyncio.to_thread(_fits, kept, password)


def _hash(password: str) -> str:
    from argon2 import PasswordHasher  # noqa: PLC0415 -- only where a password is

    return PasswordHasher().hash(password)


def _fits(kept: str, password: str) -> bool:
    from argon2 import PasswordHasher  # noqa: PLC0415 -- only where a password is
    from argon2.exceptions import Argon2Error, InvalidHashError  # noqa: PLC0415 -- the same

    try:
        return PasswordHasher().verify(kept, password)
    except (Argon2Error, InvalidHashError):
        return False
