"""What `momo service install` and `momo setup` share: showing the files of a service, and switching it on."""

from daemon.wire import Path
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.services import Kind, Service, do
from momo_cli.terminal import Terminal
from momo_cli.unit_files import UnitFile, timer_names


def agreed(terminal: Terminal, files: list[UnitFile]) -> bool:
    """Show the files and ask, because they change what the machine does by itself; a timer by what it does, and when."""
    if terminal.flags.yes:
        return True
    if not terminal.can_ask():
        raise usage("--yes is missing, and there is nobody to ask", "momo service install --print")
    for file in files:
        terminal.complain(terminal.style(f"── {file.path}", "bold", message=True))
        terminal.complain(f"   {file.what}" if file.what else file.text)
    if any(file.what for file in files):
        terminal.complain(
            "The files of the timers in full: momo service install --timers --print\n"
        )
    return terminal.ask("Write this and start the service? [y/N] ", "--yes").lower() in ("y", "yes")


def switch_on(
    client: Client, terminal: Terminal, service: Service, *, linger: bool, timers: bool
) -> list[str]:
    """Tell the machine's programs; return what they refused, each with what to type."""
    steps: list[list[str]] = []
    if service.kind is Kind.LAUNCHD:
        steps.append(service.control("enable"))
    else:
        scope = ["--user"] if service.kind is Kind.USER else []
        if service.kind is Kind.SYSTEM:
            steps.append(["systemd-sysusers", "momo.conf"])
        steps.append(["systemctl", *scope, "daemon-reload"])
        if linger and service.kind is Kind.USER:
            steps.append(["loginctl", "enable-linger"])
        wanted = [service.unit]
        if timers:
            wanted += timer_names(service.shop, _endpoints(client))
        steps.append(["systemctl", *scope, "enable", "--now", *wanted])
    problems = []
    for step in steps:
        try:
            do(terminal, step)
        except Failure as failure:
            problems.append(failure.message)
    return problems


def _endpoints(client: Client) -> list[str]:
    """Return the endpoints that get a timer each; none when the daemon cannot be asked."""
    if not client.alive():
        return []
    try:
        found = client.get(Path.ENDPOINTS).data or ()
    except Failure:
        return []
    return [str(endpoint["id"]) for endpoint in found]
