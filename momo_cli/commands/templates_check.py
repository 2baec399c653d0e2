"""Check a file of your own wordings: samples must read, no cut or typed text may change what a message says.

Needs no daemon. Exit 6 when something is wrong; each problem names its line and what to type instead.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.input_file import text_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps
from parsers.own import load
from parsers.read import read
from parsers.reading import Unreadable

EXAMPLES: Final = """\
  momo templates check templates/mtn.toml
"""
VIEW: Final = View(fields=(Field("file"), Field("line"), Field("why"), Field("todo")), id="file")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo templates check`."""

    files: tuple[str, ...]


def command(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="The files; - is stdin.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(tuple(files)), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Check them."""
    problems, wordings, notes = [], [], []
    for file in options.files:
        loaded = load(text_of(terminal, file))
        problems += [
            {"file": file, "line": one.line, "why": one.why, "todo": one.todo}
            for one in loaded.problems
        ]
        for wording in loaded.wordings:
            wordings.append(
                {
                    "file": file,
                    "name": wording.name,
                    "network": wording.network,
                    "kind": wording.kind,
                }
            )
            known = [read(None, sample, network=wording.network) for sample in wording.samples]
            if all(not isinstance(one, Unreadable) for one in known):
                notes.append(
                    f"{file}: {wording.name}: momo reads its samples without it; it is not needed"
                )
    found = {"wordings": wordings, "problems": problems}
    told = [
        terminal.style(f"✗ {one['file']}:{one['line']}", "red")
        + f"  {clean(one['why'])}\n    {clean(one['todo'])}"
        for one in problems
    ]
    good = [
        terminal.style("✓", "green") + f" {one['name']}  {one['network']} {one['kind']}"
        for one in wordings
    ]
    return Answer(
        document=dumps({"success": not problems, "data": found}),
        rows=problems,
        lines=[*good, *told],
        plain="" if problems else "\n".join(f"ok\t{one['name']}" for one in wordings),
        notes=notes,
        exit_code=exits.FINDINGS if problems else exits.OK,
    )
