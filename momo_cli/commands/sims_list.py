"""List phones and SIMs to choose from; DEVICE of other commands is the phone's name or its id.

With --wait: until a SIM is there (exit 0), or the time is over (exit 8).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Cell, Field, Head, Row, View
from momo_cli.client import Client, Reply
from momo_cli.modems import simulated
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.times import duration_s
from momo_cli.words import phone

EXAMPLES: Final = """\
  momo sims list
  momo sims list --wait=60s
  momo sims list --fields phone,slot_index,network
"""
VIEW: Final = View(
    fields=tuple(
        Field(name)
        for name in (
            "device_id",
            "phone",
            "slot_index",
            "network",
            "iccid_last4",
            "payment_method_id",
            "phone_number",
            "available",
        )
    ),
    heads=(
        Head("SIM", lambda row, _: f"{clean(row['phone'])}:{row['slot_index']}"),
        Head("NETWORK", lambda row, _: clean(row["network"]) or "—"),
        Head(
            "ICCID",
            lambda row, _: f"…{clean(row['iccid_last4'])}" if row["iccid_last4"] else "—",
        ),
        Head("NUMBER", lambda row, _: phone(row["phone_number"]) or Cell("free", "green")),
        Head("DEVICE", lambda row, _: clean(row["device_id"]), cut=True),
    ),
    id="device_id",
)
_PAUSE_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo sims list`."""

    wait_s: float | None


def command(
    wait: Annotated[
        str | None, typer.Option(metavar="[=30s]", help="Wait until a SIM is there.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(None if wait is None else duration_s(wait, "--wait")), VIEW)


def run(
    client: Client, terminal: Terminal, options: Options
) -> Answer:  # every run has this signature
    """Ask for the SIMs, again and again if a wait was asked for."""
    reply = client.get(Path.SIMS)
    rows = list(_rows(reply))
    played = list(simulated(client.get(Path.LOCAL_MODEMS).data or ())) if terminal.human else []
    if options.wait_s is not None:
        deadline = system.monotonic() + options.wait_s
        while not rows and (options.wait_s == 0 or system.monotonic() < deadline):
            client.pause(_PAUSE_S)
            reply = client.get(Path.SIMS)
            rows = list(_rows(reply))
    free = [row for row in rows if not row["phone_number"]]
    command = "momo sims assign {}:{} --method ID"
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No SIM was found. Plug in the modem, with its SIM.",
        notes=played,
        exit_code=exits.PENDING if options.wait_s is not None and not rows else exits.OK,
        next=[command.format(row["phone"], row["slot_index"]) for row in free[:1]],
    )


def _rows(reply: Reply) -> Iterator[Row]:
    for device in reply.data or ():
        for sim in device.get("sims") or ():
            yield {
                "device_id": device.get("device_id"),
                "phone": device.get("name"),
                "slot_index": sim.get("slot_index"),
                "network": sim.get("network"),
                "iccid_last4": sim.get("iccid_last4"),
                "payment_method_id": sim.get("payment_method_id"),
                "phone_number": sim.get("phone_number"),
                "available": sim.get("available"),
            }
