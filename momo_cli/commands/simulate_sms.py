"""Let the sandbox's phone get an SMS as it stands in a file: through the real parser, with no real money."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.input_file import text_of
from momo_cli.naming import METHODS, one_of
from momo_cli.simulated import VIEW, ask, lines, next_commands
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo simulate sms --file receipt.txt
  momo simulate sms --file - --network telecel --sender T-CASH < receipt.txt
  momo simulate sms --line 0244124567 --file receipt.txt
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo simulate sms`."""

    file: str
    body: dict[str, Any]
    line: str | None


def command(
    file: Annotated[str, typer.Option(metavar="FILE", help="The text; - = stdin.")],
    network: Annotated[
        str | None,
        typer.Option(metavar="mtn|telecel", help="Whose SIM; mtn, if nothing is said."),
    ] = None,
    line: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The SIM of this number of yours.")
    ] = None,
    sender: Annotated[
        str | None, typer.Option(help="Who sends it; the network's own name, if not said.")
    ] = None,
) -> Call:
    """Read the flags."""
    if network is not None and line is not None:
        raise usage("--line says whose SIM it is; leave --network away")
    network = network or "mtn"
    provider = network if network.startswith("momo_") else f"momo_{network.lower()}"
    body = {"provider": provider} | ({} if sender is None else {"sender": sender})
    return Call(run, Options(file, body, line), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Send it."""
    text = text_of(terminal, options.file)
    if not text.strip():
        raise usage(f"--file: {clean(options.file)} is empty; it holds the text of one SMS")
    body = {**options.body, "text": text}
    if options.line is not None:
        rows = client.get(Path.PAYMENT_METHODS).data or ()
        body["provider"] = one_of(options.line, rows, METHODS)["provider"]
    reply = ask(client, body)
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=lines(reply.data, terminal),
        next=next_commands(reply.data),
    )
