"""Show one delivery: where it goes, what was answered, when it is tried again."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.deliveries import VIEW, attempt_lines, lines
from momo_cli.naming import DELIVERIES, id_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo deliveries show 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
  momo deliveries show 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --payload --attempts
  momo deliveries show 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --get data.payload
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries show`."""

    delivery: str
    payload: bool
    attempts: bool


def command(
    delivery: Annotated[str, typer.Argument(metavar="ID", help="The delivery.")],
    payload: Annotated[bool, typer.Option("--payload", help="Also the body that is sent.")] = False,
    attempts: Annotated[bool, typer.Option("--attempts", help="Also each attempt.")] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(delivery.strip(), payload, attempts), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the delivery."""
    options = replace(options, delivery=id_of(client, DELIVERIES, options.delivery))
    reply = client.get(path_of(Path.DELIVERY, id=options.delivery))
    told = lines(reply.data, terminal)
    if options.attempts and terminal.human:
        every = client.get(path_of(Path.DELIVERY_ATTEMPTS, id=options.delivery))
        told += attempt_lines(every.data, terminal)
    payload = [dumps(reply.data.get("payload"))] if options.payload else []
    next_ = [f"momo deliveries attempts {clean(reply.data.get('id'))}"]
    if reply.data.get("status") in ("delivered", "failed"):
        next_.append(f"momo deliveries redeliver {clean(reply.data.get('id'))}")
    return Answer(document=reply.text, rows=[reply.data], lines=told, verbatim=payload, next=next_)
