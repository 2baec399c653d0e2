"""A day that is given as an end is included, in every command that takes one."""

import pytest

from daemon.wire import Path
from momo_cli.frame.command_table import COMMANDS
from momo_cli.frame.tree import load
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

ENDPOINT = samples.ENDPOINT["id"]
COMMANDS_WITH_AN_END = {
    "tx list": ("tx", "list"),
    "replay --gap": ("replay", "--gap", "--endpoint", ENDPOINT),
    "deliveries redeliver": (*("deliveries", "redeliver", "--failed", "--endpoint", ENDPOINT, "--dry-run"),),
    "replay": ("replay", "--endpoint", ENDPOINT, "--dry-run"),
    "report": ("report",),
    "data export": ("data", "export", "payments"),
}


def _takes_an_end(name: str) -> bool:
    """Return whether the command has a flag `--to` that is a time; `--to` of a backup is a file."""
    ends = [param for param in load(name).params if "--to" in param.opts]
    return any((param.metavar or "TIME") == "TIME" for param in ends)


def test_every_command_that_takes_an_end_is_known_here() -> None:
    assert {name for name in COMMANDS if _takes_an_end(name)} == {
        name.partition(" --")[0] for name in COMMANDS_WITH_AN_END
    }


@pytest.mark.parametrize("name", COMMANDS_WITH_AN_END)
@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("2026-11-19", "2026-11-19T23:00:00.000Z"),
        ("20261119", "2026-11-19T23:00:00.000Z"),
        ("yesterday", "2026-11-19T23:00:00.000Z"),
        ("today", "2026-11-20T23:00:00.000Z"),
        ("now", "2026-11-20T09:18:00.000Z"),
        ("1h", "2026-11-20T08:18:00.000Z"),
        ("2026-11-19T00:00", "2026-11-18T23:00:00.000Z"),
    ],
)
def test_a_day_given_as_an_end_is_included_and_a_time_is_not(
    name: str, until: str, end: str, api: FakeApi, momo: Momo
) -> None:
    for path in (Path.TRANSACTIONS, Path.GAP, Path.DELIVERIES):
        api.on("GET", path, ok([], pagination=samples.PAGE, meta={"looked_at": 0}))
    api.on("GET", Path.LOCAL_REPORT, ok(samples.REPORT))
    api.on("POST", Path.REPLAY, Says(samples.REPLAYED))
    api.on("GET", Path.LOCAL_EXPORT, refusal(503, "UNAVAILABLE"))
    argv = (*COMMANDS_WITH_AN_END[name], "--from", "2026-11-18", "--to", until)
    momo(*argv, "--tz", "Africa/Lagos", "--plain")
    asked = [{**call.query, **(call.body or {})} for call in api.asked]
    assert "to" in asked[-1], api.asked
    assert {call["to"] for call in asked if "to" in call} == {end}
