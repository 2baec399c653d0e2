"""Opening of a shop: take the lock, load the settings, open the database and the secrets, or report why it cannot start."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from daemon import wire
from daemon.core.errors import MomoError, Unavailable
from daemon.runtime.config import Config, ConfigError, load_config
from daemon.runtime.locks import HomeLock, Locked
from daemon.runtime.secrets import CREDENTIALS, Vault
from daemon.runtime.system import Clock
from daemon.store.engine import Store
from daemon.store.migrate import DatabaseDamaged, DatabaseForeign, DatabaseNewer
from daemon.store.upkeep import backup
from daemon.store.upkeep.backup import BackupBad
from parsers.times import from_us

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
        code: Error code for callers with `--json`.
        exit_code: Exit code for the shell and systemd.
        next_step: Command or action to do next.
    """

    def __init__(self, code: wire.ErrorCode, exit_code: int, message: str, next_step: str) -> None:
        self.code = code
        self.exit_code = exit_code
        self.message = message
        self.next_step = next_step
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class OpenShop:
    """An open shop, for `run` and `setup`: its locked folder, settings, database and secrets."""

    places: wire.Places
    config: Config
    store: Store
    vault: Vault
    lock: HomeLock

    def close(self) -> None:
        """Close the database and release the lock."""
        self.store.close()
        self.lock.release()


def open_shop(places: wire.Places, environ: Mapping[str, str], clock: Clock) -> OpenShop:
    """Lock the shop's folder, load its settings and open its database.

    Raises:
        StartError: With the exit code and the next step.
    """
    lock = HomeLock(places.lock)
    try:
        Path(places.home).mkdir(parents=True, exist_ok=True, mode=0o700)
        config = load_config(places.config, environ)
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
            f"the database is damaged and was not changed: {error}",
            "copy the file to another place, then restore the latest backup: momo restore",
        ) from error
    except BackupBad as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.UNAVAILABLE,
            EXIT_FAILED,
            f"this version of momo upgrades the database, and no backup could be made before: {error}",
            f"free some disk space at {places.home}",
        ) from error
    except DatabaseNewer as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.DATABASE_NEWER, EXIT_CONFIG, str(error), "momo version"
        ) from error
    except DatabaseForeign as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.DATABASE_NEWER,
            EXIT_CONFIG,
            str(error),
            f"move {places.database} to another folder, then run momo setup",
        ) from error
    except (Unavailable, OSError) as error:
        lock.release()
        raise StartError(
            wire.ErrorCode.UNAVAILABLE,
            EXIT_FAILED,
            f"the shop's folder cannot be used: {error}",
            f"check the disk and the permissions of {places.home}",
        ) from error
    vault = Vault.open(places, config.secrets.store, environ.get(CREDENTIALS, ""))
    return OpenShop(places, config, store, vault, lock)
