"""Let the sandbox's phone get an SMS as it stands in a file: through the real parser, with no real money."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.simulated import VIEW, ask, lines, next_commands
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo simulate sms --file receipt.txt
  momo simulate sms --file - --network telecel --sender T-CASH
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo simulate sms`."""

    file: str
    body: dict[str, Any]


def command(
    file: Annotated[str, typer.Option(metavar="FILE", help="The text; - = stdin.")],
    network: Annotated[str, typer.Option(metavar="mtn|telecel", help="Whose SIM.")] = "mtn",
    sender: Annotated[
        str | None, typer.Option(help="Who sends it; the network's own name, if not said.")
    ] = None,
) -> Call:
    """Read the flags."""
    provider = network if network.startswith("momo_") else f"momo_{network.lower()}"
    body = {"provider": provider} | ({} if sender is None else {"sender": sender})
    return Call(run, Options(file, body), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Send it."""
    reply = ask(client, {**options.body, "text": _text(terminal, options.file)})
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=lines(reply.data, terminal),
        next=next_commands(reply.data),
    )


def _text(terminal: Terminal, path: str) -> str:
    if path == "-":
        return terminal.stdin.read()
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
            return file.read()
    except (OSError, ValueError) as problem:
        raise usage(f"--file: {path}: {problem}") from None
