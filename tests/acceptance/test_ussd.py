"""`momo lines ussd` with the real programs on a terminal: a PIN that is typed is in no file, log, process list or screen."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import SHOP_NUMBER, Scene
from tests.fakes.real_shop import ROOT, SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn
from tests.fakes.terminal import read_until
from tests.phones import ussd

pytestmark = pytest.mark.slow
PIN = "4929123456781234"
PASSWORD = b"correct horse 42\n"
OWN_TERMINAL = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)
"""Makes the terminal that of the session, so that Ctrl-C is a signal, and runs Python with the arguments."""


@contextlib.contextmanager
def typing(shop: RealShop, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run `momo lines ussd` on a terminal of its own; yield the process and the other end of the terminal."""
    master, slave = pty.openpty()
    words = [sys.executable, "-c", OWN_TERMINAL, "-m", "momo_cli", "lines", "ussd", SHOP_NUMBER, "*170#", *more]
    with subprocess.Popen(
        words, cwd=ROOT, env=shop.environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            yield process, master
        finally:
            process.kill()
            os.close(master)


def rest(master: int) -> bytes:
    """Return what the program still writes, until it ends."""
    found = b""
    with contextlib.suppress(OSError):  # EIO: the terminal has no program any more
        while data := os.read(master, 4096):
            found += data
    return found


def written(shop: RealShop) -> Iterator[tuple[str, bytes]]:
    """Yield each file of the shop, with its log, its journals and the database's WAL, and what the processes show."""
    for path in {*shop.home.rglob("*"), *Path(shop.places.state).rglob("*"), *Path(shop.places.log).rglob("*")}:
        if path.is_file():
            yield str(path), path.read_bytes()
    for name in ("cmdline", "environ"):
        for path in Path("/proc").glob(f"[0-9]*/{name}"):
            with contextlib.suppress(OSError):
                yield str(path), path.read_bytes()


def test_a_pin_is_in_no_file_log_process_or_screen_and_the_balance_settles_the_line(
    scene: Scene, tmp_path: Path
) -> None:
    scene.shop.environ["PYTHONASYNCIODEBUG"] = "1"
    scene.open_for_business()
    scene.phone.deliver(mtn(2500, "KOFI AMOS MENSAH", 21_456, "food", "93214500001", sent_at=utc_now()).pdus)
    wait_until(lambda: scene.shop.rows("SELECT id FROM messages") or None, 20, "the receipt is read")
    screen = b""
    with typing(scene.shop, "--hidden", "--debug") as (process, master):
        for typed in ("6", "1", PIN):
            screen += read_until(master, b"Reply: ")
            # The echo is switched off before the question is written.
            os.write(master, f"{typed}\n".encode())
        screen += read_until(master, b"Take GHS 214.56 as what the wallet shows now? [y/N]")
        assert [name for name, data in written(scene.shop) if PIN.encode() in data] == []
        os.write(master, b"y")
        screen += read_until(master, b"password: ")
        os.write(master, PASSWORD)
        screen += rest(master)
        assert process.wait(20) == 0, screen
    for shown in (*ussd.MENU.splitlines(), ussd.PIN, "The wallet shows GHS 214.56"):
        assert shown.encode() in screen
    assert PIN.encode() not in screen
    assert b"correct horse" not in screen
    assert scene.phone.state()["ussd"] == ["*170#", "6", "1", PIN]
    bundle = tmp_path / "bundle.tar.gz"
    assert scene.shop.momo("doctor", "--bundle", str(bundle)).returncode in (0, 6)
    with tarfile.open(bundle) as packed:
        inside = [(one.name, found.read()) for one in packed if (found := packed.extractfile(one)) is not None]
    assert inside
    assert [name for name, data in (*inside, *written(scene.shop)) if PIN.encode() in data] == []
    scene.shop.kill()
    assert [name for name, data in written(scene.shop) if PIN.encode() in data] == []


def test_ctrl_c_ends_the_session_and_an_sms_in_it_is_read(scene: Scene) -> None:
    scene.open_for_business()
    with typing(scene.shop) as (process, master):
        read_until(master, b"Reply: ")
        scene.phone.deliver(mtn(2500, "KOFI AMOS MENSAH", 21_456, "food", "93214500001", sent_at=utc_now()).pdus)
        wait_until(lambda: scene.shop.rows("SELECT id FROM messages") or None, 20, "the receipt is read")
        second = scene.shop.momo("lines", "ussd", SHOP_NUMBER, "*170#")
        assert (second.returncode, "has a USSD session open on that line" in second.stderr) == (5, True)
        os.write(master, b"6\n")
        assert b"Check Balance" in read_until(master, b"Reply: ")
        os.write(master, b"\x03")
        assert process.wait(20) == 130
    wait_until(lambda: "AT+CUSD=2" in scene.phone.state()["commands"] or None, 10, "the end is told to the network")


def test_a_client_that_hangs_up_while_the_network_is_silent_leaves_the_line_free(scene: Scene) -> None:
    scene.open_for_business()
    scene.phone.ask("fault", faults={"ussd": "silent"})
    with typing(scene.shop) as (process, _master):
        wait_until(lambda: scene.phone.state()["ussd"] or None, 20, "the code is sent")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    scene.phone.ask("fault", faults={"ussd": ""})
    again = scene.shop.momo("lines", "ussd", SHOP_NUMBER, "*999#")
    assert (again.returncode, again.stdout) == (0, f"{ussd.UNKNOWN}\n")


def test_the_simulated_phones_have_a_menu_too(shop: RealShop) -> None:
    shop.start(arguments=["--simulated-phone"])
    numbers = json.loads(shop.momo("lines", "list", "--sandbox", "--json").stdout)["data"]
    words = ("lines", "ussd", numbers[0]["id"], "*170#", "--sandbox")

    def dialled() -> str:
        return subprocess.run(
            [sys.executable, "-m", "momo_cli", *words],
            cwd=ROOT, env=shop.environ, input="1\n1234\n", capture_output=True, text=True, timeout=60, check=False,
        ).stdout  # fmt: skip

    # A number is listed before its phone has begun.
    shown = wait_until(dialled, SOON_S, "the simulated phone answers")
    assert shown.splitlines()[-1] == "Current Balance: not known yet"


def test_a_phone_that_is_pulled_out_in_a_session_is_told(scene: Scene) -> None:
    scene.open_for_business()
    with typing(scene.shop) as (process, master):
        read_until(master, b"Reply: ")
        scene.phone.ask("unplug")
        wait_until(
            lambda: scene.shop.rows("SELECT present FROM devices WHERE mode = 'live'") == [(0,)] or None,
            20,
            "it is gone",
        )
        os.write(master, b"6\n")
        assert b"The phone is not connected now" in rest(master)
        assert process.wait(20) == 5
