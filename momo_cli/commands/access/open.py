"""Open the dashboard and checkout pages, here or on the phones of the shop's network; the certificate that phones trust."""

import os
import shlex
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urlsplit

from daemon.wire import ErrorCode, Path
from momo_cli.errors import Failure, usage
from momo_cli.exit_codes import CANCELLED
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.typed_values import file_errors, is_this_machine, only_given
from momo_cli.service.daemon_program import run_verb, start_daemon
from momo_cli.show.answer import Answer, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, drawn, fact_lines
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean, warnings_of
from momo_cli.views.transactions import reference_of

_OPEN_VIEW: Final = view_of("checkout_url reference svc_code", "url expires_in_s", id="reference")
_SETTLED_S: Final = 2.0
"""A program that still runs after this time has opened the page: some programs run as long as the browser."""
_START_S: Final = 60.0
_FRESH: Final = "There is no shop on this machine yet. Make one, and set it up in the browser?"
_PAGES: Final = ("checkout", "tx")
_LABELS: Final = 10
"""The width of the column of the labels."""
_SHARE_VIEW: Final = view_of("shared name address url expires_in_s ca_fingerprint changed", id="address")
_PORT: Final = 8420
_AGAIN: Final = ("momo daemon restart", "momo open --share")
_TRUST: Final = (
    "A phone trusts the shop's CA once. Send it momo-ca.crt (cable, Bluetooth, messenger), then:",
    "  Android: Settings, search for CA certificate, Install anyway, choose the file.",
    "  iPhone: open the file; Settings, Profile downloaded, Install; then General, About,",
    "  Certificate Trust Settings: switch it on.",
    "Compare the SHA-256 above with the one that the phone shows. Each step: docs/operators/https.md.",
)


@command("open", view=lambda *, share, **_: _SHARE_VIEW if share else _OPEN_VIEW)
def open_(
    client: Client,
    terminal: Terminal,
    words: list[str] | None = argument("[checkout|tx] REF|CODE", "The transaction's reference or code.", default=None),
    only_print: bool = flag("--print", "Print the address only."),
    user: str | None = option("NAME", "Log in as this user, not as the owner."),
    page: str | None = option("NAME", "A page of the dashboard: till, poster, review, day."),
    share: bool = flag("Open the dashboard to the phones of the shop's network."),
) -> Answer:
    """It opens in your browser; without a browser, its address is printed. Without a transaction it is a link to the
    dashboard, which logs in without a password: for 60 seconds, once, and on this machine only. A transaction has one
    page, so `checkout` and `tx` before its reference mean the same and may be left out. BROWSER names the program that
    opens it. On a machine without a shop it makes one and starts the daemon, after a question (--yes answers it); name,
    password, modem and a test payment then follow in the browser.

    --share is for phones. The first call makes the shop's own certificate and writes [http] in the settings, after a
    question. After a restart of the daemon the next call shows a QR code with a one-time login: it works once, for 60
    seconds, on any phone that trusts the shop's CA. The other ways need no CA on the phone: `tailscale serve` or a reverse
    proxy with a public name, which need `http.public_base_url` (docs/operators/https.md).

    Examples:
        momo open
        momo open --user ama --print
        momo open --page poster
        momo open 7KQ2MX
        momo open --share
    """
    if share:
        if words or page or only_print:
            raise usage("--share goes with --user only")
        return _share(client, terminal, user)
    match words or []:
        case []:
            return _dashboard(client, terminal, user, page, only_print=only_print)
        case [transaction] if transaction not in _PAGES:
            pass
        case [page, transaction] if page in _PAGES:
            pass
        case _:
            raise usage("name one transaction: momo open checkout REF, or momo open REF")
    reference = reference_of(client, transaction)
    try:
        reply = client.get(path_of(Path.LOCAL_CHECKOUT, reference=reference))
    except Failure as failure:
        failure.facts["reference"] = transaction
        if at(failure.body, "error.reason") == "http_off":
            failure.next = ("momo config set http.bind 127.0.0.1:8420", "momo daemon restart")
        raise
    url = clean(reply.data["checkout_url"])
    return Answer(
        *reply.parts,
        lines=[url],
        plain=url,
        notes=[*warnings_of(reply.body), *_opened(terminal, url, transaction, only_print=only_print)],
    )


def _dashboard(client: Client, terminal: Terminal, user: str | None, page: str | None, *, only_print: bool) -> Answer:
    try:
        reply = _link(client, user)
    except Failure as failure:
        can_answer = terminal.flags.yes or terminal.can_ask()
        if failure.code != ErrorCode.NOT_SET_UP or not can_answer or not terminal.confirm(_FRESH):
            raise
        run_verb(terminal, "setup", "--no-input", "--json", "--in-browser")
        start_daemon(client, terminal, (), _START_S)
        reply = _link(client, user)
    url = clean(reply.data["url"])
    if page is not None:
        path = "/dash/" + page.strip("/")
        url += f"&to={quote(path, safe='/')}"
    return Answer(
        *made({**reply.data, "url": url}),
        lines=[url],
        plain=url,
        notes=[
            "The link works once, for 60 seconds, on this machine.",
            *_opened(terminal, url, "the dashboard", only_print=only_print),
        ],
    )


def _link(client: Client, user: str | None) -> Reply:
    try:
        return client.call("POST", Path.LOCAL_DASHBOARD_LINK, body=only_given({"user": user}))
    except Failure as failure:
        if at(failure.body, "error.reason") == "http_off":
            failure.next = ("momo config set http.bind 127.0.0.1:8420", "momo daemon restart")
        raise


def _opened(terminal: Terminal, url: str, transaction: str, *, only_print: bool) -> list[str]:
    if only_print:
        return []
    if _browse(url, terminal.located.environ):
        return [f"The page of {clean(transaction)} is in your browser."]
    return ["There is no browser here: open this address in one."]


def _browse(url: str, environ: Mapping[str, str]) -> bool:
    """Open the address in a browser; return False if there is none or it failed.

    `BROWSER` names a program and its flags; otherwise it is the desktop's own, if there is a desktop.
    """
    import shutil  # noqa: PLC0415  # only open starts a program
    import subprocess  # noqa: PLC0415  # the same

    words = _program(environ)
    if not words or shutil.which(words[0], path=environ.get("PATH")) is None:
        return False
    process = subprocess.Popen(  # noqa: S603  # the operator's own browser
        [*words, url],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in this terminal does not close it
    )
    try:
        return process.wait(_SETTLED_S) == 0
    except subprocess.TimeoutExpired:
        process.returncode = 0  # it keeps running, and Python must not warn about it
        return True


# Not Python's `webbrowser`: without a desktop it starts a text browser in this terminal.
def _program(environ: Mapping[str, str]) -> list[str]:
    if chosen := environ.get("BROWSER"):
        return shlex.split(chosen)
    return ["xdg-open"] if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") else []


def _share(client: Client, terminal: Terminal, user: str | None) -> Answer:
    """Show the link for phones; before that, make the certificate and open the daemon to the network."""
    certificate, bind = _setting(terminal, "tls_cert"), _setting(terminal, "bind")
    if not certificate or _is_inside(bind):
        port = bind.rpartition(":")[2] if ":" in bind else str(_PORT)
        wanted = f"0.0.0.0:{port}"
        terminal.note(
            "Phones and computers of the shop's network will reach the dashboard, the API and the checkout page by HTTPS."
        )
        if not terminal.confirm(f"Make the certificate and listen on {wanted}?"):
            return Answer(*made({"shared": False, "changed": []}), lines=["Nothing was changed."], exit_code=CANCELLED)
        changed = {}
        facts: dict[str, Any] = {}
        if not certificate:
            facts = run_verb(terminal, "certificate", "--json", "create").data
            changed["http.tls_cert"] = str(facts["path"])
        if _is_inside(bind):
            changed["http.bind"] = wanted
        for key, value in changed.items():
            run_verb(terminal, "config", "--json", "set", "--", key, value)
        row: dict[str, Any] = {
            "shared": False,
            "ca_fingerprint": facts.get("ca_fingerprint"),
            "changed": [f"{key} = {value}" for key, value in changed.items()],
        }
        said = [f"{terminal.tick} {clean(each)}" for each in row["changed"]]
        following = list(_AGAIN) if client.alive() else [_AGAIN[1]]
        return Answer(*made(row), lines=said, next=following)
    facts = _own_certificate(terminal, certificate)
    body = only_given({"user": user}) | {"anywhere": True}
    reply = client.call("POST", Path.LOCAL_DASHBOARD_LINK, body=body)
    link = urlsplit(clean(reply.data["url"]))
    if link.scheme != "https" or _is_inside(link.netloc):
        why = "the daemon does not use the new settings yet"
        raise Failure(ErrorCode.UNAVAILABLE, why, next=_AGAIN)
    names = facts.get("names") or []
    host = next((name for name in names if _is_network_address(name)), "")
    name = next((name for name in names if name.endswith(".local")), "")
    public = _setting(terminal, "public_base_url").rstrip("/")
    port = f":{link.port or _PORT}"
    base = public if not facts and public else f"https://{host or name or link.hostname}{port}"
    row = {
        "shared": True,
        "name": f"https://{name}{port}" if name else None,
        "address": f"{base}/dash",
        "url": f"{base}{link.path}?{link.query}",
        "expires_in_s": reply.data["expires_in_s"],
        "ca_fingerprint": facts.get("ca_fingerprint"),
        "changed": [],
    }
    rows = [("address", clean(row["address"]))]
    if row["name"]:
        rows.append(("or", f"{clean(row['name'])}/dash"))
    if row["ca_fingerprint"]:
        rows.append(("CA SHA-256", clean(row["ca_fingerprint"])))
    labels = fact_lines(rows, _LABELS)
    return Answer(
        *made(row),
        lines=[*drawn(row["url"], terminal), *labels],
        plain=row["url"],
        notes=[
            "The link works once, for 60 seconds. Later, log in with name and password.",
            *(_TRUST if facts else ()),
        ],
        next=["momo daemon certificate export momo-ca.crt"] if facts else [],
    )


def _own_certificate(terminal: Terminal, certificate: str) -> dict[str, Any]:
    """Return the facts of the shop's own certificate; empty if the settings name another one."""
    try:
        facts: dict[str, Any] = run_verb(terminal, "certificate", "--json", "show").data
    except Failure as failure:
        if failure.code != ErrorCode.CERTIFICATE_NOT_FOUND:
            raise
        return {}
    return facts if facts["path"] == certificate else {}


def _setting(terminal: Terminal, name: str) -> str:
    return str(run_verb(terminal, "config", "--json", "get", "--", f"http.{name}").data["value"])


def _is_inside(address: str) -> bool:
    """Return whether only this machine reaches `HOST:PORT`, or nothing listens at all."""
    return address == "off" or is_this_machine(address.rpartition(":")[0].strip("[]"))


def _is_network_address(name: str) -> bool:
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.version == 4 and not address.is_loopback


_VIEW: Final = view_of("names given begins_at ends_at ca_ends_at ca_fingerprint path", id="path")
_EVERYWHERE: Final = "0.0.0.0:8420"


@command("daemon certificate create", view=_VIEW)
def create(
    client: Client,
    terminal: Terminal,
    name: list[str] | None = argument(
        "[NAME|ADDRESS]...", "More names than the machine's own, such as shop.lan.", default=None
    ),
    new_ca: bool = flag("Make a new CA; every phone must trust it again."),
) -> Answer:
    """The first call makes the shop's own certificate authority (CA), which phones have to trust once. It signs a
    certificate for this machine: its name, NAME.local, its IPv4 addresses, and the names given here. Without names
    those of the last call stay. The CA may only sign private names and addresses. The daemon renews the certificate
    30 days before its end, and when the machine's address changes; no restart is needed.

    Examples:
        momo daemon certificate create
        momo daemon certificate create shop.lan 192.168.1.10
        momo daemon certificate create --new-ca
    """
    words = ["--json", *(["--new-ca"] if new_ca else []), "create", *(["--", *name] if name else [])]
    row = run_verb(terminal, "certificate", *words).data
    used = _setting(terminal, "tls_cert") == row["path"]
    following = [] if used else [f"momo config set http.tls_cert {row['path']}"]
    following += [] if used else [f"momo config set http.bind {_EVERYWHERE}"]
    following += ["momo daemon restart"] if not used and client.alive() else []
    following.append("momo daemon certificate export momo-ca.crt")
    note = "With http.tls_cert the API is https for programs on this machine too."
    return Answer(
        *made(row),
        lines=[f"{terminal.tick} The certificate is made.", *_certificate_lines(row, terminal)],
        notes=[] if used else [note],
        next=following,
    )


@command("daemon certificate show", view=_VIEW)
def show(terminal: Terminal) -> Answer:
    """Compare the fingerprint with the one that a phone shows before it trusts the CA.

    Examples:
        momo daemon certificate show
    """
    row = run_verb(terminal, "certificate", "--json", "show").data
    return Answer(
        *made(row), lines=_certificate_lines(row, terminal), next=["momo daemon certificate export momo-ca.crt"]
    )


@command("daemon certificate export", view=view_of("file ca_fingerprint", id="file"))
def export(
    terminal: Terminal,
    file: str = argument("FILE", "The new file; - = stdout."),
    der: bool = flag("Write DER, which old Androids need, not PEM."),
) -> Answer:
    """The file is the certificate of the shop's CA, without its key. It is no secret. Send it to the phone, open it there,
    and compare the fingerprint. The manual shows each step on the phone: docs/operators/https.md.

    Examples:
        momo daemon certificate export momo-ca.crt
        momo daemon certificate export momo-ca.crt --der
    """
    if der and file == "-":
        raise usage("--der needs a file", "momo daemon certificate export momo-ca.crt --der")
    words = ["--json", *(["--der"] if der else []), "export"]
    row: dict[str, Any] = dict(run_verb(terminal, "certificate", *words).data)
    text = str(row.pop("certificate"))
    row["file"] = file
    if file == "-":
        return Answer(*made(row), text=[text])
    with file_errors(file):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "wb") as out:
            out.write(bytes.fromhex(text) if der else text.encode())
    said = f"{terminal.tick} The CA is in {clean(file)}."
    facts = fact_lines([("SHA-256", clean(row["ca_fingerprint"]))], 12)
    return Answer(*made(row), lines=[said, *facts])


def _certificate_lines(row: Any, terminal: Terminal) -> list[str]:
    facts = [
        ("for", ", ".join(map(clean, row["names"]))),
        ("valid until", clock(row["ends_at"], terminal)),
        ("CA until", clock(row["ca_ends_at"], terminal)),
        ("CA SHA-256", clean(row["ca_fingerprint"])),
        ("file", clean(row["path"])),
    ]
    return fact_lines(facts, 12)
