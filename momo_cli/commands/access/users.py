"""Commands about the users of the dashboard, and the owner's password."""

from typing import Final

from daemon.wire import Path, Role
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import NEW_PASSWORD_FILE, argument, flag
from momo_cli.inputs.passwords import new_password
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Cell, Head, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import clean

_FIELDS: Final = "name role second_factor disabled_at created_at password_at sessions seen_at"
_LIST_VIEW: Final = view_of(
    _FIELDS,
    Head("NAME", lambda row, _: clean(row.get("name"))),
    Head("ROLE", lambda row, _: clean(row.get("role"))),
    Head("STATE", lambda row, _: _state(row)),
    Head("SECOND FACTOR", lambda row, _: "on" if row.get("second_factor") else "off"),
    Head("BROWSERS", lambda row, _: str(row.get("sessions"))),
    Head("SEEN", lambda row, t: ago(row.get("seen_at"), t) or "—"),
    id="name",
)
_ROLES: Final = tuple(str(role) for role in Role if role is not Role.OWNER)

_NAME = argument("NAME", "The name of the user.")
_ROLE_NAME = argument("ROLE", "manager, cashier or viewer.")


@command("users list", view=_LIST_VIEW)
def list_(client: Client) -> Answer:
    """List the users of the dashboard.

    The owner comes first. BROWSERS counts the browsers that are logged in.

    Examples:
        momo users list
    """
    reply = client.get(Path.LOCAL_USERS)
    return Answer(*reply.parts, next=["momo users add --help"])


@command("users add", view=view_of(_FIELDS, id="name"))
def add(
    client: Client,
    terminal: Terminal,
    name: str = _NAME,
    role: str = _ROLE_NAME,
    password_file: str | None = NEW_PASSWORD_FILE,
) -> Answer:
    """Add a user of the dashboard.

    A manager may do everything but keys, secrets and users. A cashier serves customers and sees no whole phone numbers.
    A viewer only reads.

    Examples:
        momo users add ama cashier
        momo users add books viewer --password-file pw.txt
    """
    if role not in _ROLES:
        raise usage(f"the role must be one of {', '.join(_ROLES)}")
    password = new_password(terminal, password_file, f"Choose a password for {clean(name)}")
    body = {"name": name, "role": role, "password": password}
    reply = client.call("POST", Path.LOCAL_USERS, body=body)
    said = f"{terminal.tick} {clean(name)} may log in as {role}."
    return Answer(*reply.parts, lines=[said], next=["momo open"])


@command("users role", view=view_of(_FIELDS, id="name"))
def role_(client: Client, terminal: Terminal, name: str = _NAME, role: str = _ROLE_NAME) -> Answer:
    """Give a user another role.

    It ends the sessions of the user.

    Examples:
        momo users role ama manager
    """
    if role not in _ROLES:
        raise usage(f"the role must be one of {', '.join(_ROLES)}")
    reply = client.call("PATCH", path_of(Path.LOCAL_USER, name=name), body={"role": role})
    return _said(reply, f"{terminal.tick} {clean(name)} is {role} now and has to log in again.")


@command("users disable", view=view_of(_FIELDS, id="name"))
def disable(
    client: Client,
    terminal: Terminal,
    name: str = _NAME,
    enable: bool = flag("Let the user log in again."),
) -> Answer:
    """Disable a user, or enable the user again.

    A disabled user is logged out at once. The journal keeps what the user did.

    Examples:
        momo users disable ama
        momo users disable ama --enable
    """
    body = {"disabled": not enable}
    reply = client.call("PATCH", path_of(Path.LOCAL_USER, name=name), body=body)
    done = "may log in again" if enable else "is disabled and logged out"
    return _said(reply, f"{terminal.tick} {clean(name)} {done}.")


@command("users reset", view=view_of(_FIELDS, id="name"))
def reset(
    client: Client,
    terminal: Terminal,
    name: str = _NAME,
    second_factor: bool = flag("Switch the second factor off, and keep the password."),
    password_file: str | None = NEW_PASSWORD_FILE,
) -> Answer:
    """Set a new password of a user, or switch the second factor off.

    It ends the sessions of the user. With both flags it does both. It works while the clock is wrong.

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
        for text, is_done in (
            ("has a new password", "password" in body),
            ("needs no second factor", second_factor),
        )
        if is_done
    ]
    return _said(reply, f"{terminal.tick} {clean(name)} {' and '.join(done)}.")


def _said(reply: Reply, text: str) -> Answer:
    return Answer(*reply.parts, lines=[text])


def _state(row: Row) -> Cell:
    return Cell("✗ disabled", "red") if row.get("disabled_at") else Cell("✓ active", "green")


@command("users password")
def set_(
    client: Client, terminal: Terminal, password_file: str | None = NEW_PASSWORD_FILE
) -> Answer:
    """Set a new owner's password.

    Every dashboard session ends. The user that runs momo, or root, needs no old password. It works with and without a
    running daemon.

    Examples:
        momo users password
        momo users password --password-file pw.txt
    """
    password = new_password(terminal, password_file)
    if client.alive():
        text = client.call("POST", Path.LOCAL_PASSWORD, body={"password": password}).text
    else:
        text = run_verb(terminal, "password-set", "--json", stdin=password).text
    said = f"{terminal.tick} The owner has a new password; every session has ended."
    return Answer(text, lines=[said])
