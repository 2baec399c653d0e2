"""Show one address that payments are sent to, and how it is doing."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.endpoints import VIEW, shown
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo endpoints show b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints show`."""

    endpoint: str


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="ID", help="The endpoint: its id, label or host.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the endpoint."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    return shown(client.get(path_of(Path.ENDPOINT, id=options.endpoint)), terminal)
