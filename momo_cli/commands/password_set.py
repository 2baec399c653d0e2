"""Choose a new password for the owner. Every dashboard session ends.

The user that runs momo, or root, needs no old password. Works with the daemon running or not.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.passwords import new_password
from momo_cli.process import ask
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo password set
  momo password set --password-file pw.txt
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo password set`."""

    password_file: str | None


def command(
    password_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The new password, 10 characters or more; - = stdin."),
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(password_file))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the new password twice, and set it."""
    password = new_password(terminal, options.password_file)
    if client.alive():
        text = client.call("POST", Path.LOCAL_PASSWORD, body={"password": password}).text
    else:
        text = ask(terminal, "password-set", "--json", stdin=password).text
    said = f"{terminal.style('✓', 'green')} The owner has a new password; every session has ended."
    return Answer(document=text, lines=[said])
