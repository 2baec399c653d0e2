"""Stop sending to an address. What is owed to it waits, and nothing is lost."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.endpoints import STATE_VIEW, put, shown
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo endpoints pause b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints pause`."""

    endpoint: str


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="ID", help="The endpoint: its id, label or host.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip()), STATE_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Pause the endpoint, unless it is."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    seen = client.get(path_of(Path.ENDPOINT, id=options.endpoint))
    if not seen.data.get("is_active"):
        return shown(seen, terminal, "It was paused already.", status="already_paused")
    changed = put(client, options.endpoint, {"is_active": False})
    said = "Paused: what comes for it waits until it is resumed."
    return shown(changed, terminal, said, status="paused")
