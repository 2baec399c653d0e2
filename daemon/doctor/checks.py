"""Checks of `momo doctor`: their results, their inputs and the report. Each area is a function, listed in `run.py`.

Also here, for several areas: the shop's database, opened or a skipped check with the reason; and the installed unit files.
"""

import dataclasses
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from daemon.core.lines.modem_health import ModemProblem
from daemon.core.upkeep.self_check import AwakeStatus
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.own_certificate import MachineNames, machine_names
from daemon.store import open_store
from daemon.store.engine import Reader
from daemon.store.upkeep.inspect import UnreadableShop
from daemon.wire import Places

NO_SHOP: Final = "there is no shop here yet"
UNIT_FOLDERS: Final = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")


class Status(StrEnum):
    """Result of a check."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """Not checked; `detail` is the reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    The meaning of an id, `area.name`, never changes. `detail` is the finding, as a sentence part; `fix` the command or
    action for the operator, empty if none is needed. `remedy` does the action of `fix` and returns a description; None
    if that is not safe without asking. The check took `ms` milliseconds.
    """

    id: str
    status: Status
    detail: str
    fix: str = ""
    remedy: Callable[[], str] | None = dataclasses.field(default=None, compare=False)
    ms: int = 0

    @property
    def area(self) -> str:
        """Return the area, the first word of the id."""
        return self.id.partition(".")[0]


def passed(name: str, detail: str, fix: str = "") -> Check:
    """Return a check that found nothing wrong."""
    return Check(name, Status.OK, detail, fix)


def warned(name: str, detail: str, fix: str = "", remedy: Callable[[], str] | None = None) -> Check:
    """Return a check that found something to look at."""
    return Check(name, Status.WARN, detail, fix, remedy)


def failed(name: str, detail: str, fix: str = "", remedy: Callable[[], str] | None = None) -> Check:
    """Return a check that found a fault."""
    return Check(name, Status.FAIL, detail, fix, remedy)


def skipped(name: str, detail: str, fix: str = "") -> Check:
    """Return a check that could not be made; `detail` is the reason."""
    return Check(name, Status.SKIP, detail, fix)


class ReportedModem(Struct, frozen=True):
    """A modem as reported by the daemon: its name, port, state and troubles."""

    name: str
    port: str
    state: str
    troubles: tuple[ModemProblem, ...] = ()


class PortUser(Struct, frozen=True):
    """The user that opens the ports."""

    uid: int
    groups: frozenset[int]


class Running(Struct, frozen=True):
    """The state of a running daemon.

    Its version may be older than that of the installed program. `clock_doubt` is why it does not trust the clock, empty
    if it does; `clock_confirmed` says that an independent source confirms the clock. `http` is the `HOST:PORT` of the
    API, or empty; `awake` whether it keeps the machine awake.
    """

    version: str
    clock_doubt: str
    clock_confirmed: bool
    http: str
    awake: AwakeStatus = field(default_factory=AwakeStatus)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM))
    except OSError:
        return False


class System(Struct, frozen=True):
    """The machine and the shop to check.

    Attributes:
        root: The folder that contains /sys, /dev, /proc, /etc and /run.
        user: The user that runs the daemon.
        phones: Modems as reported by a running daemon; None if no daemon runs.
        pid: Process id of the running daemon; a port held by it is not a finding.
        places: Paths of the shop; None for areas that check only the machine.
        store_url: The server that has the shop's database; empty for a file.
        free: Returns the free bytes on the disk of a folder.
        uses: At a branch, the payments that paid another order here than at the hub, or why that is not known.
        names: Returns the names under which other machines reach this one.
        pause: Waits for a number of seconds; set for `--deep`, which reads every message again.
    """

    root: Path
    user: PortUser
    phones: tuple[ReportedModem, ...] | None = None
    pid: int | None = None
    places: Places | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    store_url: str = ""
    running: Running | None = None
    version: str = ""
    now_us: int = 0
    uses: list[str] | str | None = None
    free: Callable[[Path], int] = _free
    resolves: Callable[[str], bool] = _resolves
    pause: Callable[[float], None] | None = None
    names: Callable[[], MachineNames] = machine_names

    @property
    def shop(self) -> Places:
        """Return the paths of the shop, for an area that needs a shop."""
        assert self.places is not None, "this area needs a shop"
        return self.places


def settings_or_default(system: System) -> Config:
    """Return the settings, or the defaults while they are invalid; the area `daemon` reports that."""
    try:
        return load_config(system.shop.config, system.environ)
    except ConfigError:
        return Config()


def too_open(name: str, path: Path, *, how: str, now: int, wanted: int) -> Check:
    """Return the failed check of a file or folder that other users may use, with the mode that it should have."""
    return failed(name, f"other users may {how} {path} (mode {now:04o})", f"chmod {wanted:o} {path}", remedy=chmod(path, wanted))  # fmt: skip


def has_shop(system: System) -> bool:
    """Return whether there is a shop."""
    return bool(system.store_url) or Path(system.shop.database).is_file()


def open_database(system: System) -> AbstractContextManager[Reader]:
    """Open a snapshot of the shop's database.

    Raises:
        Unreadable: It cannot be opened or read, also within the `with` block.
    """
    return open_store.open_readonly(system.shop.database, system.store_url)


def chmod(path: Path, mode: int) -> Callable[[], str]:
    """Return the remedy that changes the mode of a file or folder."""

    def apply() -> str:
        path.chmod(mode)
        return f"chmod {mode:o} {path}"

    return apply


def report(checks: Iterable[Check]) -> dict[str, Any]:
    """Return the JSON report; `success` is false if a check failed."""
    found = [
        {
            "id": check.id,
            "area": check.area,
            "status": check.status.value,
            "detail": check.detail,
            "fix": check.fix,
            "ms": check.ms,
        }
        for check in checks
    ]
    ok = all(check["status"] != Status.FAIL for check in found)
    return {"success": ok, "data": {"ok": ok, "checks": found}}


def checks_or_default(checks: Iterator[Check], otherwise: Check) -> Iterator[Check]:
    """Yield the checks, or `otherwise` if there are none."""
    empty = True
    for check in checks:
        empty = False
        yield check
    if empty:
        yield otherwise


def with_database(system: System, name: str, look: Callable[[Reader], Iterator[Check]]) -> Iterator[Check]:
    """Yield the checks that `look` finds in the database; if it cannot be read, a skipped check `name`."""
    if not has_shop(system):
        yield skipped(name, NO_SHOP, "momo setup")
        return
    try:
        with open_database(system) as reader:
            found = list(look(reader))
    except UnreadableShop as error:
        yield skipped(name, f"the database cannot be read: {error}", "momo doctor db upgrade")
        return
    yield from found


def installed_units(system: System, suffix: str) -> list[tuple[Path, bool]]:
    """Return (file, whether it is a user unit) of each unit with a name that begins with momo.

    `suffix` is `service` or `timer`.
    """
    home = Path(system.environ.get("HOME", "/nonexistent"))
    config = Path(system.environ.get("XDG_CONFIG_HOME") or home / ".config")
    seen = [(path, True) for path in sorted((config / "systemd" / "user").glob(f"momo*.{suffix}"))]
    # /lib is a link to /usr/lib on most machines.
    folders = dict.fromkeys((system.root / folder).resolve() for folder in UNIT_FOLDERS)
    for folder in folders:
        seen += [(path, False) for path in sorted(folder.glob(f"momo*.{suffix}"))]
    return seen
