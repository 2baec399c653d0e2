"""Ask for the account password before something that only the owner may do (decisions.md section 8)."""

import asyncio

from daemon.core.access import Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.store import events, password_attempts
from daemon.store import shop as shops
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode


async def confirm(env: Env, caller: Caller, password: str | None) -> None:
    """Return when the password is the account's; it is looked at five times in 15 minutes, whoever gives it.

    Raises:
        Refusal: SESSION_REQUIRED for an API key; INVALID_PASSWORD with `attempts_remaining` when it is wrong or was
            not given (which counts as no attempt); TOO_MANY_ATTEMPTS with `retry_after`.
        Unavailable: The attempt could not be counted, so the password was not looked at.
    """
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)
    now = env.clock.now_us()
    if not password:
        left = await env.store.read(lambda reader: password_attempts.remaining(reader, now))
        raise Refusal(
            ErrorCode.INVALID_PASSWORD,
            "The account password is needed for this.",
            attempts_remaining=left,
        )
    attempt = await env.store.write(lambda tx: password_attempts.take(tx, now))
    if attempt.wait_us:
        retry_after_s = -(-attempt.wait_us // SECOND_US)
        raise Refusal(
            ErrorCode.TOO_MANY_ATTEMPTS,
            "The password was given too often.",
            headers={"Retry-After": str(retry_after_s)},
            retry_after=retry_after_s,
        )
    shop = await env.store.read(shops.get)
    # The hash takes its tenths of a second on purpose; meanwhile SMS are read.
    if shop is None or not await asyncio.to_thread(_fits, shop.password_hash, password):
        await env.store.write(lambda tx: _note(tx, caller, now))
        raise Refusal(ErrorCode.INVALID_PASSWORD, attempts_remaining=attempt.remaining)


def _fits(hashed: str, password: str) -> bool:
    from argon2 import PasswordHasher  # noqa: PLC0415 -- only where a password is
    from argon2.exceptions import Argon2Error, InvalidHashError  # noqa: PLC0415 -- the same

    try:
        return PasswordHasher().verify(hashed, password)
    except (Argon2Error, InvalidHashError):
        return False


def _note(tx: Tx, caller: Caller, now: int) -> None:
    events.add(tx, type="password.wrong", mode=Mode.LIVE, at=now, actor=caller.name)
