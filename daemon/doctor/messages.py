"""The areas `sim` (each SIM has a merchant number and gets messages) and `parser` (messages and own wordings can be read)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.limits import DAY_US
from daemon.doctor.checks import Check, Status, System, checks_or_default, with_database
from daemon.runtime.own_wordings import FOLDER, OwnWordings
from daemon.store.engine import Reader
from daemon.store.upkeep import inspect

WINDOW_US: Final = 7 * DAY_US
_MANY: Final = 0.2
"""Share of unread messages that suggests a changed wording. Adverts count as read."""


def parser_checks(system: System) -> Iterator[Check]:
    """Check the last messages and the shop's own wordings."""

    def look(reader: Reader) -> Iterator[Check]:
        came, unread = inspect.unread_since(reader, system.now_us - WINDOW_US)
        text = f"{unread} of {came} messages of the last seven days could not be read"
        if unread and unread >= _MANY * came:
            yield Check(
                "parser.unread", Status.WARN, f"{text}: a network may have changed its wording",
                "momo messages list --state unparsed",
            )  # fmt: skip
        else:
            yield Check("parser.unread", Status.OK, text)

    yield from with_database(system, "parser.unread", look)
    own = OwnWordings(Path(system.shop.home) / FOLDER)
    own.read_again()
    wrong = (
        Check(
            "parser.templates", Status.WARN, f"{file.name}:{problem.line}: {problem.why}",
            "momo messages templates list",
        )
        for file in own.files
        for problem in file.loaded.problems
    )  # fmt: skip
    ok = f"own wordings of the shop: {len(own.wordings)}, all valid"
    yield from checks_or_default(wrong, Check("parser.templates", Status.OK, ok))


def sim_checks(system: System) -> Iterator[Check]:
    """Check the SIMs. The area `modem` checks PINs."""
    if system.running is None:
        yield Check(
            "sim.line", Status.SKIP, "the daemon does not run, so the SIMs are not known",
            "momo daemon start",
        )  # fmt: skip
        return
    yield from with_database(system, "sim.line", _lines)


def _lines(reader: Reader) -> Iterator[Check]:
    found = inspect.sims(reader)
    if not found:
        yield Check("sim.line", Status.SKIP, "no modem has a SIM", "momo doctor modem")
        return
    lacking = (
        Check(
            "sim.line", Status.FAIL,
            f"the SIM {one.device}:{one.slot_index} ({one.network or 'unknown network'}) has no merchant number: its "
            "payments wait until it has one",
            f"momo lines update NUMBER --sim {one.device}:{one.slot_index}",
        )
        for one in found
        if not one.has_line
    )  # fmt: skip
    yield from checks_or_default(
        lacking, Check("sim.line", Status.OK, "every SIM has its merchant number")
    )
    silent = (
        Check(
            "sim.heard", Status.WARN,
            f"{one.device}:{one.slot_index} has had no message for longer than usual at this hour", "momo phones status",
        )
        for one in found
        if one.silent
    )  # fmt: skip
    yield from checks_or_default(
        silent, Check("sim.heard", Status.OK, "messages arrive on every SIM as usual")
    )
