"""What `momo service start`, `stop` and `restart` share: one verb, said to the program that keeps the service."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daemon.wire import ErrorCode
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.services import Service, do, service_for
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

VIEW: Final = View(fields=(Field("status"), Field("supervisor"), Field("unit")), id="unit")
_DONE: Final = {"start": "started", "stop": "stopped", "restart": "restarted"}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of the three."""

    system: bool


def call_for(verb: str, *, system: bool) -> Call:
    """Return the call that says one of the verbs."""
    return Call(_runner(verb), Options(system), VIEW)


def installed(terminal: Terminal, *, system: bool) -> Service:
    """Return this shop's service.

    Raises:
        Failure: There is none.
    """
    service = service_for(terminal, system=system)
    if not service.installed:
        flag = " --system" if system else ""
        raise Failure(
            ErrorCode.SERVICE_NOT_INSTALLED,
            f"{service.path} is not there, or is another shop's",
            next=(f"momo service install{flag}", "momo daemon start"),
        )
    return service


def _runner(verb: str) -> Callable[[Client, Terminal, Options], Answer]:
    def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
        service = installed(terminal, system=options.system)
        do(terminal, service.control(verb))
        row = {"status": _DONE[verb], "supervisor": service.kind, "unit": service.unit}
        return Answer(
            document=dumps({"success": True, "data": row}),
            rows=[row],
            lines=[f"{terminal.style('✓', 'green')} {service.unit} {_DONE[verb]}."],
            next=["momo service status"],
        )

    return run
