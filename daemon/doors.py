"""The doors of a shop, opened in order: the lock, the settings, the database, the secrets; or why it cannot be started."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from daemon import wire
from daemon.config import Config, ConfigError, load
from daemon.core.errors import MomoError, Unavailable
from daemon.lock import HomeLock, Locked
from daemon.secrets import CREDENTIALS, Vault
from daemon.store import backup
from daemon.store.backup import BackupBad
from daemon.store.engine import Store
from daemon.store.migrate import DatabaseDamaged, DatabaseNewer
from daemon.system import Clock
from parsers.when import from_us

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_FINDINGS = 6
EXIT_NOT_SET_UP = 11
EXIT_DAMAGED = 74
EXIT_LOCKED = 75
EXIT_CONFIG = 78


class StartError(MomoError):
    """The program cannot start.

    Attributes:
        code: What `--json` callers see.
        exit_code: For the shell and systemd.
        next_step: What to type.
    """

    def __init__(self, code: wire.ErrorCode, exit_code: int, message: str, next_step: str) -> None:
        self.code = code
        self.exit_code = exit_code
        self.message = message
        self.next_step = next_step
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Doors:
    """What both `run` and `setup` need: a locked home, its settings, its database, its secrets."""

    places: wire.Places
    config: Config
    store: Store
    vault: Vault
    lock: HomeLock

    def close(self) -> None:
        """Close the database and let go of the home."""
        self.store.close()
        self.lock.release()


def open_doors(places: wire.Places, environ: Mapping[str, str], clock: Clock) -> Doors:
    """Lock the home, read its settings and open its database.

    Raises:
        StartError: With the exit code and what to type next.
    """
    lock = HomeLock(places.lock)
    try:
        Path(places.home).mkdir(parents=True, exist_ok=True, mode=0o700)
        config = load(places.config, environ)
        lock.take()
        backup.before_upgrade(places, from_us(clock.now_us()))
        store = Store.open(places.database, now_us=clock.now_us())
    except ConfigError as error:
        raise StartError(
            wire.ErrorCode.CONFIG_INVALID, EXIT_CONFIG, str(error), f"edit {places.config}"
        ) from error
    except Locked as error:
        raise StartError(
            wire.ErrorCode.LOCKED, EXIT_LOCKED, str(error), "momo daemon status"
        ) from error
    except DatabaseDamaged as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.DATABASE_DAMAGED,
            EXIT_DAMAGED,
            f"the database is damaged and was left as it is: {error}",
            "copy the file away, then put the latest backup in its place: momo restore",
        ) from error
    except BackupBad as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.UNAVAILABLE,
            EXIT_FAILED,
            f"this momo changes the database's schema, and no copy could be made before: {error}",
            f"free some space at {places.home}",
        ) from error
    except DatabaseNewer as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.DATABASE_NEWER, EXIT_CONFIG, str(error), "momo version"
        ) from error
    except (Unavailable, OSError) as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.UNAVAILABLE,
            EXIT_FAILED,
            f"the shop's folder cannot be used: {error}",
            f"check the disk and the rights of {places.home}",
        ) from error
    vault = Vault.open(places, config.secrets.store, environ.get(CREDENTIALS, ""))
    return Doors(places, config, store, vault, lock)
