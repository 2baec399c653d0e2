"""Times are read and shown in the shop's zone, or in the zone that a flag names."""

import pytest

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

LIST = ("tx", "list", "-o", "table", "--absolute")


@pytest.fixture
def lagos(api: FakeApi) -> FakeApi:
    api.timezone = "Africa/Lagos"  # an hour before Accra
    api.on("GET", Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    return api


def test_times_are_shown_in_the_shops_zone(lagos: FakeApi, momo: Momo) -> None:
    assert "today 10:14" in momo(*LIST).out
    assert "today 09:14" in momo(*LIST, "--utc").out
    assert "today 09:14" in momo(*LIST, "--tz", "Africa/Accra").out
    assert "today 09:14" in momo(*LIST, MOMO_TZ="Africa/Accra").out
    asked = {asked.path for asked in lagos.asked}
    assert asked == {Path.TRANSACTIONS, Path.LOCAL_REPORT}, "the zone is in every answer"


def test_a_day_begins_when_it_begins_for_the_shop(lagos: FakeApi, momo: Momo) -> None:
    momo("tx", "list", "--from", "2026-11-20")
    assert lagos.asked[-1].query["from"] == "2026-11-19T23:00:00.000Z"
    momo("tx", "list", "--from", "2026-11-20", "--utc")
    assert lagos.asked[-1].query["from"] == "2026-11-20T00:00:00.000Z"


@pytest.mark.parametrize("zone", ["", "Nowhere/X"])
def test_a_zone_that_nobody_knows_is_accra(zone: str, lagos: FakeApi, momo: Momo) -> None:
    lagos.timezone = zone
    assert "today 09:14" in momo(*LIST).out


def test_without_a_daemon_the_failure_is_that_of_the_call(momo: Momo, naps: list[float]) -> None:
    ran = momo("tx", "list", "--from", "today")
    assert (ran.code, naps) == (7, [])
    assert "the daemon is not running" in ran.err
