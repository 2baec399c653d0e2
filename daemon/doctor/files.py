"""The areas `disk` (enough free space for payments) and `permissions` (only the owner may read the shop's files)."""

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
    settings_or_default,
    too_open,
)
from daemon.open_shop import PASSED, home_mode
from daemon.runtime.private_files import other_writers


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
