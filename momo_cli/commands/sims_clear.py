"""Take the number off a SIM. Payments to it then belong to no number until it is on a SIM again.

A SIM without a number stays as it is (exit 0).
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Row
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.methods import VIEW, changed, put_on
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo sims clear zte-front:0
"""


@dataclass(frozen=True, slots=True)
class Options:
    """Which SIM."""

    device: str
    slot: int


def command(
    sim: Annotated[
        str,
        typer.Argument(metavar="DEVICE:SLOT", help="The SIM: momo sims list shows them."),
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(*split_sim(sim, "DEVICE:SLOT")), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Find the number that is on the SIM, and take it off."""
    sim = sim_object(client, options.device, options.slot)
    found = client.get(Path.PAYMENT_METHODS)
    on_it = [row for row in found.data or () if _is_on(row, sim)]
    if not on_it:
        said = f"There is no number on {options.device}:{options.slot}."
        return Answer(document=dumps({"success": True, "data": None}), empty=said)
    return changed(put_on(client, str(on_it[0].get("id")), None), terminal, "Took off")


def _is_on(row: Row, sim: Row) -> bool:
    there = row.get("sim")
    return isinstance(there, dict) and all(there.get(name) == sim[name] for name in sim)
