"""Show what the service wrote into the journal of the machine. momo logs shows the shop's own log, which has the same lines."""

import os
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.service_verbs import installed
from momo_cli.services import Kind
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo service logs
  momo service logs -f --lines 20
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo service logs`."""

    system: bool
    follow: bool
    lines: int


def command(
    system: Annotated[
        bool, typer.Option("--system/--user", help="The machine's service, or yours.")
    ] = False,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as more comes.")] = False,
    lines: Annotated[int, typer.Option(min=1, max=100_000, help="So many to begin with.")] = 200,
) -> Call:
    """Read the flags."""
    return Call(run, Options(system, follow, lines))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Become the program that reads the journal."""
    service = installed(terminal, system=options.system)
    flags = [f"-n{options.lines}" if service.kind is not Kind.LAUNCHD else f"-{options.lines}"]
    words = service.journal(*flags, *(["-f"] if options.follow else []))
    terminal.stdout.flush()
    terminal.stderr.flush()
    try:
        os.execvpe(words[0], words, terminal.located.environ)  # noqa: S606  # the machine's own program
    except OSError as problem:
        raise Failure(
            ErrorCode.INTERNAL_ERROR, f"{words[0]}: {problem.strerror}", next=("momo logs",)
        ) from None
