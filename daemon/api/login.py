"""POST /v1/auth/login and /v1/auth/password: dashboard sessions (decisions.md section 8)."""

from typing import Final

from daemon.api.auth import needs_owner
from daemon.api.fields import Fields
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core.shapes import timestamp
from daemon.flows import password, sessions
from daemon.store import password_attempts

NO_STORE: Final = (b"cache-control", b"no-store")


async def login(call: Call) -> Reply:
    """Give the account password, get a token of one hour. Anybody may try, five times in 15 minutes for an address."""
    fields = Fields(await read_object(call.scope, call.receive))
    given = _password(fields, "password")
    fields.done()
    who, actor = _client(call)
    await password.check(call.env, who, actor, given)
    token, ends = await sessions.open_session(call.env, actor)
    body = ok({"token": token, "expires_at": timestamp(ends)}).body
    return Reply(200, body, (NO_STORE,))


async def change_password(call: Call) -> Reply:
    """Set a new password; a session gives the old one too. Every session ends, this one as well."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    current = _password(fields, "current_password")
    new = _password(fields, "password")
    fields.done()
    await password.confirm(call.env, call.caller, current)
    await password.set_new(call.env.store, call.env.clock, call.caller.name, new)
    return ok({"changed": True})


async def set_password(call: Call) -> Reply:
    """POST /local/v1/password: a new password for somebody who owns the machine's momo, without the old one."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    new = _password(fields, "password")
    fields.done()
    await password.set_new(call.env.store, call.env.clock, call.caller.name, new)
    return ok({"changed": True})


def _password(fields: Fields, name: str) -> str | None:
    """Read a password as it is: blanks at its ends belong to it."""
    value = fields.value(name, required=True)
    if value is not None and not isinstance(value, str):
        fields.fail(name, "wrong_type", "must be a string")
        return None
    return value


def _client(call: Call) -> tuple[str, str]:
    """Return whose attempts are counted, and what the journal calls the caller."""
    uid = call.scope["state"].get("peer_uid")
    if uid is not None:
        return password_attempts.SOCKET, f"socket:{uid}"
    client = call.scope.get("client")
    address = client[0] if client else ""
    return password_attempts.client(address), "login"
