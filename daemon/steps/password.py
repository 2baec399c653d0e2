"""Count and check the attempts with a password or a second factor, and set a password."""

import asyncio
from typing import Final

from msgspec import Struct

from daemon.core.access import sessions as core_sessions
from daemon.core.errors import Refusal, Unavailable, invalid, needed
from daemon.core.limits import SECOND_US
from daemon.core.model import User
from daemon.env import Env
from daemon.runtime import secrets
from daemon.runtime.secrets import SecretsLocked
from daemon.store import journal
from daemon.store.access import passwords, users
from daemon.store.access.passwords import Counter
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, Role

SEED_PURPOSE = "totp-seed"
"""Purpose under which the seed of a second factor is sealed."""


class PasswordAttempt(Struct, frozen=True):
    """An attempt that was counted: its counters, the caller's name for the journal, and how many are left after it."""

    counters: tuple[Counter, ...]
    actor: str
    remaining: int


async def count(env: Env, who: str, actor: str, *others: Counter) -> PasswordAttempt:
    """Count an attempt; 5 are allowed in 15 minutes, and as many as each of the other counters allows.

    Counted and committed before the password is checked: a crash or many calls at once give no free attempt.

    Raises:
        Refusal: TOO_MANY_ATTEMPTS with `retry_after`.
        Unavailable: It could not be counted.
    """
    now = env.clock.now_us()
    counters = (Counter(who), *others)
    counted = await env.store.write(lambda tx: passwords.count_attempt(tx, now, *counters))
    if counted.wait_us:
        retry_after_s = -(-counted.wait_us // SECOND_US)
        raise Refusal(
            ErrorCode.TOO_MANY_ATTEMPTS,
            "Too many password attempts.",
            headers={"Retry-After": str(retry_after_s)},
            retry_after=retry_after_s,
        )
    return PasswordAttempt(counters, actor, counted.remaining)


async def forgive(env: Env, *counters: Counter) -> None:
    """Take an attempt back from these counters, because it was right."""

    def job(tx: Tx) -> None:
        for counter in counters:
            passwords.forgive_attempt(tx, counter.who)

    await env.store.write(job)


NEEDED: Final = "The account password is needed for this."


async def missing(env: Env, who: str, why: str = NEEDED) -> Refusal:
    """Return the refusal of a call without a password, which is no attempt."""
    now = env.clock.now_us()
    left = await env.store.read(lambda reader: passwords.remaining(reader, now, who))
    return Refusal(ErrorCode.INVALID_PASSWORD, why, attempts_remaining=left)


async def verify(env: Env, user: User | None, password: str, attempt: PasswordAttempt) -> User:
    """Return the user if the password is right; with None it takes as long and is refused.

    Raises:
        Refusal: INVALID_PASSWORD with `attempts_remaining`, also for a disabled user.
    """
    against = user or await env.store.look(users.owner)
    right = against is not None and await secrets.verify_password(against.password_hash, password)
    if not right or user is None or user.disabled_at is not None:
        now = env.clock.now_us()
        await env.store.write(lambda tx: _note(tx, "password.wrong", attempt.actor, now))
        raise Refusal(ErrorCode.INVALID_PASSWORD, attempts_remaining=attempt.remaining)
    return user


async def verify_code(env: Env, user: User, code: str | None, attempt: PasswordAttempt) -> None:
    """Check the code of the second factor, or use a recovery code up; nothing is asked while the factor is off.

    The code is checked at the best known time, so a wrong clock does not lock users out while the time is known otherwise.

    Raises:
        Refusal: SECOND_FACTOR_REQUIRED with `attempts_remaining`.
        Unavailable: The master key is not available.
    """
    if user.totp_sealed is None:
        return
    if not code:
        raise Refusal(
            ErrorCode.SECOND_FACTOR_REQUIRED,
            "The code of the second factor is needed.",
            attempts_remaining=attempt.remaining,
        )
    try:
        seed = await asyncio.to_thread(env.vault.unseal, user.totp_sealed, SEED_PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"the second factor cannot be checked: {error}") from error
    times = env.times()
    step = core_sessions.matching_step(seed.decode(), code, times.best_us, user.totp_step)
    recovery = core_sessions.hash_recovery_code(code)

    def job(tx: Tx) -> bool:
        if step is not None and users.use_step(tx, user.id, step):
            return True
        if users.use_recovery_code(tx, user.id, recovery):
            left = users.recovery_codes_left(tx, user.id)
            data = {"user": user.name, "left": left}
            _note(tx, "user.recovery_code_used", attempt.actor, times.wall_us, data)
            return True
        _note(tx, "second_factor.wrong", attempt.actor, times.wall_us)
        return False

    if not await env.store.write(job):
        raise Refusal(
            ErrorCode.SECOND_FACTOR_REQUIRED,
            "The code of the second factor is wrong, or was used before.",
            attempts_remaining=attempt.remaining,
        )


async def hash_new(new: str | None) -> str:
    """Return the hash of a new password.

    Raises:
        Refusal: VALIDATION_ERROR on `password`.
    """
    problem = secrets.password_error("password", new)
    if problem is not None:
        raise invalid([problem])
    assert new is not None
    return await secrets.hash_password(new)


def replace(tx: Tx, user: User, kept: str, actor: str, now: int) -> None:
    """Store a new password, end the user's sessions and reset the user's counters of attempts."""
    users.set_password(tx, user.id, kept, now)
    if user.role is Role.OWNER:
        passwords.forget_session_key(tx)
    passwords.forget_attempts(tx, user)
    _note(tx, "password.changed", actor, now, {"user": user.name})


def find(reader: Reader, name: str) -> User:
    """Return a user by name.

    Raises:
        Refusal: USER_NOT_FOUND.
    """
    return needed(users.named(reader, name), ErrorCode.USER_NOT_FOUND)


def _note(tx: Tx, kind: str, actor: str, now: int, data: dict[str, object] | None = None) -> None:
    journal.add(tx, kind, now, actor=actor, data=data)
