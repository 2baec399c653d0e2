"""Take back the approval of a name for a number: its next receipt without a number waits for you again.

What was paid with it stays paid. One that was revoked already is left as it is, with exit 0.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.errors import Failure
from momo_cli.naming import PAYERS, id_of
from momo_cli.payers import VIEW
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import with_status
from momo_cli.words import ago, phone

EXAMPLES: Final = """\
  momo payers revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
"""
_VIEW: Final = View(fields=(*VIEW.fields, Field("status")), id=VIEW.id)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo payers revoke`."""

    payer: str


def command(
    payer: Annotated[
        str, typer.Argument(metavar="ID", help="The approved payer: its id, number or name.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(payer.strip()), _VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Revoke it, unless that was done before."""
    path = path_of(Path.APPROVED_PAYER, id=_meant(client, options.payer))
    seen = client.get(path)
    if seen.data.get("state") == "revoked":
        when = ago(seen.data.get("revoked_at"), terminal)
        return _revoked(seen, f"That was revoked already, {when}.", "already_revoked")
    reply = client.call("DELETE", path)
    name, number = clean(reply.data.get("name")), phone(reply.data.get("phone_number"))
    said = f"{terminal.style('✓ Revoked.', 'green')} {name} is no longer approved for {number}."
    return _revoked(reply, said, "revoked")


def _meant(client: Client, typed: str) -> str:
    """Return the id of the one that is meant: of those that are approved, else of those that were."""
    try:
        return id_of(client, PAYERS, typed)
    except Failure as failure:
        if failure.code != ErrorCode.APPROVED_PAYER_NOT_FOUND:
            raise
    return id_of(client, PAYERS._replace(query={"state": "all"}), typed)


def _revoked(reply: Reply, said: str, status: str) -> Answer:
    return Answer(
        document=with_status(reply.body, status),
        rows=[{**reply.data, "status": status}],
        lines=[said],
        next=["momo payers list --all"],
    )
