"""A hub and a branch in two network namespaces, with a bad line between them: the branch works on, and all arrives once."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import postgresql
from tests.fakes.busy_day import BusyDay
from tests.fakes.head_office import QUIET_S, HeadOffice
from tests.fakes.real_shop import pause, wait_until
from tests.fakes.seed import seed
from tests.fakes.slow_line import SlowLine
from tests.fakes.tiers import LONG, share

HUB, BRANCH = 0, 1


def _cut(line: SlowLine, _office: HeadOffice) -> None:
    line.cut()


def _only_to_the_hub(line: SlowLine, _office: HeadOffice) -> None:
    line.open[HUB] = False


def _only_to_the_branch(line: SlowLine, _office: HeadOffice) -> None:
    line.open[BRANCH] = False


def _far(line: SlowLine, _office: HeadOffice) -> None:
    line.delay_s = 0.3


def _lossy(line: SlowLine, _office: HeadOffice) -> None:
    line.loss = 0.05


def _narrow(line: SlowLine, _office: HeadOffice) -> None:
    line.bits_per_s = 9_600


def _half_closed(line: SlowLine, office: HeadOffice) -> None:
    """Let the hub close its connections and forget them, without a word to the branch."""
    line.open[HUB] = False
    office.hub.stop()
    office.start_hub()
    line.heal()


FAULTS: dict[str, Callable[[SlowLine, HeadOffice], None]] = {
    "half-closed": _half_closed,
    "far": _far,
    "lossy": _lossy,
    "only to the hub": _only_to_the_hub,
    "narrow": _narrow,
    "cut": _cut,
    "only to the branch": _only_to_the_branch,
}
IN_SHORT = ("half-closed", "lossy", "only to the hub")


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_the_branch_works_on_over_any_line_and_all_arrives_once(engine: str, tmp_path: Path) -> None:
    url = postgresql.cluster().new_database() if engine == "postgresql" else ""
    rng = random.Random(seed())
    each = share(60)
    faults = FAULTS if LONG else {name: FAULTS[name] for name in IN_SHORT}
    with (
        SlowLine(rng) as line,
        HeadOffice(
            tmp_path, url=url, names=("kumasi",), address=f"{line.address(HUB)}:8443", scheme="https",
            hub_prefix=line.enter(HUB), branch_prefix=line.enter(BRANCH),
        ) as office,
    ):  # fmt: skip
        office.open()
        (branch,) = office.branches
        day = BusyDay(office, rng, each * len(faults))
        day.start()
        for number, (name, begin) in enumerate(faults.items()):
            begin(line, office)
            day.allow(each)
            day.wait_until_paid(each * (number + 1))
            wait_until(branch.phone.is_empty, QUIET_S, f"{name}: the branch takes payments")
            pause(1)
            if name in ("far", "lossy", "narrow"):
                wait_until(branch.is_caught_up, QUIET_S, f"{name}: all is at the hub")
            line.heal()
            wait_until(branch.is_caught_up, QUIET_S, f"{name} is over: all is at the hub")
        day.finish()
        day.check()
        office.hub.stop()
