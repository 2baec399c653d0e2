"""Give up an order that nobody has paid. Its code stays out of use for 30 days.

Money that comes for it all the same waits for you: momo review list.
Exit 5 when it is paid or held for a person: do not tell the customer that it is cancelled.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure
from momo_cli.orders import SHOW_VIEW, reference_of, shown
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo tx cancel 7KQ2MX
  momo tx cancel 7KQ2MX --reason "customer changed her mind"
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo tx cancel`."""

    order: str
    reason: str | None


def command(
    order: Annotated[str, typer.Argument(metavar="REF|CODE", help="The order.")],
    reason: Annotated[str | None, typer.Option(help="Kept in the journal.")] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(order.strip(), reason), SHOW_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Find the order and cancel it."""
    try:
        reference = reference_of(client, options.order)
        reply = client.call(
            "POST",
            path_of(Path.CANCEL, reference=reference),
            body={} if options.reason is None else {"reason": options.reason},
            idempotency_key=system.new_key(),
        )
    except Failure as failure:
        failure.facts.setdefault("reference", options.order)
        raise
    return shown(reply, terminal)
