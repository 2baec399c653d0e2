"""The area `parser`: are the networks' messages understood, and do the shop's own wordings hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.limits import DAY_US
from daemon.doctor.checks import Check, Patient, Status, first_of
from daemon.doctor.of_shop import asked
from daemon.own_wordings import FOLDER, OwnWordings
from daemon.store import examine
from daemon.store.engine import Reader

WINDOW_US: Final = 7 * DAY_US
_MANY: Final = 0.2
"""A fifth unread: a network may have changed its words. Adverts are read as such."""


def checks(patient: Patient) -> Iterator[Check]:
    """Examine what is read."""

    def look(reader: Reader) -> Iterator[Check]:
        came, unread = examine.unread_since(reader, patient.now_us - WINDOW_US)
        told = f"{unread} of {came} messages of the last seven days could not be read"
        if unread and unread >= _MANY * came:
            yield Check(
                "parser.unread", Status.WARN, f"{told}: has a network changed its words?",
                "momo messages list --state unparsed",
            )  # fmt: skip
        else:
            yield Check("parser.unread", Status.OK, told)

    yield from asked(patient, "parser.unread", look)
    own = OwnWordings(Path(patient.shop.home) / FOLDER)
    own.read_again()
    wrong = (
        Check(
            "parser.templates", Status.WARN, f"{file.name}:{problem.line}: {problem.why}",
            "momo templates list",
        )
        for file in own.files
        for problem in file.loaded.problems
    )  # fmt: skip
    well = f"{len(own.wordings)} wordings of the shop's own hold"
    yield from first_of(wrong, Check("parser.templates", Status.OK, well))
