"""momo as a service of this machine: where its files are, and the program that starts and stops it.

Three kinds: the user's systemd, the machine's systemd, and launchd on a Mac (untried). The control programs are
started with the flags of their manuals: systemctl(1), loginctl(1), journalctl(1), launchctl(1).
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.wire import HOME_VARIABLE, ErrorCode
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.unit_files import (
    SYSTEM_ENVIRONMENT,
    SYSTEM_HOME,
    Shop,
    UnitFile,
    launch_agent,
    shop_of,
    system_files,
    timers,
    user_service,
)

_LABEL: Final = "gh.momo.daemon"
_CONTROL_S: Final = 120.0
_SYSTEM_UNITS: Final = "/etc/systemd/system"
_PASSED_ON: Final = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MOMO_PROFILE")
_PRIVATE: Final = ("/home/", "/root/")
"""Folders that ProtectHome= hides from a system service."""


class Kind(StrEnum):
    """Who keeps the service running."""

    USER = "systemd-user"
    SYSTEM = "systemd-system"
    LAUNCHD = "launchd"


@dataclass(frozen=True, slots=True)
class Service:
    """One shop's service of one kind.

    Attributes:
        shop: What its files say.
        folder: Where the unit is.
        path: The unit itself.
    """

    kind: Kind
    shop: Shop
    folder: str
    path: str

    @property
    def unit(self) -> str:
        """The name that the control program knows it by."""
        return _LABEL if self.kind is Kind.LAUNCHD else f"{self.shop.name}.service"

    @property
    def installed(self) -> bool:
        """Say whether the unit is there, and is this shop's."""
        return shop_of(self.text) == self.shop.home

    @property
    def text(self) -> str:
        """What the unit says now, "" when there is none."""
        return read(self.path)

    def files(self, *, with_timers: bool) -> list[UnitFile]:
        """Return every file that installing writes."""
        if self.kind is Kind.LAUNCHD:
            return [launch_agent(self.shop, self.folder, _LABEL)]
        system = self.kind is Kind.SYSTEM
        found = system_files(self.shop) if system else [user_service(self.shop, self.folder)]
        if with_timers:
            found += timers(self.shop, self.folder, system=system)
        return found

    def control(self, verb: str, *units: str) -> list[str]:
        """Return the command line that does something to it."""
        if self.kind is Kind.LAUNCHD:
            return _launchctl(verb, self.path)
        scope = ["--user"] if self.kind is Kind.USER else []
        return ["systemctl", *scope, verb, *(units or (self.unit,))]

    def journal(self, *flags: str) -> list[str]:
        """Return the command line that shows what it said."""
        if self.kind is Kind.LAUNCHD:
            return ["tail", *flags, f"{self.shop.log}/daemon.log"]
        scope = ["--user"] if self.kind is Kind.USER else []
        return ["journalctl", *scope, f"--unit={self.unit}", "--no-pager", *flags]


def service_for(terminal: Terminal, *, system: bool) -> Service:
    """Return the service that this shop has, or would have, on this machine."""
    places, environ = terminal.located.places, terminal.located.environ
    if system:
        shop = Shop(f"{SYSTEM_HOME}/default", SYSTEM_ENVIRONMENT, sys.executable)
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


def supervisor_of(terminal: Terminal) -> Service | None:
    """Return the service that keeps this shop running, None when it was not installed as one."""
    for system in (False, True):
        service = service_for(terminal, system=system)
        ours = not system or not terminal.located.places.self_contained
        if ours and service.installed:
            return service
    return None


def check_place(service: Service) -> None:
    """Refuse a system service whose program it could not see.

    Raises:
        Failure: The Python is in somebody's home folder, which the service is kept out of.
    """
    if service.kind is Kind.SYSTEM and service.shop.python.startswith(_PRIVATE):
        raise Failure(
            ErrorCode.USAGE,
            f"a system service cannot see {service.shop.python}: install momo for everybody, "
            "for example under /usr/local, and run that one",
            next=("momo service install",),
        )


def do(terminal: Terminal, words: Sequence[str]) -> str:
    """Run a control program; return what it printed.

    Raises:
        Failure: It is not there, or it refused; with what it said.
    """
    try:
        done = subprocess.run(  # noqa: S603  # the machine's own programs, with words of ours
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
        raise _refused(words, f"it did not end within {_CONTROL_S:g} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise _refused(words, said[-1] if said else f"it ended with {done.returncode}")
    return done.stdout


def read(path: str) -> str:
    """Return a file's text, "" when it is not there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # no pathlib here
            return file.read()
    except OSError:
        return ""


def write(file: UnitFile) -> None:
    """Write a file whole or not at all.

    Raises:
        Failure: It cannot be written.
    """
    draft = f"{file.path}.new"
    try:
        os.makedirs(os.path.dirname(file.path), exist_ok=True)  # noqa: PTH103, PTH120  # no pathlib here
        with open(draft, "w", encoding="utf-8") as out:  # noqa: PTH123 -- pathlib is not needed here
            out.write(file.text)
        os.chmod(draft, file.mode)  # noqa: PTH101 -- pathlib is not needed here
        os.replace(draft, file.path)  # noqa: PTH105 -- pathlib is not needed here
    except OSError as problem:
        raise _denied(file.path, problem) from None


def remove(path: str) -> bool:
    """Remove a file; False when there was none.

    Raises:
        Failure: It cannot be removed.
    """
    try:
        os.unlink(path)  # noqa: PTH108  # no pathlib here
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise _denied(path, problem) from None
    return True


def _denied(path: str, problem: OSError) -> Failure:
    if isinstance(problem, PermissionError):
        said = f"{path} belongs to the machine: run the same with sudo"
        return Failure(ErrorCode.NOT_PERMITTED, said, next=("momo service install --print",))
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
