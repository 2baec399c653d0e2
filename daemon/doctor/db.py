"""The area `db`: is the file whole, is it where a database may be, and does anybody else hold it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.doctor.checks import Check, Patient, Status, first_of
from daemon.doctor.of_shop import NO_SHOP
from daemon.modem.port_holders import holders
from daemon.store import examine

_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph"}
)
"""SQLite's locks do not hold there (sqlite.org/howtocorrupt.html, 2.1)."""
_STICKS: Final = frozenset({"vfat", "exfat", "msdos", "fuseblk", "ntfs", "ntfs3"})
"""What sticks and cards are formatted with: they lie about what is on the disk, and FAT knows no rights."""
_RESTORE: Final = "momo restore --stop"


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the database."""
    path = Path(patient.shop.database)
    version, fixed = examine.sqlite_version()
    rule = "free of the WAL-reset bug" if fixed else "one connection alone writes (WAL-reset bug)"
    yield Check("db.sqlite", Status.OK, f"SQLite {version}: {rule}")
    if not path.is_file():
        yield Check("db.sound", Status.SKIP, NO_SHOP, "momo setup")
        return
    try:
        with examine.opened(str(path)) as reader:
            wrong = examine.damage(reader, whole=True)
    except examine.Unreadable as error:
        wrong = str(error)
    if wrong:
        yield Check(
            "db.sound", Status.FAIL,
            f"the database is damaged ({wrong}); a restore keeps it as it is beside the copy", _RESTORE,
        )  # fmt: skip
    else:
        yield Check("db.sound", Status.OK, f"integrity_check ok, {path.stat().st_size:,} bytes")
    yield _place(patient, path)
    yield from first_of(
        _held(patient, path),
        Check("db.foreign", Status.OK, "no other program has the database open"),
    )


def _place(patient: Patient, path: Path) -> Check:
    kind, point = _file_system(patient.root, path)
    if kind in _NETWORK:
        return Check(
            "db.place", Status.FAIL,
            f"{path} is on a network drive ({kind}): locks do not hold there, and it can be damaged",
            "move MOMO_HOME to a disk of this machine",
        )  # fmt: skip
    if kind in _STICKS:
        return Check(
            "db.place", Status.WARN,
            f"{path} is on {point} ({kind}), the file system of sticks and cards: a power cut may lose payments",
            "move MOMO_HOME to the machine's own disk",
        )  # fmt: skip
    return Check("db.place", Status.OK, f"on a disk of this machine ({kind or 'unknown kind'})")


def _file_system(root: Path, path: Path) -> tuple[str, str]:
    """Return the kind and the place of the file system that a path is on, by /proc/mounts."""
    try:
        lines = (root / "proc" / "mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return "", ""
    real, best = str(path.resolve()), ("", "")
    for line in lines:
        fields = line.split()
        point = fields[1].replace("\\040", " ") if len(fields) > 2 else ""
        under = real == point or real.startswith(point.rstrip("/") + "/")
        if point and under and len(point) >= len(best[1]):
            best = (fields[2], point)
    return best


def _held(patient: Patient, path: Path) -> Iterator[Check]:
    for holder in holders(str(path), patient.root / "proc"):
        if holder.pid == patient.pid:
            continue
        yield Check(
            "db.foreign",
            Status.WARN,
            f"{holder.name or 'a program'} (PID {holder.pid}) has the database open; two that write can damage it",
            f"close it, or: kill {holder.pid}",
        )
