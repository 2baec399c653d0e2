"""Take the service away again: stop it and remove its files. The shop, its database and its log stay.

Exit 0 too when there was none.
"""

import glob
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.services import Kind, Service, do, read, remove, service_for
from momo_cli.terminal import Terminal
from momo_cli.unit_files import shop_of
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo service uninstall
  momo service uninstall --system --json
"""
VIEW: Final = View(fields=(Field("status"), Field("path")), id="path")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo service uninstall`."""

    system: bool


def command(
    system: Annotated[
        bool, typer.Option("--system/--user", help="The machine's service, or yours.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(system), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Switch off and remove what is this shop's."""
    service = service_for(terminal, system=options.system)
    found = _files(service)
    notes = []
    if found:
        names = [path.rpartition("/")[2] for path in found]
        units = [name for name in names if "@" not in name]
        try:
            if service.kind is Kind.LAUNCHD:
                do(terminal, service.control("disable"))
            else:
                do(terminal, service.control("disable", "--now", *units))
        except Failure as failure:
            notes.append(f"! {failure.message}")
    removed = [path for path in found if remove(path)]
    if removed and service.kind is not Kind.LAUNCHD:
        try:
            scope = ["--user"] if service.kind is Kind.USER else []
            do(terminal, ["systemctl", *scope, "daemon-reload"])
        except Failure as failure:
            notes.append(f"! {failure.message}")
    status = "uninstalled" if removed else "already_uninstalled"
    row = {"status": status, "path": service.path, "files": removed}
    said = {
        "uninstalled": f"{terminal.style('✓', 'green')} Removed; the shop itself is untouched.",
        "already_uninstalled": "There is no service of this shop.",
    }
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[said[status], *(f"  {path}" for path in removed)],
        notes=notes,
        next=["momo daemon start"] if removed else ["momo service install"],
    )


def _files(service: Service) -> list[str]:
    """Return the unit and the timers that say they are this shop's."""
    stem = service.path.removesuffix(".service")
    paths = [service.path, *sorted(glob.glob(f"{glob.escape(stem)}-*"))]  # noqa: PTH207  # no pathlib here
    return [path for path in paths if shop_of(read(path)) == service.shop.home]
