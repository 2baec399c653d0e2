"""The area `backup`: is there a copy of the shop, and how old is it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.config import ConfigError, load
from daemon.core.limits import DAY_US
from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import NO_SHOP
from daemon.store.backup import entries
from daemon.store.second_place import entries_of
from parsers.when import to_us

OLD_US: Final = 2 * DAY_US
"""One night was missed (operations.md 2.3: at most 24 hours are lost with the disk)."""
AWAY_US: Final = 7 * DAY_US
"""A stick that is plugged in once a week is good enough."""


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the shop's own folder of backups."""
    if not Path(patient.shop.database).is_file():
        yield Check("backup.recent", Status.SKIP, NO_SHOP, "momo setup")
        return
    found = entries(patient.shop)
    if not found:
        yield Check(
            "backup.recent", Status.WARN, "there is no backup of this shop in its own folder",
            "momo backup create",
        )  # fmt: skip
        return
    newest = found[0]
    age = patient.now_us - to_us(newest.made_at)
    told = f"{len(found)} backups, the newest from {newest.made_at:%Y-%m-%d %H:%M} UTC"
    if age > OLD_US:
        yield Check(
            "backup.recent", Status.WARN, f"{told}: {age // DAY_US} days ago", "momo backup create"
        )
    else:
        yield Check("backup.recent", Status.OK, told)
    yield from _elsewhere(patient)


def _elsewhere(patient: Patient) -> Iterator[Check]:
    """Examine the second place; wrong settings are said by `daemon.settings`."""
    try:
        named = load(patient.shop.config, patient.environ).backup.also_to
    except ConfigError:
        return
    if not named:
        yield Check(
            "backup.elsewhere", Status.OK,
            "they are only on this disk; name a second place, and keep a copy of master.key somewhere else",
            "momo config set backup.also_to /media/STICK/momo",
        )  # fmt: skip
        return
    place = Path(named)
    if not place.is_dir():
        yield Check(
            "backup.elsewhere", Status.WARN,
            f"the second place, {named}, is not there now: plug it in", "momo backup create",
        )  # fmt: skip
        return
    newest = next(iter(entries_of(patient.shop.database, named)), None)
    if newest is None or patient.now_us - to_us(newest.made_at) > AWAY_US:
        age = "none" if newest is None else f"the newest from {newest.made_at:%Y-%m-%d}"
        yield Check(
            "backup.elsewhere", Status.WARN, f"copies in the second place, {named}: {age}",
            "momo backup create",
        )  # fmt: skip
    elif place.stat().st_dev == Path(patient.shop.home).stat().st_dev:
        yield Check(
            "backup.elsewhere", Status.WARN,
            f"the second place, {named}, is on the same disk as the shop: with the disk all copies are gone",
            "momo config set backup.also_to /media/STICK/momo",
        )  # fmt: skip
    else:
        when = f"{newest.made_at:%Y-%m-%d %H:%M} UTC"
        yield Check("backup.elsewhere", Status.OK, f"the newest in {named} is from {when}")
