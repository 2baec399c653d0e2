"""The area `backup`: whether the shop has a recent backup, also in a second place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.limits import DAY_US
from daemon.doctor.checks import NO_SHOP, Check, Status, System
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.message_journal import FOLDER
from daemon.store.open_store import IN_POSTGRESQL
from daemon.store.upkeep.backup import entries, offsite_entries
from parsers.times import to_us

OLD_US: Final = 2 * DAY_US
"""One night was missed: with the disk at most 24 hours are lost."""
AWAY_US: Final = 7 * DAY_US
"""Plugging in a USB stick once a week is enough."""


def checks(system: System) -> Iterator[Check]:
    """Check the backups in the shop's own folder."""
    if system.store_url:
        yield Check(
            "backup.recent", Status.SKIP,
            f"{IN_POSTGRESQL}: its server's own backups are not checked here",
            "pg_dump, or point-in-time recovery (docs/postgresql.md)",
        )  # fmt: skip
        return
    if not Path(system.shop.database).is_file():
        yield Check("backup.recent", Status.SKIP, NO_SHOP, "momo setup")
        return
    found = entries(system.shop)
    if not found:
        yield Check(
            "backup.recent", Status.WARN, "the shop has no backup in its own folder",
            "momo backup create",
        )  # fmt: skip
        return
    newest = found[0]
    age = system.now_us - to_us(newest.made_at)
    many = "1 backup" if len(found) == 1 else f"{len(found)} backups, the newest"
    text = f"{many} from {newest.made_at:%Y-%m-%d %H:%M} UTC"
    if age > OLD_US:
        yield Check(
            "backup.recent", Status.WARN, f"{text}: {age // DAY_US} days ago", "momo backup create"
        )
    else:
        yield Check("backup.recent", Status.OK, text)
    yield from _elsewhere(system)


def _messages(system: System, named: str) -> Iterator[Check]:
    """Check the second folder of the message journal, if there is one."""
    place = Path(named)
    if named and not place.is_dir():
        yield Check(
            "backup.messages", Status.WARN,
            f"the second folder of the message journal, {named}, is not available; it is brought up to date when it returns",
            "plug it in",
        )  # fmt: skip
    elif named:
        lacking = [
            path.name
            for path in Path(system.shop.home, FOLDER).glob("*.journal")
            if all(
                copy.stat().st_size < path.stat().st_size
                for copy in place.glob(f"momo-*-{path.name}")
            )
        ]
        if lacking:
            yield Check(
                "backup.messages", Status.WARN,
                f"the second folder of the message journal, {named}, is behind: {', '.join(sorted(lacking))}",
                "momo status",
            )  # fmt: skip
        else:
            yield Check("backup.messages", Status.OK, f"the message journal is also in {named}")


def _elsewhere(system: System) -> Iterator[Check]:
    try:
        settings = load_config(system.shop.config, system.environ).backup
    except ConfigError:
        return
    yield from _messages(system, settings.messages_to)
    named = settings.also_to
    if not named:
        yield Check(
            "backup.elsewhere", Status.OK,
            "the backups are only on this disk; set a second place, and keep a copy of master.key in another place",
            "momo config set backup.also_to /media/STICK/momo",
        )  # fmt: skip
        return
    place = Path(named)
    if not place.is_dir():
        yield Check(
            "backup.elsewhere", Status.WARN,
            f"the second place, {named}, is not available: plug it in", "momo backup create",
        )  # fmt: skip
        return
    newest = next(iter(offsite_entries(system.shop.database, named)), None)
    if newest is None or system.now_us - to_us(newest.made_at) > AWAY_US:
        age = "none" if newest is None else f"the newest from {newest.made_at:%Y-%m-%d}"
        yield Check(
            "backup.elsewhere", Status.WARN, f"backups in the second place, {named}: {age}",
            "momo backup create",
        )  # fmt: skip
    elif place.stat().st_dev == Path(system.shop.home).stat().st_dev:
        yield Check(
            "backup.elsewhere", Status.WARN,
            f"the second place, {named}, is on the same disk as the shop: if the disk fails, all backups are lost",
            "momo config set backup.also_to /media/STICK/momo",
        )  # fmt: skip
    else:
        when = f"{newest.made_at:%Y-%m-%d %H:%M} UTC"
        yield Check("backup.elsewhere", Status.OK, f"the newest backup in {named} is from {when}")
