"""The area `backup`: is there a copy of the shop, and how old is it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.limits import DAY_US
from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import NO_SHOP
from daemon.store.backup import entries
from parsers.when import to_us

OLD_US: Final = 2 * DAY_US
"""One night was missed (operations.md 2.3: at most 24 hours are lost with the disk)."""


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
    here = Path(patient.shop.home).stat().st_dev
    if Path(newest.path).stat().st_dev == here:
        yield Check(
            "backup.elsewhere", Status.OK,
            "they are on the same disk as the shop; now and then copy one, and master.key, somewhere else",
            "momo backup create --to /media/STICK",
        )  # fmt: skip
    else:
        yield Check("backup.elsewhere", Status.OK, "they are on another disk than the shop")
