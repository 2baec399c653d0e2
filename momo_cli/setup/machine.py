"""The steps of `momo setup` about this machine: the address, the service, sleep, the daemon, and copies of backups."""

import json
import os
from typing import Final

from momo_cli import system
from momo_cli.errors import Failure
from momo_cli.service import manager
from momo_cli.service.daemon_program import MACHINE_USER, run_verb, start_daemon
from momo_cli.setup import phone
from momo_cli.setup.step import Setup, outcome
from momo_cli.show.answer import Row, dumps
from momo_cli.text import at, clean

START_S: Final = 30.0
_PORTS_TRIED: Final = 20
"""The number of ports after a taken one that are tried."""
_PORTS: Final = "modems.ports"
_AWAKE: Final = "power.keep_awake"
_USERS: Final = "access.socket_users"
_ALSO_TO: Final = "backup.also_to"
_BY_HAND: Final = (
    "momo does not start with the machine, and makes no backup each night: "
    "after a restart it reads no payment until you type momo daemon start"
)
_SLEEPS: Final = {
    "off": "This machine may sleep, and reads no payment meanwhile",
    "plugged": "Kept awake while it is plugged in; keep its lid open",
    "always": "Kept awake, also on battery; keep its lid open",
}


def http(setup: Setup) -> Row:
    """Set the address of the API, and the public address of the checkout pages."""
    answers = setup.answers
    bind, public = setup.get("http.bind"), setup.get("http.public_base_url")
    wanted = bind if answers.http is None else answers.http
    if setup.looks and (wanted, answers.public_url or public) != (bind, public):
        flag = f"--http {answers.http}" if wanted != bind else "--public-url URL"
        fix = f"momo setup {flag}"
        return outcome("needs_action", f"The address is {bind}, with {public or 'none'}", fix)
    if not setup.looks:
        bind = setup.set("http.bind", wanted)
    if (free := _other_port(setup, bind)) is not None:
        if not (setup.asks and _takes_other_port(setup, bind, free)):
            setup.port_taken = True
            detail = f"Another program uses {bind}, so the daemon cannot start"
            return outcome("needs_action", detail, f"momo config set http.bind {free}")
        bind = free
    if not setup.looks:
        url = setup.answers.public_url
        if url is None and not public and setup.may_ask("public"):
            page = "a checkout page for each payment"
            setup.say(f"  Customers can see {page}, if momo has a public address.")
            url = setup.ask("Its public https address (Enter: none yet) ", "--public-url URL")
            setup.note("public", later=not url)
        public = setup.set("http.public_base_url", url) if url else public
    if bind == "off":
        return outcome("done", "HTTP is off; momo itself uses the socket")
    detail = f"This machine, at http://{bind}" if bind.startswith("127.") else bind
    if public:
        return outcome("done", f"{detail}; customers see {public}")
    fix = "momo config set http.public_base_url https://pay.example.com"
    return outcome("done", f"{detail}; no public address yet", fix)


def _other_port(setup: Setup, bind: str) -> str | None:
    """Return an address with a free port if another program uses the one of `bind`; else None."""
    host, _, port = bind.rpartition(":")
    plain = host.strip("[]")
    if not (host and port.isdecimal() and int(port)) or setup.client.alive():
        return None  # off, any port, or the daemon itself listens there
    if not system.port_in_use(plain, int(port)):
        return None
    others = range(int(port) + 1, min(int(port) + _PORTS_TRIED, 65_535) + 1)
    free = (other for other in others if not system.port_in_use(plain, other))
    return f"{host}:{next(free, 0)}"


def _takes_other_port(setup: Setup, bind: str, free: str) -> bool:
    """Offer another port, and set it if it is accepted."""
    setup.warn(f"Another program uses {bind}.")
    if setup.declined(f"Use {free} instead?", "--http HOST:PORT"):
        return False
    setup.set("http.bind", free)
    return True


def service(setup: Setup) -> Row:
    """Install the service that starts momo with the machine, and the timers for backups."""
    wanted = setup.answers.service
    found = manager.service_for(setup.terminal, system=wanted == "system")
    system = found.kind is manager.Kind.SYSTEM
    fix = f"momo daemon install --timers {'--system' if system else '--linger'}"
    if found.packaged and not manager.runs_systemd():
        return outcome("skipped", "momo does not start with this machine: it runs no systemd")
    if found.installed and not (found.packaged and not manager.is_enabled(setup.terminal, found)):
        return outcome("done", f"momo is a service: {found.path}")
    if setup.looks:
        status = "skipped" if wanted in (None, "none") else "needs_action"
        return outcome(status, _BY_HAND, fix)
    if wanted is None and setup.may_ask("service"):
        if not found.packaged:
            manager.tell_files(setup.terminal, found.files(with_timers=True))
        question = "Start momo with this machine, and make a backup each night?"
        yes = "system" if system else "user"
        # Where no service manager runs, as in a container, Enter is a no.
        can = manager.runs_systemd()
        agreed = setup.terminal.yes_or_no(f"  {question}", f"--service {yes}", default=can)
        wanted = yes if agreed else "none"
        setup.note("service", later=wanted == "none")
    if wanted in (None, "none"):
        return outcome("skipped", _BY_HAND, fix)
    _keep_ports(setup)
    manager.check_program(found)
    for file in found.files(with_timers=True):
        if manager.read_unit(file.path) != file.text:
            manager.write_unit(file)
    linger = wanted == "user"
    client, terminal = setup.client, setup.terminal
    problems = manager.enable_service(client, terminal, found, linger=linger, timers=True)
    if problems:
        setup.service_failed = True
        detail = f"Written, but not enabled: {problems[0]}"
        return outcome("needs_action", detail, "momo daemon status")
    return outcome("done", f"momo starts with this machine: {found.path}")


def let_caller_in(setup: Setup) -> Row | None:
    """Let the user of `sudo momo setup` use the machine's shop without sudo; None if there is nothing to do."""
    terminal = setup.terminal
    name = terminal.located.environ.get("SUDO_USER", "")
    if not terminal.located.machine or os.getuid() != 0 or name in ("", "root", MACHINE_USER):
        return None
    users = json.loads(setup.get(_USERS))
    if name not in users:
        if setup.looks:
            return outcome("needs_action", f"{name} may not use momo without sudo", "momo setup")
        setup.set(_USERS, dumps([*users, name]))
    detail = f"{clean(name)} may use momo without sudo"
    if setup.restart:
        return outcome("needs_action", f"{detail}, after a restart", "momo daemon restart")
    return outcome("done", detail)


def keep_awake(setup: Setup) -> Row:
    """Set whether the machine may sleep while momo runs."""
    place, wanted = setup.get(_AWAKE), setup.answers.keep_awake
    fix = f"momo config set {_AWAKE} {wanted or 'plugged'}"
    if setup.looks:
        if wanted not in (None, place):
            return outcome("needs_action", _SLEEPS.get(place, place), fix)
    elif wanted is None and place == "off" and setup.may_ask("awake"):
        lid = "unless /etc/systemd/logind.conf has HandleLidSwitch=ignore"
        setup.say(f"  A laptop with a closed lid sleeps, {lid}. A machine that sleeps reads no payment.")
        question = "Keep it awake while it is plugged in?"
        wanted = "off" if setup.declined(question, "--keep-awake plugged") else "plugged"
        setup.note("awake", later=wanted == "off")
    if wanted is not None and not setup.looks:
        place = setup.set(_AWAKE, wanted)
    if place == "off":
        return outcome("skipped", _SLEEPS[place], fix.replace(" off", " plugged"))
    return outcome("done", _SLEEPS.get(place, place))


def _keep_ports(setup: Setup) -> None:
    """Save the given ttys in the settings, so that the daemon uses them however it is started."""
    if setup.answers.modems:
        setup.set(_PORTS, dumps([os.path.abspath(port) for port in setup.answers.modems]))  # noqa: PTH100  # no pathlib here


def daemon(setup: Setup) -> Row:
    """Start the daemon, or check that it runs with the current settings."""
    if setup.port_taken:
        return outcome("skipped", "Not started, because its port is in use: see The address")
    if setup.looks:
        down = outcome("needs_action", "It is not running", "momo daemon start")
        return outcome("done", "Running") if setup.client.alive() else down
    _keep_ports(setup)
    fault, fix = phone.keep_given(setup)
    try:
        started = start_daemon(setup.client, setup.terminal, (), START_S, by_service=not setup.service_failed)
    except Failure as failure:
        if manager.service_for(setup.terminal, system=False).installed is False:
            raise
        return outcome("needs_action", failure.message, "momo daemon status")
    if started.status == "starting":
        return outcome("failed", f"It is not ready yet: {started.log}", "momo daemon logs")
    if not fault and setup.restart and started.status == "already_running":
        fault, fix = "It runs with the old settings", "momo daemon restart"
    if fault:
        return outcome("needs_action", clean(fault), fix)
    word = "Running" if started.status == "already_running" else "Started"
    ports = json.loads(setup.get(_PORTS))
    only = f", only for {' and '.join(map(clean, ports))}" if ports else ""
    return outcome("done", f"{word} (pid {started.pid}){only}")


def backup(setup: Setup) -> Row:
    """Set the second folder for backups; a new one gets a copy at once, as a test."""
    fix = "momo config set backup.also_to /media/STICK/momo"
    place, wanted = setup.get(_ALSO_TO), setup.answers.backup_to
    if setup.looks and wanted and wanted != place:
        return outcome("needs_action", f"Backups are not copied to {clean(wanted)} yet", fix)
    if wanted is None and not place and not setup.looks and setup.may_ask("backup"):
        lost = "If the laptop is stolen or breaks, the backups on it are lost."
        setup.say(f"  {lost} Use a USB stick.")
        wanted = _ask_folder(setup)
    while wanted and not setup.looks:
        # Relative to the folder of this command, not of the program that sets it.
        folder = os.path.abspath(os.path.expanduser(wanted))  # noqa: PTH100, PTH111  # no pathlib here
        if folder == place:
            break
        try:
            words = ("--json", "set", "--", _ALSO_TO)
            warning = clean(at(run_verb(setup.terminal, "config", *words, folder).data, "warning"))
        except Failure as failure:
            if not setup.asks:
                return outcome("needs_action", failure.message, fix)
            setup.warn_of(failure)
            wanted = _ask_folder(setup)
            continue
        if warning and setup.asks and not place:
            setup.warn(f"{warning}.")
            if not setup.agreed("Use it nevertheless?", "--backup-to FOLDER"):
                run_verb(setup.terminal, "config", *words, "")
                wanted = _ask_folder(setup)
                continue
        return _first_copy(setup, warning, fix)
    if place:
        return outcome("done", f"Each backup is also copied to {clean(place)}")
    detail = "Backups are only on this disk: if it fails or is stolen, they are lost too"
    return outcome("skipped", detail, fix)


def _first_copy(setup: Setup, warning: str, fix: str) -> Row:
    made = run_verb(setup.terminal, "backup", "create", "--json").data
    if at(made, "also.status") != "copied":
        return outcome("needs_action", clean(at(made, "also.why")), "momo backup create")
    detail = f"Copied to {clean(at(made, 'also.path'))}"
    return outcome("done", f"{detail}; {warning}" if warning else detail, fix if warning else None)


def _ask_folder(setup: Setup) -> str:
    question = "A folder on a USB stick or another disk (Enter: none) "
    wanted = setup.ask(question, "--backup-to FOLDER")
    setup.note("backup", later=not wanted)
    return wanted
