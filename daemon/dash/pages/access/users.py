"""The users of the shop: add one, and change, disable or reset one; end their sessions one by one."""

from typing import Any, Final

from daemon.core.access.sessions import is_over
from daemon.core.errors import needed
from daemon.core.model import BrowserSession, User
from daemon.dash.parts.confirming import confirm
from daemon.dash.parts.listing import branch_names
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
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

    def read(reader: Reader) -> list[tuple[User, list[BrowserSession]]]:
        return [(user, _open_now(visit, reader, user)) for user in users.known(reader)]

    found = await visit.env.store.read(read)
    values = {"users": found, "given": flow.GIVEN_ROLES, "branches": await branch_names(visit)}
    return Shown("access/users.html", values)


async def add(visit: Visit) -> Outcome:
    """Add a user; a password that was made here is shown once."""
    await confirm(visit)
    name = visit.form.get("name", "").strip().lower()
    given = visit.form.get("password", "")
    password = given or _new_password(visit)
    taken = visit.shows(ErrorCode.USER_EXISTS, field="name", key="error_user_exists")
    codes = ErrorCode.VALIDATION_ERROR, ErrorCode.BRANCH_NOT_FOUND, ErrorCode.NOT_A_HUB
    with taken, visit.shows(*codes, field="branch"):
        role, branch = _role(visit.form.get("role", "")), visit.form.get("branch") or None
        await flow.add(visit.env, visit.caller, name, role, password, branch)
    return Goto(HERE, "said_user_added") if given else _password_once(visit, name, password)


async def show_one(visit: Visit) -> Shown:
    """Show one user and the open sessions."""

    def read(reader: Reader) -> dict[str, Any]:
        user = needed(users.named(reader, visit.places["id"]), ErrorCode.USER_NOT_FOUND)
        codes = users.recovery_codes_left(reader, user.id)
        return {"user": user, "sessions": _open_now(visit, reader, user), "codes": codes}

    found = await visit.env.store.read(read)
    return Shown("access/user.html", {**found, "given": flow.GIVEN_ROLES}, found["user"].name)


async def change(visit: Visit) -> Outcome:
    """Apply the pressed button: another role, disable, enable, a new password, or switch the second factor off."""
    await confirm(visit)
    env, caller, name = visit.env, visit.caller, visit.places["id"]
    with visit.shows(ErrorCode.VALIDATION_ERROR):
        match visit.form.get("what", ""):
            case "password":
                password = _new_password(visit)
                await flow.reset(env, caller, name, password, second_factor=False)
                return _password_once(visit, name, password)
            case "role":
                await flow.set_role(env, caller, name, _role(visit.form.get("role", "")))
                said = "said_user_role"
            case "disable":
                await flow.set_disabled(env, caller, name, disabled=True)
                said = "said_user_disabled"
            case "enable":
                await flow.set_disabled(env, caller, name, disabled=False)
                said = "said_user_enabled"
            case "second_factor":
                await flow.reset(env, caller, name, None, second_factor=True)
                said = "said_user_factor_off"
            case _:
                raise FormWrong
    return Goto(f"{HERE}/{name}", said)


async def end_session(visit: Visit) -> Outcome:
    """End one session of a user."""
    name = visit.places["id"]
    ended = await flow.end_session(visit.env, visit.caller, name, visit.form.get("session", ""))
    return Goto(f"{HERE}/{name}", "said_session_ended" if ended else "said_session_not_open")


def _open_now(visit: Visit, reader: Reader, user: User) -> list[BrowserSession]:
    found = users.sessions_of(reader, user.id)
    return [one for one in found if not is_over(one, visit.now)]


def _role(text: str) -> Role:
    """Return the role; the flow refuses the owner's, which stands for every word that is none."""
    return Role(text) if text in flow.GIVEN_ROLES else Role.OWNER


def _new_password(visit: Visit) -> str:
    """Return a password of 79 bits that can be read aloud."""
    below = visit.env.entropy.below
    return "-".join("".join(_LETTERS[below(len(_LETTERS))] for _ in range(_GROUP_CHARACTERS)) for _ in range(_GROUPS))


def _password_once(visit: Visit, name: str, password: str) -> Shown:
    title = visit.words("password_of", name=name)
    return Shown("access/password_once.html", {"name": name, "password": password}, title)
