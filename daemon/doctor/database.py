"""The database and its copies, in three areas of the doctor.

`db`: an intact database, on a suitable disk, opened by no other program. `ledger`: its invariants hold. `backup`: the shop has a
recent backup, also in a second place.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.limits import DAY_US
from daemon.doctor.checks import (
    NO_SHOP,
    Check,
    System,
    checks_or_default,
    failed,
    has_shop,
    passed,
    skipped,
    warned,
    with_database,
)
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.locks import holders
from daemon.runtime.message_journal import FOLDER
from daemon.store.engine import Reader
from daemon.store.open_store import IN_POSTGRESQL
from daemon.store.upkeep import inspect, ledger_check
from daemon.store.upkeep.backup import entries, offsite_entries
from parsers.times import to_us

_NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph"})
"""File systems on which SQLite's locks do not work (sqlite.org/howtocorrupt.html, 2.1)."""
_STICKS: Final = frozenset({"vfat", "exfat", "msdos", "fuseblk", "ntfs", "ntfs3"})
"""File systems of USB sticks and cards: these may lose data reported as written, and FAT has no permissions."""
_RESTORE: Final = "momo restore --stop"
_UNSAFE: Final = {
    "fsync": "a power cut can lose and damage payments",
    "full_page_writes": "a power cut can damage the database",
    "synchronous_commit": "a power cut loses payments that were already answered",
}
"""Settings of a server that must be on."""


def database_checks(system: System) -> Iterator[Check]:
    """Check the database."""
    if system.store_url:
        yield from server_checks(system)
        return
    path = Path(system.shop.database)
    version, fixed = inspect.sqlite_version()
    rule = "without the WAL-reset bug" if fixed else "safe with one writer (WAL-reset bug)"
    yield passed("db.sqlite", f"SQLite {version}: {rule}")
    if not path.is_file():
        yield skipped("db.sound", NO_SHOP, "momo setup")
        return
    wrong, unread = "", ""
    try:
        with inspect.open_readonly(str(path)) as reader:
            wrong = inspect.damage(reader, whole=True)
    except inspect.UnreadableShop as error:
        if error.is_damage:
            wrong = str(error)
        else:
            unread = str(error)
    if unread:
        yield failed("db.sound", f"the database could not be read, so it is not known whether it is damaged: {unread}",
            "momo doctor disk db")  # fmt: skip
    elif wrong:
        yield failed("db.sound", f"the database is damaged ({wrong}); a restore keeps the damaged file beside the restored one",
            _RESTORE)  # fmt: skip
    else:
        yield passed("db.sound", f"integrity_check ok, {path.stat().st_size:,} bytes")
    yield _place(system, path)
    yield from checks_or_default(
        _other_programs(system, path), passed("db.foreign", "no other program has the database open")
    )


WAITS_S: Final = 3.0
"""A commit that has waited this long is not only slow."""


def server_checks(system: System) -> Iterator[Check]:
    """Check the database server: that it answers, and how far its answer to a commit can be relied upon."""

    def look(reader: Reader) -> Iterator[Check]:
        version = inspect.server_setting(reader, "server_version")
        yield passed("db.server", f"PostgreSQL {version} answers")
        for name, why in _UNSAFE.items():
            if inspect.server_setting(reader, name) == "off":
                yield failed("db.durable", f"the server has {name} = off: {why}", f"set {name} = on at the server")
        if inspect.server_setting(reader, "data_checksums") != "on":
            yield warned("db.checksums", "the server has no data checksums, so damage on its disk is noticed late",
                "pg_checksums --enable")  # fmt: skip
        names = inspect.server_setting(reader, "synchronous_standby_names")
        waits_s = inspect.commit_waits_s(reader)
        if waits_s > WAITS_S:
            yield failed("db.copies", f"a commit has waited {waits_s:.0f} s for the standby server ({names}), which does not answer: "
                "nothing can be stored",
                "start the standby server, or take its name out of synchronous_standby_names")  # fmt: skip
        elif names:
            yield passed("db.copies", f"a commit waits for the standby server ({names})")
        else:
            yield passed("db.copies", "a commit does not wait for a second server: what is lost with this one is what came since its backup")  # fmt: skip

    yield from with_database(system, "db.server", look)


def _place(system: System, path: Path) -> Check:
    kind, point = _file_system(system.root, path)
    if kind in _NETWORK:
        return failed("db.place", f"{path} is on a network drive ({kind}): file locks do not work there, so the database can be damaged",
            "move MOMO_HOME to a disk of this machine")  # fmt: skip
    if kind in _STICKS:
        return warned("db.place", f"{path} is on {point} ({kind}), the file system of sticks and cards: a power cut may lose payments",
            "move MOMO_HOME to the machine's own disk")  # fmt: skip
    return passed("db.place", f"on a disk of this machine ({kind or 'unknown file system'})")


def _file_system(root: Path, path: Path) -> tuple[str, str]:
    """Return the type and the mount point of a path's file system, from /proc/mounts."""
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


def _other_programs(system: System, path: Path) -> Iterator[Check]:
    for holder in holders(str(path), system.root / "proc"):
        if holder.pid == system.pid:
            continue
        yield warned("db.foreign", f"{holder.name or 'a program'} (PID {holder.pid}) has the database open; two writing programs can damage it",
            f"close it, or: kill {holder.pid}")  # fmt: skip


def ledger_checks(system: System) -> Iterator[Check]:
    """Check every invariant in the database; each violated one is a check `ledger.NAME`."""
    yield from with_database(system, "ledger.holds", _findings)
    if isinstance(system.uses, str):
        yield skipped("ledger.uses", f"not compared with the hub: {system.uses}", "momo hub status")
    elif system.uses is not None:
        fix = "look into the wallet, and tell head office: one of the orders has no money"
        yield from checks_or_default(
            (failed("ledger.uses", one, fix) for one in system.uses),
            passed("ledger.uses", "each payment of the last 31 days paid the same order here and at the hub"),
        )
    if system.pause is not None and has_shop(system):
        from daemon.doctor import ledger_texts  # noqa: PLC0415 -- only `--deep` needs the parsers

        try:
            yield from ledger_texts.text_checks(system, system.pause)
        except inspect.UnreadableShop as error:
            yield skipped(ledger_texts.ID, f"the database cannot be read: {error}", "momo doctor db")


def _findings(reader: Reader) -> Iterator[Check]:
    found = ledger_check.findings(reader.all)
    for name, sentence, count in found:
        yield failed(f"ledger.{name}", f"violated {count} times: {sentence}",
            "report it with momo doctor --bundle FILE.tar.gz; backups are still made")  # fmt: skip
    if not found:
        many = inspect.counts(reader)
        yield passed("ledger.holds", f"payments: {many['payments']}, transactions: {many['transactions']}; each payment is used once, and every "
            "verified transaction has its payment")  # fmt: skip


OLD_US: Final = 2 * DAY_US
"""One night was missed: with the disk at most 24 hours are lost."""
AWAY_US: Final = 7 * DAY_US
"""Plugging in a USB stick once a week is enough."""


def checks(system: System) -> Iterator[Check]:
    """Check the backups in the shop's own folder."""
    if system.store_url:
        yield skipped("backup.recent", f"{IN_POSTGRESQL}: its server's own backups are not checked here",
            "pg_dump, or point-in-time recovery (docs/operators/postgresql.md)")  # fmt: skip
        return
    if not Path(system.shop.database).is_file():
        yield skipped("backup.recent", NO_SHOP, "momo setup")
        return
    found = entries(system.shop)
    if not found:
        yield warned("backup.recent", "the shop has no backup in its own folder", "momo backup create")
        return
    newest = found[0]
    age = system.now_us - to_us(newest.made_at)
    many = "1 backup" if len(found) == 1 else f"{len(found)} backups, the newest"
    text = f"{many} from {newest.made_at:%Y-%m-%d %H:%M} UTC"
    if age > OLD_US:
        yield warned("backup.recent", f"{text}: {age // DAY_US} days ago", "momo backup create")
    else:
        yield passed("backup.recent", text)
    yield from _elsewhere(system)


def _messages(system: System, named: str) -> Iterator[Check]:
    """Check the second folder of the message journal, if there is one."""
    place = Path(named)
    if named and not place.is_dir():
        yield warned("backup.messages", f"the second folder of the message journal, {named}, is not available; it is brought up to date when it returns",
            "plug it in")  # fmt: skip
    elif named:
        lacking = [
            path.name
            for path in Path(system.shop.home, FOLDER).glob("*.journal")
            if all(copy.stat().st_size < path.stat().st_size for copy in place.glob(f"momo-*-{path.name}"))
        ]
        if lacking:
            yield warned("backup.messages", f"the second folder of the message journal, {named}, is behind: {', '.join(sorted(lacking))}",
                "momo status")  # fmt: skip
        else:
            yield passed("backup.messages", f"the message journal is also in {named}")


def _elsewhere(system: System) -> Iterator[Check]:
    try:
        settings = load_config(system.shop.config, system.environ).backup
    except ConfigError:
        return
    yield from _messages(system, settings.messages_to)
    named = settings.also_to
    if not named:
        yield passed("backup.elsewhere", "the backups are only on this disk; set a second place, and keep a copy of master.key in another place",
            "momo config set backup.also_to /media/STICK/momo")  # fmt: skip
        return
    place = Path(named)
    if not place.is_dir():
        yield warned("backup.elsewhere", f"the second place, {named}, is not available: plug it in", "momo backup create")  # fmt: skip
        return
    newest = next(iter(offsite_entries(system.shop.database, named)), None)
    if newest is None or system.now_us - to_us(newest.made_at) > AWAY_US:
        age = "none" if newest is None else f"the newest from {newest.made_at:%Y-%m-%d}"
        yield warned("backup.elsewhere", f"backups in the second place, {named}: {age}", "momo backup create")
    elif place.stat().st_dev == Path(system.shop.home).stat().st_dev:
        yield warned("backup.elsewhere", f"the second place, {named}, is on the same disk as the shop: if the disk fails, all backups are lost",
            "momo config set backup.also_to /media/STICK/momo")  # fmt: skip
    else:
        when = f"{newest.made_at:%Y-%m-%d %H:%M} UTC"
        yield passed("backup.elsewhere", f"the newest backup in {named} is from {when}")
