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
def test_restore_stops_the_daemon_when_told_to(shop: RealShop) -> None:
    shop.start()
    momo(shop, "backup", "create")
    done = momo(shop, "restore", "--stop", *CONFIRMED)["data"]
    assert Path(done["kept"]).is_file()
    # It has released the shop's lock, which the restore needs; the process may take a moment more to end.
    assert shop.process is not None
    assert shop.process.wait(STOP_S) == 0
    shop.process = None
