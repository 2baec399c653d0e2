"""Say whether momo is a service here, whether it runs, and what it says of itself.

Exit 0 when it runs, 7 when it is installed and does not run, 3 when it is not installed.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.service_verbs import installed
from momo_cli.services import Kind, Service, do, service_for
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo service status
  momo service status --system --json
"""
VIEW: Final = View(
    fields=tuple(Field(name) for name in ("active", "state", "enabled", "pid", "says", "path")),
    id="path",
)
_ASKED: Final = "ActiveState,SubState,MainPID,UnitFileState,StatusText,NRestarts"


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo service status`."""

    system: bool


def command(
    system: Annotated[
        bool, typer.Option("--system/--user", help="The machine's service, or yours.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(system), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask the program that keeps it."""
    service = installed(terminal, system=options.system)
    row = _seen(terminal, service)
    good = row["active"]
    mark = terminal.style("✓", "green") if good else terminal.style("✗", "red")
    pid = f", pid {row['pid']}" if row["pid"] else ""
    outdated = service.text != service.files(with_timers=False)[0].text
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[
            f"{mark} {service.unit}: {clean(row['state'])}{pid}",
            f"  says      {clean(row['says']) or '—'}",
            f"  at start  {clean(row['enabled']) or '—'}",
            f"  restarts  {row['restarts']}",
            f"  unit      {service.path}",
        ],
        notes=["! The unit is not what this momo would write: momo service install"]
        if outdated and service_for(terminal, system=options.system) == service
        else [],
        next=["momo status"] if good else ["momo service logs", "momo service start"],
        exit_code=exits.OK if good else exits.DAEMON,
    )


def _seen(terminal: Terminal, service: Service) -> dict[str, Any]:
    facts: dict[str, str] = {}
    if service.kind is Kind.LAUNCHD:
        text = do(terminal, service.control("show"))
        active = "state = running" in text
        facts = {"ActiveState": "active" if active else "inactive"}
    else:
        words = service.control("show", f"--property={_ASKED}", service.unit)
        lines = do(terminal, words).splitlines()
        facts = dict(line.split("=", 1) for line in lines if "=" in line)
    state = facts.get("ActiveState", "unknown")
    sub = facts.get("SubState", "")
    return {
        "supervisor": service.kind,
        "active": state == "active",
        "state": f"{state} ({sub})" if sub else state,
        "enabled": facts.get("UnitFileState", ""),
        "pid": int(facts.get("MainPID") or 0) or None,
        "says": facts.get("StatusText", ""),
        "restarts": int(facts.get("NRestarts") or 0),
        "path": service.path,
    }
