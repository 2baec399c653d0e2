"""The area `permissions`: who may read the shop's files."""

import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.doctor.checks import Check, Patient, Status, first_of


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the folder, the database, the key and the settings."""
    places = patient.shop
    wanted = [(Path(places.home), 0o700), (Path(places.master_key), 0o600)]
    wanted += [(Path(f"{places.database}{end}"), 0o600) for end in ("", "-wal", "-shm")]
    wanted += [(Path(places.home) / "backups", 0o700), (Path(places.log), 0o700)]
    known = [(path, mode, path.stat()) for path, mode in wanted if path.exists()]
    if not known:
        yield Check("permissions.private", Status.SKIP, "there is nothing here yet", "momo setup")
        return
    open_ones = (
        _open(path, mode, stat.S_IMODE(found.st_mode))
        for path, mode, found in known
        if stat.S_IMODE(found.st_mode) & 0o077
    )
    yield from first_of(
        open_ones,
        Check("permissions.private", Status.OK, "only their owner may read the shop's files"),
    )
    strange = (
        Check(
            "permissions.owner", Status.FAIL,
            f"{path} belongs to another user (uid {found.st_uid}): was momo once started with sudo?",
            f"sudo chown -R $USER {places.home}",
        )
        for path, _, found in known
        if found.st_uid != patient.user.uid
    )  # fmt: skip
    yield from first_of(
        strange, Check("permissions.owner", Status.OK, "they belong to the user who runs momo")
    )


def _open(path: Path, mode: int, now: int) -> Check:
    def shut() -> str:
        path.chmod(mode)
        return f"chmod {mode:o} {path}"

    return Check(
        "permissions.private",
        Status.FAIL,
        f"others may read {path} (mode {now:04o})",
        f"chmod {mode:o} {path}",
        remedy=shut,
    )
