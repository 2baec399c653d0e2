"""The command dash share: open the dashboard to phones of the shop's network, with the shop's own certificate."""

from ipaddress import ip_address
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from daemon.wire import ErrorCode, Path
from momo_cli.errors import Failure
from momo_cli.exit_codes import CANCELLED
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import option
from momo_cli.inputs.typed_values import is_this_machine, only_given
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, made, view_of
from momo_cli.show.qr import drawn
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import fact_lines
from momo_cli.socket.client import Client
from momo_cli.text import clean

_LABELS: Final = 10
"""The width of the column of the labels."""
_VIEW: Final = view_of("shared name address url expires_in_s ca_fingerprint changed", id="address")
_PORT: Final = 8420
_EXPORT: Final = "momo daemon certificate export momo-ca.crt"
_AGAIN: Final = ("momo daemon restart", "momo dash share")
_TRUST: Final = (
    "A phone trusts the shop's CA once. Send it momo-ca.crt (cable, Bluetooth, messenger), then:",
    "  Android: Settings, search for CA certificate, Install anyway, choose the file.",
    "  iPhone: open the file; Settings, Profile downloaded, Install; then General, About,",
    "  Certificate Trust Settings: switch it on.",
    "Compare the SHA-256 above with the one that the phone shows. Each step: docs/https.md.",
)


@command("dash share", view=_VIEW)
def share(
    client: Client,
    terminal: Terminal,
    user: Annotated[
        str | None, option("NAME", "Who is logged in by the link; without it the owner.")
    ] = None,
) -> Answer:
    """Open the dashboard to phones of the shop's network.

    The first call makes the shop's own certificate and writes [http] in the settings, after a question. After a
    restart of the daemon the next call shows a QR code with a one-time login: it works once, for 60 seconds, on any
    phone that trusts the shop's CA. The other ways need no CA on the phone: `tailscale serve` or a reverse proxy with
    a public name, which need `http.public_base_url` (docs/https.md).

    Examples:
        momo dash share
        momo dash share --user ama
        momo dash share --yes
    """
    certificate, bind = _setting(terminal, "tls_cert"), _setting(terminal, "bind")
    if not certificate or _is_inside(bind):
        return _open_up(client, terminal, certificate, bind)
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
    return Answer(
        *made(row),
        lines=[*drawn(row["url"], terminal), *_lines(row)],
        plain=row["url"],
        notes=[
            "The link works once, for 60 seconds. Later, log in with name and password.",
            *(_TRUST if facts else ()),
        ],
        next=[_EXPORT] if facts else [],
    )


def _open_up(client: Client, terminal: Terminal, certificate: str, bind: str) -> Answer:
    """Make the certificate and write the settings, after a question."""
    port = bind.rpartition(":")[2] if ":" in bind else str(_PORT)
    wanted = f"0.0.0.0:{port}"
    terminal.note(
        "Phones and computers of the shop's network will reach the dashboard, the API and the checkout page by HTTPS."
    )
    if not terminal.confirm(f"Make the certificate and listen on {wanted}?"):
        return Answer(
            *made({"shared": False, "changed": []}),
            lines=["Nothing was changed."],
            exit_code=CANCELLED,
        )
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


def _lines(row: dict[str, Any]) -> list[str]:
    facts = [("address", clean(row["address"]))]
    if row["name"]:
        facts.append(("or", f"{clean(row['name'])}/dash"))
    if row["ca_fingerprint"]:
        facts.append(("CA SHA-256", clean(row["ca_fingerprint"])))
    return fact_lines(facts, _LABELS)
