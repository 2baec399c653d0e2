"""List every attempt of one delivery, of all its runs, oldest first."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.deliveries import attempt_lines
from momo_cli.naming import DELIVERIES, id_of
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo deliveries attempts 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
  momo deliveries attempts 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 -o csv
"""
VIEW: Final = View(
    fields=(
        Field("run"),
        Field("number"),
        Field("started_at"),
        Field("finished_at"),
        Field("duration_ms"),
        Field("response_status_code"),
        Field("error_code", "error.code"),
        Field("error_message", "error.message"),
        Field("counted"),
    ),
    id="number",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries attempts`."""

    delivery: str
    limit: int
    offset: int


def command(
    delivery: Annotated[str, typer.Argument(metavar="ID", help="The delivery.")],
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
) -> Call:
    """Read the flags."""
    return Call(run, Options(delivery.strip(), limit, offset), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the attempts."""
    options = replace(options, delivery=id_of(client, DELIVERIES, options.delivery))
    path = path_of(Path.DELIVERY_ATTEMPTS, id=options.delivery)
    reply = client.get(path, limit=options.limit, offset=options.offset)
    rows = reply.data or []
    return Answer(
        document=reply.text,
        rows=rows,
        lines=attempt_lines(rows, terminal),
        empty="" if rows else "It was not tried yet.",
    )
