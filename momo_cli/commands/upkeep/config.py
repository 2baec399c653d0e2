"""The commands about the settings, and api."""

import json
import os
import shlex
import shutil
import subprocess
import tomllib
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.typed_values import read_json
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Cell, Head, View, document_of, dumps, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_SETTING: Final = "key value default origin meaning changed_by live"

_EMPTY: Final = "# The settings of this shop: docs/operators/configuration.md, momo config show.\n"

_KEY = argument("KEY", "Such as http.bind.")


def _table(*, origin: bool, **_: object) -> View:
    heads = [
        Head("SETTING", lambda row, _: clean(row["key"])),
        Head("VALUE", lambda row, _: _readable(row["value"]), cut=True),
    ]
    if origin:
        style = {"default": "dim"}
        heads.append(Head("FROM", lambda row, _: Cell(clean(row["origin"]), style.get(row["origin"], ""))))
    return view_of(_SETTING, *heads, id="key")


@command("config show", view=_table)
def show(
    client: Client,
    terminal: Terminal,
    origin: bool = flag("Show the origin of each value."),  # noqa: ARG001  # the view uses it
    changed: bool = flag("Only settings set in a file."),
) -> Answer:
    """With --origin the file and line of each value are shown too. A setting whose change waits for the next start of the
    daemon is named.

    Examples:
        momo config show
        momo config show --origin
    """
    done = run_verb(terminal, "config", "show", "--json")
    rows = [row for row in done.body["data"] if not changed or row["origin"] != "default"]
    state = at(client.find(Path.LOCAL_STATUS), "settings") if client.alive() else None
    waiting, problem = at(state, "restart") or (), clean(at(state, "problem"))
    notes = [f"{clean(key)} takes effect at the next start." for key in waiting]
    return Answer(
        json.dumps({"success": True, "data": rows}, ensure_ascii=False),
        rows,
        notes=[*notes, *([f"The daemon uses the settings before: {problem}"] if problem else [])],
        empty="No file sets anything; all settings have their default.",
        next=["momo daemon restart"] if waiting else ["momo config set --help"],
    )


def _readable(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "—"
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value) or "—"


@command("config get", view=view_of(_SETTING, id="value"))
def get(terminal: Terminal, key: str = _KEY) -> Answer:
    """In a pipe only its value is printed.

    Examples:
        momo config get http.bind
    """
    done = run_verb(terminal, "config", "--json", "get", "--", key.strip())
    value, origin = done.data["value"], terminal.style(f"({clean(done.data['origin'])})", "dim")
    text = clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    acts = "A change acts at once." if done.data["live"] else "A change acts at the next start."
    lines = [f"{text or '—'}  {origin}", clean(done.data["meaning"]), acts]
    return Answer(*done.parts, lines=lines, plain=text)


@command("config set", view=view_of("key value old path changed live restart", id="key"))
def set_(
    client: Client,
    terminal: Terminal,
    key: str = _KEY,
    value: str | None = argument("VALUE", "The new value.", default=None),
    default: bool = flag("Set the default, instead of a VALUE."),
) -> Answer:
    """It is changed in the shop's config.toml. Comments and everything else in the file stay. An invalid value is refused
    before anything is written (exit 78). A list is separated by commas. --default removes the setting from the file.
    The running daemon uses some settings at once; the answer names one that waits for its next start. A folder for second
    copies (backup.also_to, backup.messages_to) must exist; on another disk its last part is created.

    Examples:
        momo config set http.bind 127.0.0.1:9000
        momo config set webhooks.allow_private_hosts till.local,books.local
        momo config set webhooks.timeout_s --default
    """
    if (value is None) != default:
        raise usage("give a VALUE or --default", "momo config set --help")
    words = ("unset", "--", key.strip()) if value is None else ("set", "--", key.strip(), value)
    done = run_verb(terminal, "config", "--json", *words)
    row: dict[str, Any] = {**done.body["data"], "restart": False}
    # A value written for the first time may equal the default.
    is_new = bool(row["changed"]) and row["value"] != row["old"] and client.alive()
    row["restart"] = is_new and not row["live"]
    said = f"{row['key']} is {_quoted(row['value'])} already."
    if row["changed"]:
        now, old = _quoted(row["value"]), _quoted(row["old"])
        said = f"{terminal.tick} {row['key']} = {now} (was {old})"
    notes = [f"! {clean(row['warning'])}."] if row.get("warning") else []
    if row["restart"]:
        notes += ["It takes effect at the next start; until then the daemon uses the old value."]
    elif is_new:
        notes += ["The running daemon uses it within a few seconds."]
    following = ["momo daemon restart"] if row["restart"] else []
    return Answer(*made(row), lines=[said], notes=notes, next=following)


def _quoted(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(clean(item) for item in value)}]"
    if isinstance(value, bool):
        return _readable(value)
    return "—" if value is None else clean(value) or '""'


@command("config edit", view=view_of("path changed restart", id="path"))
def edit(client: Client, terminal: Terminal) -> Answer:
    """The editor is VISUAL, EDITOR, or else nano or vi. You edit a copy; it replaces the file if it is valid. An invalid
    copy is kept: on a terminal you can edit it again, otherwise its path is shown.

    Examples:
        momo config edit
        EDITOR=nano momo config edit
    """
    path = terminal.located.places.config
    copy = f"{path}.edit.toml"
    before = _read(path)
    try:
        system.make_own_folder(os.path.dirname(path))  # noqa: PTH120  # no pathlib here
        with open(system.open_own(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as out:  # noqa: PTH123 -- pathlib is not needed here
            out.write(before or _EMPTY)
    except OSError as problem:
        raise Failure(ErrorCode.INTERNAL_ERROR, f"{copy}: {problem.strerror}") from None
    environ, old = terminal.located.environ, _waiting(terminal)
    editors = [name for name in ("nano", "vi") if shutil.which(name, path=environ.get("PATH"))]
    words = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "") or editors[:1]
    if not words:
        raise usage("no editor was found: name one in EDITOR", "momo config set --help")
    while True:
        subprocess.run([*words, copy], env=environ, check=False)  # noqa: S603  # the user's own editor
        try:
            run_verb(terminal, "config", "--json", "validate", copy)
            break
        except Failure as failure:
            if not terminal.can_ask():
                failure.facts["copy"] = copy
                raise
            terminal.complain(f"✗ {failure.message}")
            if not terminal.yes_or_no("Edit it again?", "a valid one", default=True):
                os.unlink(copy)  # noqa: PTH108 -- pathlib is not needed here
                return _answer(terminal, path, "cancelled", restart=False)
    if _read(copy) == (before or _EMPTY):
        os.unlink(copy)  # noqa: PTH108 -- pathlib is not needed here
        return _answer(terminal, path, "unchanged", restart=False)
    os.replace(copy, path)  # noqa: PTH105 -- pathlib is not needed here
    restart = _waiting(terminal) != old and client.alive()
    return _answer(terminal, path, "changed", restart=restart)


def _waiting(terminal: Terminal) -> object:
    """Return the settings whose change waits for the next start; None if the file is not valid."""
    try:
        rows = run_verb(terminal, "config", "show", "--json").body["data"]
        sources = tomllib.loads(_read(terminal.located.places.config)).get("sources")
    except (Failure, tomllib.TOMLDecodeError):
        return None
    return [(row["key"], row["value"]) for row in rows if not row["live"]], sources


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # no pathlib needed
            return file.read()
    except FileNotFoundError:
        return ""


def _answer(terminal: Terminal, path: str, status: str, *, restart: bool) -> Answer:
    row: dict[str, Any] = {"path": path, "changed": status == "changed", "restart": restart}
    saved = f"{terminal.tick} Saved: {path}"
    return Answer(
        *made(row),
        lines=[saved if status == "changed" else "Nothing was changed."],
        next=["momo daemon restart"] if restart else [],
        exit_code=exit_codes.CANCELLED if status == "cancelled" else exit_codes.OK,
    )


@command("config validate", view=view_of("path valid", id="path"))
def validate(
    terminal: Terminal, file: str | None = argument("[FILE]", "A file; default: the shop's.", default=None)
) -> Answer:
    """Nothing is started. Exit 78 if they are wrong, with the file, the line and the nearest known key.

    Examples:
        momo config validate new.toml
    """
    done = run_verb(terminal, "config", "--json", "validate", *([file] if file else []))
    return Answer(*done.parts, lines=[f"{terminal.tick} {clean(done.data['path'])} is valid."])


@command("config path", view=view_of("path exists", id="path"))
def print_path(terminal: Terminal) -> Answer:
    """The path is printed even if the file does not exist.

    Examples:
        momo config path
    """
    path = terminal.located.places.config
    row = {"path": path, "exists": os.path.exists(path)}  # noqa: PTH110  # no pathlib needed
    return Answer(*made(row), lines=[path], plain=path)


_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_OURS: Final = ("host", "content-length", "connection", "transfer-encoding")
"""Headers of the connection, which the client sets."""


@command("api")
def api(
    client: Client,
    terminal: Terminal,
    method: str = argument("METHOD", "GET, POST, PUT, PATCH, DELETE."),
    path: str = argument("PATH", "/v1/... with its query."),
    data: str | None = option("-d", "--data", "JSON|@FILE", "The body."),
    header: list[str] | None = option("-H", "--header-line", "NAME:VALUE", "A header."),
    include: bool = flag("-i", "--include", "Show the status and the headers too."),
) -> Answer:
    """The call is made as the shop's owner. PATH is a path of docs/developers/api.md, with its query. -d sends a JSON body: as it is,
    from a file after @, or from stdin with @-. --include shows the status and the headers of a successful response
    first. The response is printed unchanged; an error exits as for any other command.

    Examples:
        momo api GET /v1/transactions?status=PENDING
        momo api POST /v1/transactions/initialize -d '{"amount": "12.50", "phone_number": "0244124567"}'
        momo api PUT /v1/open-collections/endpoints/b91f0c1e-7d2b-4c3d-9e4f-0123456789ab -d @change.json
    """
    verb = method.upper()
    if verb not in _METHODS:
        raise usage(f"METHOD: {method!r} is not one of {', '.join(_METHODS)}")
    if not path.startswith("/") or not path.isascii() or any(c.isspace() for c in path):
        raise usage(f"PATH: {path!r} is not a path of the API, such as /v1/transactions")
    headers = dict(_header(each) for each in header or ())
    body = None if data is None else read_json(data, "-d")
    try:
        reply = client.raw(verb, path, body, headers)
    except Failure as failure:
        if failure.body:
            failure.shown = _for_people(failure.body) if terminal.human else dumps(failure.body)
        raise
    head = [f"HTTP/1.1 {reply.status}", *(f"{n}: {v}" for n, v in reply.headers), ""]
    text = reply.text.rstrip("\n")
    if terminal.human and reply.body:
        text = _for_people(reply.body)
    shown = [*(head if include else ()), *text.splitlines()]
    document = reply.text or document_of(None)
    if not reply.body and reply.text:
        document = document_of(reply.text)
    return Answer(document, verbatim=shown, plain="\n".join(shown))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or not (name + value).isascii() or not value.isprintable():
        raise usage(f"-H: {text!r} is not NAME: VALUE")
    if name.lower() in _OURS:
        raise usage(f"-H: {name} is a header of the connection")
    return name, value


def _for_people(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)
