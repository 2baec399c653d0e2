"""Say that you know of a SIM's money that no message told of: it is shown and found fault with no more.

A balance that moved by more than the messages tell means that one was lost, or that somebody used
the wallet elsewhere. Look at the wallet's own history first. What goes missing later is told again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, Head, Row, View
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.terminal import Terminal
from momo_cli.words import clock, money

EXAMPLES: Final = """\
  momo sims acknowledge zte-front:0
  momo sims acknowledge zte-front:0 --notes "interest of November"
"""
VIEW: Final = View(
    fields=(Field("message_id"), Field("at"), Field("amount"), Field("currency")),
    heads=(
        Head("AT", lambda row, terminal: clock(row["at"], terminal)),
        Head("UNTOLD", lambda row, _: money(row["amount"], row["currency"]), right=True),
        Head("IN FRONT OF MESSAGE", lambda row, _: row["message_id"]),
    ),
    id="message_id",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo sims acknowledge`."""

    device: str
    slot: int
    notes: str | None


def command(
    sim: Annotated[
        str, typer.Argument(metavar="DEVICE:SLOT", help="The SIM: momo lines shows them.")
    ],
    notes: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it was, for the journal.")
    ] = None,
) -> Call:
    """Read the flags."""
    device, slot = split_sim(sim, "DEVICE:SLOT")
    return Call(run, Options(device, slot, notes), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Acknowledge what is unaccounted for now."""
    body: dict[str, Any] = sim_object(client, options.device, options.slot)
    if options.notes is not None:
        body["notes"] = options.notes
    reply = client.call("POST", Path.LOCAL_SIM_UNTOLD, body=body)
    rows: list[Row] = reply.data or []
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "Nothing of this SIM is untold.",
        notes=list(_notes(rows, terminal)),
    )


def _notes(rows: list[Row], terminal: Terminal) -> Iterator[str]:
    if rows and terminal.human:
        yield f"{terminal.style('✓', 'green', message=True)} Known from now on. What goes missing later is told again."
