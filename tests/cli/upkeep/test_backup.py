"""Backup and restore, with the real programs: while the shop is open, killed in the middle, and put back."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.real_shop import ROOT, STOP_S, RealShop, pause

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
def test_a_copy_that_is_not_sound_is_named_and_never_put_back(shop: RealShop) -> None:
    copy = Path(momo(shop, "backup", "create")["data"]["path"])
    whole = copy.read_bytes()
    before = Path(shop.places.database).read_bytes()
    for broken in (
        whole[: len(whole) // 2],
        whole[:4096] + bytes(4096) + whole[8192:],
        b"no database",
        b"",
    ):
        copy.write_bytes(broken)
        refused = momo(shop, "backup", "verify", code=6)
        assert refused["error"]["code"] == "BACKUP_FAILED"
    momo(shop, "restore", *CONFIRMED, code=6)
    assert Path(shop.places.database).read_bytes() == before


@pytest.mark.slow
def test_a_copy_of_nothing_and_over_something_is_refused(shop: RealShop, tmp_path: Path) -> None:
    taken = tmp_path / "mine.db"
    taken.write_text("mine")
    momo(shop, "backup", "create", "--to", str(taken), code=6)
    assert taken.read_text() == "mine"
    refused = momo(shop, "restore", "nowhere.db", *CONFIRMED, code=3)
    assert refused["error"]["code"] == "BACKUP_NOT_FOUND"


@pytest.mark.slow
def test_old_copies_are_thinned_out(shop: RealShop) -> None:
    folder = Path(shop.home) / "backups"
    folder.mkdir()
    for day in range(1, 11):
        (folder / f"momo-202611{day:02d}T080000Z.db").touch()
    (folder / "momo-mine.db").touch()
    data = momo(shop, "backup", "prune", "--keep", "3d", "--dry-run")["data"]
    assert len(data["removed"]) == 7
    assert len(list(folder.iterdir())) == 11
    momo(shop, "backup", "prune", "--keep", "3d")
    assert sorted(path.name[-12:-3] for path in folder.glob("momo-2026*")) == [
        "0T080000Z",
        "8T080000Z",
        "9T080000Z",
    ]
    assert (folder / "momo-mine.db").exists()
    refused = momo(shop, "backup", "prune", "--keep", "0d", code=2)
    assert refused["error"]["next"] == ["momo backup prune --keep 7d,4w,12m --dry-run"]


@pytest.mark.slow
def test_a_kill_in_the_middle_leaves_no_half_copy(shop: RealShop) -> None:
    shop.start()
    momo(shop, *PAY)
    folder = Path(shop.home) / "backups"
    began_s = time.perf_counter()
    assert shop.program("backup", "create", "--json").returncode == 0
    whole_s = time.perf_counter() - began_s
    for part in (0.35, 0.55, 0.75, 0.95):
        process = subprocess.Popen(
            [sys.executable, "-m", "daemon", "backup", "create", "--json"],
            cwd=ROOT, env=shop.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        pause(part * whole_s)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        momo(shop, *PAY)
    for path in folder.glob("momo-*.db"):
        assert momo(shop, "backup", "verify", str(path))["data"]["verified"]
    assert momo(shop, "backup", "create")["data"]["rows"]["payments"] == 5


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
                held = {
                    row[0].replace("-", "") for row in base.execute("SELECT id FROM transactions")
                }
            base.close()
            assert {one.removeprefix("svc_trx_") for one in before} <= held
    finally:
        stop.set()
        for seller in sellers:
            seller.join(30)
    # The sales did not wait for the copies, and none of them is lost.
    assert len(acknowledged) == shop.rows("SELECT COUNT(*) FROM transactions")[0][0]


@pytest.mark.slow
def test_a_shop_with_a_finding_is_backed_up_and_exits_with_6(shop: RealShop) -> None:
    with sqlite3.connect(shop.places.database) as base:
        base.execute(
            "INSERT INTO transaction_counts (mode, origin, status, count) VALUES ('live', 'request', 'PENDING', 0)"
        )
        base.execute(
            "INSERT INTO transactions (id, mode, origin, status, svc_code, public_slug, expected_minor, currency, meta, "
            "send_sms_to_payer, created_with, created_at, expires_at, late, rejected) VALUES ('t2', 'live', 'request', "
            "'PENDING', 'ABCDEF', 's2', 100, 'GHS', '{}', 1, 'secret', 1, 9, 0, 0)"
        )
        base.execute("UPDATE transaction_counts SET count = 7")
    base.close()
    made = momo(shop, "backup", "create", "--keep", "2d", code=6)["data"]
    assert (made["verified"], made["removed"]) == (False, [])
    assert Path(made["path"]).is_file()
    said = shop.momo("backup", "verify", "-o", "table")
    assert said.returncode == 6
    assert "counts.kept" in said.stderr
    assert "was kept" in said.stderr
    assert shop.momo("backup", "create", "--keep", "nonsense").returncode == 2


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
