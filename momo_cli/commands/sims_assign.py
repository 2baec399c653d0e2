"""Put a registered number on a SIM. Moving a number takes it off the SIM that it was on.

A SIM that holds another number is refused (exit 5), unless --move: then the other number is taken off
it first.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.errors import Failure
from momo_cli.methods import VIEW, changed, put_on
from momo_cli.terminal import Terminal
from momo_cli.text import at
from momo_cli.words import phone

EXAMPLES: Final = """\
  momo sims assign zte-front:0 --method 0244124567
  momo sims assign zte-front:0 --method 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
  momo sims assign zte-front:0 --method 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --move
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo sims assign`."""

    device: str
    slot: int
    method: str
    move: bool


def command(
    sim: Annotated[
        str,
        typer.Argument(metavar="DEVICE:SLOT", help="The SIM: momo sims list shows them."),
    ],
    method: Annotated[
        str,
        typer.Option(metavar="METHOD", help="The number, the name on it, or its id."),
    ],
    move: Annotated[
        bool, typer.Option("--move", help="Take the number off that is on the SIM.")
    ] = False,
) -> Call:
    """Read the flags."""
    device, slot = split_sim(sim, "DEVICE:SLOT")
    return Call(run, Options(device, slot, method, move), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Move the number to the SIM."""
    sim = sim_object(client, options.device, options.slot)
    facts = {
        "method_id": options.method,
        "device": options.device,
        "slot": str(options.slot),
    }
    try:
        reply = put_on(client, options.method, sim)
    except Failure as failure:
        failure.facts |= facts
        holder = at(failure.body, "error.payment_method_id")
        taken = failure.code == ErrorCode.SIM_ALREADY_ASSIGNED and isinstance(holder, str)
        if not (options.move and taken):
            raise
        number = phone(at(failure.body, "error.phone_number"))
        put_on(client, str(holder), None)
        terminal.note(f"Took {number or holder} off that SIM.")
        reply = put_on(client, options.method, sim)
    return changed(reply, terminal, "Moved")
