"""Show the sheet of a day: what came in on each line, what became of it, and whether the wallet says the same.

`wallet says` is worked out from the balances in the network's own messages: the last one of the day minus the one before
it, plus what left. A difference is money that came or went untold, or a message that lies. It uses no payment of momo's.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Mode, Path
from momo_cli import day_sheet, periods
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo today
  momo today --date yesterday
  momo today --by hour
  momo today --by payer -o csv
  momo today --get data.sheets.0.all.money_in.amount
"""
BY: Final = ("line", "hour", "payer")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo today`."""

    day: str
    by: str
    sandbox: bool


def command(
    day: Annotated[
        str, typer.Option("--date", help="Which day: yesterday, 2026-01-31.", show_default=True)
    ] = "today",
    by: Annotated[str, typer.Option(help="line, hour or payer.", show_default=True)] = "line",
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="The made-up payments of the sandbox.")
    ] = False,
) -> Call:
    """Read the flags."""
    if by not in BY:
        raise usage(f"--by: {by!r} is not one of {', '.join(BY)}")
    return Call(run, Options(day, by, sandbox), day_sheet.view_by(by))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the sheet."""
    query: dict[str, Any] = {
        "date": periods.day_of(options.day, "--date", terminal.now(), terminal.zone),
        "mode": Mode.TEST if options.sandbox else None,
    }
    if options.by != "line":
        query |= {"by": options.by, "limit": day_sheet.ROWS_MAX}
    reply = client.get(Path.LOCAL_REPORT, **query)
    return day_sheet.answer(reply, client, terminal, options.by)
