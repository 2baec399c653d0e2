"""The commands about API keys, and about the users of the dashboard."""

from typing import Final

from daemon.wire import Path, Role, Scope
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import KEYS, id_of
from momo_cli.inputs.parameters import NEW_PASSWORD_FILE, argument, flag, option
from momo_cli.inputs.typed_values import new_password, only_given, secret_file
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Cell, Head, Row, dumps, ended, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, fact_lines
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import clean, warnings_of
from momo_cli.times import duration_s

_STATES: Final = {
    "active": Cell("✓ active", "green"),
    "expired": Cell("✗ expired", "yellow"),
    "revoked": Cell("✗ revoked", "red"),
}
_ALL_SCOPES: Final = {str(scope) for scope in Scope} - {Scope.KEYS_MANAGE, Scope.BRANCH}
_FIELDS: Final = (
    "id name hint mode kind state scopes created_at expires_at last_used_at revoked_at",
    "last_used_from branch",
)
_LIST_VIEW: Final = view_of(
    *_FIELDS,
    Head("KEY", lambda row, _: clean(row.get("hint"))),
    Head("NAME", lambda row, _: clean(row.get("name"))),
    Head("STATE", lambda row, _: _state(row)),
    Head("MAY", lambda row, _: _may(row)),
    Head("LAST USED", lambda row, t: ago(row.get("last_used_at"), t) or "never"),
    Head("FROM", lambda row, _: clean(row.get("last_used_from")) or "—"),
    Head("BRANCH", lambda row, _: clean(row.get("branch")), optional=True),
)
_NEW_VIEW: Final = view_of(*_FIELDS, "key")
_DAY_S: Final = 86_400
_HOUR_S: Final = 3600

_KEY = argument("ID", "The key: its id or name.")
_OF_BRANCH = option("BRANCH", "At a hub: only for this branch.")
_KEY_FILE = option("FILE", "Write the key to this file, not to the output.")


@command("keys create", view=_NEW_VIEW)
def create(
    client: Client,
    terminal: Terminal,
    name: str = option("A name for the list, such as its program.", default=...),
    scope: list[str] | None = option("SCOPE", "A permission of the key; repeat for each."),
    test: bool = flag("A key of the sandbox."),
    publishable: bool = flag("For a web page: it may only create transactions."),
    expires: str | None = option("DAYS", "Days until it ends by itself, such as 90d."),
    key_file: str | None = _KEY_FILE,
    branch: str | None = _OF_BRANCH,
) -> Answer:
    """The key is shown only now. Without --scope it has all permissions that a key can have. A key with --branch sees and
    does nothing of other branches or of head office; orders that it creates are seen by its branch. With --key-file the key goes
    into that file (which must not exist yet; mode 0600) and is null in the output. The origin of a web page with a
    publishable key must stand in `momo config set http.cors_origins`.

    Examples:
        momo keys create --name "web shop" --scope transactions:write --scope transactions:read
        momo keys create --name "shop page" --publishable --key-file shop.key --quiet
    """
    given = {
        "name": name,
        "scopes": scope or None,
        "mode": "test" if test else None,
        "kind": "publishable" if publishable else None,
        "expires_in_days": None if expires is None else _days(expires),
        "branch": branch,
    }
    with secret_file(key_file, "--key-file") as keep:
        reply = client.call("POST", Path.KEYS, body=only_given(given))
        keep(str(reply.body.get("key")))
    return _made(reply, terminal, key_file)


def _days(expires: str) -> int:
    days, rest = divmod(duration_s(expires, "--expires"), _DAY_S)
    if rest or days < 1:
        raise usage("--expires: whole days, such as 90d")
    return int(days)


@command("keys list", view=_LIST_VIEW)
def list_(client: Client) -> Answer:
    """The newest come first. The list shows the permissions of each key and its last use. momo does not store the keys
    themselves.

    Examples:
        momo keys list
    """
    reply = client.get(Path.KEYS)
    following = [] if reply.data else ["momo keys create --help"]
    return Answer(*reply.parts, empty="No API keys yet.", next=following)


@command("keys show", view=view_of(*_FIELDS))
def show(client: Client, terminal: Terminal, key: str = _KEY) -> Answer:
    """It shows the permissions, the end and the last use of the key.

    Examples:
        momo keys show 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
    """
    reply = client.get(path_of(Path.KEY, id=id_of(client, KEYS, key)))
    return Answer(*reply.parts, lines=_lines(reply.data, terminal))


@command("keys rotate", view=_NEW_VIEW)
def rotate(
    client: Client,
    terminal: Terminal,
    key: str = argument("ID", "The old key: its id or name."),
    overlap: str = option("TIME", "How long the old key stays valid; whole hours.", default="24h"),
    key_file: str | None = _KEY_FILE,
) -> Answer:
    """The new key has the same permissions. Both keys work until the overlap is over; change your programs during that
    time. Then the old key ends. --overlap 0 ends it at once, and asks first.

    The new key is shown only now. With --key-file it goes into that file (which must not exist yet; mode 0600) and is
    null in the output.

    Examples:
        momo keys rotate 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
        momo keys rotate 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --overlap 0 --yes
    """
    whole, rest = divmod(duration_s(overlap, "--overlap"), _HOUR_S)
    if rest:
        raise usage("--overlap: whole hours, such as 24h; 0 ends the old key at once")
    hours = int(whole)
    key = id_of(client, KEYS, key)
    asked = "Programs with the old key will be refused from now on. Continue?"
    if not hours and not terminal.confirm(asked):
        return unchanged()
    with secret_file(key_file, "--key-file") as keep:
        path = path_of(Path.KEY_ROTATE, id=key)
        reply = client.post_once(path, {"overlap_hours": hours})
        keep(str(reply.body.get("key")))
    previous = reply.body.get("previous") or {}
    ends = clock(previous.get("expires_at"), terminal) if hours else "now"
    return _made(reply, terminal, key_file, f"  old  {clean(previous.get('hint'))} ends {ends}")


@command("keys revoke", view=view_of(*_FIELDS, "status"))
def revoke(client: Client, terminal: Terminal, key: str = _KEY) -> Answer:
    """Programs with this key are refused from the next call on. Exit 10: not confirmed.

    Examples:
        momo keys revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
    """
    path = path_of(Path.KEY, id=id_of(client, KEYS, key))
    seen = client.get(path)
    if seen.data.get("state") == "revoked":
        said = f"{clean(seen.data.get('hint'))} was ended already."
        return ended(seen, "already_revoked", said, "momo keys create --help")
    if not terminal.flags.yes:
        for line in _lines(seen.data, terminal):
            terminal.complain(line)
        if not terminal.confirm("End this key for good?"):
            return unchanged(seen)
    reply = client.call("DELETE", path)
    said = f"{terminal.tick} Ended {clean(reply.data.get('hint'))}"
    return ended(reply, "revoked", said, "momo keys create --help")


def _made(reply: Reply, terminal: Terminal, key_file: str | None, *old: str) -> Answer:
    """Return the answer with a new key below which the lines `old` stand; without the key if it is in a file."""
    row = {**reply.data, "key": None if key_file else reply.body.get("key")}
    shown = terminal.style(clean(row["key"]), "bold") if row["key"] else f"in {key_file}"
    return Answer(
        dumps({**reply.body, "key": None}) if key_file else reply.text,
        [row],
        lines=[
            f"{terminal.tick} Created a {row['mode']} key: {_may(row)}",
            f"  key  {shown}",
            f"  id   {clean(row['id'])}",
            *old,
        ],
        notes=[*warnings_of(reply.body), *(["Keep the key now: it is not shown again."] if row["key"] else [])],
        next=["momo keys list"],
    )


def _state(row: Row) -> Cell:
    return _STATES.get(str(row.get("state")), Cell(clean(row.get("state"))))


def _may(row: Row) -> str:
    """Return the permissions of a key, in one cell."""
    scopes = set(row.get("scopes") or ())
    if scopes == _ALL_SCOPES:
        return "all permissions"
    return clean(", ".join(sorted(map(str, scopes))))


def _lines(row: Row, terminal: Terminal) -> list[str]:
    cell = _state(row)
    when, origin = ago(row.get("last_used_at"), terminal), clean(row.get("last_used_from"))
    used = " from ".join(part for part in (when, origin) if part) or "never"
    facts = (
        ("key", clean(row.get("hint"))),
        ("name", clean(row.get("name"))),
        ("state", terminal.style(cell.text, cell.style)),
        ("may", _may(row)),
        *([("branch", clean(row["branch"]))] if row.get("branch") else []),
        ("made", ago(row.get("created_at"), terminal)),
        ("ends", clock(row.get("expires_at"), terminal) or "never"),
        ("last used", used),
        ("id", clean(row.get("id"))),
    )
    return fact_lines(facts, 10)


_USER_FIELDS: Final = "name role branch second_factor disabled_at created_at password_at sessions seen_at"
_USERS_VIEW: Final = view_of(
    _USER_FIELDS,
    Head("NAME", lambda row, _: clean(row.get("name"))),
    Head("ROLE", lambda row, _: clean(" of ".join(filter(None, (row.get("role"), row.get("branch")))))),
    Head("STATE", lambda row, _: _user_state(row)),
    Head("SECOND FACTOR", lambda row, _: "on" if row.get("second_factor") else "off"),
    Head("BROWSERS", lambda row, _: str(row.get("sessions"))),
    Head("SEEN", lambda row, t: ago(row.get("seen_at"), t) or "—"),
    id="name",
)
_ROLES: Final = tuple(str(role) for role in Role if role is not Role.OWNER)

_NAME = argument("NAME", "The name of the user.")
_ROLE_NAME = argument("ROLE", "manager, cashier or viewer.")


@command("users list", view=_USERS_VIEW)
def list_users(client: Client) -> Answer:
    """The owner comes first. BROWSERS counts the browsers that are logged in.

    Examples:
        momo users list
    """
    reply = client.get(Path.LOCAL_USERS)
    return Answer(*reply.parts, next=["momo users add --help"])


@command("users add", view=view_of(_USER_FIELDS, id="name"))
def add(
    client: Client,
    terminal: Terminal,
    name: str = _NAME,
    role: str = _ROLE_NAME,
    password_file: str | None = NEW_PASSWORD_FILE,
    branch: str | None = _OF_BRANCH,
) -> Answer:
    """A manager may do everything but keys, secrets and users. A cashier serves customers and sees no whole phone numbers.
    A viewer only reads. A user with --branch sees and does nothing of other branches or of head office.

    Examples:
        momo users add ama cashier
        momo users add books viewer --password-file pw.txt
    """
    if role not in _ROLES:
        raise usage(f"the role must be one of {', '.join(_ROLES)}")
    password = new_password(terminal, password_file, f"Choose a password for {clean(name)}")
    body = only_given({"name": name, "role": role, "password": password, "branch": branch})
    reply = client.call("POST", Path.LOCAL_USERS, body=body)
    said = f"{terminal.tick} {clean(name)} may log in as {role}."
    return Answer(*reply.parts, lines=[said], next=["momo open"])


@command("users role", view=view_of(_USER_FIELDS, id="name"))
def role_(client: Client, terminal: Terminal, name: str = _NAME, role: str = _ROLE_NAME) -> Answer:
    """It ends the sessions of the user.

    Examples:
        momo users role ama manager
    """
    if role not in _ROLES:
        raise usage(f"the role must be one of {', '.join(_ROLES)}")
    reply = client.call("PATCH", path_of(Path.LOCAL_USER, name=name), body={"role": role})
    return Answer(*reply.parts, lines=[f"{terminal.tick} {clean(name)} is {role} now and has to log in again."])


@command("users disable", view=view_of(_USER_FIELDS, id="name"))
def disable(
    client: Client, terminal: Terminal, name: str = _NAME, enable: bool = flag("Let the user log in again.")
) -> Answer:
    """A disabled user is logged out at once. The journal keeps what the user did.

    Examples:
        momo users disable ama
    """
    body = {"disabled": not enable}
    reply = client.call("PATCH", path_of(Path.LOCAL_USER, name=name), body=body)
    done = "may log in again" if enable else "is disabled and logged out"
    return Answer(*reply.parts, lines=[f"{terminal.tick} {clean(name)} {done}."])


@command("users reset", view=view_of(_USER_FIELDS, id="name"))
def reset(
    client: Client,
    terminal: Terminal,
    name: str = _NAME,
    second_factor: bool = flag("Switch the second factor off, and keep the password."),
    password_file: str | None = NEW_PASSWORD_FILE,
) -> Answer:
    """It ends the sessions of the user. With both flags it does both. It works while the clock is wrong.

    Examples:
        momo users reset ama
        momo users reset ama --second-factor
    """
    body: dict[str, object] = {"second_factor": second_factor}
    if password_file is not None or not second_factor:
        question = f"Choose a password for {clean(name)}"
        body["password"] = new_password(terminal, password_file, question)
    reply = client.call("POST", path_of(Path.LOCAL_USER_RESET, name=name), body=body)
    done = [
        text
        for text, is_done in (("has a new password", "password" in body), ("needs no second factor", second_factor))
        if is_done
    ]
    return Answer(*reply.parts, lines=[f"{terminal.tick} {clean(name)} {' and '.join(done)}."])


def _user_state(row: Row) -> Cell:
    return Cell("✗ disabled", "red") if row.get("disabled_at") else Cell("✓ active", "green")


@command("users password")
def set_(client: Client, terminal: Terminal, password_file: str | None = NEW_PASSWORD_FILE) -> Answer:
    """Every dashboard session ends. The user that runs momo, or root, needs no old password. It works with and without a
    running daemon.

    Examples:
        momo users password
    """
    password = new_password(terminal, password_file)
    if client.alive():
        text = client.call("POST", Path.LOCAL_PASSWORD, body={"password": password}).text
    else:
        text = run_verb(terminal, "password-set", "--json", stdin=password).text
    said = f"{terminal.tick} The owner has a new password; every session has ended."
    return Answer(text, lines=[said])
