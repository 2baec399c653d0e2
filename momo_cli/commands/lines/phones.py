"""Commands about phones: modems, sticks and Android phones."""

import contextlib
import json
import shlex
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from daemon.wire import ErrorCode, Path, SourceKind
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import SECRET_FILE, argument, flag, option
from momo_cli.inputs.typed_values import owners_password
from momo_cli.inputs.typed_values import secret_file as keep_in
from momo_cli.service import manager, modem_manager
from momo_cli.service.daemon_program import run_verb, start_daemon, stop_daemon
from momo_cli.show.answer import Answer, Cell, Head, Row, document_of, dumps, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, drawn, phone, styled
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean
from momo_cli.views.lines import (
    MODEMS_VIEW,
    TROUBLE_FAIL,
    find_modem,
    modem_lines,
    modem_name,
    network,
    signal,
    storage,
    trouble_lines,
)

_OK: Final = Cell("✓", "green")
_WRONG: Final = Cell("✗", "red")
_LIMIT_S: Final = 90.0
"""A network may take a minute to say that it has an SMS."""
_POLL_S: Final = 0.25
_UNDER_WAY: Final = ("queued", "sending")
_ENDS: Final = {
    "sent": (_OK, "the network took the SMS to {number}"),
    "failed": (_WRONG, "the SMS to {number} was not sent"),
    "unknown": (Cell("!", "yellow"), "the SMS to {number} may or may not have been sent"),
    "expired": (_WRONG, "the SMS to {number} was not sent in time"),
}
_WAITS: Final = (Cell("…", "dim"), "the SMS to {number} is still under way")
_PERMANENT: Final = "To make it permanent: momo phones udev-rule"

_MODEM = argument("MODEM", "Its name, id or port: momo phones status.")


@command("phones status", view=MODEMS_VIEW)
def list_(client: Client) -> Answer:
    """The list shows the signal, the messages on the SIM and the trouble of each. TROUBLE is one word; `momo phones show`
    explains it and names the remedy.

    Examples:
        momo phones status
    """
    reply = client.get(Path.LOCAL_MODEMS)
    names = [modem_name(row) for row in reply.data or () if row.get("troubles")][:1]
    return Answer(
        *reply.parts,
        empty="No modem was found. Plug one in, or type: momo doctor modem",
        next=[f'momo phones show "{name}"' if " " in name else f"momo phones show {name}" for name in names],
    )


@command("phones show", view=MODEMS_VIEW)
def show(client: Client, terminal: Terminal, modem: str = _MODEM) -> Answer:
    """It shows signal (now and over 24 hours), network, SIM and storage, and the troubles with their remedies.

    Examples:
        momo phones show front-desk
    """
    row = find_modem(client, modem)
    if row.get("device_id") is None:
        return Answer(document_of(row), [row], lines=modem_lines(row, terminal))
    reply = client.get(path_of(Path.LOCAL_MODEM, id=row["device_id"]))
    return Answer(*reply.parts, lines=modem_lines(reply.data, terminal))


@command("phones test", view=view_of(*MODEMS_VIEW.fields, "answered took_ms sms=sms.status", id=MODEMS_VIEW.id))
def check(
    client: Client,
    terminal: Terminal,
    modem: str = _MODEM,
    send_to: str | None = option("--send-to", "Send an SMS from it to this number, and show the result."),
) -> Answer:
    """The signal, the network, the storage and the SIM are checked. The daemon queries the modem between two messages, so
    reading is not disturbed. Exit 6: no message can come in. With --send-to momo then sends one SMS from it. The
    network charges for the SMS, so momo asks first. Exit 6: the SMS was not sent. Exit 8: its result is not known yet.

    Examples:
        momo phones test front-desk
        momo phones test front-desk --send-to 0244124567 --yes
    """
    if send_to is not None:
        _check_sending(terminal, send_to)
    row = find_modem(client, modem)
    if send_to is not None and row.get("simulated"):
        raise Failure(ErrorCode.SIM_NOT_FOUND, f"{modem_name(row)} is simulated: no SMS leaves it")
    if row.get("device_id") is None:
        row = {**row, "answered": False, "took_ms": None}
        text = document_of(row)
    else:
        reply = client.call("POST", path_of(Path.LOCAL_MODEM_TEST, id=row["device_id"]))
        row, text = reply.data, reply.text
    failing = any(trouble.get("level") == TROUBLE_FAIL for trouble in row.get("troubles") or ())
    well = bool(row.get("answered")) and not failing
    lines = [terminal.style(modem_name(row), "bold"), *_result_lines(row, terminal)]
    if send_to is None or not well:
        if send_to is not None:
            text = document_of({**row, "sms": None})
            lines.append("No SMS was sent.")
        return Answer(
            text,
            [row],
            lines=lines,
            next=() if well else ["momo doctor modem"],
            exit_code=exit_codes.OK if well else exit_codes.FINDINGS,
        )
    if terminal.human and not terminal.flags.yes:
        # The operator sees the modem's answer before the question.
        for line in lines:
            terminal.note(line)
        lines = []
    asked = f"Send an SMS from {modem_name(row)} to {clean(send_to)}? The network charges for it."
    if not terminal.confirm(asked):
        document, code = document_of({**row, "sms": None}), exit_codes.CANCELLED
        return Answer(document, [row], lines=["No SMS was sent."], exit_code=code)
    device_id = row["device_id"]
    path = path_of(Path.LOCAL_MODEM_TEXTS, id=device_id)
    sms = client.call("POST", path, body={"number": send_to}).data
    terminal.note("Sending; a network may take a minute…")
    path = path_of(Path.LOCAL_MODEM_TEXT, id=device_id, text_id=sms["id"])
    sms = _wait(client, path, sms, terminal.flags.timeout_s)
    status = clean(sms.get("status"))
    mark, sentence = _ENDS.get(status, _WAITS)
    why = f": {clean(sms['why'])}" if sms.get("why") else ""
    row = {**row, "sms": sms}
    codes = {"sent": exit_codes.OK} | dict.fromkeys(_UNDER_WAY, exit_codes.PENDING)
    return Answer(
        *made(row),
        lines=[*lines, f"{styled(mark, terminal)} {sentence.format(number=phone(sms.get('number')))}{why}"],
        next=["momo doctor modem"] if status == "failed" else (),
        exit_code=codes.get(status, exit_codes.FINDINGS),
    )


def _check_sending(terminal: Terminal, number: str) -> None:
    """Reject an SMS that could not be sent, before the modem is queried (exit 2)."""
    from parsers.phone import read_phone  # noqa: PLC0415  # only --send-to needs the number plans

    if read_phone(number.strip()) is None:
        form = "write for example 0244124567"
        raise usage(f"--send-to: {clean(number)!r} is no phone number; {form}")
    if not terminal.flags.yes and not terminal.can_ask():
        raise usage("an SMS costs money: give --yes, or use a terminal on which momo can ask")


def _wait(client: Client, path: str, sms: Any, limit_s: float | None) -> Any:
    """Poll the SMS until its status is final or the time limit is over; a limit of 0 means none."""
    limit_s = _LIMIT_S if limit_s is None else limit_s
    started = system.monotonic()
    while sms.get("status") in _UNDER_WAY:
        if limit_s and system.monotonic() - started >= limit_s:
            break
        client.pause(_POLL_S)
        sms = client.get(path).data
    return sms


def _result_lines(row: Row, terminal: Terminal) -> Iterator[str]:
    mark = styled(_OK, terminal)
    if row.get("answered"):
        yield f"{mark} it answers ({row.get('took_ms')} ms)"
        ids = {trouble.get("id") for trouble in row.get("troubles") or ()}
        if row.get("signal") and "modem.signal" not in ids:
            yield f"{mark} signal {signal(row, terminal)}"
        if row.get("registration") and "modem.network" not in ids:
            yield f"{mark} network {network(row)}"
        if row.get("storage") and not ids & {"modem.full", "modem.nearly_full"}:
            yield f"{mark} the SIM holds {storage(row)} messages"
        if last := ago(row.get("last_sms_at"), terminal):
            yield f"{mark} last SMS {last}"
    elif not row.get("troubles"):
        yield f"{styled(Cell('✗', 'red'), terminal)} it does not answer"
    yield from trouble_lines(row, terminal)


@command("phones release", view=view_of("port device_id state manager uid pid", id="device_id"))
def release(client: Client, terminal: Terminal, modem: str = _MODEM) -> Answer:
    """If ModemManager has taken the modem, momo cannot read it. This runs ModemManager's mmcli in the background. The
    release lasts until the computer restarts or that program ends; momo phones udev-rule makes it permanent. If
    ModemManager does not have the modem, that is a success.

    Examples:
        momo phones release front-desk
    """
    row: Row = {"port": modem, "device_id": None}
    if not modem.startswith("/dev/"):
        row = find_modem(client, modem)
    result: dict[str, Any] = {"port": row.get("port"), "device_id": row.get("device_id"), "state": "already_released"}
    done = modem_manager.release_modem(str(result["port"]), terminal.located.environ, client.pause)
    result |= {"manager": done.manager, "uid": done.uid, "pid": done.pid}
    if done.pid is not None:
        result["state"] = "released"
    lines: list[str] = []
    name = modem_name(row)
    if not result["manager"]:
        lines.append(f"There is no ModemManager here (no mmcli): {name} is not taken by it.")
    elif result["pid"] is None:
        lines.append(f"ModemManager does not have {name}. It may still take it when it is plugged in.")
        lines.append(_PERMANENT)
    else:
        lines.append(terminal.style(f"✓ ModemManager has released {name}.", "green"))
        lines.append(f"It lasts until this computer restarts, or until: kill {result['pid']}")
        lines.append(_PERMANENT)
    return Answer(*made(result), lines=lines)


@command("phones udev-rule", view=view_of("path text", id="path"))
def udev_rule() -> Answer:
    """With this file ModemManager ignores the modems for ever, their ports belong to group dialout, and they are not put to
    sleep. It covers every modem of the makers that it names. The .deb and momo daemon install --system install it. After
    writing it, restart the computer, or type: sudo udevadm control --reload && sudo udevadm trigger.

    Examples:
        momo phones udev-rule | sudo tee /etc/udev/rules.d/77-momo-modems.rules
    """
    text = manager.udev_rule("").text
    row = {"path": manager.udev_rule("").path, "text": text}
    return Answer(*made(row), verbatim=text.splitlines(), plain=text.rstrip("\n"))


@command("phones name", view=MODEMS_VIEW)
def rename(
    client: Client,
    terminal: Terminal,
    modem: str = _MODEM,
    name: str = argument("NAME", "Up to 40 characters, no : or /."),
) -> Answer:
    """All commands accept the name as MODEM or DEVICE.

    Examples:
        momo phones name huawei-e3131-4f2a front-desk
    """
    row = find_modem(client, modem)
    if row.get("device_id") is None:
        raise usage(f"no phone has answered on {modem} yet, so it cannot be named", "momo doctor modem")
    path = path_of(Path.LOCAL_MODEM, id=row["device_id"])
    reply = client.call("PATCH", path, body={"name": name})
    line = f"{terminal.tick} {modem_name(row)} is now called {modem_name(reply.data)}"
    return Answer(*reply.parts, lines=[line], next=["momo phones status"])


@command("phones password", view=view_of("name set", id="name"))
def password(
    client: Client,
    terminal: Terminal,
    name: str = argument("NAME", "The name of a HiLink source in config.toml."),
    *,
    password_file: str | None = option("FILE", "The password; - = stdin."),
    forget: bool = flag("Delete the stored password."),
) -> Answer:
    """Only a stick that asks for a password needs it; it is stored encrypted. --forget deletes it.

    Examples:
        momo phones password stick --password-file stick.pw
    """
    question = f"The password of the page of {clean(name)}: "
    typed = None if forget else owners_password(terminal, password_file, question)
    body = {"name": name, "password": typed}
    reply = client.call("POST", Path.LOCAL_SOURCE_PASSWORD, body=body)
    state = "The password is stored, encrypted." if typed is not None else "No password is stored."
    return Answer(*reply.parts, lines=[f"{terminal.tick} {state}"], next=["momo phones status"])


_FIELDS: Final = "name kind enabled trust_level may_pay state detail next url heard_at refused refused_at"
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
_ANDROID: Final = "android"
_HISTORY: Final = "Its messages pay nothing: without --may-pay they are history."
_ADDABLE: Final = (_ANDROID, SourceKind.HILINK.value, SourceKind.MODEMMANAGER.value)
STEPS: Final = {
    "capcom6": """In the app SMS Gateway for Android (docs/shop/sources.md has pictures):
  1. Settings, Webhooks: Signing key = the key; Require internet connection = off
  2. Settings, Ping: {ping} seconds
  3. Home: Local server = on; press Offline until it says Online
  4. On this computer, with the address, user and password that Home shows:""",
    "httpsms": """On the page of httpSMS: Settings, Webhooks, Add webhook: Callback URL = the url; Signing key = the key;
Events = message.phone.received, phone.heartbeat.online, phone.heartbeat.offline""",
    "textbee": """In the dashboard of textbee: Webhooks, Add webhook: URL = the url; Signing secret = the key;
Events = MESSAGE_RECEIVED""",
    "smsforwarder": """In the app SmsForwarder: a sender Webhook, POST, with url and Secret = the key, the template below,
then a rule that sends each SMS to it. In its settings: the number of retries.""",
    "custom": "The app posts each SMS to the url, as `members` and `signed` in config.toml say (docs/shop/sources.md).",
}
"""What to enter in the app of each preset."""
_TEMPLATE: Final = (
    "from=[from]&text=[org_content]&sim=[card_slot]&time=[receive_time:yyyy-MM-dd'T'HH:mm:ssXXX]"
    "&timestamp=[timestamp]&sign=[sign]"
)

_NAME = argument("NAME", "The source: its name in config.toml.")


@command("phones sources", view=_LIST_VIEW)
def list_sources(client: Client) -> Answer:
    """HEARD is when an Android phone last posted something, REFUSED how many posts were refused or could not be read.

    Examples:
        momo phones sources
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
    kind: str = argument("KIND", f"One of {', '.join(_ADDABLE)}."),
    name: str | None = argument("[NAME]", "A name: small letters, digits, dashes.", default=None),
    network: list[str] | None = option("NETWORK", "Android: mtn, telecel, at or none; repeat for SIM 2."),
    may_pay: bool = flag("Android: its messages may pay, as you accept its risk."),
    preset: str | None = option("APP", f"Android: {', '.join(STEPS)}; without it {next(iter(STEPS))}."),
    member: list[str] | None = option("NAME=PLACE", "Android: where a post has it, such as text=sms.body; repeat."),
    signed: str | None = option("HOW", "Android, custom: token, path or hmac."),
    phone: str | None = option("URL", "Android: the app's local server, to ask for missed SMS."),
    user: str | None = option("NAME", "The user of that server, or of the stick."),
    url: str | None = option("URL", "HiLink: the stick's address."),
) -> Answer:
    """It is written to config.toml; the daemon reads it after a restart. modemmanager is all modems of ModemManager, and needs no
    name; AT modems beside it must be named: [modems] ports. Of an app, on a terminal momo then prints the address and the key
    and shows its first post; otherwise momo phones rotate-key does. Without --may-pay its messages are history and pay
    nothing. docs/shop/sources.md shows what to press.

    Examples:
        momo phones add android phone1 --network mtn --may-pay
        momo phones add android phone2 --network mtn --network telecel --phone http://192.168.1.23:8080 --user sms
        momo phones add android phone3 --network mtn --preset smsforwarder
        momo phones add android phone4 --network mtn --preset custom --member sender=from --member text=sms.body
        momo phones add hilink stick --url http://192.168.8.1
        momo phones add modemmanager
    """
    if kind not in _ADDABLE:
        raise usage(f"{kind!r} is no kind of source; there are {', '.join(_ADDABLE)}")
    if name is None and kind != SourceKind.MODEMMANAGER:
        raise usage(f"{kind} needs a NAME", f"momo phones add {kind} phone1")
    name = name or kind
    given = {
        "networks": network, "may_pay": may_pay or None, "preset": preset, "members": member, "signed": signed,
        "phone_url": phone, "user": user, "url": url,
    }  # fmt: skip
    is_android = kind == _ANDROID
    entry: dict[str, Any] = {"name": name, "kind": SourceKind.POST.value if is_android else kind}
    entry |= {key: value for key, value in given.items() if value is not None}
    done = run_verb(terminal, "config", "--json", "add-source", "--", json.dumps(entry))
    row: dict[str, Any] = {**done.body["data"]}
    row["restart"] = bool(row["changed"]) and client.alive()
    word = "is added to" if row["changed"] else "is already in"
    line = f"{terminal.tick} {clean(name)} {word} {clean(row['path'])}"
    if is_android and row["restart"] and terminal.human and terminal.can_ask():
        terminal.note(line if may_pay else f"{line}\n{_HISTORY}")
        if terminal.yes_or_no("The daemon must restart to read it. Restart it now?", "--yes", default=True):
            stop_daemon(client, terminal, _LIMIT_S)
            start_daemon(client, terminal, (), _LIMIT_S)
            return rotate_key(client, terminal, name, None, qr=True)
    following = ["momo daemon restart"] if row["restart"] else []
    if is_android:
        following.append(f"momo phones rotate-key {name}")
        following += [f"momo phones password {name}"] if phone is not None else []
    else:
        following.append("momo phones status")
    notes = [_HISTORY] if is_android and not may_pay else []
    return Answer(*made(row), lines=[line], notes=notes, next=following)


@command("phones remove", view=_ADDED_VIEW)
def remove(client: Client, terminal: Terminal, name: str = _NAME) -> Answer:
    """Its entry is removed from config.toml, and its key and password are deleted. Its messages and payments stay.

    Examples:
        momo phones remove phone1
    """
    row: dict[str, Any] = {**run_verb(terminal, "config", "--json", "remove-source", "--", name).body["data"]}
    row["restart"] = alive = client.alive()
    if alive:
        client.call("DELETE", path_of(Path.LOCAL_SOURCE, name=name))
    return Answer(
        *made(row), lines=[f"{terminal.tick} {clean(name)} is removed."], next=["momo daemon restart"] if alive else []
    )


@command("phones rotate-key", view=view_of("name key url", id="key"))
def rotate_key(
    client: Client,
    terminal: Terminal,
    name: str = _NAME,
    secret_file: str | None = SECRET_FILE,
    qr: bool = flag("Also show the key as a QR code for the phone."),
) -> Answer:
    """The key is shown only now, with what to enter in the app; on a terminal momo then shows its first post. A new key
    replaces the one of before at once: posts with the old one are refused, so enter the new one soon. With --secret-file the
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
        row |= {"key": None, "url": str(row["url"]).replace(str(row["key"]), "KEY")}
        document = document_of(row)
    preset, lines, notes = clean(row["preset"]), list[str](), list[str]()
    if preset == "capcom6":  # the app has no screen for its webhook addresses
        if not str(row["url"]).startswith("https:"):
            notes.append("The app posts over HTTPS only: momo daemon certificate create")
        for event in ("sms:received", "system:ping"):
            body, kind = dumps({"url": row["url"], "event": event}), "Content-Type: application/json"
            page = f"{clean(row['phone_url']) or 'http://PHONE:8080'}/webhooks"
            lines.append(shlex.join(["curl", "-u", clean(row["user"]), "-H", kind, "-d", body, page]))
    elif preset == "smsforwarder":
        lines.append(_TEMPLATE)
    if qr and row["key"] is not None:  # the phone's camera copies it
        lines += ["", *drawn(str(row["key"]), terminal)]
    key = f"in {secret_file}" if row["key"] is None else terminal.style(clean(row["key"]), "bold")
    return Answer(
        document,
        [row],
        lines=[
            f"{terminal.tick} The signing key of {clean(row['name'])} is made. It is shown only now.",
            f"  key  {key}",
            f"  url  {clean(row['url'])}",
            *STEPS[preset].format(ping=round(row["ping_s"])).splitlines(),
        ],
        verbatim=lines,
        notes=notes,
        next=["momo phones sources", *([f"momo phones password {name}"] if row["phone_url"] else [])],
        ended=partial(_show_posts, client, terminal, name) if terminal.human and terminal.can_ask() else None,
    )


def _show_posts(client: Client, terminal: Terminal, name: str) -> int:
    """Show each post of a source as it arrives, until one is stored or the person ends it."""
    terminal.note("Each post is shown as it arrives: send an SMS to the phone. Ctrl-C ends.")

    def last() -> Any:
        return next((row["last_post"] for row in client.get(Path.LOCAL_SOURCES).data if row["name"] == name), None)

    seen = last()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            client.pause(_POLL_S)
            if (post := last()) not in (None, seen):
                mark = _WRONG if post["result"] == "refused" else _OK
                terminal.note(f"{styled(mark, terminal)} {clean(post['result'])}: {clean(post['detail'])}")
                if post["result"] == "stored":
                    break
                seen = post
    return exit_codes.OK


def _state(row: Row) -> Cell:
    state = clean(row["state"])
    if state == "ready":
        return Cell("✓ ready", "green")
    return Cell(f"! {state.replace('_', ' ')}", "yellow")


def _pays(row: Row) -> str:
    if row.get("may_pay") is False:
        return "no (history)"
    return "if it joins" if row.get("trust_level") != "full" else "yes"
