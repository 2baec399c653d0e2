"""Put a registered number on a SIM. Moving a number takes it off the SIM that it was on."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.devices import sim_object, split_sim
from momo_cli.errors import Failure
from momo_cli.methods import VIEW, changed
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo sims assign zte-front:0 --method 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo sims assign`."""

    device: str
    slot: int
    method: str


def command(
    sim: Annotated[
        str,
        typer.Argument(metavar="DEVICE:SLOT", help="The SIM: momo sims list shows them."),
    ],
    method: Annotated[
        str,
        typer.Option(metavar="ID", help="The number: momo methods list shows them."),
    ],
) -> Call:
    """Read the flags."""
    device, slot = split_sim(sim, "DEVICE:SLOT")
    return Call(run, Options(device, slot, method), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Move the number to the SIM."""
    try:
        reply = client.call(
            "PATCH",
            path_of(Path.PAYMENT_METHOD, id=options.method),
            body={"sim": sim_object(client, options.device, options.slot)},
        )
    except Failure as failure:
        failure.facts.setdefault("method_id", options.method)
        raise
    return changed(reply, terminal, "Moved")
