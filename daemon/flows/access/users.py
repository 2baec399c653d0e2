"""Add, change, disable and reset the users of the dashboard."""

import re
from typing import Final

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.limits import USER_NAME_CHARACTERS_MAX, USERS_MAX
from daemon.core.model import User
from daemon.core.text import Text
from daemon.env import Env
from daemon.steps import password as steps
from daemon.store import journal
from daemon.store.access import users
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode, Role

GIVEN_ROLES: Final = (Role.MANAGER, Role.CASHIER, Role.VIEWER)
"""A shop has one owner, made by the setup."""
_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{USER_NAME_CHARACTERS_MAX - 1}}}", re.ASCII)


async def add(env: Env, caller: Caller, name: str, role: Role, password: str | None) -> User:
    """Add a user and return it.

    Raises:
        Refusal: ROLE_REQUIRED; VALIDATION_ERROR on `name`, `role` or `password`; USER_EXISTS.
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
        if not users.add(tx, users.new_row(user_id, name, role, kept, now)):
            raise Refusal(ErrorCode.USER_EXISTS)
        _note(tx, "user.added", name, caller, now, role=role)
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
        Refusal: ROLE_REQUIRED; USER_NOT_FOUND; VALIDATION_ERROR for the owner.
    """
    require(caller, Operation.MANAGE_USERS)
    now = env.clock.now_us()

    def job(tx: Tx) -> User:
        user = steps.find(tx, name)
        _refuse_owner(user.role)
        if (user.disabled_at is not None) is not disabled:
            users.set_disabled(tx, user.id, now if disabled else None)
            _note(tx, "user.disabled" if disabled else "user.enabled", name, caller, now)
        return steps.find(tx, name)

    return await env.store.write(job)


async def reset(
    env: Env, caller: Caller, name: str, password: str | None, *, second_factor: bool
) -> User:
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
    journal.add(tx, type=kind, mode=Mode.LIVE, at=now, actor=caller.name, data=data)
