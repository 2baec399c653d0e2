"""POST /v1/auth/login, /v1/auth/logout and /v1/auth/password: sessions and the account password."""

from typing import Annotated

from msgspec import Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.service import NO_STORE, Call, Reply, client_address, ok
from daemon.api.openapi.describe import answer, described
from daemon.core.json_values import timestamp
from daemon.core.reading import read
from daemon.core.shape import On, Password, Time, marked, sample
from daemon.flows.access import password
from daemon.store.access import passwords
from daemon.wire import ErrorCode


class SessionAnswer(Struct, frozen=True):
    """A session."""

    token: Annotated[str, sample("eyJhbGciOiJIUzI1NiJ9.e30.x")]
    expires_at: Time


class LoggedOut(Struct, frozen=True):
    """The end of a session."""

    logged_out: On


class PasswordChanged(Struct, frozen=True):
    """A password was changed."""

    changed: On


class PasswordBody(Struct, frozen=True):
    """A new password; blanks at its ends are part of it."""

    password: Password


class LoginBody(Struct, frozen=True):
    """The password, and the code of the second factor if one is on."""

    password: Password
    totp: (
        Annotated[
            str,
            sample("492039", "the code of the second factor, if the owner has one"),
            marked(read="secret"),
        ]
        | None
    ) = None


class PasswordChange(Struct, frozen=True):
    """The old password and the new one."""

    current_password: Annotated[
        str, sample("correct horse battery", "the current password"), marked(read="secret")
    ]
    password: Annotated[
        str,
        sample("staple the correct horse", "the new password, at least 8 characters"),
        marked(read="secret"),
    ]


@described(
    "Log in",
    answer(SessionAnswer),
    reads=LoginBody,
    errors=(
        ErrorCode.INVALID_PASSWORD,
        ErrorCode.SECOND_FACTOR_REQUIRED,
        ErrorCode.TOO_MANY_ATTEMPTS,
        ErrorCode.NOT_SET_UP,
    ),
    example={"password": "correct horse battery"},
)
async def login(call: Call) -> Reply:
    """Exchange the owner's password for a session token, valid for one hour. Limit: 5 attempts in 15 minutes per address.

    While the owner has a second factor on, `totp` is needed too.
    """
    asked, _ = read(LoginBody, await read_object(call.scope, call.receive))
    client, actor = _client(call)
    await password.check(call.env, client, actor, asked.password, code=asked.totp, login=True)
    token, ends = await password.open_session(call.env, actor)
    body = ok(SessionAnswer(token, timestamp(ends))).body
    return Reply(200, body, (NO_STORE,))


@described("Log out", answer(LoggedOut), errors=(ErrorCode.SESSION_REQUIRED,))
async def logout(call: Call) -> Reply:
    """End the session that makes the call: its token is refused from now on. Other sessions stay."""
    await password.close_session(call.env, call.caller)
    return ok(LoggedOut(True))


@described(
    "Change the password",
    answer(PasswordChanged),
    reads=PasswordChange,
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.INVALID_PASSWORD,
        ErrorCode.TOO_MANY_ATTEMPTS,
        ErrorCode.NOT_SET_UP,
    ),
    example={"current_password": "correct horse battery", "password": "staple the correct horse"},
)
async def change_password(call: Call) -> Reply:
    """Set a new account password. A session must also send the current one. All sessions end, including this one."""
    needs_owner(call.caller)
    asked, _ = read(PasswordChange, await read_object(call.scope, call.receive))
    await password.confirm(call.env, call.caller, asked.current_password)
    await password.set_new(call.env.store, call.env.clock, call.caller.name, asked.password)
    return ok(PasswordChanged(True))


async def set_password(call: Call) -> Reply:
    """POST /local/v1/password: set a new password as the owner on the socket, without the current one."""
    needs_owner(call.caller)
    asked, _ = read(PasswordBody, await read_object(call.scope, call.receive))
    env = call.env
    await password.set_new(env.store, env.clock, call.caller.name, asked.password, at_machine=True)
    return ok(PasswordChanged(True))


def _client(call: Call) -> tuple[str, str]:
    """Return the client for counting attempts, and the caller's name for the journal."""
    uid = call.scope["state"].get("peer_uid")
    if uid is not None:
        return passwords.SOCKET, f"socket:{uid}"
    return passwords.client_name(client_address(call)), "login"
