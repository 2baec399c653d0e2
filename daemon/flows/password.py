"""The account password: ask for it before what only the owner may do, and set a new one (decisions.md section 8)."""

from daemon import passwords
from daemon.core.access import Caller, CallerKind
from daemon.core.errors import Refusal, invalid
from daemon.core.limits import SECOND_US
from daemon.core.model import Shop
from daemon.env import Env
from daemon.store import events, password_attempts, session_keys
from daemon.store import shop as shops
from daemon.store.engine import Store, Tx
from daemon.system import Clock
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
    await check(env, password_attempts.ACCOUNT, caller.name, password)


async def check(env: Env, who: str, actor: str, password: str | None) -> None:
    """Return when the password is the account's.

    Args:
        env: The shop's doors.
        who: Whose attempts are counted: `password_attempts.ACCOUNT`, `SOCKET`, or `client(address)`.
        actor: For the journal.
        password: As it was given.

    Raises:
        Refusal: As `confirm`.
        Unavailable: The same.
    """
    now = env.clock.now_us()
    if not password:
        left = await env.store.read(lambda reader: password_attempts.remaining(reader, now, who))
        raise Refusal(
            ErrorCode.INVALID_PASSWORD,
            "The account password is needed for this.",
            attempts_remaining=left,
        )
    attempt = await env.store.write(lambda tx: password_attempts.take(tx, now, who))
    if attempt.wait_us:
        retry_after_s = -(-attempt.wait_us // SECOND_US)
        raise Refusal(
            ErrorCode.TOO_MANY_ATTEMPTS,
            "The password was given too often.",
            headers={"Retry-After": str(retry_after_s)},
            retry_after=retry_after_s,
        )
    shop = await env.store.read(shops.get)
    if shop is None or not await passwords.fits(shop.password_hash, password):
        await env.store.write(lambda tx: _note(tx, "password.wrong", actor, now))
        raise Refusal(ErrorCode.INVALID_PASSWORD, attempts_remaining=attempt.remaining)


async def set_new(store: Store, clock: Clock, actor: str, new: str | None) -> Shop:
    """Give the owner a new password: every session ends, and everybody may try again.

    Args:
        store: The database.
        clock: Read once.
        actor: For the journal.
        new: As it was typed.

    Raises:
        Refusal: VALIDATION_ERROR on `password`; NOT_SET_UP, there is no shop yet.
    """
    problem = passwords.wrong("password", new)
    if problem is not None:
        raise invalid([problem])
    assert new is not None
    kept = await passwords.hashed(new)
    now = clock.now_us()

    def job(tx: Tx) -> Shop:
        shop = shops.get(tx)
        if shop is None:
            raise Refusal(ErrorCode.NOT_SET_UP)
        shops.set_password(tx, kept)
        session_keys.forget(tx)
        password_attempts.forget(tx)
        _note(tx, "password.changed", actor, now)
        return shop

    return await store.write(job)


def _note(tx: Tx, kind: str, actor: str, now: int) -> None:
    events.add(tx, type=kind, mode=Mode.LIVE, at=now, actor=actor)
