"""Log in to the dashboard, log out, and change one's own password, second factor, sessions and language."""

import asyncio
import json
from typing import Final

from daemon.core.access import sessions
from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.model import BrowserSession, User
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.steps import password as steps
from daemon.store import journal
from daemon.store.access import passwords, users
from daemon.store.engine import Tx
from daemon.wire import ErrorCode

BROWSER_CHARACTERS_MAX: Final = 200
SETUP_PURPOSE: Final = "totp-setup"
HALF_PURPOSE: Final = "half-login"
HALF_S: Final = 5 * MINUTE_US // SECOND_US
"""After the password, the code of the second factor may be typed for this long."""


async def check_password(env: Env, address: str, name: str, password: str) -> User:
    """Return the user with this name and password; the attempts are those of the API's login, by address and by name.

    Only wrong ones stay counted, because the people of a shop share one address.

    Raises:
        Refusal: INVALID_PASSWORD, also for an unknown or disabled user; TOO_MANY_ATTEMPTS.
    """
    by_name = passwords.of_login(name)
    attempt = await steps.count(env, passwords.client_name(address), "login", by_name)
    user = await env.store.look(lambda reader: users.named(reader, name))
    user = await steps.verify(env, user, password, attempt)
    await steps.forgive(env, *attempt.counters)
    return user


async def check_code(env: Env, address: str, user: User, code: str) -> None:
    """Check the code of a user's second factor: 5 wrong ones in 15 minutes, from all addresses together.

    Raises:
        Refusal: SECOND_FACTOR_REQUIRED if it is wrong; TOO_MANY_ATTEMPTS.
        Unavailable: The master key is not available.
    """
    by_user, actor = passwords.of_code(user.name), f"user:{user.name}"
    attempt = await steps.count(env, passwords.client_name(address), actor, by_user)
    await steps.verify_code(env, user, code, attempt)
    await steps.forgive(env, *attempt.counters)


async def seal_half(env: Env, user: User) -> str:
    """Return a sealed token for the form that asks for the code; it names the user with the right password."""
    text = json.dumps([user.id, user.password_at, env.clock.boottime()])
    return await env.seal(text.encode(), HALF_PURPOSE, "a secret")


async def unseal_half(env: Env, sealed: str) -> User | None:
    """Return the user of `seal_half`; None after 5 minutes, after a new password, or if it was not sealed here."""
    try:
        text = await asyncio.to_thread(env.vault.unseal, sealed, HALF_PURPOSE)
    except SecretsLocked:
        return None
    user_id, password_at, since = json.loads(text)
    user = await env.store.look(lambda reader: users.get(reader, user_id))
    in_time = 0 <= env.clock.boottime() - since < HALF_S
    if user is None or not in_time or user.disabled_at is not None:
        return None
    return user if user.password_at == password_at else None


async def open_session(env: Env, user: User, address: str, browser: str, how: str) -> str:
    """Open a browser session and return the token for its cookie; `how` is `password` or `link`."""
    now = env.clock.now_us()
    token = env.entropy.bytes(sessions.TOKEN_BYTES).hex()
    row = {
        "id": env.new_id(),
        "sha256": sessions.hash_token(token),
        "user_id": user.id,
        "created_at": now,
        "seen_at": now,
        "confirmed_at": None,
        "address": address,
        "browser": "".join(c for c in browser if c.isprintable())[:BROWSER_CHARACTERS_MAX],
        "language": None,
        "mode": None,
    }

    def job(tx: Tx) -> None:
        users.open_session(tx, row, now)
        _note(tx, "session.opened", f"user:{user.name}", now, by=how, address=address)

    await env.store.write(job)
    return token


async def make_link(env: Env, caller: Caller, name: str | None, *, anywhere: bool = False) -> str:
    """Return the token of a one-time link that logs a user in, the owner without a name; it needs no password.

    With `anywhere` another device of the shop's network can use it, too.

    Raises:
        Refusal: USER_NOT_FOUND, also for a disabled user; NOT_SET_UP.
    """
    user = needed(
        await env.store.look(lambda reader: users.owner(reader) if name is None else steps.find(reader, name)),
        ErrorCode.NOT_SET_UP,
    )
    if user.disabled_at is not None:
        raise Refusal(ErrorCode.USER_NOT_FOUND, "This user is disabled.")
    token = env.entropy.bytes(sessions.TOKEN_BYTES).hex()
    env.links.add(token, user.id, env.clock.boottime(), anywhere=anywhere)
    now = env.clock.now_us()
    await env.store.write(lambda tx: _note(tx, "link.made", caller.name, now, user=user.name, anywhere=anywhere))
    return token


async def enter(env: Env, token: str, *, own_machine: bool) -> User | None:
    """Use a one-time link up and return its user; None if it does not hold."""
    user_id = env.links.take(token, env.clock.boottime(), own_machine=own_machine)
    if user_id is None:
        return None
    user = await env.store.look(lambda reader: users.get(reader, user_id))
    return None if user is None or user.disabled_at is not None else user


async def end_session(env: Env, caller: Caller, session_id: str) -> bool:
    """End one of the caller's own sessions, which may be the present one; return False if it is not open."""
    session, now = _own(caller), env.clock.now_us()

    def job(tx: Tx) -> bool:
        ended = users.end_session(tx, session.user_id, session_id)
        if ended:
            _note(tx, "session.closed", caller.name, now)
        return ended

    return await env.store.write(job)


async def change_password(env: Env, caller: Caller, current: str, new: str) -> None:
    """Set the caller's own password; it ends all sessions, the present one too.

    Raises:
        Refusal: INVALID_PASSWORD or TOO_MANY_ATTEMPTS for the present one; VALIDATION_ERROR on `password`.
    """
    session = _own(caller)
    user = await env.store.look(lambda reader: users.get(reader, session.user_id))
    attempt = await steps.count(env, passwords.user_name(session.user_id), caller.name)
    user = await steps.verify(env, user, current, attempt)
    kept = await steps.hash_new(new)
    now = env.clock.now_us()
    await env.store.write(lambda tx: steps.replace(tx, user, kept, caller.name, now))


async def new_second_factor(env: Env, caller: Caller, shop: str) -> tuple[str, str, str]:
    """Return a new seed, its `otpauth://` address, and the seed sealed for the form that sends its first code."""
    session, name = _own(caller), caller.name.removeprefix("user:")
    seed = sessions.new_seed(env.entropy.bytes(sessions.SEED_BYTES))
    sealed = await env.seal(seed.encode(), f"{SETUP_PURPOSE}:{session.user_id}", "a secret")
    return seed, sessions.address(seed, name, shop), sealed


async def switch_on(env: Env, caller: Caller, setup: str, code: str) -> list[str]:
    """Switch the caller's second factor on and return ten recovery codes, which are shown once.

    `setup` is the sealed seed of `new_second_factor`, `code` the first code of the app.

    Raises:
        Refusal: SECOND_FACTOR_REQUIRED if the code is not that of the seed.
        Unavailable: The master key is not available.
    """
    session, times = _own(caller), env.times()
    try:
        seed = await asyncio.to_thread(env.vault.unseal, setup, f"{SETUP_PURPOSE}:{session.user_id}")
    except SecretsLocked as error:
        raise Refusal(ErrorCode.FORM_REFUSED) from error
    step = sessions.matching_step(seed.decode(), code, times.best_us, None)
    if step is None:
        raise Refusal(
            ErrorCode.SECOND_FACTOR_REQUIRED,
            "This is not the code that the app shows now.",
            hint="Wait for the next code. If none is taken, compare the clocks of phone and shop.",
        )
    codes = sessions.recovery_codes(env.entropy.below)
    sealed = await env.seal(seed, steps.SEED_PURPOSE, "a secret")

    def job(tx: Tx) -> None:
        hashes = [sessions.hash_recovery_code(one) for one in codes]
        users.set_second_factor(tx, session.user_id, sealed, hashes)
        users.use_step(tx, session.user_id, step)
        _note(tx, "user.second_factor_on", caller.name, times.wall_us)

    await env.store.write(job)
    return codes


async def switch_off(env: Env, caller: Caller) -> None:
    """Switch the caller's second factor off. The caller's own password was confirmed."""
    session, now = _own(caller), env.clock.now_us()

    def job(tx: Tx) -> None:
        users.set_second_factor(tx, session.user_id, None, [])
        _note(tx, "user.second_factor_off", caller.name, now)

    await env.store.write(job)


async def set_language(env: Env, caller: Caller, language: str) -> None:
    """Store the language of the present session."""
    session = _own(caller)
    await env.store.write(lambda tx: users.set_language(tx, session.id, language))


def _own(caller: Caller) -> BrowserSession:
    require(caller, Operation.OWN_ACCOUNT)
    if caller.browser is None:
        raise Refusal(ErrorCode.SESSION_REQUIRED, "Only a user of the dashboard can do this.")
    return caller.browser


def _note(tx: Tx, kind: str, actor: str, now: int, **data: str | bool) -> None:
    journal.add(tx, kind, now, actor=actor, data=data)
