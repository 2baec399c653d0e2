"""momo as a service of this machine: install its files, and start and stop it.

Two kinds: the user's systemd and the system's. The control programs are called with the flags of their manuals:
systemctl(1), loginctl(1), journalctl(1).
"""

import glob
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from string import Template
from typing import Final, NamedTuple

from daemon.wire import DATABASE_NAME, HOME_VARIABLE, ErrorCode, Path
from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.socket.connect import SYSTEM_ENVIRONMENT, SYSTEM_HOME
from momo_cli.text import clean

_TEMPLATES: Final = "momo_cli.service.units"


class Job(NamedTuple):
    """A scheduled job."""

    name: str
    what: str
    when: str
    """A calendar event of systemd.time(7)."""
    commands: tuple[tuple[str, ...], ...]


JOBS: Final = (
    Job("backup", "make a backup, verify it, delete old backups", "*-*-* 02:00:00",
        (("backup", "create", "--quiet"), ("backup", "prune", "--quiet", "--yes"))),
    Job("drill", "restore the newest backup to a temporary folder and open it", "Sun *-*-* 04:20:00",
        (("backup", "verify", "--drill", "--quiet"),)),
    Job("prune", "delete data that is older than its retention time", "*-*-* 03:10:00", (("data", "prune", "-q", "-y"),)),
    Job("check", "fail, visibly in the journal, if the shop is unhealthy", "*-*-* *:05:00",
        (("status", "--fail-if-unhealthy", "--quiet"),)),
    Job("replay@", "send endpoint %i the payments that it has missed", "*-*-* *:00/10:00",
        (("replay", "--endpoint", "%i", "--from", "-25h", "--to", "now", "--quiet", "--yes"),)),
    Job("gap@", "list the payments that endpoint %i has not received", "*-*-* 06:30:00",
        (("replay", "--gap", "--endpoint", "%i", "--quiet"),)),
)  # fmt: skip
"""The jobs that `--timers` installs; those with @ are templates with one instance per endpoint."""


@dataclass(frozen=True, slots=True)
class UnitValues:
    """The values for the unit files: the unit's name without `.service`, and what the service finds its shop with.

    The folder of the database, `home`, marks the shop to which a file belongs.
    """

    home: str
    environment: Mapping[str, str]
    name: str = "momo"


@dataclass(frozen=True, slots=True)
class UnitFile:
    """One file to write, which everyone may read, because it has no secrets; `what` is a one-line summary."""

    path: str
    text: str
    what: str = ""


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
            "commands": "\n".join(" ".join([f"ExecStart={_program('momo_cli')}", *words]) for words in job.commands),
            "environment": _environment(shop),
            "identity": "User=momo\nGroup=momo" if system else "",
            "database": _plain(f"{shop.home}/{DATABASE_NAME}"),
        }
        for kind in ("service", "timer"):
            text = _template(f"job.{kind}").substitute(facts)
            what = f"{job.when}: {job.what}" if kind == "timer" else job.what
            found.append(UnitFile(f"{folder}/{shop.name}-{job.name}.{kind}", text, what))
    return found


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
    given = {"PYTHONUNBUFFERED": "1", **shop.environment}
    pairs = sorted(f"{name}={value}" for name, value in given.items())
    return "\n".join(f"Environment={_quoted(pair)}" for pair in pairs)


def _quoted(text: str) -> str:
    escaped = _plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if set(escaped) & set(" \t\"'\\;") else escaped


def _plain(text: str) -> str:
    return text.replace("%", "%%")


def _template(name: str) -> Template:
    return Template(resources.files(_TEMPLATES).joinpath(name).read_text(encoding="utf-8"))


_CONTROL_S: Final = 120.0
_PACKAGE_UNITS: Final = "/usr/lib/systemd/system"
_BOOTED: Final = "/run/systemd/system"
"""It exists if systemd runs this machine (sd_booted(3))."""
_PROPERTIES: Final = "ActiveState,SubState,MainPID,UnitFileState,StatusText,NRestarts"
_PASSED_ON: Final = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MOMO_PROFILE")
_PRIVATE: Final = ("/home/", "/root/")
"""Folders that ProtectHome= hides from a system service."""


class Kind(StrEnum):
    """The service manager."""

    USER = "systemd-user"
    SYSTEM = "systemd-system"


@dataclass(frozen=True, slots=True)
class Service:
    """One shop's service of one kind, in the unit file `path`."""

    kind: Kind
    shop: UnitValues
    folder: str
    path: str

    @property
    def unit(self) -> str:
        """The name of the unit for the control program."""
        return f"{self.shop.name}.service"

    @property
    def scope(self) -> list[str]:
        """The flags that name the user's systemd."""
        return ["--user"] if self.kind is Kind.USER else []

    @property
    def installed(self) -> bool:
        """Return whether the unit file exists and belongs to this shop."""
        return shop_of_unit(self.text) == self.shop.home

    @property
    def text(self) -> str:
        """The current text of the unit file, "" if there is none."""
        return read_unit(self.path)

    @property
    def packaged(self) -> bool:
        """Return whether the files belong to the Debian package, which installs and removes them."""
        return self.folder == _PACKAGE_UNITS

    def files(self, *, with_timers: bool) -> list[UnitFile]:
        """Return every file that an installation writes; of a package the files that are there."""
        if self.packaged:
            more = sorted(glob.glob(f"{self.folder}/momo-*")) if with_timers else []  # noqa: PTH207  # no pathlib here
            return [UnitFile(path, read_unit(path)) for path in (self.path, *more)]
        system = self.kind is Kind.SYSTEM
        found = system_files(self.shop) if system else [user_service(self.shop, self.folder)]
        if with_timers:
            found += timers(self.shop, self.folder, system=system)
        return found

    def control(self, verb: str, *units: str) -> list[str]:
        """Return the command line for a verb of the control program."""
        return ["systemctl", *self.scope, verb, *(units or (self.unit,))]

    def journal(self, *flags: str) -> list[str]:
        """Return the command line that shows its log."""
        return ["journalctl", *self.scope, f"--unit={self.unit}", "--no-pager", *flags]


def service_for(terminal: Terminal, *, system: bool) -> Service:
    """Return the service that this shop has, or would have, on this machine."""
    places, environ = terminal.located.places, terminal.located.environ
    if system or terminal.located.machine:
        shop = UnitValues(f"{SYSTEM_HOME}/default", SYSTEM_ENVIRONMENT)
        packaged = os.path.exists(f"{_PACKAGE_UNITS}/momo.service")  # noqa: PTH110  # no pathlib here
        folder = _PACKAGE_UNITS if packaged else "/etc/systemd/system"
        return Service(Kind.SYSTEM, shop, folder, f"{folder}/momo.service")
    passed = {name: environ[name] for name in _PASSED_ON if environ.get(name)}
    profile = environ.get("MOMO_PROFILE") or "default"
    if places.self_contained:
        passed, profile = {HOME_VARIABLE: places.home}, "default"
    name = "momo" if profile == "default" else f"momo-{profile}"
    shop = UnitValues(places.home, passed, name)
    config = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    folder = f"{config}/systemd/user"
    return Service(Kind.USER, shop, folder, f"{folder}/{name}.service")


def installed_service(terminal: Terminal) -> Service | None:
    """Return the installed service of this shop, None if there is none."""
    for machine in (False, True):
        service = service_for(terminal, system=machine)
        ours = not machine or not terminal.located.places.self_contained
        if ours and service.installed:
            return service
    return None


def supervising_service(terminal: Terminal) -> Service | None:
    """Return the installed service of this shop; None for that of a package on a machine that systemd does not run."""
    service = installed_service(terminal)
    return None if service is not None and service.packaged and not runs_systemd() else service


def check_program(service: Service) -> None:
    """Reject a system service with its program in a home folder, which ProtectHome= hides from it."""
    if service.kind is not Kind.SYSTEM:
        return
    for path in (sys.executable, os.path.abspath(__file__)):  # noqa: PTH100  # no pathlib here
        if path.startswith(_PRIVATE):
            raise usage(
                f"a system service cannot read {path}: install momo for all users, "
                "for example with the .deb, and run the command there",
                "momo daemon install",
            )


def runs_systemd() -> bool:
    """Return whether systemd runs this machine; in containers and chroots it does not."""
    return os.path.isdir(_BOOTED)  # noqa: PTH112  # no pathlib here


def is_enabled(terminal: Terminal, service: Service) -> bool:
    """Return whether the machine starts the service."""
    try:
        run_control(terminal, service.control("is-enabled"))
    except Failure:
        return False
    return True


def run_control(terminal: Terminal, words: Sequence[str]) -> str:
    """Run a control program; return its output, or fail with its error message."""
    try:
        done = subprocess.run(  # noqa: S603  # the machine's own programs, with our arguments
            words,
            env=terminal.located.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_CONTROL_S,
            check=False,
        )
    except (FileNotFoundError, PermissionError):  # also in a folder of PATH that may not be read
        raise _refused(words, "there is no such program on this machine") from None
    except subprocess.TimeoutExpired:
        raise _refused(words, f"it did not finish within {_CONTROL_S:g} s") from None
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip().splitlines()
        why = printed[-1] if printed else f"it ended with exit code {done.returncode}"
        raise _refused(words, why)
    return done.stdout


def read_unit(path: str) -> str:
    """Return a file's text, "" if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # no pathlib here
            return file.read()
    except OSError:
        return ""


def write_unit(file: UnitFile) -> None:
    """Write a file atomically; fail if it cannot be written."""
    draft = f"{file.path}.new"
    try:
        os.makedirs(os.path.dirname(file.path), exist_ok=True)  # noqa: PTH103, PTH120  # no pathlib here
        with open(draft, "w", encoding="utf-8") as out:  # noqa: PTH123 -- pathlib is not needed here
            out.write(file.text)
        os.chmod(draft, 0o644)  # noqa: PTH101 -- pathlib is not needed here
        os.replace(draft, file.path)  # noqa: PTH105 -- pathlib is not needed here
    except OSError as problem:
        raise _denied(file.path, problem) from None


def remove_unit(path: str) -> bool:
    """Remove a file; return False if there was none, fail if it cannot be removed."""
    try:
        os.unlink(path)  # noqa: PTH108  # no pathlib here
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise _denied(path, problem) from None
    return True


def _denied(path: str, problem: OSError) -> Failure:
    if isinstance(problem, PermissionError):
        why = f"{path} may only be written by root: run the same command with sudo"
        return Failure(ErrorCode.NOT_PERMITTED, why, next=("momo daemon install --print",))
    return Failure(ErrorCode.INTERNAL_ERROR, f"{path}: {problem.strerror}", next=("momo doctor",))


def _refused(words: Sequence[str], why: str) -> Failure:
    typed = " ".join(words)
    return Failure(ErrorCode.INTERNAL_ERROR, f"{typed}: {why}", next=(typed, "momo daemon start"))


def confirm_files(terminal: Terminal, files: list[UnitFile]) -> bool:
    """Show a summary of the files, and ask for consent."""
    if terminal.flags.yes:
        return True
    if not terminal.can_ask():
        why = "--yes is missing, and there is no terminal to ask on"
        raise usage(why, "momo daemon install --print")
    tell_files(terminal, files)
    return terminal.confirm("  Write these files and start the service?")


def tell_files(terminal: Terminal, files: list[UnitFile]) -> None:
    """Show a summary of the files, in three lines."""
    jobs = [file for file in files if file.what]
    first, *others = [file.path for file in files if not file.what] or [files[0].path]
    name = first.rpartition("/")[2]
    more = f", and {', '.join(others)}" if others else ""
    timers = [file.path for file in jobs if file.path.endswith(".timer")]
    stem = name.removesuffix(".service")
    names = [path.rpartition("/")[2].removeprefix(f"{stem}-")[:-6].rstrip("@") for path in timers]
    show = "momo daemon install --print" + (" --timers" if jobs else "")
    for line in [
        f"  {name} starts momo with this machine{more}",
        f"  {len(names)} timers: {', '.join(names)}" if names else "  no timers",
        f"  To read the files first: {show}",
    ]:
        terminal.complain(line)


def enable_service(client: Client, terminal: Terminal, service: Service, *, linger: bool, timers: bool) -> list[str]:
    """Enable the service with the machine's control programs; return their errors, each with the command."""
    steps: list[list[str]] = []
    if service.kind is Kind.SYSTEM:
        steps.append(["systemd-sysusers", "momo.conf"])
    steps.append(["systemctl", *service.scope, "daemon-reload"])
    if linger and service.kind is Kind.USER:
        steps.append(["loginctl", "enable-linger"])
    wanted = [service.unit]
    if timers:
        # Each endpoint gets a timer; none if the daemon cannot be reached.
        found = client.find(Path.ENDPOINTS) if client.alive() else None
        ids = [str(endpoint["id"]) for endpoint in found or ()]
        for job in JOBS:
            names = ids if job.name.endswith("@") else [""]
            wanted += [f"{service.shop.name}-{job.name}{name}.timer" for name in names]
    steps.append(["systemctl", *service.scope, "enable", "--now", *wanted])
    problems = []
    for step in steps:
        try:
            run_control(terminal, step)
        except Failure as failure:
            problems.append(failure.message)
    return problems


def service_lines(terminal: Terminal, service: Service) -> list[str]:
    """Return the state of a service as its manager knows it, for people; fail if the manager does not answer."""
    words = service.control("show", f"--property={_PROPERTIES}", service.unit)
    shown = run_control(terminal, words).splitlines()
    facts = dict(line.split("=", 1) for line in shown if "=" in line)
    state, sub = facts.get("ActiveState", "unknown"), facts.get("SubState", "")
    mark = terminal.tick if state == "active" else terminal.style("✗", "red")
    pid = facts.get("MainPID") or "0"
    return [
        f"{mark} {service.unit}: {clean(f'{state} ({sub})' if sub else state)}{'' if pid == '0' else f', pid {clean(pid)}'}",
        f"  says      {clean(facts.get('StatusText')) or '—'}",
        f"  at start  {clean(facts.get('UnitFileState')) or '—'}",
        f"  restarts  {clean(facts.get('NRestarts')) or '0'}",
        f"  unit      {service.path}",
    ]
