"""Print the script that completes momo's words with TAB in your shell, or put it in its place.

It knows the commands and flags, and asks the daemon for orders, endpoints, phones and the like; when
the daemon is down it offers none of these, and says nothing.
"""

import os
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.completion_scripts import PLACES, SCRIPTS
from momo_cli.errors import Failure, usage
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo completion bash --install
  momo completion zsh > ~/.zfunc/_momo
  momo completion fish | source
"""
_VIEW: Final = View(fields=(Field("shell"), Field("path"), Field("script")), id="path")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo completion`."""

    shell: str
    install: bool


def command(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
    install: Annotated[
        bool, typer.Option("--install", help="Write it to where the shell looks for it.")
    ] = False,
) -> Call:
    """Read the flags."""
    if shell not in SCRIPTS:
        raise usage(f"SHELL: {shell!r} is not one of {', '.join(SCRIPTS)}")
    return Call(run, Options(shell, install), _VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Print or install the script."""
    script = SCRIPTS[options.shell]
    path = _install(terminal, options.shell, script) if options.install else None
    row = {"shell": options.shell, "path": path, "script": script}
    said = script.rstrip("\n") if path is None else f"Written to {path}. Open a new shell."
    notes = []
    if path is not None and options.shell == "zsh":
        folder = path.rpartition("/")[0]
        notes = [f"zsh looks there if ~/.zshrc says, before compinit: fpath+=({folder})"]
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[said] if path else (),
        verbatim=() if path else said.splitlines(),
        plain=said,
        notes=notes,
    )


def _install(terminal: Terminal, shell: str, script: str) -> str:
    environ = terminal.located.environ
    variable, usual, name = PLACES[shell]
    base = environ.get(variable) or f"{environ.get('HOME', '')}/{usual}"
    path = f"{base}/{name}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120  # no pathlib needed
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is not needed here
            file.write(script)
    except OSError as problem:
        raise Failure(
            ErrorCode.USAGE,
            f"{path} cannot be written: {problem.strerror}",
            next=(f"momo completion {shell}",),
        ) from None
    return path
