"""Users, their passwords and sessions."""

import re
from typing import Final

from msgspec.structs import replace

from daemon.core.access import sessions
from daemon.core.access.callers import Caller, CallerKind, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.model import BrowserSession, User
from daemon.core.text import Text
from daemon.env import Env
from daemon.runtime.system import Clock
from daemon.steps import password as steps
from daemon.steps.branch import branch_id_of
from daemon.store import journal
from daemon.store.access import passwords, users
from daemon.store.access.passwords import USER_NAME_CHARACTERS_MAX
from daemon.store.engine import Store, Tx
from daemon.wire import ErrorCode, Role

USERS_MAX: Final = 50
GIVEN_ROLES: Final = (Role.MANAGER, Role.CASHIER, Role.VIEWER)
"""A shop has one owner, made by the setup."""
_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{USER_NAME_CHARACTERS_MAX - 1}}}", re.ASCII)


async def add(env: Env, caller: Caller, name: str, role: Role, password: str | None, branch: str | None = None) -> User:
    """Add a user and return it; at a hub, one who sees and does only what is of the named branch.

    Raises:
        Refusal: ROLE_REQUIRED; VALIDATION_ERROR on `name`, `role` or `password`; USER_EXISTS; as `branch_id_of`.
    """
    require(caller, Operation.MANAGE_USERS)
    _refuse_owner(role)
    if _NAME.fullmatch(name) is None:
        text = Text("field.user.name", most=USER_NAME_CHARACTERS_MAX)
        raise invalid([FieldError("name", "invalid", text)])
    kept = await steps.hash_new(password)
    now, user_id = env.clock.now_us(), env.new_id()

    def job(tx: Tx) -> User:
        if len(users.known(tx)) >= USERS_MAX:
            text = Text("field.users.most", most=USERS_MAX)
            raise invalid([FieldError("name", "too_many", text)])
        if not users.add(tx, users.new_row(user_id, name, role, kept, now, branch_id_of(tx, env, branch))):
            raise Refusal(ErrorCode.USER_EXISTS)
        of = {} if branch is None else {"branch": branch}
        _note(tx, "user.added", name, caller, now, role=role, **of)
        return steps.find(tx, name)

    return await env.store.write(job)


async def set_role(env: Env, caller: Caller, name: str, role: Role) -> User:
    """Give a user another role, which ends the user's sessions; return the user.

    Raises:
        Refusal: ROLE_REQUIRED; USER_NOT_FOUND; VALIDATION_ERROR on `role`, also for the owner.
    """
    require(caller, Operation.MANAGE_USERS)
    _refuse_owner(role)
    now = env.clock.now_us()

    def job(tx: Tx) -> User:
        user = steps.find(tx, name)
        _refuse_owner(user.role)
        if user.role is not role:
            users.set_role(tx, user.id, role)
            _note(tx, "user.role_changed", name, caller, now, role=role, before=user.role)
        return steps.find(tx, name)

    return await env.store.write(job)


async def set_disabled(env: Env, caller: Caller, name: str, *, disabled: bool) -> User:
    """Disable a user, which ends the user's sessions, or enable the user again; return the user.

    Raises:
        Refusal: ROLE_REQUIRED; USER_NOT_FOUND; VALIDATION_ERROR for the owner; to enable, as `branch_id_of`.
    """
    require(caller, Operation.MANAGE_USERS)
    now = env.clock.now_us()

    def job(tx: Tx) -> User:
        user = steps.find(tx, name)
        _refuse_owner(user.role)
        if not disabled and user.branch_id is not None:
            branch_id_of(tx, env, user.branch or "")
        if (user.disabled_at is not None) is not disabled:
            users.set_disabled(tx, user.id, now if disabled else None)
            _note(tx, "user.disabled" if disabled else "user.enabled", name, caller, now)
        return steps.find(tx, name)

    return await env.store.write(job)


async def reset(env: Env, caller: Caller, name: str, password: str | None, *, second_factor: bool) -> User:
    """Set a new password of a user, switch the second factor off, or both; either ends the user's sessions.

    No time is asked, so it also works while the clock is wrong.

    Raises:
        Refusal: ROLE_REQUIRED; USER_NOT_FOUND; VALIDATION_ERROR on `password`.
    """
    require(caller, Operation.MANAGE_USERS)
    kept = None if password is None else await steps.hash_new(password)
    now = env.clock.now_us()

    def job(tx: Tx) -> User:
        user = steps.find(tx, name)
        if kept is not None:
            steps.replace(tx, user, kept, caller.name, now)
        if second_factor and user.totp_sealed is not None:
            users.set_second_factor(tx, user.id, None, [])
            users.end_all(tx, user.id)
            _note(tx, "user.second_factor_off", name, caller, now)
        return steps.find(tx, name)

    return await env.store.write(job)


async def end_session(env: Env, caller: Caller, name: str, session_id: str) -> bool:
    """End one browser session of a user; return False if it is not open.

    Raises:
        Refusal: ROLE_REQUIRED; USER_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_USERS)
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        ended = users.end_session(tx, steps.find(tx, name).id, session_id)
        if ended:
            _note(tx, "session.closed", name, caller, now)
        return ended

    return await env.store.write(job)


def _refuse_owner(role: Role) -> None:
    if role is Role.OWNER:
        text = Text("field.owner.one")
        raise invalid([FieldError("role", "invalid", text)])


def _note(tx: Tx, kind: str, name: str, caller: Caller, now: int, **more: str) -> None:
    data = {"user": name, **more}
    journal.add(tx, kind, now, actor=caller.name, data=data)


SESSION_KEY_PURPOSE = "session-key"
"""Purpose under which the key is sealed."""


async def confirm(env: Env, caller: Caller, password: str | None, why: str = steps.NEEDED) -> None:
    """Check the caller's password before a dangerous operation; `why` is told if it is missing.

    In a browser it is the user's own password; it then holds for 10 minutes in that browser, and only wrong ones count.
    For all other callers it is the owner's; together they have five attempts in 15 minutes.

    Raises:
        Refusal: SESSION_REQUIRED for an API key; INVALID_PASSWORD with `attempts_remaining` if it is wrong or missing
            (a missing one counts as no attempt); TOO_MANY_ATTEMPTS with `retry_after`.
        Unavailable: The attempt could not be counted, so the password was not checked.
    """
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)
    if caller.browser is not None:
        await _confirm_in_browser(env, caller, caller.browser, password, why)
    elif not password:
        raise await steps.missing(env, passwords.ACCOUNT, why)
    else:
        await check(env, passwords.ACCOUNT, caller.name, password)


async def _confirm_in_browser(
    env: Env, caller: Caller, session: BrowserSession, password: str | None, why: str
) -> None:
    now = env.clock.now_us()
    open_now, user = needed(
        await env.store.look(lambda reader: users.session_with(reader, session.sha256)), ErrorCode.SESSION_REQUIRED
    )
    if not password and sessions.is_confirmed(open_now, now):
        return
    who = passwords.user_name(user.id)
    if not password:
        raise await steps.missing(env, who, why)
    attempt = await steps.count(env, who, caller.name)
    await steps.verify(env, user, password, attempt)

    def job(tx: Tx) -> None:
        passwords.forgive_attempt(tx, who)
        users.confirm(tx, open_now.id, now)

    await env.store.write(job)


async def check(
    env: Env, who: str, actor: str, password: str | None, *, code: str | None = None, login: bool = False
) -> None:
    """Check the owner's password, and for a login also the owner's second factor.

    `who` is the name of the attempt counter: `passwords.ACCOUNT`, `SOCKET`, or `client_name(address)`. `login` asks for the
    second factor.

    Raises:
        Refusal: As for `confirm`; SECOND_FACTOR_REQUIRED.
        Unavailable: As for `confirm`.
    """
    if not password:
        raise await steps.missing(env, who)
    owner = await env.store.look(users.owner)
    by_name: tuple[passwords.Counter, ...] = ()
    if login and owner is not None and who != passwords.SOCKET:
        by_name = (passwords.of_login(owner.name),)
    attempt = await steps.count(env, who, actor, *by_name)
    user = await steps.verify(env, owner, password, attempt)
    if by_name:
        await steps.forgive(env, *by_name)
    if login:
        await _check_code(env, user, code, attempt)


async def _check_code(env: Env, user: User, code: str | None, attempt: steps.PasswordAttempt) -> None:
    """Check the code of the second factor; wrong ones are counted for the user, as in the dashboard."""
    if user.totp_sealed is None or not code:
        await steps.verify_code(env, user, code, attempt)
        return
    by_user = passwords.of_code(user.name)
    counted = await steps.count(env, by_user.who, attempt.actor)
    remaining = min(attempt.remaining, counted.remaining)
    await steps.verify_code(env, user, code, replace(counted, remaining=remaining))
    await steps.forgive(env, by_user)


async def set_new(store: Store, clock: Clock, actor: str, new: str | None, *, at_machine: bool = False) -> None:
    """Set a new password of the owner; it ends all the owner's sessions and resets the owner's attempt counters.

    `at_machine` resets the counters of all users and addresses too, so that the owner can log in at once.

    Raises:
        Refusal: VALIDATION_ERROR on `password`; NOT_SET_UP if there is no shop yet.
    """
    kept = await steps.hash_new(new)
    now = clock.now_us()

    def job(tx: Tx) -> None:
        owner = needed(users.owner(tx), ErrorCode.NOT_SET_UP)
        steps.replace(tx, owner, kept, actor, now)
        if at_machine:
            passwords.forget_all_attempts(tx)

    await store.write(job)


async def open_session(env: Env, actor: str) -> tuple[str, int]:
    """Return a token and its expiry. The first login creates the key.

    Raises:
        Unavailable: The master key is not available.
    """
    now = env.clock.now_us()
    sealed = await env.store.look(passwords.session_key)
    if sealed is None:
        fresh = env.entropy.bytes(sessions.KEY_BYTES)
        box = await env.seal(fresh, SESSION_KEY_PURPOSE, "the key of sessions")
        await env.store.write(lambda tx: passwords.add_session_key(tx, box, now))
        # After two first logins at once, the stored key counts.
        sealed = await env.store.look(passwords.session_key) or box
    key = await env.unseal(sealed, SESSION_KEY_PURPOSE, "the key of sessions")

    def job(tx: Tx) -> None:
        journal.add(tx, "session.opened", now, actor=actor)

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
        journal.add(tx, "session.closed", now, actor=caller.name)

    await env.store.write(job)
