"""Look for what is wrong with this machine and say what to type about it. Changes nothing.

AREA is modem: from the USB plug to the SIM. Without the daemon it looks at the machine alone. Exit 6 when something is
wrong; with --strict a warning counts too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Cell, Field, Row, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import styled

EXAMPLES: Final = """\
  momo doctor
  momo doctor modem
  momo doctor modem --json --get data.ok
"""
VIEW: Final = View(
    fields=(Field("id"), Field("area"), Field("status"), Field("detail"), Field("fix")),
)
AREAS: Final = ("modem",)
_MARKS: Final = {
    "ok": Cell("✓", "green"),
    "warn": Cell("!", "yellow"),
    "fail": Cell("✗", "red"),
    "skip": Cell("—", "dim"),
}
_NAMES: Final = {"fail": ("problem", "problems"), "warn": ("warning", "warnings")}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo doctor`."""

    areas: tuple[str, ...]
    strict: bool


def command(
    area: Annotated[
        list[str] | None, typer.Argument(metavar="[AREA]...", help="modem; all without one.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 6 for warnings too.")] = False,
) -> Call:
    """Read the flags."""
    for name in area or ():
        if name not in AREAS:
            raise usage(f"there is no area {name!r}; there are {', '.join(AREAS)}", "momo doctor")
    return Call(run, Options(tuple(area or ()), strict), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Let the daemon look, for it knows the phones; without one, its program."""
    if client.alive():
        reply = client.get(Path.LOCAL_DOCTOR, area=",".join(options.areas) or None)
        text, body = reply.text, reply.body
    else:
        done = ask(terminal, "doctor", "--json", *options.areas)
        text, body = done.text, done.body
    checks: list[dict[str, Any]] = at(body, "data.checks") or []
    counts = {name: sum(c.get("status") == name for c in checks) for name in _NAMES}
    bad = counts["fail"] or (options.strict and counts["warn"])
    return Answer(
        document=text,
        rows=checks,
        lines=[*_lines(checks, terminal), "", _summary(counts)],
        exit_code=exits.FINDINGS if bad else exits.OK,
    )


def _lines(checks: list[dict[str, Any]], terminal: Terminal) -> Iterator[str]:
    for check in checks:
        mark = styled(_MARKS.get(str(check.get("status")), Cell("?")), terminal)
        yield f"{mark} {clean(check.get('id')):<19} {clean(check.get('detail'))}"
        if check.get("fix"):
            yield f"  {'':<19} fix: {clean(check['fix'])}"


def _summary(counts: Row) -> str:
    said = [
        f"{counts[name]} {words[counts[name] != 1]}"
        for name, words in _NAMES.items()
        if counts[name]
    ]
    return ", ".join(said) + "." if said else "All is well."
