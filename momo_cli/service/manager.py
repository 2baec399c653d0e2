"""momo as a service of this machine: install its files, and start and stop it.

Three kinds: the user's systemd, the system's systemd, and launchd on a Mac (untested). The control programs are
called with the flags of their manuals: systemctl(1), loginctl(1), journalctl(1), launchctl(1).
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.wire import HOME_VARIABLE, ErrorCode, Path
from momo_cli.errors import Failure, usage
from momo_cli.service import unit_files
from momo_cli.service.unit_files import Shop, UnitFile
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client

_LABEL: Final = "gh.momo.daemon"
_CONTROL_S: Final = 120.0
_SYSTEM_UNITS: Final = "/etc/systemd/system"
_PASSED_ON: Final = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MOMO_PROFILE")
_PRIVATE: Final = ("/home/", "/root/")
"""Folders that ProtectHome= hides from a system service."""


class Kind(StrEnum):
    """The service manager."""

    USER = "systemd-user"
    SYSTEM = "systemd-system"
    LAUNCHD = "launchd"


@dataclass(frozen=True, slots=True)
class Service:
    """One shop's service of one kind.

    Attributes:
        shop: The values in its files.
        folder: The folder of the unit file.
        path: The unit file.
    """

    kind: Kind
    shop: Shop
    folder: str
    path: str

    @property
    def unit(self) -> str:
        """The name of the unit for the control program."""
        return _LABEL if self.kind is Kind.LAUNCHD else f"{self.shop.name}.service"

    @property
    def scope(self) -> list[str]:
        """The flags that name the user's systemd."""
        return ["--user"] if self.kind is Kind.USER else []

    @property
    def installed(self) -> bool:
        """Return whether the unit file exists and belongs to this shop."""
        return unit_files.shop_of_unit(self.text) == self.shop.home

    @property
    def text(self) -> str:
        """The current text of the unit file, "" if there is none."""
        return read_unit(self.path)

    def files(self, *, with_timers: bool) -> list[UnitFile]:
        """Return every file that an installation writes."""
        if self.kind is Kind.LAUNCHD:
            return [unit_files.launch_agent(self.shop, self.folder, _LABEL)]
        system = self.kind is Kind.SYSTEM
        if system:
            found = unit_files.system_files(self.shop)
        else:
            found = [unit_files.user_service(self.shop, self.folder)]
        if with_timers:
            found += unit_files.timers(self.shop, self.folder, system=system)
        return found

    def control(self, verb: str, *units: str) -> list[str]:
        """Return the command line for a verb of the control program."""
        if self.kind is Kind.LAUNCHD:
            return _launchctl(verb, self.path)
        return ["systemctl", *self.scope, verb, *(units or (self.unit,))]

    def journal(self, *flags: str) -> list[str]:
        """Return the command line that shows its log."""
        if self.kind is Kind.LAUNCHD:
            return ["tail", *flags, f"{self.shop.log}/daemon.log"]
        return ["journalctl", *self.scope, f"--unit={self.unit}", "--no-pager", *flags]


def service_for(terminal: Terminal, *, system: bool) -> Service:
    """Return the service that this shop has, or would have, on this machine."""
    places, environ = terminal.located.places, terminal.located.environ
    if system:
        shop = Shop(
            f"{unit_files.SYSTEM_HOME}/default", unit_files.SYSTEM_ENVIRONMENT, sys.executable
        )
        return Service(Kind.SYSTEM, shop, _SYSTEM_UNITS, f"{_SYSTEM_UNITS}/momo.service")
    passed = {name: environ[name] for name in _PASSED_ON if environ.get(name)}
    profile = environ.get("MOMO_PROFILE") or "default"
    if places.self_contained:
        passed, profile = {HOME_VARIABLE: places.home}, "default"
    name = "momo" if profile == "default" else f"momo-{profile}"
    shop = Shop(places.home, passed, sys.executable, name, places.log)
    user = environ.get("HOME", "")
    if sys.platform == "darwin":
        folder = f"{user}/Library/LaunchAgents"
        return Service(Kind.LAUNCHD, shop, folder, f"{folder}/{_LABEL}.plist")
    config = environ.get("XDG_CONFIG_HOME") or f"{user}/.config"
    folder = f"{config}/systemd/user"
    return Service(Kind.USER, shop, folder, f"{folder}/{name}.service")


def installed_service(terminal: Terminal) -> Service | None:
    """Return the installed service of this shop, None if there is none."""
    for system in (False, True):
        service = service_for(terminal, system=system)
        ours = not system or not terminal.located.places.self_contained
        if ours and service.installed:
            return service
    return None


def check_python(service: Service) -> None:
    """Reject a system service with a Python in a home folder, which ProtectHome= hides from it."""
    if service.kind is Kind.SYSTEM and service.shop.python.startswith(_PRIVATE):
        raise usage(
            f"a system service cannot read {service.shop.python}: install momo for all users, "
            "for example under /usr/local, and run the command there",
            "momo service install",
        )


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
    except FileNotFoundError:
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
        os.chmod(draft, file.mode)  # noqa: PTH101 -- pathlib is not needed here
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
        return Failure(ErrorCode.NOT_PERMITTED, why, next=("momo service install --print",))
    return Failure(ErrorCode.INTERNAL_ERROR, f"{path}: {problem.strerror}", next=("momo doctor",))


def _refused(words: Sequence[str], why: str) -> Failure:
    typed = " ".join(words)
    return Failure(ErrorCode.INTERNAL_ERROR, f"{typed}: {why}", next=(typed, "momo daemon start"))


def _launchctl(verb: str, path: str) -> list[str]:
    domain = f"gui/{os.getuid()}"
    target = f"{domain}/{_LABEL}"
    return {
        "enable": ["launchctl", "bootstrap", domain, path],
        "disable": ["launchctl", "bootout", target],
        "start": ["launchctl", "kickstart", target],
        "stop": ["launchctl", "kill", "SIGTERM", target],
        "restart": ["launchctl", "kickstart", "-k", target],
        "show": ["launchctl", "print", target],
    }[verb]


def confirm_files(terminal: Terminal, files: list[UnitFile]) -> bool:
    """Show the files and ask for consent; of a timer show only its summary and time."""
    if terminal.flags.yes:
        return True
    if not terminal.can_ask():
        why = "--yes is missing, and there is no terminal to ask on"
        raise usage(why, "momo service install --print")
    for file in files:
        terminal.complain(terminal.style(f"── {file.path}", "bold", message=True))
        terminal.complain(f"   {file.what}" if file.what else file.text)
    if any(file.what for file in files):
        show = "momo service install --timers --print"
        terminal.complain(f"To see the full files of the timers: {show}\n")
    answer = terminal.ask("Write these files and start the service? [y/N] ", "--yes")
    return answer.lower() in ("y", "yes")


def enable_service(
    client: Client, terminal: Terminal, service: Service, *, linger: bool, timers: bool
) -> list[str]:
    """Enable the service with the machine's control programs; return their errors, each with the command."""
    steps: list[list[str]] = []
    if service.kind is Kind.LAUNCHD:
        steps.append(service.control("enable"))
    else:
        if service.kind is Kind.SYSTEM:
            steps.append(["systemd-sysusers", "momo.conf"])
        steps.append(["systemctl", *service.scope, "daemon-reload"])
        if linger and service.kind is Kind.USER:
            steps.append(["loginctl", "enable-linger"])
        wanted = [service.unit]
        if timers:
            # Each endpoint gets a timer; none if the daemon cannot be reached.
            found = client.find(Path.ENDPOINTS) if client.alive() else None
            endpoints = [str(endpoint["id"]) for endpoint in found or ()]
            wanted += unit_files.timer_names(service.shop, endpoints)
        steps.append(["systemctl", *service.scope, "enable", "--now", *wanted])
    problems = []
    for step in steps:
        try:
            run_control(terminal, step)
        except Failure as failure:
            problems.append(failure.message)
    return problems
