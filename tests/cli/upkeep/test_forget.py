"""`momo data forget` and `momo data export --payer`: the rights of a payer to erasure and to a copy."""

import json
import stat
from pathlib import Path

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

FORGET = ("POST", wire.Path.LOCAL_PAYER_FORGET)
PAYER = ("data", "forget", "--payer", "0244124567")


def asked(api: FakeApi) -> list[object]:
    return [one.body for one in api.asked if one.path == FORGET[1]]


def test_a_dry_run_counts_and_changes_nothing(api: FakeApi, momo: Momo) -> None:
    api.on(*FORGET, ok(samples.FORGETTABLE))
    ran = momo(*PAYER, "--dry-run", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "        3  payments to forget",
        "        2  transactions to forget",
        "        3  texts of SMS that came in to forget",
        "        4  SMS that the shop sent to forget",
        "        5  webhooks to forget",
        "        1  approved names to forget",
    ]
    assert asked(api) == [{"number": "0244124567", "dry_run": True}]


def test_it_looks_first_and_forgets_after_a_yes(api: FakeApi, momo: Momo) -> None:
    api.on(*FORGET, ok(samples.FORGETTABLE), ok({**samples.FORGETTABLE, "dry_run": False}))
    ran = momo(*PAYER)
    assert (ran.code, len(asked(api))) == (2, 1)  # nobody to ask
    assert "--yes" in ran.err
    assert momo(*PAYER, "--yes", "--json").code == 0
    assert asked(api)[-1] == {"number": "0244124567", "dry_run": False}


def test_what_is_open_is_5_names_it_and_forgets_nothing(api: FakeApi, momo: Momo) -> None:
    refs = [samples.REF, f"svc_trx_{'5' * 32}"]
    unfinished = [
        {"kind": "orders", "id": refs[0], "test": False},
        {"kind": "orders", "id": refs[1], "test": True},
        {"kind": "webhooks", "id": samples.DELIVERY["id"], "test": True},
    ]
    counts = {"orders": 2, "webhooks": 1}
    waits = {**samples.FORGETTABLE, "open": counts, "unfinished": unfinished}
    api.on(*FORGET, ok(waits))
    ran = momo(*PAYER, "--yes", "-o", "table")
    assert ran.code == 5
    named = f"2 transactions ({refs[0]}, {refs[1]}, 1 of the sandbox), 1 webhook (of the sandbox)"
    assert f"not finished yet: {named}; nothing was forgotten" in ran.err
    shows = (*(f"momo tx show {ref}" for ref in refs), f"momo deliveries show {unfinished[2]['id']}")
    assert all(f"{show}\n" in ran.err for show in shows)
    assert asked(api) == [{"number": "0244124567", "dry_run": True}]
    # It may have become open between the preview and the erasure.
    api.on(*FORGET, ok(samples.FORGETTABLE), refusal(409, "PAYER_STILL_OPEN"))
    assert momo(*PAYER, "--yes").code == 5


def test_all_about_a_payer_is_json_on_stdout_or_in_a_file_of_the_owner(
    api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    api.on("POST", wire.Path.LOCAL_PAYER, ok(samples.PAYER_DATA))
    ran = momo("data", "export", "--payer", "0244124567")
    assert (ran.code, json.loads(ran.out)) == (0, samples.PAYER_DATA)
    file = tmp_path / "payer.json"
    ran = momo("data", "export", "--payer", "0244124567", "-O", str(file))
    assert (ran.code, json.loads(file.read_text())) == (0, samples.PAYER_DATA)
    assert (ran.out, ran.err.count(str(file))) == ("", 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert momo("data", "export", "--payer", "0244124567", "-O", str(file)).code == 2
    assert momo("data", "export", "--payer", "0244124567", "-O", str(file), "--force").code == 0


def test_a_payer_and_a_table_are_two_things(api: FakeApi, momo: Momo) -> None:
    for words in (("payments", "--payer", "1"), ("--payer", "1", "--bom"), ()):
        ran = momo("data", "export", *words)
        assert (ran.code, api.asked) == (2, [])


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
    api.on("POST", wire.Path.LOCAL_PRUNE, ok(counted(True, attempts=500)), ok(counted(False, attempts=20, messages=5)))
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
