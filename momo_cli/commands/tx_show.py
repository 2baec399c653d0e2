"""Show one order: what was asked, what was paid, by whom, and when."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.orders import SHOW_VIEW, find, shown
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo tx show 7KQ2MX
  momo tx show svc_trx_0f3c5d2a9b8e47c1a6d0e2f4b8c6a901 --get data.status
  momo tx show --client-ref INV-17
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo tx show`."""

    order: str | None
    client_ref: str | None


def command(
    order: Annotated[
        str | None,
        typer.Argument(metavar="REF|CODE", help="The order's reference or code."),
    ] = None,
    client_ref: Annotated[
        str | None, typer.Option("--client-ref", help="Find it by your own reference.")
    ] = None,
) -> Call:
    """Read the flags."""
    if (order is None) == (client_ref is None):
        raise usage("give one of REF, CODE and --client-ref")
    return Call(run, Options(order, client_ref), SHOW_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the order."""
    if options.client_ref is not None:
        path = path_of(Path.TRANSACTION_BY_CLIENT_REF, client_ref=options.client_ref)
        return shown(client.get(path), terminal)
    return shown(find(client, options.order or ""), terminal)
