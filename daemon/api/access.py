"""Access: sessions and the account's password, API keys, and the people of the shop."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from daemon.api.http.auth import needs_operator, needs_owner
from daemon.api.http.service import NO_STORE, Call, Reply, client_address, ok, once
from daemon.api.openapi.describe import answer, described
from daemon.core.access.callers import BRANCH_KEY_SCOPES, KEY_SCOPES, ApiKeyAnswer, KeyKind, last_written
from daemon.core.access.sessions import ONE_TIME_LINK_S, is_over
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.inputs import CallMeta, HttpAnswer, Keep
from daemon.core.json_values import Json, success, timestamp, timestamp_or_none, warnings_meta
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import ApiKey, BrowserSession, User
from daemon.core.shape import On, Password, Time, marked, sample
from daemon.flows.access import browser, keys
from daemon.flows.access import users as flow
from daemon.store.access import passwords, users
from daemon.store.engine import Reader
from daemon.wire import ErrorCode, Mode, Role, Scope


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
    totp: Annotated[
        str | None, sample("492039", "the code of the second factor, if the owner has one"), marked(read="secret")
    ] = None


class PasswordChange(Struct, frozen=True):
    """The old password and the new one."""

    current_password: Annotated[str, sample("correct horse battery", "the current password"), marked(read="secret")]
    password: Annotated[
        str, sample("staple the correct horse", "the new password, at least 8 characters"), marked(read="secret")
    ]


@described(
    "Log in",
    answer(SessionAnswer),
    reads=LoginBody,
    errors="INVALID_PASSWORD SECOND_FACTOR_REQUIRED TOO_MANY_ATTEMPTS NOT_SET_UP",
    example={"password": "correct horse battery"},
)
async def login(call: Call) -> Reply:
    """Exchange the owner's password for a session token, valid for one hour. Limit: 5 attempts in 15 minutes per address.

    While the owner has a second factor on, `totp` is needed too.
    """
    asked = await call.body(LoginBody)
    client, actor = _client(call)
    await flow.check(call.env, client, actor, asked.password, code=asked.totp, login=True)
    token, ends = await flow.open_session(call.env, actor)
    body = ok(SessionAnswer(token, timestamp(ends))).body
    return Reply(200, body, (NO_STORE,))


@described("Log out", answer(LoggedOut), errors="SESSION_REQUIRED")
async def logout(call: Call) -> Reply:
    """End the session that makes the call: its token is refused from now on. Other sessions stay."""
    await flow.close_session(call.env, call.caller)
    return ok(LoggedOut(True))


@described(
    "Change the password",
    answer(PasswordChanged),
    reads=PasswordChange,
    errors="SESSION_REQUIRED INVALID_PASSWORD TOO_MANY_ATTEMPTS NOT_SET_UP",
    example={"current_password": "correct horse battery", "password": "staple the correct horse"},
)
async def change_password(call: Call) -> Reply:
    """Set a new account password. A session must also send the current one. All sessions end, including this one."""
    needs_owner(call.caller)
    asked = await call.body(PasswordChange)
    await flow.confirm(call.env, call.caller, asked.current_password)
    await flow.set_new(call.env.store, call.env.clock, call.caller.name, asked.password)
    return ok(PasswordChanged(True))


async def set_password(call: Call) -> Reply:
    """POST /local/v1/password: set a new password as the owner on the socket, without the current one."""
    needs_owner(call.caller)
    asked = await call.body(PasswordBody)
    env = call.env
    await flow.set_new(env.store, env.clock, call.caller.name, asked.password, at_machine=True)
    return ok(PasswordChanged(True))


def _client(call: Call) -> tuple[str, str]:
    """Return the client for counting attempts, and the caller's name for the journal."""
    uid = call.scope["state"].get("peer_uid")
    if uid is not None:
        return passwords.SOCKET, f"socket:{uid}"
    return passwords.client_name(client_address(call)), "login"


KEY_NAME_CHARACTERS_MAX: Final = 100
DAYS_MAX: Final = 3650
OVERLAP_HOURS: Final = 24
OVERLAP_HOURS_MAX: Final = 720


class KeyBody(Struct, frozen=True):
    """A new key; a publishable one gets the scope `transactions:initialize` only."""

    name: Annotated[
        str, sample("web shop", "a name for people"), Meta(min_length=1, max_length=KEY_NAME_CHARACTERS_MAX)
    ]
    mode: Annotated[Mode, sample("live", "live money or the sandbox; default `live`")] = Mode.LIVE
    kind: Annotated[
        KeyKind, sample("secret", "a publishable key can only initialize transactions; default `secret`")
    ] = KeyKind.SECRET
    scopes: (
        Annotated[
            list[Annotated[Scope, marked(words=sorted(KEY_SCOPES))]],
            sample(["transactions:read"], "the scopes of the key; default: all"),
            Meta(max_length=2 * len(KEY_SCOPES)),
        ]
        | None
    ) = None
    expires_at: Annotated[
        int | None, sample("2027-12-31T23:59:59Z", "the expiry; default: never"), marked(read="time")
    ] = None
    expires_in_days: Annotated[int, sample(365, "the expiry in days from now"), Meta(ge=1, le=DAYS_MAX)] | None = None
    branch: (
        Annotated[str, sample("kumasi", "at a hub: the only branch that it sees; default: all"), Meta(max_length=40)]
        | None
    ) = None

    @staticmethod
    def check(given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Refuse scopes of a publishable key, and two expiries."""
        if given.get("kind") is KeyKind.PUBLISHABLE and body.get("scopes") is not None:
            fail("scopes", "invalid", "a publishable key can only initialize transactions")
        if "expires_at" in given and "expires_in_days" in given:
            fail("expires_in_days", "invalid", "cannot be combined with expires_at")

    def new_key(self, now: int) -> keys.NewKey:
        """Return the key to make; VALIDATION_ERROR if it would have ended or ends too late."""
        end = self.expires_at
        if end is not None and not now < end <= now + DAYS_MAX * DAY_US:
            why = f"must be within the next {DAYS_MAX} days"
            raise invalid([FieldError("expires_at", "out_of_range", why)])
        if self.expires_in_days is not None:
            end = now + self.expires_in_days * DAY_US
        every = KEY_SCOPES if self.branch is None else BRANCH_KEY_SCOPES
        scopes = every if self.scopes is None else frozenset(self.scopes)
        if self.kind is KeyKind.PUBLISHABLE:
            scopes = frozenset({Scope.TRANSACTIONS_INITIALIZE})
        return keys.NewKey(self.name, self.mode, self.kind, scopes, end, self.branch)


@described(
    "Create a key",
    answer(ApiKeyAnswer, key=Annotated[str, sample("svc_live_sk_...", "the key itself, shown only once")]),
    status=201,
    reads=KeyBody,
    errors="SESSION_REQUIRED NOT_A_HUB BRANCH_NOT_FOUND",
    example={
        "name": "web shop",
        "mode": "live",
        "scopes": ["transactions:write", "transactions:read"],
        "expires_in_days": 365,
    },
    idempotent=True,
)
async def create_key(call: Call) -> Reply:
    """Create an API key; 201. Only this answer contains the key."""
    needs_operator(call.caller)
    asked, meta = await call.asked(KeyBody)
    new = asked.new_key(call.env.clock.now_us())
    return await once(call, _keep(meta), lambda keep: keys.create(call.env, call.caller, new, keep=keep), NO_STORE)


def _keep(meta: CallMeta) -> Keep[keys.MadeKey]:
    """Return how a new key is answered: 201, with the key itself, and the one that it replaces."""

    def render(made: keys.MadeKey) -> HttpAnswer:
        previous = None if made.previous is None else ApiKeyAnswer.of(made.previous, made.at)
        top = {"key": made.text} | ({} if previous is None else {"previous": previous})
        return HttpAnswer(201, success(ApiKeyAnswer.of(made.row, made.at), warnings_meta(meta.warnings), **top))

    return Keep(meta.idempotency, render)


@described("List keys", answer(list[ApiKeyAnswer]), errors="SESSION_REQUIRED")
async def list_keys(call: Call) -> Reply:
    """List all keys, newest first, including revoked keys."""
    needs_operator(call.caller)
    rows = await call.env.store.read(users.known_keys)
    return ok([_shape(call, row) for row in rows])


@described("Get a key", answer(ApiKeyAnswer), errors="SESSION_REQUIRED KEY_NOT_FOUND")
async def get_key(call: Call) -> Reply:
    """Return one key."""
    needs_operator(call.caller)
    key_id = call.uuid(ErrorCode.KEY_NOT_FOUND)
    row = needed(await call.env.store.look(lambda reader: users.get_key(reader, key_id)), ErrorCode.KEY_NOT_FOUND)
    return ok(_shape(call, row))


class RotateBody(Struct, frozen=True):
    """How long the old key stays valid."""

    overlap_hours: Annotated[
        int,
        sample(24, "hours for which the old key stays valid; default 24; 0 ends it at once"),
        Meta(ge=0, le=OVERLAP_HOURS_MAX),
    ] = OVERLAP_HOURS


@described(
    "Rotate a key",
    answer(
        ApiKeyAnswer,
        key=Annotated[str, sample("svc_live_sk_...", "the new key itself, shown only once")],
        previous=ApiKeyAnswer,
    ),
    status=201,
    reads=RotateBody,
    errors="SESSION_REQUIRED KEY_NOT_FOUND",
    example={"overlap_hours": 24},
    idempotent=True,
)
async def rotate_key(call: Call) -> Reply:
    """Rotate an API key: create a new key with the same scopes; 201. Both work until the overlap ends.

    Only this answer contains the new key.
    """
    needs_operator(call.caller)
    asked, meta = await call.asked(RotateBody, optional=True)
    key_id, overlap_us = call.uuid(ErrorCode.KEY_NOT_FOUND), asked.overlap_hours * HOUR_US
    return await once(
        call, _keep(meta), lambda keep: keys.rotate(call.env, call.caller, key_id, overlap_us, keep=keep), NO_STORE
    )


@described("Revoke a key", answer(ApiKeyAnswer), errors="SESSION_REQUIRED KEY_NOT_FOUND")
async def revoke_key(call: Call) -> Reply:
    """Revoke a key at once. It stays in the list; a second call changes nothing."""
    needs_operator(call.caller)
    return ok(_shape(call, await keys.revoke(call.env, call.caller, call.uuid(ErrorCode.KEY_NOT_FOUND))))


def _shape(call: Call, row: ApiKey) -> ApiKeyAnswer:
    latest = call.env.key_use.latest(row.id, last_written(row))
    return ApiKeyAnswer.of(row, call.env.clock.now_us(), latest)


NAME_CHARACTERS_MAX: Final = 100


async def list_users(call: Call) -> Reply:
    """List the users, the owner first, with the number of browsers that are logged in."""
    needs_owner(call.caller)
    now = call.env.clock.now_us()

    def read(reader: Reader) -> list[Json]:
        return [user_json(user, users.sessions_of(reader, user.id), now) for user in users.known(reader)]

    return ok(await call.env.store.read(read))


_UserName = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS_MAX)]


class NewUser(Struct, frozen=True):
    """A user to add."""

    name: _UserName
    role: _UserName
    password: Annotated[str, marked(read="secret")]
    branch: Annotated[str, Meta(max_length=NAME_CHARACTERS_MAX)] | None = None


async def add_user(call: Call) -> Reply:
    """Add a user."""
    needs_owner(call.caller)
    new = await call.body(NewUser)
    role = _role(new.role)
    made = await flow.add(call.env, call.caller, new.name, role, new.password, new.branch)
    return ok(user_json(made, [], call.env.clock.now_us()))


class UserChanges(Struct, frozen=True):
    """What changes of a user."""

    role: Annotated[str, Meta(max_length=NAME_CHARACTERS_MAX)] | None = None
    disabled: bool | None = None


async def change_user(call: Call) -> Reply:
    """Change the role of a user, or disable or enable the user."""
    needs_owner(call.caller)
    changes = await call.body(UserChanges)
    name = call.path("name")
    if changes.role is not None:
        await flow.set_role(call.env, call.caller, name, _role(changes.role))
    if changes.disabled is not None:
        await flow.set_disabled(call.env, call.caller, name, disabled=changes.disabled)
    return await _one(call, name)


class UserReset(Struct, frozen=True):
    """What is new for a user who lost it."""

    password: Annotated[str, marked(read="secret")] | None = None
    second_factor: bool = False


async def reset_user(call: Call) -> Reply:
    """Set a new password of a user, switch the second factor off, or both."""
    needs_owner(call.caller)
    new, name = await call.body(UserReset), call.path("name")
    await flow.reset(call.env, call.caller, name, new.password, second_factor=new.second_factor)
    return await _one(call, name)


class LinkBody(Struct, frozen=True):
    """Whom a link logs in, and whether on another device too."""

    user: Annotated[str, Meta(max_length=NAME_CHARACTERS_MAX)] | None = None
    anywhere: bool = False


async def make_link(call: Call) -> Reply:
    """Make the one-time link that logs a user in, the owner without `user`; with `anywhere` on another device too."""
    needs_owner(call.caller)
    asked, env = await call.body(LinkBody, optional=True), call.env
    if not env.http_address:
        raise Refusal(ErrorCode.NO_CHECKOUT_PAGE, "No page is served: HTTP is off.", reason="http_off")
    token = await browser.make_link(env, call.caller, asked.user, anywhere=asked.anywhere)
    scheme = "https" if env.config.http.tls_cert else "http"
    link = f"{scheme}://{env.http_address}/dash/enter?link={token}"
    body = ok({"url": link, "expires_in_s": round(ONE_TIME_LINK_S)}).body
    return Reply(200, body, (NO_STORE,))


async def _one(call: Call, name: str) -> Reply:
    def read(reader: Reader) -> Json:
        user = needed(users.named(reader, name), ErrorCode.USER_NOT_FOUND)
        return user_json(user, users.sessions_of(reader, user.id), call.env.clock.now_us())

    return ok(await call.env.store.read(read))


def user_json(user: User, sessions: list[BrowserSession], now: int) -> Json:
    """Return the object of a user; `sessions` may contain some that have ended."""
    open_now = [one for one in sessions if not is_over(one, now)]
    return {
        "name": user.name, "role": user.role, "branch": user.branch, "second_factor": user.totp_sealed is not None,
        "disabled_at": timestamp_or_none(user.disabled_at), "created_at": timestamp(user.created_at),
        "password_at": timestamp(user.password_at), "sessions": len(open_now),
        "seen_at": timestamp_or_none(max((one.seen_at for one in open_now), default=None)),
    }  # fmt: skip


def _role(text: str | None) -> Role:
    try:
        return Role(text or "")
    except ValueError:
        allowed = ", ".join(flow.GIVEN_ROLES)
        raise invalid([FieldError("role", "invalid", f"must be one of {allowed}")]) from None
