"""The cashier's view: the newest payment in large figures, the day on each line, what waits for you, and a bell.

Type the six characters of a code and it says whether that order is paid. + approves the payment that is marked for the
order that is suggested, by the rules of `momo review approve`: what may be forged asks for the owner's password. Tab goes
to the next one, * turns the sound on and off, Esc clears; q and Enter leave, Ctrl-C or Ctrl-D too (q alone is a letter of
codes). It works over SSH, best from 80 columns by 24 lines on and still on 40, and goes on by itself when the daemon comes back.
"""

import os
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli import system
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo watch
  momo watch --read-only --no-sound
  momo watch --sandbox
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo watch`."""

    read_only: bool
    sound: bool
    sandbox: bool


def command(
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only show: nothing can be approved here.")
    ] = False,
    no_sound: Annotated[bool, typer.Option("--no-sound", help="Never ring the bell.")] = False,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="The made-up payments of the sandbox.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(read_only, not no_sound, sandbox))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look at the books once, so that what is wrong is said as always; then show them."""
    _needs_a_screen(terminal)
    from momo_cli.cashier import desk, loop, model  # noqa: PLC0415  # only a screen needs rich

    shown = model.Model(read_only=options.read_only, sound=options.sound)
    model.heard(shown, desk.books(client, sandbox=options.sandbox), system.monotonic())
    code = loop.watch(desk.Desk(client, sandbox=options.sandbox), terminal, shown)
    return Answer(exit_code=code)


def _needs_a_screen(terminal: Terminal) -> None:
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    if terminal.human and terminal.on_screen and terminal.stdin.isatty() and not dumb:
        return
    why = "this one can only print (TERM)" if terminal.on_screen and dumb else "there is none here"
    raise Failure(
        ErrorCode.USAGE,
        f"momo watch draws on a whole terminal, and {why}; programs read momo tx watch --json",
        next=("momo tx watch --json", "momo today"),
    )
