"""`momo data prune`: counts, asks, repeats until no old rows are left, and refuses while the clock is in doubt."""

import json

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

CLOCK = "the clock of this machine has gone backwards"


def counted(more: bool, **counts: int) -> dict[str, object]:
    return {**samples.PRUNABLE, "counts": counts, "total": sum(counts.values()), "more": more}


def test_a_dry_run_asks_and_changes_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_PRUNE, ok(samples.PRUNABLE))
    ran = momo("data", "prune", "--dry-run", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "       40  tries of deliveries would go",
        "       12  answers to deliveries would go",
        "        3  deliveries would go",
        "        5  texts of SMS would go",
    ]
    assert {call.method for call in api.asked} == {"GET"}


def test_it_goes_on_while_there_is_more_and_adds_up(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_PRUNE, ok(samples.PRUNABLE))
    api.on(
        "POST",
        wire.Path.LOCAL_PRUNE,
        ok(counted(True, attempts=500)),
        ok(counted(False, attempts=20, messages=5)),
    )
    ran = momo("data", "prune", "--yes", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["data"]["counts"] == {"attempts": 520, "messages": 5}
    assert json.loads(ran.out)["data"]["total"] == 525
    assert [call.method for call in api.asked] == ["GET", "POST", "POST"]


def test_without_a_terminal_it_wants_yes(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_PRUNE, ok(samples.PRUNABLE))
    ran = momo("data", "prune")
    assert ran.code == 2
    assert "--yes" in ran.err
    assert [call.method for call in api.asked] == ["GET"]


def test_a_doubtful_clock_prunes_nothing_and_is_said(api: FakeApi, momo: Momo) -> None:
    doubted = {**samples.PRUNABLE, "doubt": CLOCK}
    api.on("GET", wire.Path.LOCAL_PRUNE, ok(doubted))
    api.on("POST", wire.Path.LOCAL_PRUNE, ok({**counted(False), "doubt": CLOCK}))
    ran = momo("data", "prune", "--yes")
    assert ran.code == 5
    assert f"Nothing is erased now: {CLOCK}." in ran.err


def test_for_cron_it_says_nothing_but_why_it_pruned_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_PRUNE, ok(samples.PRUNABLE))
    api.on("POST", wire.Path.LOCAL_PRUNE, ok(counted(False, attempts=20)))
    ran = momo("data", "prune", "--yes", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    doubted = {**counted(False), "doubt": CLOCK}
    api.on("GET", wire.Path.LOCAL_PRUNE, ok(doubted))
    api.on("POST", wire.Path.LOCAL_PRUNE, ok(doubted))
    ran = momo("data", "prune", "--yes", "--quiet")
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.splitlines()[0] == f"error: Nothing is erased now: {CLOCK}."
