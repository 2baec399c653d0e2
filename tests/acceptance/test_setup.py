"""`momo setup` on a terminal: a modem with a PIN on its SIM, a first payment, a second folder for backups."""

import codecs
import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import ROOT, utc_now
from tests.fakes.receipts import mtn

pytestmark = pytest.mark.slow
PASSWORD = "correct horse 42"


class Shopkeeper:
    """An operator at a terminal that runs `momo setup`."""

    def __init__(self, environ: dict[str, str], *flags: str) -> None:
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "momo_cli", "setup", *flags],
            cwd=ROOT, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        """A read may end within a character."""
        self.shown = ""
        self._unread = ""
        """Output after the expected words that was read with them."""

    def reads(self, words: str) -> None:
        """Wait until these words appear on the screen after the output read before."""
        while words not in self._unread:
            if not select.select([self._master], [], [], 60)[0]:
                raise AssertionError(f"{words!r} is not in {self.shown + self._unread!r}")
            self._unread += self._decoder.decode(os.read(self._master, 4096))
        before, _, self._unread = self._unread.partition(words)
        self.shown += before + words

    def types(self, text: str) -> None:
        os.write(self._master, text.encode() + b"\n")

    def is_asked(self, question: str, answer: str) -> None:
        self.reads(question)
        self.types(answer)

    def ends(self) -> int:
        self.shown += self._unread
        while True:
            try:
                read = os.read(self._master, 4096)
            except OSError:
                break
            if not read:
                break
            self.shown += self._decoder.decode(read)
        os.close(self._master)
        return self.process.wait(30)


def momo(environ: dict[str, str], *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "momo_cli", *words, "--json"],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout)


def test_a_person_gets_from_a_locked_modem_to_the_first_payment_and_is_asked_nothing_twice(tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MOMO_")}
    environ = {**clean, "MOMO_HOME": str(tmp_path / "shop"), "HOME": str(tmp_path)}
    stick = tmp_path / "stick"
    stick.mkdir()
    with PhoneProcess(tmp_path / "tty", faults=["pin"]) as phone:
        ama = Shopkeeper(environ, "--http", "off", "--modem", str(tmp_path / "tty"))
        try:
            ama.is_asked("shop's name? ", "Ama Provisions")
            ama.is_asked("or more): ", PASSWORD)
            ama.is_asked("again: ", PASSWORD)
            ama.is_asked("public https address", "")
            ama.is_asked("Start momo with this machine", "n")
            ama.is_asked("Keep it awake", "n")
            ama.is_asked("The SIM's PIN (Enter: later) ", "9999")
            # A wrong PIN is reported and costs one try; no PIN is tried again by itself.
            ama.reads("2 tries are left")
            ama.is_asked("The SIM's PIN (Enter: later) ", "1234")
            ama.is_asked("Its number", "0244124567")
            ama.is_asked("The account name of that wallet", "Ama Mensah")
            ama.reads("created, paid and matched")
            ama.reads("to 024 412 4567, without a code")
            odd = re.findall(r"send exactly GHS (\d)\.(\d\d) to", ama.shown)[-1]
            paid = mtn(int("".join(odd)), "KOFI BADU", 15_010, "1", "93214500001", sent_at=utc_now())
            phone.deliver(paid.pdus)
            ama.reads("The test payment came")
            ama.is_asked("URL that gets a webhook", "")
            ama.is_asked("A folder on a USB stick", str(stick))
            # The folder of the test is on the same disk as the shop.
            ama.is_asked("Use it nevertheless", "y")
            assert ama.ends() == 0, ama.shown
            assert "svc_live_sk_" in ama.shown
            assert PASSWORD not in ama.shown
            assert not {"9999", "1234"} & set(ama.shown.split())
            assert len(list(stick.glob("momo-*.db"))) == 1

            # A second run skips finished steps and names postponed ones, without input.
            again = Shopkeeper(environ)
            assert again.ends() == 0, again.shown
            assert not any(question in again.shown for question in ("? ", "(Enter:", "send GHS"))
            code, checked = momo(environ, "setup", "--check")
            assert code == 0
            named = {step["id"]: step["status"] for step in checked["data"]["steps"]}
            done = {"shop", "modem", "number", "practice", "first_payment", "backup"}
            assert {named[step] for step in done} == {"done"}

            # From then on every daemon serves the named port.
            assert momo(environ, "daemon", "stop")[0] == 0
            assert momo(environ, "daemon", "start")[0] == 0
            assert momo(environ, "phones", "list", "--wait")[0] == 0
        finally:
            momo(environ, "daemon", "stop")


def test_setup_that_is_killed_before_it_shows_its_keys_shows_others_the_next_time(tmp_path: Path) -> None:
    environ = {**os.environ, "MOMO_HOME": str(tmp_path / "shop"), "HOME": str(tmp_path)}
    (tmp_path / "password").write_text(PASSWORD)
    flags = ("--shop", "Ama", "--password-file", str(tmp_path / "password"), "--json")

    def run(program: str, *words: str) -> Any:
        argv = [sys.executable, "-m", program, "setup", *words]
        done = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["data"]

    # The program of the daemon has stored the keys, and the one that would show them is killed.
    lost = run("daemon", "--no-input", *flags, "--shown-later")
    shown = run("momo_cli", "--no-input", "--json")
    assert shown["api_key"] not in (None, lost["api_key"])
    assert shown["webhook_secret"] == lost["webhook_secret"]
    # Now they were shown, so that they stay.
    again = run("momo_cli", "--no-input", "--json")
    assert (again["api_key"], again["webhook_secret"]) == (None, None)
