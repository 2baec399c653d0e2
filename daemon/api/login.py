"""POST /v1/auth/login and /v1/auth/password: dashboard sessions (decisions.md section 8)."""

from daemon.api.described import described
from daemon.api.fields import Fields
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object
from daemon.api.service import NO_STORE, Call, Reply, ok
from daemon.core.shapes import timestamp
from daemon.flows import password, sessions
from daemon.store import password_attempts
from daemon.wire import ErrorCode


def read(fields: Fields) -> str | None:
    """Read a password as it is: blanks at its ends belong to it."""
    given = fields.secret("password", required=True)
    fields.done()
    return given


def read_change(fields: Fields) -> tuple[str | None, str | None]:
    """Read the old password and the new one."""
    current = fields.secret("current_password", required=True)
    new = fields.secret("password", required=True)
    fields.done()
    return current, new


@described(
    "Log in",
    "session",
    reads=read,
    errors=(
        ErrorCode.INVALID_PASSWORD,
        ErrorCode.TOO_MANY_ATTEMPTS,
        ErrorCode.NOT_SET_UP,
    ),
    example={"password": "correct horse battery"},
)
async def login(call: Call) -> Reply:
    """Give the account password, get a token of one hour. Anybody may try, five times in 15 minutes for an address."""
    given = read(Fields(await read_object(call.scope, call.receive)))
    who, actor = _client(call)
    await password.check(call.env, who, actor, given)
    token, ends = await sessions.open_session(call.env, actor)
    body = ok({"token": token, "expires_at": timestamp(ends)}).body
    return Reply(200, body, (NO_STORE,))


@described(
    "Change the password",
    "changed",
    reads=read_change,
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.INVALID_PASSWORD,
        ErrorCode.TOO_MANY_ATTEMPTS,
        ErrorCode.NOT_SET_UP,
    ),
    example={"current_password": "correct horse battery", "password": "staple the correct horse"},
)
async def change_password(call: Call) -> Reply:
    """Set a new password; a session gives the old one too. Every session ends, this one as well."""
    needs_owner(call.caller)
    current, new = read_change(Fields(await read_object(call.scope, call.receive)))
    await password.confirm(call.env, call.caller, current)
    await password.set_new(call.env.store, call.env.clock, call.caller.name, new)
    return ok({"changed": True})


async def set_password(call: Call) -> Reply:
    """POST /local/v1/password: a new password for somebody who owns the machine's momo, without the old one."""
    needs_owner(call.caller)
    new = read(Fields(await read_object(call.scope, call.receive)))
    await password.set_new(call.env.store, call.env.clock, call.caller.name, new)
    return ok({"changed": True})


def _client(call: Call) -> tuple[str, str]:
    """Return whose attempts are counted, and what the journal calls the caller."""
    uid = call.scope["state"].get("peer_uid")
    if uid is not None:
        return password_attempts.SOCKET, f"socket:{uid}"
    client = call.scope.get("client")
    address = client[0] if client else ""
    return password_attempts.client(address), "login"
