"""Ask a modem now how it fares: signal, network, storage, SIM.

It is asked by the daemon between two messages, so nothing is disturbed. Says what is well and what is not; exit 6 when
no message can come in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Cell, Field, Row, View
from momo_cli.client import Client, path_of
from momo_cli.modems import (
    FAIL,
    VIEW,
    called,
    document,
    find,
    network,
    signal,
    storage,
    trouble_lines,
)
from momo_cli.terminal import Terminal
from momo_cli.words import ago, styled

EXAMPLES: Final = """\
  momo modems test front-desk
  momo modems test front-desk --quiet || echo "look at the modem"
"""
TEST_VIEW: Final = View(fields=(*VIEW.fields, Field("answered"), Field("took_ms")), id=VIEW.id)
_OK: Final = Cell("✓", "green")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo modems test`."""

    modem: str


def command(
    modem: Annotated[
        str, typer.Argument(metavar="MODEM", help="Its name, id or port: momo modems list.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(modem), TEST_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Let the daemon ask it, and say what it answered."""
    row = find(client, options.modem)
    if row.get("device_id") is None:
        row = {**row, "answered": False, "took_ms": None}
        text = document(row)
    else:
        reply = client.call("POST", path_of(Path.LOCAL_MODEM_TEST, id=row["device_id"]))
        row, text = reply.data, reply.text
    failing = any(trouble.get("level") == FAIL for trouble in row.get("troubles") or ())
    well = bool(row.get("answered")) and not failing
    return Answer(
        document=text,
        rows=[row],
        lines=[terminal.style(called(row), "bold"), *_lines(row, terminal)],
        next=() if well else ["momo doctor modem"],
        exit_code=exits.OK if well else exits.FINDINGS,
    )


def _lines(row: Row, terminal: Terminal) -> Iterator[str]:
    mark = styled(_OK, terminal)
    if row.get("answered"):
        yield f"{mark} it answers ({row.get('took_ms')} ms)"
        ids = {trouble.get("id") for trouble in row.get("troubles") or ()}
        if row.get("signal") and "modem.signal" not in ids:
            yield f"{mark} signal {signal(row, terminal)}"
        if row.get("registration") and "modem.network" not in ids:
            yield f"{mark} network {network(row)}"
        if row.get("storage") and not ids & {"modem.full", "modem.nearly_full"}:
            yield f"{mark} the SIM holds {storage(row)} messages"
        if last := ago(row.get("last_sms_at"), terminal):
            yield f"{mark} last SMS {last}"
    elif not row.get("troubles"):
        yield f"{styled(Cell('✗', 'red'), terminal)} it does not answer"
    yield from trouble_lines(row, terminal)
