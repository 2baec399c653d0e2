"""Keep the PIN of a SIM, sealed, so that its phone can be read after a restart.

The PIN is asked for, never a flag. It is tried once: when the SIM refuses it, it is never tried again, since three
wrong PINs block a SIM.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import pins
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.devices import split_sim
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo sims pin zte-front:0
  momo sims pin zte-front:0 --pin-file - < pin.txt
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo sims pin`."""

    device: str
    slot: int
    pin_file: str | None


def command(
    sim: Annotated[
        str,
        typer.Argument(metavar="DEVICE:SLOT", help="The SIM: momo modems list shows the phones."),
    ],
    pin_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The PIN, 4 to 8 digits; - = stdin."),
    ] = None,
) -> Call:
    """Read the flags."""
    device, slot = split_sim(sim, "DEVICE:SLOT")
    return Call(run, Options(device, slot, pin_file))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the PIN, and hand it to the daemon."""
    if options.pin_file is not None:
        pin = pins.pin_in(options.pin_file, terminal)
    else:
        pin = pins.checked(terminal.ask_secret("The SIM's PIN: ", "--pin-file FILE"))
    reply = pins.keep(client, options.device, options.slot, pin)
    data = reply.data or {}
    where = f"{clean(data.get('device_name'))}:{data.get('slot_index')}"
    said = [f"{terminal.style('✓', 'green')} The PIN of {where} is kept, sealed."]
    if data.get("wants") == "SIM PIN":
        said.append("It is tried now, once.")
    elif data.get("wants"):
        said.append(f"The SIM asks for its {clean(data['wants'])} first: unblock it in a phone.")
    else:
        said.append("It is tried once, when the SIM asks for it.")
    return Answer(document=reply.text, lines=said, next=["momo modems list"])
