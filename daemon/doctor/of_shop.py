"""What several areas share: the shop's database, opened to read, and what to say when it cannot be."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from daemon.doctor.checks import Check, Patient, Status
from daemon.store.engine import Reader
from daemon.store.examine import Unreadable, opened

NO_SHOP: Final = "there is no shop here yet"


def asked(
    patient: Patient, name: str, look: Callable[[Reader], Iterator[Check]]
) -> Iterator[Check]:
    """Yield what `look` finds in the database; a check `name` that is skipped when it cannot be read."""
    database = patient.shop.database
    if not Path(database).is_file():
        yield Check(name, Status.SKIP, NO_SHOP, "momo setup")
        return
    try:
        with opened(database) as reader:
            found = list(look(reader))
    except Unreadable as error:
        yield Check(
            name, Status.SKIP, f"the database cannot be asked: {error}", "momo doctor db upgrade"
        )
        return
    yield from found
