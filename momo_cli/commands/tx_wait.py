"""Wait until an order is paid.

Exit 0 when it is, 8 when the time is over and nothing failed, 6 when it ended otherwise (paid
short, expired, cancelled). --timeout 0 waits for ever.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.orders import SHOW_VIEW, Goal, reference_of, shown, wait_for
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo tx wait 7KQ2MX
  momo tx wait 7KQ2MX --timeout 2m && echo "hand over the goods"
  momo tx wait 7KQ2MX --for final --get data.status
"""
_LIMIT_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo tx wait`; `--timeout` is a global one."""

    order: str
    goal: Goal


def command(
    order: Annotated[str, typer.Argument(metavar="REF|CODE", help="The order.")],
    goal: Annotated[
        Goal, typer.Option("--for", help="What to wait for.", show_default=True)
    ] = Goal.PAID,
) -> Call:
    """Read the flags."""
    return Call(run, Options(order, goal), SHOW_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Wait, then show the order as it is."""
    given = terminal.flags.timeout_s
    reference = reference_of(client, options.order)
    reply, code = wait_for(
        client,
        reference,
        goal=options.goal,
        limit_s=_LIMIT_S if given is None else given,
    )
    return shown(reply, terminal, exit_code=code)
