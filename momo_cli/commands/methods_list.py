"""List the numbers that take money."""

from dataclasses import dataclass
from typing import Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.methods import VIEW
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo methods list
  momo methods list --fields id,phone_number
"""


@dataclass(frozen=True, slots=True)
class Options:
    """`momo methods list` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for the numbers."""
    reply = client.get(Path.PAYMENT_METHODS)
    rows = reply.data or []
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No numbers yet.",
        next=[] if rows else ["momo methods add --provider momo_mtn --phone NUMBER --name NAME"],
    )
