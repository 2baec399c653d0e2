"""Take back the approval of a name for a number: its next receipt without a number waits for you again.

What was paid with it stays paid.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.naming import PAYERS, id_of
from momo_cli.payers import VIEW
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import phone

EXAMPLES: Final = """\
  momo payers revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
"""


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
    return Call(run, Options(payer.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Revoke it."""
    options = replace(options, payer=id_of(client, PAYERS, options.payer))
    reply = client.call("DELETE", path_of(Path.APPROVED_PAYER, id=options.payer))
    row = reply.data
    name, number = clean(row.get("name")), phone(row.get("phone_number"))
    said = f"{terminal.style('✓ Revoked.', 'green')} {name} is no longer approved for {number}."
    return Answer(document=reply.text, rows=[row], lines=[said], next=["momo payers list --all"])
