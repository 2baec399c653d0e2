"""Keep the password of the mail account that sends notices, sealed; or forget it with --forget."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.passwords import STDIN, password_in
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo notices password
  momo notices password --password-file mail.pw
  momo notices password --forget
"""
VIEW: Final = View(fields=(Field("set"),), id="set")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo notices password`."""

    password_file: str | None
    forget: bool


def command(
    password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The password; - = stdin.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Keep none.")] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(password_file, forget), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Hand it to the daemon."""
    password = None if options.forget else _password(terminal, options.password_file)
    reply = client.call("POST", Path.LOCAL_SMTP_PASSWORD, body={"password": password})
    said = "The password is kept, sealed." if password is not None else "No password is kept."
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=[f"{terminal.style('✓', 'green')} {said}"],
        next=["momo notices test"],
    )


def _password(terminal: Terminal, path: str | None) -> str:
    if path == STDIN:
        return terminal.stdin.readline().removesuffix("\n")
    if path is not None:
        return password_in(path)
    return terminal.ask_secret("The mail account's password: ", "--password-file FILE")
