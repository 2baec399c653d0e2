"""Opening of a shop: take the lock, load the settings, open the database and the secrets, or report why it cannot start."""

import contextlib
import shlex
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from daemon.core.errors import MomoError, Unavailable
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, check_writers, load_config
from daemon.runtime.locks import HomeLock, Locked
from daemon.runtime.secrets import CREDENTIALS, Vault
from daemon.runtime.system import Clock
from daemon.store import open_store
from daemon.store.engine import Reader, Store
from daemon.store.migrate import DatabaseDamaged, DatabaseForeign, DatabaseNewer
from daemon.store.upkeep import backup
from daemon.store.upkeep.backup import BackupBad, DiskFull
from daemon.wire import ErrorCode, FaultCause, Places
from parsers.times import from_us

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_FINDINGS = 6
EXIT_NOT_SET_UP = 11
EXIT_DAMAGED = 74
EXIT_LOCKED = 75
EXIT_AGAIN = EXIT_LOCKED
"""The daemon ends to be started again; a service manager does so, as after a shop that is in use."""
EXIT_CONFIG = 78
_EXITS: Final = {
    ErrorCode.USAGE: EXIT_USAGE, ErrorCode.NOT_SET_UP: EXIT_CONFIG, ErrorCode.CONFIG_INVALID: EXIT_CONFIG,
    ErrorCode.DATABASE_NEWER: EXIT_CONFIG, ErrorCode.DATABASE_FOREIGN: EXIT_CONFIG,
    ErrorCode.DATABASE_DAMAGED: EXIT_DAMAGED, ErrorCode.LOCKED: EXIT_LOCKED,
    ErrorCode.BACKUP_NOT_FOUND: EXIT_NOT_FOUND, ErrorCode.BACKUP_FAILED: EXIT_FINDINGS,
    ErrorCode.CERTIFICATE_NOT_FOUND: EXIT_NOT_FOUND,
}  # fmt: skip
"""The exit code of an error; `EXIT_FAILED` of any other."""
PRIVATE: Final = 0o700
PASSED: Final = 0o711
"""Of a shop's folder that other users pass through, but cannot list, to reach the socket in it."""


class StartError(MomoError):
    """The program cannot start.

    Attributes:
        code: Error code for callers with `--json`.
        exit_code: Exit code for the shell and systemd, by default that of the code.
        next_step: Command or action to do next.
    """

    def __init__(self, code: ErrorCode, message: str, next_step: str, *, exit_code: int | None = None) -> None:
        self.code = code
        self.exit_code = _EXITS.get(code, EXIT_FAILED) if exit_code is None else exit_code
        self.message = message
        self.next_step = next_step
        super().__init__(message)


class OpenHome(Struct, frozen=True):
    """The locked folder of a shop, with its settings and secrets; the database is not open."""

    places: Places
    config: Config
    vault: Vault
    lock: HomeLock


class OpenShop(Struct, frozen=True):
    """An open shop, for `setup`: its locked folder, settings, database and secrets."""

    config: Config
    store: Store
    vault: Vault
    lock: HomeLock

    def close(self) -> None:
        """Close the database and release the lock."""
        self.store.close()
        self.lock.release()


def open_home(places: Places, environ: Mapping[str, str]) -> OpenHome:
    """Lock the shop's folder and load its settings.

    Raises:
        StartError: With the exit code and the next step.
    """
    lock = HomeLock(places.lock)
    try:
        Path(places.home).mkdir(parents=True, exist_ok=True, mode=0o700)
        check_writers(places.config, environ)
        config = load_config(places.config, environ, absent_files=True)
        lock.take()
    except ConfigError as error:
        raise StartError(ErrorCode.CONFIG_INVALID, str(error), "momo config edit") from error
    except Locked as error:
        raise StartError(ErrorCode.LOCKED, str(error), "momo daemon status") from error
    except OSError as error:
        raise _unusable(error) from error
    with contextlib.suppress(OSError):
        if stat.S_IMODE(Path(places.home).stat().st_mode) in (PRIVATE, PASSED):
            _set_mode(places, home_mode(places, config))
    vault = Vault(places, config.secrets.store, environ.get(CREDENTIALS, ""))
    return OpenHome(places, config, vault, lock)


def connect(
    places: Places, store: Store, clock: Clock, *, create: bool, first: Callable[[Reader], None] | None = None
) -> None:
    """Open the database; copy a file first if this program changes its schema. Blocking.

    `first` reads what every call needs, before one is answered.

    Raises:
        StartError: It is not this program's database, so a retry does not help.
        Unavailable: It cannot be used now; a retry may help.
    """
    try:
        if not store.server:
            backup.before_upgrade(places, from_us(clock.now_us()))
        store.connect(clock.now_us(), create=create, first=first)
    except BackupBad as error:
        full = isinstance(error, DiskFull)
        store.fault = Unavailable(
            f"this version of momo upgrades the database, and no backup could be made before: {error}",
            cause=FaultCause.DISK_FULL if full else FaultCause.DATABASE_UNREADABLE,
            next_step="momo doctor disk",
        )
        raise store.fault from error
    except Unavailable as error:
        store.fault = error
        raise
    except DatabaseNewer as error:
        raise StartError(ErrorCode.DATABASE_NEWER, str(error), "momo --version") from error
    except DatabaseForeign as error:
        aside = shlex.quote(f"{places.home}/other-momo")
        # The files of its log go with it.
        moves = f"mkdir {aside} && mv {shlex.quote(places.database)}* {aside}"
        raise StartError(ErrorCode.DATABASE_FOREIGN, str(error), f"{moves} && momo setup") from error


def new_store(places: Places, config: Config) -> Store:
    """Return the store that the settings name; it is not open yet.

    Raises:
        StartError: It is on a server, and there is no driver.
    """
    try:
        return open_store.new_store(places.database, config.store.url)
    except open_store.DriverMissing as error:
        raise StartError(ErrorCode.CONFIG_INVALID, str(error), "momo config edit") from error


def refuse_on_server(places: Places, environ: Mapping[str, str], instead: str) -> None:
    """Refuse a command that reads or writes the file of a shop, if the shop has none; `instead` is for its server.

    Raises:
        StartError: The shop is on a server.
    """
    if store_url(places, environ):
        raise StartError(ErrorCode.USAGE, f"{open_store.IN_POSTGRESQL}: {instead}", "momo doctor db")


def store_url(places: Places, environ: Mapping[str, str]) -> str:
    """Return the server of the shop, empty for its file; settings that cannot be read are reported elsewhere."""
    try:
        return load_config(places.config, environ).store.url
    except ConfigError:
        return ""


def is_set_up(places: Places, environ: Mapping[str, str]) -> bool:
    """Return whether there is a shop, or its file is missing and copies of it are there, or it is on a server."""
    return backup.was_set_up(places) or bool(store_url(places, environ))


def open_shop(places: Places, environ: Mapping[str, str], clock: Clock) -> OpenShop:
    """Lock the shop's folder, load its settings, and open and check its database; create it if there is none.

    Raises:
        StartError: With the exit code and the next step.
    """
    home = open_home(places, environ)
    # A command without a shop may have created the folder, with the mode that the umask left.
    _set_mode(places, home_mode(places, home.config))
    try:
        store = new_store(places, home.config)
    except StartError:
        home.lock.release()
        raise
    try:
        connect(places, store, clock, create=True)
        store.check_sound()
    except DatabaseDamaged as error:
        _close(home, store)
        raise StartError(
            ErrorCode.DATABASE_DAMAGED, f"the database is damaged and was not changed: {error.damage}", "momo restore"
        ) from error
    except Unavailable as error:
        _close(home, store)
        if store.server:
            raise StartError(ErrorCode.UNAVAILABLE, f"{store.server}: {error}", "momo doctor database") from error
        raise _unusable(error) from error
    except StartError:
        _close(home, store)
        raise
    return OpenShop(home.config, store, home.vault, home.lock)


def home_mode(places: Places, config: Config) -> int:
    """Return the mode of the shop's folder: other users pass through it only if they may use a socket in it."""
    inside = places.socket.startswith(f"{places.home}/")
    return PASSED if inside and config.access.socket_users else PRIVATE


def _set_mode(places: Places, mode: int) -> None:
    """Set the mode of the shop's folder. If it is another user's or on a read-only disk, `momo doctor` reports it."""
    folder = Path(places.home)
    with contextlib.suppress(OSError):
        if stat.S_IMODE(folder.stat().st_mode) != mode:
            folder.chmod(mode)


def _close(home: OpenHome, store: Store) -> None:
    store.close()
    home.lock.release()


def _unusable(error: Exception) -> StartError:
    return StartError(
        ErrorCode.UNAVAILABLE, f"the shop's folder cannot be used: {error}", "momo doctor disk permissions"
    )
