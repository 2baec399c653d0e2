"""The commands about sources of messages besides AT modems: HiLink sticks and Android phones."""

import json
import shlex
from typing import Annotated, Any, Final

from daemon.wire import Path, SourceKind
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.files import secret_file as keep_in
from momo_cli.inputs.parameters import SecretFile, argument, option
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Cell, Head, Row, document_of, dumps, made, view_of
from momo_cli.show.qr import drawn
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean

_FIELDS: Final = (
    "name kind enabled trust_level may_pay state detail next url heard_at refused refused_at"
)
_LIST_VIEW: Final = view_of(
    _FIELDS,
    Head("SOURCE", lambda row, _: clean(row["name"])),
    Head("KIND", lambda row, _: clean(row["kind"])),
    Head("STATE", lambda row, _: _state(row)),
    Head("PAYS", lambda row, _: _pays(row)),
    Head("HEARD", lambda row, t: ago(row.get("heard_at"), t) or "—"),
    Head("REFUSED", lambda row, _: str(row.get("refused") or 0), right=True),
    id="name",
)
_ADDED_VIEW: Final = view_of("name path changed restart", id="name")
_KEY_VIEW: Final = view_of("name key url", id="key")
_ADDABLE: Final = (SourceKind.ANDROID.value, SourceKind.HILINK.value)

_Name = Annotated[str, argument("NAME", "The source: its name in config.toml.")]


@command("phones sources", view=_LIST_VIEW)
def list_(client: Client) -> Answer:
    """List the sources besides AT modems.

    HEARD is when an Android phone last posted something, REFUSED how many posts had a wrong signature or time.

    Examples:
        momo phones sources
        momo phones sources --json
    """
    reply = client.get(Path.LOCAL_SOURCES)
    following = [at(row, "next") for row in reply.data if str(row.get("next")).startswith("momo ")]
    return Answer(
        *reply.parts,
        empty="No source besides AT modems.",
        next=[clean(each) for each in following] or ["momo phones status"],
    )


@command("phones add", view=_ADDED_VIEW)
def add(
    client: Client,
    terminal: Terminal,
    kind: Annotated[str, argument("KIND", f"One of {', '.join(_ADDABLE)}.")],
    name: Annotated[str, argument("NAME", "A name: small letters, digits, dashes.")],
    network: Annotated[
        list[str] | None,
        option("NETWORK", "Android: mtn, telecel, at or none; repeat for SIM 2."),
    ] = None,
    may_pay: Annotated[
        bool, option("--may-pay", "Android: its messages may pay, as you accept its risk.")
    ] = False,
    phone: Annotated[
        str | None, option("URL", "Android: the app's local server, to ask for missed SMS.")
    ] = None,
    user: Annotated[str | None, option("NAME", "The user of that server, or of the stick.")] = None,
    url: Annotated[str | None, option("URL", "HiLink: the stick's address.")] = None,
) -> Answer:
    """Add a source of messages.

    It is written to config.toml; the daemon reads it after a restart. An Android phone then needs a signing key: momo
    phones rotate-key. Without --may-pay its messages are history and pay nothing. docs/sources.md shows what to press.

    Examples:
        momo phones add android phone1 --network mtn --may-pay
        momo phones add android phone2 --network mtn --network telecel --phone http://192.168.1.23:8080 --user sms
        momo phones add hilink stick --url http://192.168.8.1
    """
    if kind not in _ADDABLE:
        raise usage(f"{kind!r} is no kind of source; there are {', '.join(_ADDABLE)}")
    given = {
        "networks": network,
        "may_pay": may_pay or None,
        "phone_url": phone,
        "user": user,
        "url": url,
    }
    entry: dict[str, Any] = {"name": name, "kind": kind}
    entry |= {key: value for key, value in given.items() if value is not None}
    done = run_verb(terminal, "config", "--json", "add-source", "--", json.dumps(entry))
    row: dict[str, Any] = {**done.body["data"]}
    row["restart"] = bool(row["changed"]) and client.alive()
    word = "is added to" if row["changed"] else "is already in"
    following = ["momo daemon restart"] if row["restart"] else []
    if kind == SourceKind.ANDROID:
        following.append(f"momo phones rotate-key {name}")
        following += [f"momo phones password {name}"] if phone is not None else []
    else:
        following.append("momo phones status")
    notes = []
    if kind == SourceKind.ANDROID and not may_pay:
        notes.append("Its messages pay nothing: without --may-pay they are history.")
    return Answer(
        *made(row),
        lines=[f"{terminal.tick} {clean(name)} {word} {clean(row['path'])}"],
        notes=notes,
        next=following,
    )


@command("phones remove", view=_ADDED_VIEW)
def remove(client: Client, terminal: Terminal, name: _Name) -> Answer:
    """Remove a source.

    Its entry is removed from config.toml, and its key and password are deleted. Its messages and payments stay.

    Examples:
        momo phones remove phone1
    """
    row: dict[str, Any] = {
        **run_verb(terminal, "config", "--json", "remove-source", "--", name).body["data"]
    }
    row["restart"] = alive = client.alive()
    if alive:
        client.call("DELETE", path_of(Path.LOCAL_SOURCE, name=name))
    return Answer(
        *made(row),
        lines=[f"{terminal.tick} {clean(name)} is removed."],
        next=["momo daemon restart"] if alive else [],
    )


@command("phones rotate-key", view=_KEY_VIEW)
def rotate_key(
    client: Client,
    terminal: Terminal,
    name: _Name,
    secret_file: SecretFile = None,
    qr: Annotated[bool, option("--qr", "Also show the key as a QR code for the phone.")] = False,
) -> Answer:
    """Make a signing key for an Android phone.

    The key is shown only now, with what to enter in the app. A new key replaces the one of before at once: posts with
    the old one are refused, and the app repeats them for two days, so enter the new key soon. With --secret-file the
    key goes into that file (which must not exist yet; mode 0600) and is null in the output.

    Examples:
        momo phones rotate-key phone1 --qr
        momo phones rotate-key phone1 --secret-file phone1.key --quiet
    """
    with keep_in(secret_file, "--secret-file") as keep:
        reply = client.call("POST", path_of(Path.LOCAL_SOURCE_KEY, name=name))
        row: dict[str, Any] = dict(reply.data)
        keep(str(row["key"]))
    document = reply.parts[0]
    if secret_file is not None:
        row["key"] = None
        document = document_of(row)
    notes = []
    if not str(row["url"]).startswith("https:"):
        notes.append("The app posts over HTTPS only: momo daemon certificate create")
    return Answer(
        document,
        [row],
        lines=_instructions(row, terminal, secret_file),
        verbatim=[*_commands(row), *(_code(row, terminal) if qr else [])],
        notes=notes,
        next=["momo phones sources"],
    )


def _instructions(row: Row, terminal: Terminal, file: str | None) -> list[str]:
    key = f"in {file}" if row["key"] is None else terminal.style(clean(row["key"]), "bold")
    return [
        f"{terminal.tick} The signing key of {clean(row['name'])} is made. It is shown only now.",
        f"  key  {key}",
        f"  url  {clean(row['url'])}",
        "In the app SMS Gateway for Android (docs/sources.md has pictures):",
        "  1. Settings, Webhooks: Signing key = the key; Require internet connection = off",
        f"  2. Settings, Ping: {round(row['ping_s'])} seconds",
        "  3. Home: Local server = on; press Offline until it says Online",
        "  4. On this computer, with the address, user and password that Home shows:",
    ]


def _commands(row: Row) -> list[str]:
    """Return the commands that set the app's webhook addresses; it has no screen for that."""
    phone = clean(row["phone_url"]) or "http://PHONE:8080"
    user = clean(row["user"])
    lines = []
    for event in ("sms:received", "system:ping"):
        body = dumps({"url": row["url"], "event": event})
        kind = "Content-Type: application/json"
        lines.append(shlex.join(["curl", "-u", user, "-H", kind, "-d", body, f"{phone}/webhooks"]))
    return lines


def _code(row: Row, terminal: Terminal) -> list[str]:
    """Return the key as a QR code: the phone's camera copies it."""
    if row["key"] is None:
        return []
    return ["", *drawn(str(row["key"]), terminal)]


def _state(row: Row) -> Cell:
    state = clean(row["state"])
    if state == "ready":
        return Cell("✓ ready", "green")
    return Cell(f"! {state.replace('_', ' ')}", "yellow")


def _pays(row: Row) -> str:
    if row.get("may_pay") is False:
        return "no (history)"
    return "if it joins" if row.get("trust_level") != "full" else "yes"
