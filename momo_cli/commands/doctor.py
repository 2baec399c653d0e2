"""Look for what is wrong with this machine and this shop, and say what to type about it. Changes nothing without --fix.

Without AREA all of them. Without the daemon what only it knows is skipped. --fix does what is safe and says what it did.
--bundle packs what a helper needs, with names, numbers and secrets taken out; the list of files is shown first. Exit 6
when something is wrong; with --strict a warning counts too.
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
from momo_cli.values import dumps
from momo_cli.words import size, styled

EXAMPLES: Final = """\
  momo doctor
  momo doctor modem
  momo doctor db ledger --strict --quiet
  momo doctor permissions --fix
  momo doctor --bundle momo-doctor.tar.gz
"""
VIEW: Final = View(
    fields=(Field("id"), Field("area"), Field("status"), Field("detail"), Field("fix")),
)
AREAS: Final = (
    "daemon", "socket", "db", "disk", "clock", "modem", "sim", "parser", "endpoints", "dns", "keyring",
    "service", "timers", "backup", "permissions", "ledger", "upgrade",
)  # fmt: skip
_MARKS: Final = {
    "ok": Cell("✓", "green"),
    "warn": Cell("!", "yellow"),
    "fail": Cell("✗", "red"),
    "skip": Cell("—", "dim"),
}
_WIDE: Final = 60
"""Columns of a terminal that has room for what to type under what is wrong."""
_NAMES: Final = {"fail": ("problem", "problems"), "warn": ("warning", "warnings")}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo doctor`; `bundle` is None where none was asked for."""

    areas: tuple[str, ...]
    strict: bool
    fix: bool
    bundle: str | None
    verbose: bool


def command(
    area: Annotated[
        list[str] | None,
        typer.Argument(metavar="[AREA]...", help=f"Of {', '.join(AREAS)}; all without one."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 6 for warnings too.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Do what is safe, and say what.")] = False,
    bundle: Annotated[
        str | None, typer.Option(metavar="FILE", help="Pack a .tar.gz for a helper.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show what was skipped, and how long each took.")
    ] = False,
) -> Call:
    """Read the flags."""
    for name in area or ():
        if name not in AREAS:
            raise usage(f"there is no area {name!r}; there are {', '.join(AREAS)}", "momo doctor")
    if bundle is not None and not bundle.endswith(".tar.gz"):
        raise usage(
            "--bundle names a file that ends in .tar.gz", "momo doctor --bundle momo.tar.gz"
        )
    return Call(run, Options(tuple(area or ()), strict, fix, bundle, verbose), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Let the daemon look, for it knows the phones; without one, its program, which also mends and packs."""
    mended: list[dict[str, Any]] = []
    if options.fix:
        mended = (
            at(ask(terminal, "doctor", "--json", "--fix", *options.areas).body, "data.fixed") or []
        )
    if client.alive():
        body = client.get(Path.LOCAL_DOCTOR, area=",".join(options.areas) or None).body
    else:
        body = ask(terminal, "doctor", "--json", *options.areas).body
    data: dict[str, Any] = body.get("data") or {}
    data.pop("fixed", None)
    if options.fix:
        data["fixed"] = mended
    packed, said = (None, True) if options.bundle is None else _pack(terminal, options)
    if packed is not None:
        data["bundle"] = packed
    for one in mended:
        terminal.note(f"fixed {clean(one.get('id'))}: {clean(one.get('did'))}")
    if packed is not None and packed.get("bytes"):
        told = f"{clean(packed['path'])} ({size(int(packed['bytes']))})"
        terminal.note(f"Wrote {told}. Look through it before you send it.")
    checks: list[dict[str, Any]] = data.get("checks") or []
    counts = {name: sum(c.get("status") == name for c in checks) for name in _NAMES}
    wrong = ("fail", "warn") if options.strict else ("fail",)
    bad = [check for check in checks if check.get("status") in wrong]
    code = exits.FINDINGS if bad else exits.OK
    return Answer(
        document=dumps({**body, "data": data}),
        rows=checks,
        lines=[
            *_lines(checks, terminal, verbose=options.verbose or len(options.areas) > 0),
            "",
            _summary(counts),
        ],
        exit_code=code if said else exits.CANCELLED,
        faults=[clean(check.get("detail")) for check in bad] if options.bundle is None else None,
        next=_again(bad) if terminal.flags.quiet else (),
    )


def _again(bad: list[dict[str, Any]]) -> list[str]:
    """Return what shows more of what is wrong to whoever got only a line of it."""
    areas = dict.fromkeys(clean(check.get("area")) for check in bad)
    return [" ".join(["momo doctor", *areas])] if bad else []


def _pack(terminal: Terminal, options: Options) -> tuple[dict[str, Any] | None, bool]:
    """Show what would be packed, ask on a terminal, write it; returns what was, and whether the answer was yes."""
    flags = ("doctor", "--json", f"--bundle={options.bundle}", *options.areas)
    listed: dict[str, Any] = at(ask(terminal, *flags, "--dry-run").body, "data.bundle") or {}
    terminal.complain(
        f"{clean(options.bundle)} will hold, with names, numbers and secrets taken out:"
    )
    for name, count in (listed.get("files") or {}).items():
        terminal.complain(f"  {size(int(count)):>9}  {clean(name)}")
    if terminal.can_ask() and not terminal.flags.yes:
        typed = terminal.ask("Write it? [y/N] ", "--yes")
        if typed.strip().lower() not in {"y", "yes"}:
            return {**listed, "bytes": None}, False
    return at(ask(terminal, *flags).body, "data.bundle"), True


def _lines(checks: list[dict[str, Any]], terminal: Terminal, *, verbose: bool) -> Iterator[str]:
    width = max([19, *(len(str(check.get("id"))) for check in checks)])
    wide = terminal.width >= _WIDE
    for check in checks:
        status = str(check.get("status"))
        if status == "skip" and not verbose:
            continue
        mark = styled(_MARKS.get(status, Cell("?")), terminal)
        took = f"  ({check['ms']} ms)" if verbose and check.get("ms") else ""
        yield f"{mark} {clean(check.get('id')):<{width}}  {clean(check.get('detail'))}{took}"
        if check.get("fix") and status not in {"ok", "skip"}:
            yield f"{' ' * (width + 4 if wide else 4)}fix: {clean(check['fix'])}"


def _summary(counts: Row) -> str:
    said = [
        f"{counts[name]} {words[counts[name] != 1]}"
        for name, words in _NAMES.items()
        if counts[name]
    ]
    return ", ".join(said) + "." if said else "All is well."
