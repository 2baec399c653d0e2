"""Stop sending to an address. What is owed to it waits, and nothing is lost."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.endpoints import VIEW, put, shown
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo endpoints pause b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints pause`."""

    endpoint: str


def command(
    endpoint: Annotated[str, typer.Argument(metavar="ID", help="The endpoint.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Pause the endpoint."""
    return shown(put(client, options.endpoint, {"is_active": False}), terminal)
