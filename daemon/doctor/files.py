"""The shop's files and its master key, in three areas of the doctor.

`disk`: enough free space for payments. `permissions`: only the owner may read the shop's files. `keyring`: the master key is
available and opens the shop's secrets.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.core.upkeep.disk_space import LOW_BYTES, TIGHT_BYTES
from daemon.doctor.checks import (
    Check,
    Status,
    System,
    checks_or_default,
    chmod,
    settings_or_default,
    too_open,
    with_database,
)
from daemon.open_shop import PASSED, home_mode
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.files import other_writers
from daemon.runtime.secrets import (
    CREDENTIALS,
    SecretsElsewhere,
    SecretsLocked,
    SecretsUnsafe,
    Vault,
)
from daemon.store.engine import Reader
from daemon.store.upkeep import inspect
from daemon.store.webhooks.secrets import PURPOSE


def disk_checks(system: System) -> Iterator[Check]:
    """Check the disk of the shop."""
    folder = Path(system.shop.home)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield Check(
            "disk.writable", Status.FAIL,
            f"the disk of {folder} is read-only, as the kernel makes it after a disk error: nothing can be stored",
            "read `dmesg`; check the disk; then: sudo mount -o remount,rw " + _mount_point(folder),
        )  # fmt: skip
    free = system.free(folder)
    text = f"{free / 1e6:,.0f} MB free at {system.shop.home}"
    if free < TIGHT_BYTES:
        yield Check(
            "disk.space", Status.FAIL,
            f"{text}: on a full disk nothing can be stored, and SMS stay on the SIMs",
            "free some space; momo data prune and momo backup prune remove old data",
        )  # fmt: skip
    elif free < LOW_BYTES:
        yield Check("disk.space", Status.WARN, text, "free some space; momo backup prune")
    else:
        yield Check("disk.space", Status.OK, text)


def _mount_point(folder: Path) -> str:
    while not folder.is_mount():
        folder = folder.parent
    return str(folder)


def permission_checks(system: System) -> Iterator[Check]:
    """Check the folders, the database and the key."""
    places = system.shop
    home = home_mode(places, settings_or_default(system))
    wanted = [(Path(places.home), home), (Path(places.master_key), 0o600)]
    if home == PASSED:
        wanted.append((Path(places.config), 0o600))
    wanted += [(Path(f"{places.database}{end}"), 0o600) for end in ("", "-wal", "-shm")]
    wanted += [(Path(places.home) / "backups", 0o700), (Path(places.log), 0o700)]
    known = [(path, mode, path.stat()) for path, mode in wanted if path.exists()]
    if not known:
        yield Check("permissions.private", Status.SKIP, "there are no files yet", "momo setup")
        return
    readable = (
        too_open(
            "permissions.private", path, how="read", now=stat.S_IMODE(found.st_mode), wanted=mode
        )
        for path, mode, found in known
        if stat.S_IMODE(found.st_mode) & 0o077 & ~mode
    )
    yield from checks_or_default(
        readable,
        Check("permissions.private", Status.OK, "only their owner may read the shop's files"),
    )
    strange = (
        Check(
            "permissions.owner", Status.FAIL,
            f"{path} belongs to another user (uid {found.st_uid}); perhaps momo was started with sudo",
            f"sudo chown -R $USER {places.home}",
        )
        for path, _, found in known
        if found.st_uid != system.user.uid
    )  # fmt: skip
    yield from checks_or_default(
        strange, Check("permissions.owner", Status.OK, "the files belong to the user who runs momo")
    )
    yield from checks_or_default(
        _settings(system),
        Check("permissions.settings", Status.OK, "nobody else may change the settings"),
    )


def _settings(system: System) -> Iterator[Check]:
    """Check that no other user may change the settings; the daemon refuses such a file (`check_writers`)."""
    config = Path(system.shop.config)
    for path in (config, config.parent):
        fault = other_writers(path, system.user.uid) if path.exists() else ""
        if fault:
            what, _, fix = fault.rpartition(": ")
            yield Check("permissions.settings", Status.FAIL, what, fix)


def checks(system: System) -> Iterator[Check]:
    """Check the master key."""
    try:
        config = load_config(system.shop.config, system.environ)
    except ConfigError:
        config = Config()
    credentials = system.environ.get(CREDENTIALS, "")
    vault = Vault.open(system.shop, config.secrets.store, credentials)

    def look(reader: Reader) -> Iterator[Check]:
        secrets = inspect.current_secrets(reader)
        if not secrets:
            yield Check("keyring.key", Status.SKIP, "the shop has no secrets yet")
            return
        found = [_opens(system, vault, sealed) for sealed in secrets]
        # After a lost key some may be rotated already, and others not.
        yield next((one for one in found if one.status is not Status.OK), found[0])

    yield from with_database(system, "keyring.key", look)


def _opens(system: System, vault: Vault, sealed: str) -> Check:
    try:
        vault.unseal(sealed, PURPOSE)
    except SecretsUnsafe as error:
        file = Path(system.shop.master_key)
        return Check(
            "keyring.key", Status.FAIL, str(error), f"chmod 600 {file}", remedy=chmod(file, 0o600)
        )
    except SecretsLocked as error:
        if isinstance(error, SecretsElsewhere) and system.running is None:
            return Check("keyring.key", Status.SKIP, str(error), "momo daemon start")
        return Check(
            "keyring.key", Status.FAIL, f"{error}; webhooks wait until the key is available",
            "log in on the desktop, or restore your copy of master.key",
        )  # fmt: skip
    return Check("keyring.key", Status.OK, "the master key opens the shop's secrets")
