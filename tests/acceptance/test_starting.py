"""Failed starts of the daemon and their reports: exit code, error code, reason and next command."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from daemon import wire
from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import ROOT, SOON_S, STOP_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import HANG

HEAP_BYTES = 64 * 1024 * 1024


def test_a_second_daemon_is_refused_at_once(shop: RealShop, tmp_path: Path) -> None:
    shop.start()
    took_s, needed_s = [], []
    for _ in range(8):
        begun = time.perf_counter()
        second = shop.program("run", "--http", "127.0.0.1:0")
        took_s.append(time.perf_counter() - begun)
        if min(took_s) < 1:
            break
        # A factor for a busy machine: the time that the same program needs there to refuse a shop without set-up.
        begun = time.perf_counter()
        _run(tmp_path / "empty")
        needed_s.append(time.perf_counter() - begun)
        if min(took_s) < 1.5 * min(needed_s):
            break
    else:
        pytest.fail(f"refused after {took_s} s; the program needs {needed_s} s")
    assert second.returncode == 75
    assert second.stderr == (
        f"error: process {shop.pid} already runs this shop ({shop.places.lock})  [LOCKED]\nnext:  momo daemon status\n"
    )
    assert shop.program("setup", "--shop", "Another").returncode == 75
    # The first one continues.
    status = shop.ask("GET", "/local/v1/status")
    assert (status["pid"], status["shop"]["name"]) == (shop.pid, "Ama Provisions")


def test_all_threads_of_the_daemon_share_one_heap(shop: RealShop) -> None:
    shop.start()
    spans = [line.split()[0].split("-") for line in Path(f"/proc/{shop.pid}/maps").read_text().splitlines()]
    found = {(int(start, 16), int(end, 16)) for start, end in spans}
    # A heap of a thread begins at a multiple of 64 MB, and the rest of these 64 MB is kept for it.
    kept = {end for start, end in found if start % HEAP_BYTES == 0}
    assert [end for start, end in found if start in kept and end % HEAP_BYTES == 0] == []


def test_a_shop_that_was_not_set_up_says_so(tmp_path: Path) -> None:
    done = _run(tmp_path / "empty")
    assert (done.returncode, done.stderr) == (78, "error: there is no shop here yet  [NOT_SET_UP]\nnext:  momo setup\n")
    # An empty database would look like a shop with a stopped daemon.
    assert not (tmp_path / "empty" / "momo.db").exists()


def test_a_taken_port_and_files_that_are_not_there_yet_do_not_stop_the_intake(shop: RealShop, tmp_path: Path) -> None:
    missing = tmp_path / "disk" / "ca.pem"
    shop.write_settings({"webhooks": {"ca_file": str(missing)}, "hub": {"ca_file": str(missing)}})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        shop.start(http=address)
        assert shop.http == "waiting"
        assert f"warning: cannot listen on {address}: another program uses it" in shop.said_now()

        def problems() -> list[str]:
            return [one["cause"] for one in shop.ask("GET", "/local/v1/status")["problems"]]

        wait_until(lambda: "not_listening" in problems(), SOON_S, "the status says so")
    wait_until(lambda: "not_listening" not in problems(), SOON_S, "it listens")
    with urllib.request.urlopen(f"http://{address}/healthz", timeout=10) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("[modems]\npoll_s = = 3\n", "line 2: not valid TOML", id="no TOML"),
        pytest.param("[modems]\n\npol_s = 3\n", "line 3: unknown key pol_s; did you mean poll_s?", id="typo"),
    ],
)
def test_bad_settings_are_named_by_line(shop: RealShop, text: str, said: str) -> None:
    Path(shop.places.config).write_text(text, encoding="utf-8")
    done = shop.program("run", "--http", "127.0.0.1:0")
    assert done.returncode == 78
    assert f"error: {shop.places.config}, {said}" in done.stderr
    assert done.stderr.splitlines()[-1] == "next:  momo config edit"


def test_setup_refuses_a_damaged_database_and_leaves_it_as_it_is(shop: RealShop) -> None:
    database = Path(shop.places.database)
    whole = database.read_bytes()
    broken = whole[:4096] + b"\xff" * 4096 + whole[8192:]
    database.write_bytes(broken)
    done = shop.program("setup", "--shop", "Another")
    assert done.returncode == 74
    assert "error: the database is damaged and was not changed:" in done.stderr
    assert "[DATABASE_DAMAGED]\nnext:  momo restore\n" in done.stderr
    assert database.read_bytes() == broken


@pytest.mark.slow
def test_with_a_file_that_is_no_database_the_daemon_starts_says_so_and_leaves_it(shop: RealShop) -> None:
    database = Path(shop.places.database)
    broken = b"no database" + database.read_bytes()[11:]
    database.write_bytes(broken)
    shop.start()
    status = shop.ask("GET", wire.Path.LOCAL_STATUS)
    assert (status["state"], status["shop"]) == ("degraded", None)
    (problem,) = status["problems"]
    assert problem["cause"] == wire.FaultCause.DATABASE_DAMAGED
    assert problem["next"] == "momo restore --stop"
    assert shop.api("GET", wire.Path.TRANSACTIONS)[1]["error"]["cause"] == problem["cause"]
    shop.stop()
    assert database.read_bytes() == broken


@pytest.mark.slow
def test_damage_in_the_middle_of_the_file_is_found_behind_the_start(shop: RealShop) -> None:
    database = Path(shop.places.database)
    whole = database.read_bytes()
    # A page that no statement of the start reads.
    place = len(whole) - 4096
    database.write_bytes(whole[:place] + b"\xff" * 4096)
    shop.start()
    wait_until(
        lambda: shop.ask("GET", wire.Path.LOCAL_STATUS)["db"]["last_check"] == "damaged",
        SOON_S, "the check behind the start finds it",
    )  # fmt: skip
    shop.stop()


@pytest.mark.slow
def test_a_shop_whose_database_was_removed_is_not_taken_for_a_new_one(shop: RealShop) -> None:
    assert shop.momo("backup", "create").returncode == 0
    Path(shop.places.database).unlink()
    shop.start()
    (problem,) = shop.ask("GET", wire.Path.LOCAL_STATUS)["problems"]
    assert problem["cause"] == wire.FaultCause.DATABASE_MISSING
    assert not Path(shop.places.database).exists()
    done = shop.momo("restore", "--stop", "--confirm", "Ama Provisions")
    assert done.returncode == 0, done.stderr
    shop.kill()
    shop.start()
    assert shop.ask("GET", wire.Path.LOCAL_STATUS)["state"] == "ok"
    shop.stop()


@pytest.mark.parametrize(
    ("change", "said", "code", "then"),
    [
        ("PRAGMA user_version = 900", "the database has schema 900", "DATABASE_NEWER", "momo --version"),
        (
            "UPDATE schema_migrations SET name = 'foundations'",
            "made by a pre-release of momo, which this version cannot read",
            "DATABASE_FOREIGN",
            "mkdir {home}/other-momo && mv {home}/momo.db* {home}/other-momo && momo setup",
        ),
    ],
)
def test_a_database_of_another_momo_is_left_as_it_is(
    shop: RealShop, change: str, said: str, code: str, then: str
) -> None:
    with sqlite3.connect(shop.places.database) as database:
        database.execute(change)
    database.close()
    before = Path(shop.places.database).read_bytes()
    done = shop.program("run", "--http", "127.0.0.1:0")
    assert done.returncode == 78
    assert said in done.stderr
    then = then.format(home=shop.places.home)
    assert done.stderr.endswith(f"[{code}]\nnext:  {then}\n")
    assert Path(shop.places.database).read_bytes() == before


@pytest.mark.slow
def test_a_killed_daemon_leaves_nothing_that_stops_the_next_one(shop: RealShop) -> None:
    shop.start()
    shop.kill()
    assert Path(shop.places.socket).exists()
    shop.start()
    mode = Path(shop.places.socket).stat().st_mode & 0o777
    folder = Path(shop.places.socket).parent.stat().st_mode & 0o777
    assert (oct(mode), oct(folder)) == ("0o600", "0o700")
    shop.stop()
    assert not Path(shop.places.socket).exists()


@pytest.mark.slow
def test_without_assertions_it_does_not_run(shop: RealShop) -> None:
    done = subprocess.run(
        [sys.executable, "-O", "-m", "daemon", "run"],
        cwd=ROOT, env=shop.environ, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: python -O is not supported\n")


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "password").write_text("correct horse 42\n", encoding="utf-8")
    home = tmp_path / "file" / "shop"
    done = _run(home, "setup", "--shop", "Ama", "--password-file", str(tmp_path / "password"))
    assert done.returncode == 1
    assert f"error: the shop's folder cannot be used: [Errno 20] Not a directory: '{home}'" in (done.stderr)
    assert done.stderr.endswith("[UNAVAILABLE]\nnext:  momo doctor disk permissions\n")


def _run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("MOMO_")}
    return subprocess.run(
        [sys.executable, "-m", "daemon", *(arguments or ("run", "--http", "127.0.0.1:0"))],
        cwd=ROOT, env={**environ, "MOMO_HOME": str(home)}, capture_output=True, text=True,
        timeout=30, check=False,
    )  # fmt: skip


STOPPING = "\nStopping... (Ctrl-C again to force)\n"


@pytest.mark.slow
def test_a_second_ctrl_c_ends_it_at_once_and_nothing_is_lost(scene: Scene) -> None:
    scene.open_for_business()
    scene.receiver.script(HANG)
    [receipt] = mtn_receipts(1, started=utc_now())
    scene.phone.deliver(receipt.pdus)
    scene.receiver.wait_for(1)
    daemon = scene.shop.process
    assert daemon is not None
    daemon.send_signal(signal.SIGINT)
    wait_until(lambda: STOPPING in scene.shop.said_now() or None, 10, "the word that it stops")
    assert scene.shop.running(), "it waits for the webhook that is on its way"
    os.kill(daemon.pid, signal.SIGINT)
    assert daemon.wait(STOP_S) == -signal.SIGINT
    scene.shop.kill()  # already reaped: forget the process
    assert scene.shop.rows("SELECT status FROM deliveries") == [("pending",)]
    scene.shop.start()
    scene.shop.stop()


@pytest.mark.slow
def test_one_ctrl_c_ends_it_as_politely_as_sigterm(scene: Scene) -> None:
    scene.shop.start()
    daemon = scene.shop.process
    assert daemon is not None
    daemon.send_signal(signal.SIGINT)
    assert daemon.wait(STOP_S) == 0
    assert STOPPING in scene.shop.said_now()
