"""Have ModemManager let go of a modem that it took, so that momo can read it.

Uses ModemManager's own mmcli, which goes on running in the background: it lasts until the computer starts again, or
that program is ended. For good there is a udev rule (docs/modems.md, ModemManager). Nothing to do is success too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import modem_manager
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client
from momo_cli.modems import called, document, find
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo modems release front-desk
  momo modems release /dev/ttyUSB0 --json
"""
VIEW: Final = View(
    fields=tuple(Field(name) for name in ("port", "device_id", "state", "manager", "uid", "pid")),
    id="device_id",
)
_FOR_GOOD: Final = "For good: the udev rule in docs/modems.md (ID_MM_DEVICE_IGNORE)."


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo modems release`."""

    modem: str


def command(
    modem: Annotated[
        str, typer.Argument(metavar="MODEM", help="Its name, id or port: momo modems list.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(modem), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask ModemManager; a port needs no daemon to be found."""
    row: Row = {"port": options.modem, "device_id": None}
    if not options.modem.startswith("/dev/"):
        row = find(client, options.modem)
    told: dict[str, Any] = {
        "port": row.get("port"),
        "device_id": row.get("device_id"),
        "state": "already_released",
    }
    done = modem_manager.let_go(str(told["port"]), terminal.located.environ, client.pause)
    told |= {"manager": done.manager, "uid": done.uid, "pid": done.pid}
    if done.pid is not None:
        told["state"] = "released"
    return Answer(document=document(told), rows=[told], lines=list(_lines(row, told, terminal)))


def _lines(row: Row, told: Row, terminal: Terminal) -> Iterator[str]:
    name = called(row)
    if not told["manager"]:
        yield f"There is no ModemManager here (no mmcli): {name} is not taken by it."
    elif told["pid"] is None:
        yield f"ModemManager does not have {name}. It may still take it when it is plugged in."
        yield _FOR_GOOD
    else:
        yield terminal.style(f"✓ ModemManager has let go of {name}.", "green")
        yield f"It lasts until this computer starts again, or: kill {told['pid']}"
        yield _FOR_GOOD
