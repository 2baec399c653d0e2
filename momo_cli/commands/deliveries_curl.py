"""Print a curl command that sends one delivery again, by hand, with a signature of this moment.

A verifying receiver takes it for five minutes. The secret is not in it. Send it elsewhere with --url, such as to the
server on your desk. momo itself sends nothing, and its log of the delivery does not change.
"""

import shlex
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.naming import DELIVERIES, id_of
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo deliveries curl 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
  momo deliveries curl 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --url http://127.0.0.1:3000/hook | sh
"""
VIEW: Final = View(fields=(Field("url"), Field("headers"), Field("body")), id="url")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries curl`."""

    delivery: str
    url: str | None


def command(
    delivery: Annotated[str, typer.Argument(metavar="ID", help="The delivery.")],
    url: Annotated[str | None, typer.Option(help="Where to; its endpoint, if not said.")] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(delivery.strip(), url), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Have it signed, and write the command."""
    options = replace(options, delivery=id_of(client, DELIVERIES, options.delivery))
    reply = client.call("POST", path_of(Path.LOCAL_DELIVERY_SIGNED, id=options.delivery))
    said = curl(reply.data, options.url or str(reply.data["url"]))
    return Answer(document=reply.text, rows=[reply.data], verbatim=said.splitlines(), plain=said)


def curl(signed: dict[str, Any], url: str) -> str:
    """Write the command: every value is one word to the shell, whatever is in it."""
    parts = ["curl --silent --show-error --include --request POST", "--globoff"]
    parts += [
        f"--header {shlex.quote(f'{name}: {value}')}" for name, value in signed["headers"].items()
    ]
    # --data-raw, because --data would read a file where the text begins with @.
    parts += [f"--data-raw {shlex.quote(str(signed['body']))}", f"--url {shlex.quote(url)}"]
    return " \\\n  ".join(parts)
