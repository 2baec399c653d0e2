"""The users of the dashboard, on the Unix socket: list, add, change, reset, and the link of `momo open`."""

from typing import Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.core.access import sessions as browser_sessions
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.limits import ONE_TIME_LINK_S
from daemon.core.model import BrowserSession, User
from daemon.flows.access import browser
from daemon.flows.access import users as flow
from daemon.store.access import users
from daemon.store.engine import Reader
from daemon.wire import ErrorCode, Role

NAME_CHARACTERS_MAX: Final = 100


async def get_list(call: Call) -> Reply:
    """List the users, the owner first, with the number of browsers that are logged in."""
    needs_owner(call.caller)
    now = call.env.clock.now_us()

    def read(reader: Reader) -> list[Json]:
        return [
            user_json(user, users.sessions_of(reader, user.id), now) for user in users.known(reader)
        ]

    return ok(await call.env.store.read(read))


async def add(call: Call) -> Reply:
    """Add a user."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    name = fields.text("name", required=True, most=NAME_CHARACTERS_MAX)
    role = _role(fields.text("role", required=True, most=NAME_CHARACTERS_MAX))
    password = fields.secret("password", required=True)
    fields.done()
    assert name is not None
    made = await flow.add(call.env, call.caller, name, role, password)
    return ok(user_json(made, [], call.env.clock.now_us()))


async def change(call: Call) -> Reply:
    """Change the role of a user, or disable or enable the user."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    role = fields.text("role", most=NAME_CHARACTERS_MAX)
    disabled = fields.switch("disabled")
    fields.done()
    name = call.path("name")
    if role is not None:
        await flow.set_role(call.env, call.caller, name, _role(role))
    if disabled is not None:
        await flow.set_disabled(call.env, call.caller, name, disabled=disabled)
    return await _one(call, name)


async def reset(call: Call) -> Reply:
    """Set a new password of a user, switch the second factor off, or both."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    password = fields.secret("password")
    second_factor = bool(fields.switch("second_factor"))
    fields.done()
    name = call.path("name")
    await flow.reset(call.env, call.caller, name, password, second_factor=second_factor)
    return await _one(call, name)


async def make_link(call: Call) -> Reply:
    """Make the one-time link that logs a user in, the owner without `user`; with `anywhere` on another device too."""
    needs_owner(call.caller)
    fields = Fields(await read_object_if_any(call.scope, call.receive))
    name = fields.text("user", most=NAME_CHARACTERS_MAX)
    anywhere = fields.boolean("anywhere", default=False)
    fields.done()
    env = call.env
    if not env.http_address:
        raise Refusal(
            ErrorCode.NO_CHECKOUT_PAGE, "No page is served: HTTP is off.", reason="http_off"
        )
    token = await browser.make_link(env, call.caller, name, anywhere=anywhere)
    scheme = "https" if env.config.http.tls_cert else "http"
    link = f"{scheme}://{env.http_address}/dash/enter?link={token}"
    body = ok({"url": link, "expires_in_s": round(ONE_TIME_LINK_S)}).body
    return Reply(200, body, (NO_STORE,))


async def _one(call: Call, name: str) -> Reply:
    def read(reader: Reader) -> Json:
        user = users.named(reader, name)
        if user is None:
            raise Refusal(ErrorCode.USER_NOT_FOUND)
        return user_json(user, users.sessions_of(reader, user.id), call.env.clock.now_us())

    return ok(await call.env.store.read(read))


def user_json(user: User, sessions: list[BrowserSession], now: int) -> Json:
    """Return the object of a user; `sessions` may contain some that have ended."""
    open_now = [one for one in sessions if not browser_sessions.is_over(one, now)]
    return {
        "name": user.name,
        "role": user.role,
        "second_factor": user.totp_sealed is not None,
        "disabled_at": timestamp_or_none(user.disabled_at),
        "created_at": timestamp(user.created_at),
        "password_at": timestamp(user.password_at),
        "sessions": len(open_now),
        "seen_at": timestamp_or_none(max((one.seen_at for one in open_now), default=None)),
    }


def _role(text: str | None) -> Role:
    try:
        return Role(text or "")
    except ValueError:
        allowed = ", ".join(flow.GIVEN_ROLES)
        raise invalid([FieldError("role", "invalid", f"must be one of {allowed}")]) from None
