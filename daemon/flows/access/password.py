"""Check and set the account password, and open and end a dashboard session (decisions.md section 8)."""

import asyncio

from daemon.core.access import sessions
from daemon.core.access.callers import Caller, CallerKind
from daemon.core.errors import Refusal, Unavailable, invalid
from daemon.core.limits import SECOND_US
from daemon.core.model import Shop
from daemon.env import Env
from daemon.runtime import secrets
from daemon.runtime.secrets import SecretsLocked
from daemon.runtime.system import Clock
from daemon.store import journal
from daemon.store import shop as shops
from daemon.store.access import passwords
from daemon.store.engine import Store, Tx
from daemon.wire import ErrorCode, Mode

SESSION_KEY_PURPOSE = "session-key"
"""Purpose under which the key is sealed."""


async def confirm(env: Env, caller: Caller, password: str | None) -> None:
    """Check the account's password; all callers together have five attempts in 15 minutes.

    Raises:
        Refusal: SESSION_REQUIRED for an API key; INVALID_PASSWORD with `attempts_remaining` if it is wrong or missing
            (a missing one counts as no attempt); TOO_MANY_ATTEMPTS with `retry_after`.
        Unavailable: The attempt could not be counted, so the password was not checked.
    """
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)
    await check(env, passwords.ACCOUNT, caller.name, password)


async def check(env: Env, who: str, actor: str, password: str | None) -> None:
    """Check the account's password.

    Args:
        env: The environment.
        who: Counter of the attempts: `password_attempts.ACCOUNT`, `SOCKET`, or `client(address)`.
        actor: The caller, for the journal.
        password: The given password.

    Raises:
        Refusal: As for `confirm`.
        Unavailable: As for `confirm`.
    """
    now = env.clock.now_us()
    if not password:
        left = await env.store.read(lambda reader: passwords.remaining(reader, now, who))
        raise Refusal(
            ErrorCode.INVALID_PASSWORD,
            "The account password is needed for this.",
            attempts_remaining=left,
        )
    # Counted and committed before the password is checked: a crash or many calls at once give no free attempt.
    attempt = await env.store.write(lambda tx: passwords.count_attempt(tx, now, who))
    if attempt.wait_us:
        retry_after_s = -(-attempt.wait_us // SECOND_US)
        raise Refusal(
            ErrorCode.TOO_MANY_ATTEMPTS,
            "Too many password attempts.",
            headers={"Retry-After": str(retry_after_s)},
            retry_after=retry_after_s,
        )
    shop = await env.store.read(shops.get)
    if shop is None or not await secrets.verify_password(shop.password_hash, password):
        await env.store.write(lambda tx: _note(tx, "password.wrong", actor, now))
        raise Refusal(ErrorCode.INVALID_PASSWORD, attempts_remaining=attempt.remaining)


async def set_new(store: Store, clock: Clock, actor: str, new: str | None) -> Shop:
    """Set a new password of the owner; it ends all sessions and resets the attempt counters.

    Args:
        store: The database.
        clock: Read once.
        actor: The caller, for the journal.
        new: The new password as typed.

    Raises:
        Refusal: VALIDATION_ERROR on `password`; NOT_SET_UP if there is no shop yet.
    """
    problem = secrets.password_error("password", new)
    if problem is not None:
        raise invalid([problem])
    assert new is not None
    kept = await secrets.hash_password(new)
    now = clock.now_us()

    def job(tx: Tx) -> Shop:
        shop = shops.get(tx)
        if shop is None:
            raise Refusal(ErrorCode.NOT_SET_UP)
        shops.set_password(tx, kept)
        passwords.forget_session_key(tx)
        passwords.forget_attempts(tx)
        _note(tx, "password.changed", actor, now)
        return shop

    return await store.write(job)


def _note(tx: Tx, kind: str, actor: str, now: int) -> None:
    journal.add(tx, type=kind, mode=Mode.LIVE, at=now, actor=actor)


async def open_session(env: Env, actor: str) -> tuple[str, int]:
    """Return a token and its expiry. The first login creates the key.

    Raises:
        Unavailable: The master key is not available.
    """
    now = env.clock.now_us()
    sealed = await env.store.read(passwords.session_key)
    try:
        if sealed is None:
            fresh = env.entropy.bytes(sessions.KEY_BYTES)
            box = await asyncio.to_thread(env.vault.seal, fresh, SESSION_KEY_PURPOSE)
            await env.store.write(lambda tx: passwords.add_session_key(tx, box, now))
            # After two first logins at once, the stored key counts.
            sealed = await env.store.read(passwords.session_key) or box
        key = await asyncio.to_thread(env.vault.unseal, sealed, SESSION_KEY_PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"sessions cannot be signed: {error}") from error

    def job(tx: Tx) -> None:
        journal.add(tx, type="session.opened", mode=Mode.LIVE, at=now, actor=actor)

    await env.store.write(job)
    return sessions.issue_token(key, env.new_id(), now)


async def close_session(env: Env, caller: Caller) -> None:
    """End the session of the caller; its token is refused from now on.

    Raises:
        Refusal: SESSION_REQUIRED if the caller has no session token.
    """
    session, now = caller.session, env.clock.now_us()
    if session is None:
        raise Refusal(ErrorCode.SESSION_REQUIRED, "Only a session that was logged in can end.")

    def job(tx: Tx) -> None:
        passwords.end_session(tx, session, now)
        journal.add(tx, type="session.closed", mode=Mode.LIVE, at=now, actor=caller.name)

    await env.store.write(job)
