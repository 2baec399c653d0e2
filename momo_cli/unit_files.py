"""The files that make momo a service: systemd units for a user or the machine, timers, a launchd agent. No I/O but reading the templates.

The templates are in `momo_cli/units/`; `$names` are filled here, quoted as systemd.syntax(7) wants it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from daemon.wire import DATABASE_NAME

SYSTEM_HOME: Final = "/var/lib/momo"
SYSTEM_ENVIRONMENT: Final[Mapping[str, str]] = {
    "XDG_DATA_HOME": "/var/lib",
    "XDG_STATE_HOME": "/var/lib",
    "XDG_CONFIG_HOME": "/etc",
    "XDG_RUNTIME_DIR": "/run",
}
"""Makes the places /var/lib/momo, /etc/momo and /run/momo/momo.sock, where `momo` looks for a system service."""
_ROOM: Final = "momo_cli.units"


class Job(NamedTuple):
    """Something to do by the clock."""

    name: str
    what: str
    when: str
    """A calendar event of systemd.time(7)."""
    commands: tuple[tuple[str, ...], ...]


JOBS: Final = (
    Job(
        "backup",
        "copy the shop, look through the copy, remove old copies",
        "*-*-* 02:00:00",
        (("backup", "create", "--quiet"), ("backup", "prune", "--quiet", "--yes")),
    ),
    Job(
        "drill",
        "put the newest copy back somewhere else and open it",
        "Sun *-*-* 04:20:00",
        (("backup", "verify", "--drill", "--quiet"),),
    ),
    Job("prune", "let go of what is too old to keep", "*-*-* 03:10:00", (("prune", "-q", "-y"),)),
    Job(
        "check",
        "fail, where the journal shows it, when the shop is not well",
        "*-*-* *:05:00",
        (("status", "--fail-if-unhealthy", "--quiet"),),
    ),
    Job(
        "replay@",
        "send endpoint %i what it should have had",
        "*-*-* *:00/10:00",
        (("replay", "--endpoint", "%i", "--from", "-25h", "--to", "now", "--quiet", "--yes"),),
    ),
    Job(
        "gap@",
        "say what endpoint %i has not got",
        "*-*-* 06:30:00",
        (("deliveries", "gap", "--endpoint", "%i", "--quiet"),),
    ),
)
"""What `--timers` installs; those with @ are templates, one instance an endpoint."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What the files must know.

    Attributes:
        home: The folder of the database: says whose unit a file is.
        environment: What the service needs in its environment to find that shop.
        python: The Python that momo is installed for.
        name: The unit's name without `.service`.
        log: The folder of the log.
    """

    home: str
    environment: Mapping[str, str]
    python: str
    name: str = "momo"
    log: str = ""


@dataclass(frozen=True, slots=True)
class UnitFile:
    """One file to write; `what` says in a line what a small one does. A unit holds no secret, so all may read it."""

    path: str
    text: str
    what: str = ""
    mode: int = 0o644


def user_service(shop: Shop, folder: str) -> UnitFile:
    """Return the unit of the user's own systemd."""
    return UnitFile(f"{folder}/{shop.name}.service", _service("user.service", shop))


def system_files(shop: Shop, root: str = "") -> list[UnitFile]:
    """Return what the machine needs: the unit, the user that it runs as, the drivers of modems, what that user may."""
    return [
        UnitFile(
            f"{root}/etc/systemd/system/{shop.name}.service", _service("system.service", shop)
        ),
        UnitFile(f"{root}/etc/sysusers.d/momo.conf", _template("sysusers.conf").template),
        UnitFile(f"{root}/etc/modules-load.d/momo.conf", _template("modules.conf").template),
        UnitFile(f"{root}/etc/polkit-1/rules.d/50-momo.rules", _template("polkit.rules").template),
    ]


def timers(shop: Shop, folder: str, *, system: bool) -> list[UnitFile]:
    """Return a service and a timer for each job."""
    found = []
    for job in JOBS:
        facts = {
            "shop": shop.home,
            "what": job.what,
            "when": job.when,
            "commands": "\n".join(_command(shop, words) for words in job.commands),
            "environment": _environment(shop),
            "identity": "User=momo\nGroup=momo" if system else "",
            "database": _plain(f"{shop.home}/{DATABASE_NAME}"),
        }
        for kind in ("service", "timer"):
            text = _template(f"job.{kind}").substitute(facts)
            what = f"{job.when}: {job.what}" if kind == "timer" else job.what
            found.append(UnitFile(f"{folder}/{shop.name}-{job.name}.{kind}", text, what))
    return found


def timer_names(shop: Shop, endpoints: Sequence[str]) -> list[str]:
    """Return the timers to switch on: the plain ones, and an instance of the others for each endpoint."""
    found = []
    for job in JOBS:
        if job.name.endswith("@"):
            found += [f"{shop.name}-{job.name}{endpoint}.timer" for endpoint in endpoints]
        else:
            found.append(f"{shop.name}-{job.name}.timer")
    return found


def launch_agent(shop: Shop, folder: str, label: str) -> UnitFile:
    """Return the agent of a Mac. Untried: written by Apple's manual, never run."""
    words = [shop.python, "-P", "-m", "daemon", "run"]
    text = _template("launchd.plist").substitute(
        shop=escape(shop.home),
        label=escape(label),
        arguments="\n".join(f"    <string>{escape(word)}</string>" for word in words),
        environment="\n".join(
            f"    <key>{escape(name)}</key><string>{escape(value)}</string>"
            for name, value in shop.environment.items()
        ),
        log=escape(shop.log),
    )
    # What launchd starts for one user is no other's affair.
    return UnitFile(f"{folder}/{label}.plist", text, mode=0o600)


def shop_of(text: str) -> str:
    """Return whose unit a file is, "" when it is none of ours."""
    for line in text.splitlines():
        words = line.lstrip("# ").removesuffix(" -->")
        if words.startswith("Shop: "):
            return words.removeprefix("Shop: ")
    return ""


def _service(template: str, shop: Shop) -> str:
    daemon = f"{_word(shop.python)} -P -m daemon"
    return _template(template).substitute(
        shop=shop.home, daemon=daemon, environment=_environment(shop)
    )


def _command(shop: Shop, words: Sequence[str]) -> str:
    # `%i` is systemd's, so these words are not escaped; the Python's path is.
    return " ".join([f"ExecStart={_word(shop.python)} -P -m momo_cli", *words])


def _environment(shop: Shop) -> str:
    given = {"PYTHONUNBUFFERED": "1", **shop.environment}
    return "\n".join(
        f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(given.items())
    )


def _word(text: str) -> str:
    """Quote a word of a command line, where `$` is special too."""
    return _quoted(text).replace("$", "$$")


def _quoted(text: str) -> str:
    escaped = _plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if set(escaped) & set(" \t\"'\\;") else escaped


def _plain(text: str) -> str:
    return text.replace("%", "%%")


def _template(name: str) -> Template:
    return Template(resources.files(_ROOM).joinpath(name).read_text(encoding="utf-8"))
