"""Backup and restore, with the real programs: while the shop is open, killed in the middle, and put back."""

import json
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from momo_cli.service.daemon_program import VerbResult
from tests.cli.conftest import Momo
from tests.fakes.real_shop import ROOT, STOP_S, RealShop

PAY = ("simulate", "payment", "--amount", "5")
CONFIRMED = ("--confirm", "Ama Provisions")


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    with RealShop(tmp_path / "shop") as made:
        yield made


def momo(shop: RealShop, *words: str, code: int = 0) -> Any:
    done = shop.momo(*words, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def paid(path: Path) -> int:
    with sqlite3.connect(path) as base:
        (count,) = base.execute("SELECT COUNT(*) FROM payments").fetchone()
    base.close()
    return int(count)


@pytest.mark.slow
def test_a_copy_of_the_open_shop_is_put_back_and_the_old_one_is_kept(shop: RealShop) -> None:
    shop.start()
    momo(shop, *PAY)
    made = momo(shop, "backup", "create")["data"]
    assert made["verified"] is True
    assert made["rows"]["payments"] == 1
    copy = Path(made["path"])
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [entry["id"] for entry in momo(shop, "backup", "list")["data"]] == [made["id"]]
    assert momo(shop, "backup", "verify")["data"]["id"] == made["id"]
    assert momo(shop, "backup", "verify", "--latest")["data"]["id"] == made["id"]
    momo(shop, "backup", "verify", made["id"], "--latest", code=2)
    momo(shop, *PAY)
    refused = momo(shop, "restore", *CONFIRMED, code=75)
    assert refused["error"]["code"] == "LOCKED"
    assert refused["error"]["next"] == ["momo daemon stop"]
    shop.stop()
    looked = momo(shop, "restore", "--dry-run")["data"]
    assert looked["dry_run"] is True
    database = Path(shop.places.database)
    assert paid(database) == 2
    assert shop.momo("restore", "--confirm", "Somebody else").returncode == 10
    done = momo(shop, "restore", "--confirm", "Ama Provisions")["data"]
    assert done["payments_since"] == 1
    assert paid(database) == 1
    assert paid(Path(done["kept"])) == 2
    shop.start()
    momo(shop, *PAY)
    assert paid(database) == 2
    assert shop.rows("SELECT COUNT(*) FROM events WHERE type = 'shop.restored'") == [(1,)]


@pytest.mark.slow
def test_a_shop_is_moved_to_another_machine_by_its_copy(shop: RealShop, tmp_path: Path) -> None:
    made = momo(shop, "backup", "create", "--to", str(tmp_path))["data"]
    other = tmp_path / "other"
    environ = {**shop.environ, "MOMO_HOME": str(other)}
    done = subprocess.run(
        [sys.executable, "-m", "momo_cli", "restore", made["path"], *CONFIRMED, "--json"],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["data"]["shop"] == "Ama Provisions"
    assert (other / "momo.db").is_file()


@pytest.mark.slow
def test_a_copy_made_under_load_holds_all_that_was_acknowledged_before(shop: RealShop) -> None:
    shop.start()
    acknowledged: list[str] = []
    stop = threading.Event()

    def sell() -> None:
        while not stop.is_set() and len(acknowledged) < 2_000:
            acknowledged.append(shop.request("1.00", phone_number="0244123456")["reference"])

    sellers = [threading.Thread(target=sell) for _ in range(3)]
    for seller in sellers:
        seller.start()
    try:
        for number in range(3):
            before = list(acknowledged)
            made = momo(shop, "backup", "create", "--to", str(shop.home / f"{number}.db"))["data"]
            assert made["verified"] is True
            with sqlite3.connect(made["path"]) as base:
                held = {row[0].replace("-", "") for row in base.execute("SELECT id FROM transactions")}
            base.close()
            assert {one.removeprefix("svc_trx_") for one in before} <= held
    finally:
        stop.set()
        for seller in sellers:
            seller.join(30)
    # The sales did not wait for the copies, and none of them is lost.
    assert len(acknowledged) == shop.rows("SELECT COUNT(*) FROM transactions")[0][0]


@pytest.mark.slow
def test_restore_stops_the_daemon_when_told_to(shop: RealShop) -> None:
    shop.start()
    momo(shop, "backup", "create")
    done = momo(shop, "restore", "--stop", *CONFIRMED)["data"]
    assert Path(done["kept"]).is_file()
    # It has released the shop's lock, which the restore needs; the process may take a moment more to end.
    assert shop.process is not None
    assert shop.process.wait(STOP_S) == 0
    shop.process = None


COPY: dict[str, Any] = {
    "id": "20261120T020000Z", "path": "/c.db", "bytes": 1, "shop": "Ama", "rows": {}, "findings": [],
}  # fmt: skip
FAILED = {"status": "failed", "path": None, "why": "the disk of /media/stick is full"}
AWAY = {"status": "away", "path": None, "why": "/media/stick is not there"}


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({}, 0, ""),
        ({"also": AWAY}, 0, ""),
        (
            {"also": FAILED},
            6,
            (
                "error: This backup is not in the second place: the disk of /media/stick is full\n"
                "next:  momo doctor backup\n"
            ),
        ),
        ({"findings": ["counts.kept: 1 is wrong"]}, 6, "error: counts.kept: 1 is wrong\nnext:  momo doctor ledger\n"),
    ],
)
def test_nightly_copy_says_nothing_unless_a_person_must_look(
    more: dict[str, Any], code: int, said: str, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = VerbResult(code, "{}", {"data": {**COPY, **more}})
    monkeypatch.setattr("momo_cli.commands.upkeep.data.run_verb", lambda *_args, **_named: done)
    ran = momo("backup", "create", "--quiet")
    assert (ran.code, ran.out, ran.err) == (code, "", said)


def test_thinning_out_says_nothing(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    done = VerbResult(0, "{}", {"data": {"removed": ["a"], "kept": ["b"]}})
    monkeypatch.setattr("momo_cli.commands.upkeep.data.run_verb", lambda *_args, **_named: done)
    ran = momo("backup", "prune", "--quiet", "--yes")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def put_back(monkeypatch: pytest.MonkeyPatch, **since: Any) -> None:
    """Let the daemon's program restore a copy that is so far behind."""
    data: dict[str, Any] = {
        "id": "20261120T020000Z", "path": "/c.db", "bytes": 1, "shop": "Ama", "rows": {},
        "newest_at": "2026-11-20T02:00:00.000Z", "findings": [], "kept": "/momo.db.before", **since,
    }  # fmt: skip
    monkeypatch.setattr(
        "momo_cli.commands.upkeep.data.run_verb", lambda *_args, **_named: VerbResult(0, "{}", {"data": data})
    )


@pytest.mark.parametrize(
    ("since", "said"),
    [
        ({"payments_since": 1}, "1 payment came after the backup (7h ago)"),
        ({"payments_since": 2}, "2 payments came after the backup (7h ago)"),
        ({"webhooks_repeated": 1}, "1 webhook delivered since goes out once more"),
        ({"webhooks_repeated": 3}, "3 webhooks delivered since go out once more"),
        ({"parts_to_recover": 1}, "1 part of an SMS in the message journal is newer than the backup"),
        ({"parts_to_recover": 4}, "4 parts of SMS in the message journal are newer than the backup"),
        ({"parts_to_recover": None}, "The message journal cannot be read"),
        ({"access": None}, "API keys revoked, and users disabled, after the backup are back."),
        (
            {"access": {"still_off": [{"what": "key", "name": "web"}, {"what": "user", "name": "ama"}]}},
            "Revoked or disabled after the backup, and still so: key web, user ama.",
        ),
        (
            {"access": {"earlier": [{"what": "second_factor", "name": "esi"}]}},
            "now as in it: second factor of esi. Change what somebody else may know.",
        ),
        ({"webhooks_that_may_repeat": 1}, "1 webhook may be sent again, with the same id."),
    ],
)
def test_what_came_after_the_copy_is_counted(
    since: dict[str, Any], said: str, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(monkeypatch, **since)
    ran = momo("restore", "--confirm", "Ama", "-o", "table")
    assert ran.code == 0, ran.err
    assert said in " ".join(ran.err.split())
    assert "/momo.db.before" in ran.out


def test_nothing_is_changed_unless_the_shop_is_named(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    put_back(monkeypatch, payments_since=1)
    ran = momo("restore", "--confirm", "Esi", "-o", "table")
    assert (ran.code, ran.out) == (10, "Nothing was changed.\n")
    assert "The shop is called Ama, not Esi." in ran.err


def test_yes_to_everything_is_not_the_name_of_the_shop(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    put_back(monkeypatch, payments_since=1)
    ran = momo("restore", "--yes", "--json")
    assert ran.code == 2
    assert "--confirm Ama is missing" in ran.json["error"]["message"]


def test_a_shop_in_use_is_refused_before_its_name_is_asked_for(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    put_back(monkeypatch)
    monkeypatch.setattr("momo_cli.socket.client.Client.alive", lambda _: True)
    for typed in ((), ("--confirm", "Ama")):
        ran = momo("restore", *typed, "--json")
        assert ran.code == 75
        assert ran.json["error"]["code"] == "LOCKED"
        assert ran.json["error"]["next"] == ["momo daemon stop"]


def test_a_trial_says_how_that_backup_is_restored(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    put_back(monkeypatch)
    err = momo("restore", "--dry-run", "-o", "table").err
    assert err.splitlines() == ["next:  momo restore 20261120T020000Z"]
    monkeypatch.setattr("momo_cli.socket.client.Client.alive", lambda _: True)
    err = momo("restore", "/media/my stick/c.db", "--dry-run", "-o", "table").err
    assert err.splitlines() == ["next:  momo restore '/media/my stick/c.db' --stop"]
