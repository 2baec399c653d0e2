"""The unit files of the service: systemd units for a user or the system, timers, a launchd agent.

The templates are in `momo_cli/service/units/`; `$names` are filled here, quoted by systemd.syntax(7). No I/O but reading them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from daemon.wire import DATABASE_NAME
from momo_cli import system

_TEMPLATES: Final = "momo_cli.service.units"


class Job(NamedTuple):
    """A scheduled job."""

    name: str
    what: str
    when: str
    """A calendar event of systemd.time(7)."""
    commands: tuple[tuple[str, ...], ...]


JOBS: Final = (
    Job(
        "backup",
        "make a backup, verify it, delete old backups",
        "*-*-* 02:00:00",
        (("backup", "create", "--quiet"), ("backup", "prune", "--quiet", "--yes")),
    ),
    Job(
        "drill",
        "restore the newest backup to a temporary folder and open it",
        "Sun *-*-* 04:20:00",
        (("backup", "verify", "--drill", "--quiet"),),
    ),
    Job(
        "prune",
        "delete data that is older than its retention time",
        "*-*-* 03:10:00",
        (("data", "prune", "-q", "-y"),),
    ),
    Job(
        "check",
        "fail, visibly in the journal, if the shop is unhealthy",
        "*-*-* *:05:00",
        (("status", "--fail-if-unhealthy", "--quiet"),),
    ),
    Job(
        "replay@",
        "send endpoint %i the payments that it has missed",
        "*-*-* *:00/10:00",
        (("replay", "--endpoint", "%i", "--from", "-25h", "--to", "now", "--quiet", "--yes"),),
    ),
    Job(
        "gap@",
        "list the payments that endpoint %i has not received",
        "*-*-* 06:30:00",
        (("replay", "--gap", "--endpoint", "%i", "--quiet"),),
    ),
)
"""The jobs that `--timers` installs; those with @ are templates with one instance per endpoint."""


@dataclass(frozen=True, slots=True)
class UnitValues:
    """The values for the unit files.

    Attributes:
        home: The folder of the database; it marks the shop to which a file belongs.
        environment: The environment variables with which the service finds that shop.
        name: The unit's name without `.service`.
        log: The folder of the log.
    """

    home: str
    environment: Mapping[str, str]
    name: str = "momo"
    log: str = ""


@dataclass(frozen=True, slots=True)
class UnitFile:
    """One file to write; `what` is a one-line summary. Unit files have no secrets, so everyone may read them."""

    path: str
    text: str
    what: str = ""
    mode: int = 0o644


def user_service(shop: UnitValues, folder: str) -> UnitFile:
    """Return the unit for the user's systemd."""
    return UnitFile(f"{folder}/{shop.name}.service", _service("user.service", shop))


def system_files(shop: UnitValues, root: str = "") -> list[UnitFile]:
    """Return the files of a system service: the unit, its user, the modem drivers and rule, the user's permissions."""
    unit = f"{root}/etc/systemd/system/{shop.name}.service"
    return [
        UnitFile(unit, _service("system.service", shop)),
        UnitFile(f"{root}/etc/sysusers.d/momo.conf", _template("sysusers.conf").template),
        UnitFile(f"{root}/etc/modules-load.d/momo.conf", _template("modules.conf").template),
        udev_rule(root),
        UnitFile(f"{root}/etc/polkit-1/rules.d/50-momo.rules", _template("polkit.rules").template),
    ]


def udev_rule(root: str) -> UnitFile:
    """Return the udev rule for modems."""
    path = f"{root}/etc/udev/rules.d/77-momo-modems.rules"
    # Not a template: `$` and `%` are udev's.
    return UnitFile(path, _template("77-momo-modems.rules").template, "the udev rule for modems")


def timers(shop: UnitValues, folder: str, *, system: bool) -> list[UnitFile]:
    """Return a service and a timer for each job."""
    found = []
    for job in JOBS:
        facts = {
            "shop": shop.home,
            "what": job.what,
            "when": job.when,
            "commands": "\n".join(
                " ".join([f"ExecStart={_program('momo_cli')}", *words]) for words in job.commands
            ),
            "environment": _environment(shop),
            "identity": "User=momo\nGroup=momo" if system else "",
            "database": _plain(f"{shop.home}/{DATABASE_NAME}"),
        }
        for kind in ("service", "timer"):
            text = _template(f"job.{kind}").substitute(facts)
            what = f"{job.when}: {job.what}" if kind == "timer" else job.what
            found.append(UnitFile(f"{folder}/{shop.name}-{job.name}.{kind}", text, what))
    return found


def timer_names(shop: UnitValues, endpoints: Sequence[str]) -> list[str]:
    """Return the timers to enable: the plain ones, and an instance of the templates for each endpoint."""
    found = []
    for job in JOBS:
        if job.name.endswith("@"):
            found += [f"{shop.name}-{job.name}{endpoint}.timer" for endpoint in endpoints]
        else:
            found.append(f"{shop.name}-{job.name}.timer")
    return found


def launch_agent(shop: UnitValues, folder: str, label: str) -> UnitFile:
    """Return the launchd agent of a Mac. Untested: written from Apple's manual, never run."""
    words = system.python_argv("daemon", "run")
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
    # A user's launchd agent is private to that user.
    return UnitFile(f"{folder}/{label}.plist", text, mode=0o600)


def shop_of_unit(text: str) -> str:
    """Return the shop's folder that a unit file names, "" if it was not written by momo."""
    for line in text.splitlines():
        words = line.lstrip("# ").removesuffix(" -->")
        if words.startswith("Shop: "):
            return words.removeprefix("Shop: ")
    return ""


def _service(template: str, shop: UnitValues) -> str:
    daemon = _program("daemon")
    environment = _environment(shop)
    return _template(template).substitute(shop=shop.home, daemon=daemon, environment=environment)


def _program(module: str) -> str:
    return " ".join(_quoted(word).replace("$", "$$") for word in system.python_argv(module))


def _environment(shop: UnitValues) -> str:
    # One heap for all threads, which wait for each other anyway: several keep 4 MB more after some thousand payments.
    given = {"MALLOC_ARENA_MAX": "1", "PYTHONUNBUFFERED": "1", **shop.environment}
    pairs = sorted(f"{name}={value}" for name, value in given.items())
    return "\n".join(f"Environment={_quoted(pair)}" for pair in pairs)


def _quoted(text: str) -> str:
    escaped = _plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if set(escaped) & set(" \t\"'\\;") else escaped


def _plain(text: str) -> str:
    return text.replace("%", "%%")


def _template(name: str) -> Template:
    return Template(resources.files(_TEMPLATES).joinpath(name).read_text(encoding="utf-8"))
