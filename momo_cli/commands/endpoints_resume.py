"""Send to an address again. What waits goes first: one delivery as a probe, the others after it."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.endpoints import STATE_VIEW, put, shown
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal
from momo_cli.text import at

EXAMPLES: Final = """\
  momo endpoints resume b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints resume`."""

    endpoint: str


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="ID", help="The endpoint: its id, label or host.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip()), STATE_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Resume the endpoint."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    reply = put(client, options.endpoint, {"is_active": True})
    queued = at(reply.body, "meta.queued")
    if not isinstance(queued, int):
        return shown(reply, terminal, "It was active already.", status="already_active")
    waiting = {0: "nothing waits", 1: "1 waiting delivery will now go"}
    told = waiting.get(queued, f"{queued} waiting deliveries will now go")
    return shown(reply, terminal, f"Resumed: {told}.", status="active")
