"""`momo lines ussd`: menus and replies, the end of a session, and a balance that is taken with one key."""

import io
import json
import os
import pty
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, Says, ok

METHOD = f"{wire.Path.PAYMENT_METHODS}/{samples.METHOD}"
USSD, WALLET = f"{METHOD}/ussd", f"{METHOD}/wallet"
COMMAND = ("lines", "ussd", samples.METHOD, "*170#")
PIN = "4929123456781234"


def menu(text: str, **changes: Any) -> Says:
    return ok({**samples.USSD, "text": text, "ended": None, "sentence": None, **changes})


MENU = menu("MobileMoney\n1) Send\x1b[2J")
BALANCE = ok({**samples.USSD, "balance": "214.56", "currency": "GHS"})


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    lines = io.StringIO()
    monkeypatch.setattr(sys, "stdin", lines)
    return lines


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    """Typed answers at the terminal."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def press(hand: BinaryIO, key: bytes) -> None:
    """Press a key as soon as the terminal waits for one, which drops what was typed before."""

    def wait() -> None:
        while termios.tcgetattr(hand.fileno())[3] & termios.ICANON:
            threading.Event().wait(0.01)
        hand.write(key)

    threading.Thread(target=wait, daemon=True).start()


def bodies(api: FakeApi) -> list[dict[str, Any]]:
    """Return what was sent, without the id of the session, which is one and the same."""
    sent = [dict(each.body) for each in api.asked if each.path == USSD]
    assert len({each.pop("session") for each in sent}) == 1
    return sent


def test_in_a_pipe_the_replies_are_the_lines_of_stdin(api: FakeApi, momo: Momo, piped: io.StringIO) -> None:
    piped.write(f"6\n{PIN}\n")
    piped.seek(0)
    api.on("POST", USSD, MENU, menu("Enter PIN"), BALANCE)
    ran = momo(*COMMAND)
    assert ran.out == "MobileMoney\n1) Send [2J\nEnter PIN\nCurrent Balance: GHS 214.56\n"
    assert "A menu can move money" in ran.err
    assert "momo lines wallet" in ran.err
    assert PIN not in ran.out + ran.err
    assert (ran.code, bodies(api)) == (0, [{"code": "*170#"}, {"reply": "6"}, {"reply": PIN}])


def test_each_menu_is_a_document_for_programs(api: FakeApi, momo: Momo, piped: io.StringIO) -> None:
    piped.write("1\n")
    piped.seek(0)
    api.on("POST", USSD, MENU, BALANCE)
    found = [json.loads(line) for line in momo(*COMMAND, "--json", "-q").out.splitlines()]
    assert [each["ended"] for each in found] == [None, "answered"]


def test_an_empty_line_and_the_end_of_the_input_end_the_session(api: FakeApi, momo: Momo, typed: BinaryIO) -> None:
    typed.write(b"\n")
    api.on("POST", USSD, MENU, ok(samples.USSD))
    ran = momo(*COMMAND)
    assert (ran.code, bodies(api)) == (0, [{"code": "*170#"}, {}])
    assert "Reply: " in ran.err


def test_a_session_that_breaks_in_the_client_is_ended(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Person(io.StringIO):
        def readline(self, _size: int = -1) -> str:  # type: ignore[override]  # its bases disagree
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Person())
    api.on("POST", USSD, MENU, ok(samples.USSD))
    assert (momo(*COMMAND).code, bodies(api)) == (130, [{"code": "*170#"}, {}])


@each(("ended", "code"), [("network", 8), ("silent", 8), ("idle", 8), ("timeout", 8), ("refused", 5), ("lost", 5)])
def test_why_it_ended_is_told_and_has_its_exit_code(api: FakeApi, momo: Momo, ended: str, code: int) -> None:
    api.on("POST", USSD, menu("", ended=ended, sentence="The network has ended the session."))
    ran = momo(*COMMAND)
    assert (ran.code, ran.out) == (code, "")
    assert "The network has ended the session." in ran.err


def test_a_balance_is_taken_with_one_key_and_the_owners_password(
    api: FakeApi, momo: Momo, typed: BinaryIO, tmp_path: Path
) -> None:
    (password := tmp_path / "pw.txt").write_text("correct horse\n")
    api.on("POST", USSD, BALANCE)
    api.on("POST", WALLET, ok(samples.WALLET))
    press(typed, b"y")
    ran = momo(*COMMAND, "-o", "table", "--password-file", str(password))
    assert "Take GHS 214.56 as what the wallet shows now? [y/N]" in ran.err
    assert "GHS 25.00 (93214500001) pays now." in ran.err
    assert api.asked[-1].body == {"balance": "214.56", "password": "correct horse"}


def test_another_key_takes_nothing(api: FakeApi, momo: Momo, typed: BinaryIO) -> None:
    api.on("POST", USSD, BALANCE)
    press(typed, b"\n")
    assert momo(*COMMAND, "-o", "table").code == 0
    assert [each.path for each in api.asked] == [USSD]


def test_the_trace_hides_what_is_typed(api: FakeApi, momo: Momo, piped: io.StringIO) -> None:
    piped.write(f"{PIN}\n")
    piped.seek(0)
    api.on("POST", USSD, MENU, BALANCE)
    ran = momo(*COMMAND, "--debug")
    assert '"reply": "***"' in ran.err
    assert PIN not in ran.err
