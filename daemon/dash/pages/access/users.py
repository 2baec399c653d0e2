"""The users of the shop: add one, and change, disable or reset one; end their sessions one by one."""

from typing import Final

from daemon.core.access import sessions as browser_sessions
from daemon.core.errors import FieldError, Refusal
from daemon.core.model import BrowserSession, User
from daemon.dash.parts.confirming import confirmed
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.access import users as flow
from daemon.store.access import users
from daemon.store.engine import Reader
from daemon.wire import ErrorCode, Role

HERE: Final = "/dash/users"
_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters and digits that look alike."""
_GROUPS: Final = 4
_GROUP_CHARACTERS: Final = 4


async def show_list(visit: Visit) -> Shown:
    """Show every user, and the form for a new one."""
    return await _list(visit)


async def add(visit: Visit) -> Outcome:
    """Add a user; a password that was made here is shown once."""
    if not await confirmed(visit):
        return await _list(visit)
    name = visit.form.get("name", "").strip().lower()
    given = visit.form.get("password", "")
    password = given or _new_password(visit)
    try:
        await flow.add(visit.env, visit.caller, name, _role(visit.form.get("role", "")), password)
    except Refusal as refusal:
        if refusal.code is ErrorCode.USER_EXISTS:
            visit.fail(FieldError("name", "taken", visit.words("error_user_exists")))
        elif refusal.code is ErrorCode.VALIDATION_ERROR:
            visit.refuse(refusal)
        else:
            raise
        return await _list(visit)
    if given:
        return Goto(HERE, "said_user_added")
    return _password_once(visit, name, password)


async def show_one(visit: Visit) -> Shown:
    """Show one user and the open sessions."""
    return await _one(visit, 200)


async def change(visit: Visit) -> Outcome:
    """Apply the pressed button: another role, disable, enable, a new password, or switch the second factor off."""
    if not await confirmed(visit):
        return await _one(visit, 422)
    name, what = visit.places["id"], visit.form.get("what", "")
    try:
        if what == "password":
            password = _new_password(visit)
            await flow.reset(visit.env, visit.caller, name, password, second_factor=False)
            return _password_once(visit, name, password)
        said = await _changed(visit, name, what)
    except Refusal as refusal:
        if refusal.code is not ErrorCode.VALIDATION_ERROR:
            raise
        visit.refuse(refusal)
        said = ""
    return Goto(f"{HERE}/{name}", said) if said else await _one(visit, 422)


async def _changed(visit: Visit, name: str, what: str) -> str:
    """Change a user; return the key of the confirmation text, empty for an unknown button."""
    env, caller = visit.env, visit.caller
    match what:
        case "role":
            await flow.set_role(env, caller, name, _role(visit.form.get("role", "")))
            return "said_user_role"
        case "disable":
            await flow.set_disabled(env, caller, name, disabled=True)
            return "said_user_disabled"
        case "enable":
            await flow.set_disabled(env, caller, name, disabled=False)
            return "said_user_enabled"
        case "second_factor":
            await flow.reset(env, caller, name, None, second_factor=True)
            return "said_user_factor_off"
        case _:
            return ""


async def end_session(visit: Visit) -> Outcome:
    """End one session of a user."""
    name = visit.places["id"]
    ended = await flow.end_session(visit.env, visit.caller, name, visit.form.get("session", ""))
    return Goto(f"{HERE}/{name}", "said_session_ended" if ended else "said_session_not_open")


async def _list(visit: Visit) -> Shown:
    def read(reader: Reader) -> list[tuple[User, list[BrowserSession]]]:
        return [
            (user, _open_now(visit, users.sessions_of(reader, user.id)))
            for user in users.known(reader)
        ]

    found = await visit.env.store.read(read)
    return Shown(
        "access/users.html",
        {"users": found, "given": flow.GIVEN_ROLES},
        status=422 if visit.errors else 200,
    )


async def _one(visit: Visit, status: int) -> Shown:
    def read(reader: Reader) -> tuple[User, list[BrowserSession], int] | None:
        user = users.named(reader, visit.places["id"])
        if user is None:
            return None
        codes = users.recovery_codes_left(reader, user.id)
        return user, _open_now(visit, users.sessions_of(reader, user.id)), codes

    found = await visit.env.store.read(read)
    if found is None:
        raise Refusal(ErrorCode.USER_NOT_FOUND)
    user, sessions, codes = found
    values = {"user": user, "sessions": sessions, "codes": codes, "given": flow.GIVEN_ROLES}
    return Shown("access/user.html", values, user.name, status=status)


def _open_now(visit: Visit, sessions: list[BrowserSession]) -> list[BrowserSession]:
    return [one for one in sessions if not browser_sessions.is_over(one, visit.now)]


def _role(text: str) -> Role:
    """Return the role; the flow refuses the owner's, which stands for every word that is none."""
    return Role(text) if text in flow.GIVEN_ROLES else Role.OWNER


def _new_password(visit: Visit) -> str:
    """Return a password of 79 bits that can be read aloud."""
    below = visit.env.entropy.below
    return "-".join(
        "".join(_LETTERS[below(len(_LETTERS))] for _ in range(_GROUP_CHARACTERS))
        for _ in range(_GROUPS)
    )


def _password_once(visit: Visit, name: str, password: str) -> Shown:
    title = visit.words("password_of", name=name)
    return Shown("access/password_once.html", {"name": name, "password": password}, title)
