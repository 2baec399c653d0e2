"""The steps of `momo setup` about this machine: the address, the service, its sleep, the daemon, the second place for backups."""

import json
import os
from typing import Any, Final

from momo_cli.answer import Row
from momo_cli.errors import Failure
from momo_cli.process import ask
from momo_cli.running import start
from momo_cli.service_setup import agreed, switch_on
from momo_cli.services import Service, check_place, read, service_for, write
from momo_cli.setup_step import Setup, row
from momo_cli.setup_wishes import BINDS
from momo_cli.text import at, clean
from momo_cli.values import dumps

START_S: Final = 30.0
_PORTS: Final = "modems.ports"


def http(setup: Setup) -> Row:
    """Who may call the API, and at which address customers see their page."""
    wish = setup.wishes
    bind, public = setup.get("http.bind"), setup.get("http.public_base_url")
    wanted = bind if wish.http is None else BINDS[wish.http]
    if setup.looks and (wanted, wish.public_url or public) != (bind, public):
        fix = f"momo setup --http {wish.http}" if wanted != bind else "momo setup --public-url URL"
        return row("http", "needs_action", f"The address is {bind}, with {public or 'none'}", fix)
    if not setup.looks:
        bind = setup.set("http.bind", wanted)
        public = _public(setup, public)
    if bind == "off":
        return row("http", "done", "Nobody: HTTP is off; momo itself uses the socket")
    detail = f"This machine, at http://{bind}" if bind.startswith("127.") else bind
    if public:
        return row("http", "done", f"{detail}; customers see {public}")
    fix = "momo config set http.public_base_url https://pay.example.com"
    return row("http", "done", f"{detail}; no public address yet", fix)


def _public(setup: Setup, public: str) -> str:
    url = setup.wishes.public_url
    if url is None and not public and setup.may_ask("public"):
        setup.say("  Customers see their order on a page of yours, when momo has an address.")
        url = setup.ask("Its public https address (Enter: none yet) ", "--public-url URL")
        setup.note("public", later=not url)
    return setup.set("http.public_base_url", url) if url else public


def service(setup: Setup) -> Row:
    """Whether the machine starts momo, and copies the shop each night."""
    wish = setup.wishes.service
    found = service_for(setup.terminal, system=wish == "system")
    fix = f"momo service install --timers {'--system' if wish == 'system' else '--linger'}"
    if found.installed:
        return row("service", "done", f"momo is a service: {found.path}")
    if setup.looks:
        status = "skipped" if wish in (None, "none") else "needs_action"
        return row("service", status, "Not with the machine: you start it", fix)
    if wish is None and setup.may_ask("service"):
        question = "Start momo with this machine, and copy the shop each night? [Y/n] "
        no = setup.ask(question, "--service user").lower() in ("n", "no")
        wish = "none" if no else "user"
        setup.note("service", later=no)
    if wish in (None, "none"):
        return row("service", "skipped", "Not with the machine: you start it", fix)
    return _install(setup, found, wish)


_AWAKE: Final = "power.keep_awake"
_SLEEPS: Final = {
    "off": "This machine may sleep, and reads no payment meanwhile",
    "plugged": "Kept awake while it is plugged in; its lid stays open",
    "always": "Kept awake, on battery too; its lid stays open",
}


def awake(setup: Setup) -> Row:
    """Whether the machine may sleep while momo serves."""
    place, wish = setup.get(_AWAKE), setup.wishes.keep_awake
    fix = f"momo config set {_AWAKE} {wish or 'plugged'}"
    if setup.looks:
        if wish not in (None, place):
            return row("awake", "needs_action", _SLEEPS.get(place, place), fix)
    elif wish is None and place == "off" and setup.may_ask("awake"):
        setup.say(
            "  A machine that sleeps reads no payment. A laptop whose lid is closed sleeps all the"
        )
        setup.say("  same, until /etc/systemd/logind.conf says HandleLidSwitch=ignore.")
        no = setup.ask(
            "Keep it awake while it is plugged in? [Y/n] ", "--keep-awake plugged"
        ).lower() in ("n", "no")
        wish = "off" if no else "plugged"
        setup.note("awake", later=no)
    if wish is not None and not setup.looks:
        place = setup.set(_AWAKE, wish)
    if place == "off":
        return row("awake", "skipped", _SLEEPS[place], fix.replace(" off", " plugged"))
    return row("awake", "done", _SLEEPS.get(place, place))


def _keep_ports(setup: Setup) -> None:
    """Have the daemon serve the ttys that were named, also when the machine or somebody else starts it."""
    if setup.wishes.modems:
        setup.set(_PORTS, dumps([os.path.abspath(port) for port in setup.wishes.modems]))  # noqa: PTH100  # no pathlib here


def _install(setup: Setup, found: Service, wish: str | None) -> Row:
    _keep_ports(setup)
    check_place(found)
    files = found.files(with_timers=True)
    if setup.wishes.service is None and not agreed(setup.terminal, files):
        return row("service", "skipped", "Nothing was written", "momo service install --timers")
    for file in files:
        if read(file.path) != file.text:
            write(file)
    problems = switch_on(setup.client, setup.terminal, found, linger=wish == "user", timers=True)
    if problems:
        detail = f"Written, and not switched on: {problems[0]}"
        return row("service", "needs_action", detail, "momo service status")
    return row("service", "done", f"momo starts with this machine: {found.path}")


def daemon(setup: Setup) -> Row:
    """Whether the daemon runs, with the settings as they are now."""
    if setup.looks:
        if setup.client.alive():
            return row("daemon", "done", "Runs")
        return row("daemon", "needs_action", "It does not run", "momo daemon start")
    _keep_ports(setup)
    try:
        started = start(setup.client, setup.terminal, (), START_S)
    except Failure as failure:
        if service_for(setup.terminal, system=False).installed is False:
            raise
        return row("daemon", "needs_action", failure.message, "momo service status")
    if started.status == "starting":
        return row("daemon", "failed", f"It does not answer: {started.log}", "momo logs")
    if setup.restart and started.status == "already_running":
        return row("daemon", "needs_action", "It runs with the old settings", "momo daemon restart")
    word = "Runs" if started.status == "already_running" else "Started"
    return row("daemon", "done", f"{word} (pid {started.pid}){_alone(setup)}")


def _alone(setup: Setup) -> str:
    """Say that no other modem is found any more; a person who named one may have two."""
    ports = json.loads(setup.get(_PORTS))
    return f", for {' and '.join(map(clean, ports))} alone" if ports else ""


def backup(setup: Setup) -> Row:
    """Where each backup goes besides the shop's own folder; a place that is new gets a copy at once, which proves it."""
    fix = "momo config set backup.also_to /media/STICK/momo"
    place, wish = setup.get("backup.also_to"), setup.wishes.backup_to
    if setup.looks and wish and wish != place:
        return row("backup", "needs_action", f"Backups do not go to {clean(wish)} yet", fix)
    if wish is None and not place and not setup.looks and setup.may_ask("backup"):
        setup.say("  A stolen or broken laptop takes the backups on it along. A stick outlives it.")
        wish = setup.ask("A folder on a stick or another disk (Enter: none) ", "--backup-to FOLDER")
        setup.note("backup", later=not wish)
    if setup.looks or not wish or wish == place:
        if place:
            return row("backup", "done", f"Each backup goes to {clean(place)} too")
        return row("backup", "skipped", "Backups stay on this disk", fix)
    place = os.path.abspath(os.path.expanduser(wish))  # noqa: PTH100, PTH111  # no pathlib here
    same = _same_disk(setup, place)
    # The daemon makes no copies itself, so it need not know.
    setup.set("backup.also_to", place, live=False)
    made: dict[str, Any] = ask(setup.terminal, "backup", "create", "--json").body["data"]
    if at(made, "also.status") != "copied":
        return row("backup", "needs_action", clean(at(made, "also.why")), "momo backup create")
    detail = f"Copied to {clean(at(made, 'also.path'))}"
    if same:
        return row("backup", "done", f"{detail}, which is on the same disk as the shop", fix)
    return row("backup", "done", detail)


def _same_disk(setup: Setup, place: str) -> bool:
    """Say whether the place is on the shop's disk; make it, if only its last part is missing on another one.

    On our own disk nothing is made: that may be where a stick would be, if it were plugged in.
    """
    here = os.stat(setup.terminal.located.places.home).st_dev  # noqa: PTH116  # no pathlib here
    for folder in (place, os.path.dirname(place)):  # noqa: PTH120  # no pathlib here
        if os.path.isdir(folder):  # noqa: PTH112  # no pathlib here
            same = os.stat(folder).st_dev == here  # noqa: PTH116  # no pathlib here
            if folder != place and not same:
                os.mkdir(place, 0o700)  # noqa: PTH102  # no pathlib here
            return same
    return False
