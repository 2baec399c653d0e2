"""The commands about the shop's own certificate, with which phones of the shop's network reach momo by HTTPS."""

import os
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.files import file_errors
from momo_cli.inputs.parameters import argument, flag
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, fact_lines
from momo_cli.socket.client import Client
from momo_cli.text import clean

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
    """Make a certificate for the shop's network.

    The first call makes the shop's own certificate authority (CA), which phones have to trust once. It signs a
    certificate for this machine: its name, NAME.local, its IPv4 addresses, and the names given here. Without names
    those of the last call stay. The CA may only sign private names and addresses. The daemon renews the certificate
    30 days before its end, and when the machine's address changes; no restart is needed.

    Examples:
        momo daemon certificate create
        momo daemon certificate create shop.lan 192.168.1.10
        momo daemon certificate create --new-ca
    """
    words = [
        "--json",
        *(["--new-ca"] if new_ca else []),
        "create",
        *(["--", *name] if name else []),
    ]
    row = run_verb(terminal, "certificate", *words).data
    used = _tls_setting(terminal) == row["path"]
    following = [] if used else [f"momo config set http.tls_cert {row['path']}"]
    following += [] if used else [f"momo config set http.bind {_EVERYWHERE}"]
    following += ["momo daemon restart"] if not used and client.alive() else []
    following.append("momo daemon certificate export momo-ca.crt")
    note = "With http.tls_cert the API is https for programs on this machine too."
    return Answer(
        *made(row),
        lines=[f"{terminal.tick} The certificate is made.", *_lines(row, terminal)],
        notes=[] if used else [note],
        next=following,
    )


@command("daemon certificate show", view=_VIEW)
def show(terminal: Terminal) -> Answer:
    """Show the shop's own certificate.

    Compare the fingerprint with the one that a phone shows before it trusts the CA.

    Examples:
        momo daemon certificate show
        momo daemon certificate show --json
    """
    row = run_verb(terminal, "certificate", "--json", "show").data
    return Answer(
        *made(row), lines=_lines(row, terminal), next=["momo daemon certificate export momo-ca.crt"]
    )


@command("daemon certificate export", view=view_of("file ca_fingerprint", id="file"))
def export(
    terminal: Terminal,
    file: str = argument("FILE", "The new file; - = stdout."),
    der: bool = flag("Write DER, which old Androids need, not PEM."),
) -> Answer:
    """Export the CA for phones to trust.

    The file is the certificate of the shop's CA, without its key. It is no secret. Send it to the phone, open it there,
    and compare the fingerprint. The manual shows each step on the phone: docs/operators/https.md.

    Examples:
        momo daemon certificate export momo-ca.crt
        momo daemon certificate export momo-ca.crt --der
        momo daemon certificate export - --quiet
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


def _tls_setting(terminal: Terminal) -> str:
    return str(run_verb(terminal, "config", "--json", "get", "--", "http.tls_cert").data["value"])


def _lines(row: Any, terminal: Terminal) -> list[str]:
    facts = [
        ("for", ", ".join(map(clean, row["names"]))),
        ("valid until", clock(row["ends_at"], terminal)),
        ("CA until", clock(row["ca_ends_at"], terminal)),
        ("CA SHA-256", clean(row["ca_fingerprint"])),
        ("file", clean(row["path"])),
    ]
    return fact_lines(facts, 12)
