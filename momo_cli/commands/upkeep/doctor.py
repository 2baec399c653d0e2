"""The commands doctor and upgrade-check: checks of the machine, the shop and the installed version."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Cell, Row, dumps, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import counted, size, styled, uptime
from momo_cli.socket.client import Client
from momo_cli.socket.connect import is_set_up
from momo_cli.text import at, clean

AREAS: Final = (
    "daemon", "socket", "http", "db", "disk", "clock", "modem", "sim", "parser", "hub", "endpoints", "dns", "keyring",
    "service", "timers", "backup", "permissions", "ledger", "upgrade",
)  # fmt: skip
_MARKS: Final = {
    "ok": Cell("✓", "green"),
    "warn": Cell("!", "yellow"),
    "fail": Cell("✗", "red"),
    "skip": Cell("—", "dim"),
}
_WIDE: Final = 60
"""From this width on, a fix is printed below the detail instead of below the mark."""
_NAMES: Final = {"fail": "problem", "warn": "warning"}
_STATES: Final = {
    "current": ("✓", "green", "The database has the schema of this momo; nothing will change."),
    "migrates": ("✓", "green", "The database will be migrated at the next start:"),
    "newer": ("✗", "red", "The database was written by a newer momo; this one will not start."),
    "incompatible": ("✗", "red", "This momo cannot read the database; it will not start."),
    "damaged": ("✗", "red", "The database is damaged; no momo will start on it."),
}


@command("doctor", view=view_of("id area status detail fix"))
def doctor(
    client: Client,
    terminal: Terminal,
    area: list[str] | None = argument(
        "[AREA]...", f"One of {', '.join(AREAS)}; default: all.", default=None
    ),
    strict: bool = flag("Exit 6 for warnings too."),
    fix: bool = flag("Apply the safe fixes, and list them."),
    deep: bool = flag("Area ledger: read each payment's SMS again and compare."),
    bundle: str | None = option("FILE", "Write a .tar.gz for support."),
    verbose: bool = flag("Show skipped checks and durations too."),
) -> Answer:
    """Check this machine and this shop.

    Each fault is shown with the command that fixes it. Without AREA all areas are checked. Without a running daemon its
    checks are skipped. Nothing is changed without --fix, which applies the safe fixes and lists them. --bundle writes a
    file for support, without names, numbers and secrets; the list of its files is shown first. Exit 6 when something is
    wrong; with --strict a warning counts too.

    Examples:
        momo doctor
        momo doctor modem
        momo doctor db ledger --strict --quiet
        momo doctor permissions --fix
        momo doctor ledger --deep
        momo doctor --bundle momo-doctor.tar.gz
    """
    for name in area or ():
        if name not in AREAS:
            raise usage(f"there is no area {name!r}; there are {', '.join(AREAS)}", "momo doctor")
    if bundle is not None and not bundle.endswith(".tar.gz"):
        why = "--bundle names a file that ends in .tar.gz"
        raise usage(why, "momo doctor --bundle momo.tar.gz")
    body = _checked(client, terminal, area or (), fix=fix, deep=deep)
    data: dict[str, Any] = body.get("data") or {}
    packed, agreed = (None, True) if bundle is None else _pack(terminal, bundle, area or ())
    if packed is not None:
        data["bundle"] = packed
    for one in data.get("fixed") or ():
        terminal.note(f"fixed {clean(one.get('id'))}: {clean(one.get('did'))}")
    if packed is not None and packed.get("bytes"):
        file = f"{clean(packed['path'])} ({size(int(packed['bytes']))})"
        terminal.note(f"Wrote {file}. Look through it before you send it.")
    checks: list[dict[str, Any]] = data.get("checks") or []
    bad = [c for c in checks if c.get("status") in (("fail", "warn") if strict else ("fail",))]
    areas = dict.fromkeys(clean(check.get("area")) for check in bad)
    code = exit_codes.FINDINGS if bad else exit_codes.OK
    lines = list(_lines(checks, terminal, verbose=verbose or bool(area)))
    statuses = [check.get("status") for check in checks]
    counts = [(statuses.count(name), noun) for name, noun in _NAMES.items()]
    found = [counted(count, noun) for count, noun in counts if count]
    return Answer(
        dumps({**body, "data": data}),
        checks,
        lines=[*lines, "", (", ".join(found) + "." if found else "All is well.")],
        exit_code=code if agreed else exit_codes.CANCELLED,
        faults=[clean(check.get("detail")) for check in bad] if bundle is None else None,
        # The command that shows the faults in full, for the single line of --quiet.
        next=[" ".join(["momo doctor", *areas])] if bad and terminal.flags.quiet else (),
    )


def _checked(
    client: Client, terminal: Terminal, areas: Sequence[str], *, fix: bool, deep: bool
) -> dict[str, Any]:
    """Return the checks after the fixes, by the daemon if it runs."""
    if deep and (fix or (*areas,) not in ((), ("ledger",))):
        raise usage("--deep goes with the area ledger only", "momo doctor ledger --deep")
    if deep:
        # In a process of its own, so that a long check does not slow the daemon down.
        return run_verb(terminal, "doctor", "--json", "--deep", "ledger").body
    fixed: list[dict[str, Any]] = []
    if fix:
        fixed = at(run_verb(terminal, "doctor", "--json", "--fix", *areas).body, "data.fixed") or []
    if client.alive():
        body = client.get(Path.LOCAL_DOCTOR, area=",".join(areas) or None).body
    else:
        body = run_verb(terminal, "doctor", "--json", *areas).body
    data = {name: value for name, value in (body.get("data") or {}).items() if name != "fixed"}
    return {**body, "data": {**data, "fixed": fixed} if fix else data}


def _pack(
    terminal: Terminal, bundle: str, areas: Sequence[str]
) -> tuple[dict[str, Any] | None, bool]:
    """Show the bundle's files, ask on a terminal, write it; return the bundle, and whether the answer was yes."""
    flags = ("doctor", "--json", f"--bundle={bundle}", *areas)
    listed: dict[str, Any] = at(run_verb(terminal, *flags, "--dry-run").body, "data.bundle") or {}
    terminal.complain(f"{clean(bundle)} will contain, without names, numbers and secrets:")
    for name, count in (listed.get("files") or {}).items():
        terminal.complain(f"  {size(int(count)):>9}  {clean(name)}")
    if terminal.can_ask() and not terminal.confirm("Write it?"):
        return {**listed, "bytes": None}, False
    return at(run_verb(terminal, *flags).body, "data.bundle"), True


def _lines(checks: Sequence[Row], terminal: Terminal, *, verbose: bool) -> Iterator[str]:
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


@command(
    "daemon upgrade-check", view=view_of("state schema program_schema room restart", id="state")
)
def upgrade_check(client: Client, terminal: Terminal) -> Answer:
    """Show the effect of starting this version.

    The shop stays as it is, its database is migrated, or this version refuses to start on it. The command itself
    changes nothing. The daemon backs up a database before it migrates it. Exit 6 when this version would not start on
    it, or there is no room for that backup.

    Examples:
        momo daemon upgrade-check
        momo daemon upgrade-check --get data.state
    """
    if not is_set_up(terminal.located.places):
        raise Failure(ErrorCode.NOT_SET_UP)
    row: dict[str, Any] = dict(run_verb(terminal, "upgrade-check").data)
    status = client.find(Path.LOCAL_STATUS) if client.alive() else None
    runs = None if status is None else clean(at(status, "version"))
    row["daemon"] = runs
    row["restart"] = runs is not None and runs != row.get("version")
    refused = row.get("state") in ("newer", "incompatible", "damaged")
    bad = refused or row.get("room") is False
    restart = row["restart"] and not bad
    following = {"newer": "momo --version", "damaged": "momo restore --help"}.get(row["state"], "")
    return Answer(
        *made(row),
        lines=list(_effect(terminal, row)),
        next=[following] if following else ["momo daemon restart"] if restart else [],
        exit_code=exit_codes.FINDINGS if bad else exit_codes.OK,
    )


def _effect(terminal: Terminal, row: dict[str, Any]) -> Iterator[str]:
    mark, style, sentence = _STATES.get(str(row.get("state")), ("?", "", str(row.get("state"))))
    yield f"{terminal.style(mark, style)} {sentence}"
    if row.get("why"):
        yield f"    {clean(row['why'])}"
    for step in row.get("steps") or ():
        yield f"    {clean(step)}"
    if row.get("steps"):
        yield "  It is backed up before."
    yield f"  schema    {row.get('schema')} (this momo: {row.get('program_schema')})"
    if row.get("bytes") is not None:
        mark = "" if row.get("room") else terminal.style("  ! too little for a backup", "yellow")
        yield f"  size      {size(row['bytes'])}, {size(row['free_bytes'])} free{mark}"
    age = at(row, "latest_backup.age_s")
    yield f"  backup    {'none yet: momo backup create' if age is None else uptime(age) + ' old'}"
    if row["restart"]:
        yield f"{terminal.style('!', 'yellow')} The running daemon is {clean(row['daemon'])}."
