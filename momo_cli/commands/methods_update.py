"""Move a number to another SIM, or take it off its SIM with --sim none."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.errors import Failure
from momo_cli.methods import VIEW, Method, changed, put_on
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo methods update 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --sim zte-front:0
  momo methods update 0244124567 --sim none
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo methods update`; no place takes the number off its SIM."""

    method: str
    place: tuple[str, int] | None


def command(
    method: Method,
    sim: Annotated[
        str, typer.Option(metavar="DEVICE:SLOT|none", help="The SIM that it is to be on.")
    ],
) -> Call:
    """Read the flags."""
    place = None if sim == "none" else split_sim(sim, "--sim")
    return Call(run, Options(method.strip(), place), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Move it."""
    sim: dict[str, Any] | None = None
    if options.place is not None:
        sim = sim_object(client, *options.place)
    try:
        reply = put_on(client, options.method, sim)
    except Failure as failure:
        failure.facts.setdefault("method_id", options.method)
        raise
    return changed(reply, terminal, "Moved" if sim else "")
