"""List the SMS that came in, newest first, and what became of each. Texts only with --show-body."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import MessageState, Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.headings import showing
from momo_cli.messages import VIEW
from momo_cli.terminal import Terminal
from momo_cli.times import moment

EXAMPLES: Final = """\
  momo messages list --since 1h
  momo messages list --state unparsed
  momo messages list --sender MobileMoney --since today
  momo messages list --fields received_at,sender,state,amount -o csv
"""
_WITH_BODY: Final = View(fields=(*VIEW.fields, Field("body")), heads=VIEW.heads, id=VIEW.id)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo messages list`."""

    state: str | None
    line: str | None
    sender: str | None
    since: str | None
    limit: int
    offset: int
    show_body: bool


def command(  # noqa: PLR0913, PLR0917 -- each is a flag
    state: Annotated[
        str | None,
        typer.Option(help="payment, not_payment, unparsed, held, historical ..."),
    ] = None,
    line: Annotated[str | None, typer.Option(help="Only those of this number or line.")] = None,
    sender: Annotated[
        str | None, typer.Option(help="Only from this name or number, such as MobileMoney.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="1h, 24h, today, 2026-01-31.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
    show_body: Annotated[
        bool,
        typer.Option(
            "--show-body", help="With the texts: names, numbers, balances; noted in the journal."
        ),
    ] = False,
) -> Call:
    """Read the flags."""
    if state is not None and state.lower() not in set(MessageState):
        raise usage(f"--state: {state!r} is not one of {', '.join(MessageState)}")
    kind = state.lower() if state else None
    options = Options(kind, line, sender, since, limit, offset, show_body)
    return Call(run, options, _WITH_BODY if show_body else VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the messages."""
    since = options.since
    query: dict[str, Any] = {
        "limit": options.limit,
        "offset": options.offset,
        "state": options.state,
        "line": options.line,
        "sender": options.sender,
        "since": since and moment(since, "--since", terminal.now(), terminal.zone),
        "show_body": "1" if options.show_body else None,
    }
    reply = client.get(Path.LOCAL_MESSAGES, **query)
    rows = reply.data or []
    kind = f"{options.state} " if options.state else ""
    return Answer(
        document=reply.text,
        rows=rows,
        heading=showing(reply, "messages", offset=options.offset, kind=options.state),
        empty="" if rows else f"No {kind}messages.",
    )
