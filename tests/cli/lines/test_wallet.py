"""`momo lines wallet`: say what the wallet shows, and answer what momo asks."""

import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

WALLET = f"{wire.Path.PAYMENT_METHODS}/{samples.METHOD}/wallet"
COMMAND = ("lines", "wallet", samples.METHOD, "214.56", "--password-file", "pw.txt")
UNTOLD = {**samples.WALLET, "settled": False, "question": "untold", "messages": [],
          "sentence": "Nothing that came by SMS leads to GHS 214.56; the messages say GHS 9.00. Is it so?"}  # fmt: skip


@pytest.fixture(autouse=True)
def password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with the owner's password in the working folder."""
    (tmp_path / "pw.txt").write_text("correct horse\n")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    """Typed answers at the terminal."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def test_each_message_is_told_in_one_sentence(api: FakeApi, momo: Momo) -> None:
    api.on("POST", WALLET, ok(samples.WALLET))
    ran = momo(*COMMAND, "-o", "table")
    assert ran.out == (
        "✓ The wallet shows GHS 214.56: the messages that lead to it are believed from now on.\n"
        "  GHS 25.00 (93214500001) pays now.\n"
    )
    assert api.asked[-1].body["balance"] == "214.56"
    assert "answer" not in api.asked[-1].body


def test_a_person_is_asked_again_and_answers_with_yes(api: FakeApi, momo: Momo, typed: BinaryIO) -> None:
    api.on("POST", WALLET, ok(UNTOLD), ok(samples.WALLET))
    typed.write(b"YES\n")
    ran = momo(*COMMAND, "-o", "table")
    assert "Nothing that came by SMS leads to GHS 214.56" in ran.err
    assert (ran.code, api.asked[-1].body["answer"]) == (0, "untold")


def test_without_a_yes_nothing_is_changed(api: FakeApi, momo: Momo, typed: BinaryIO) -> None:
    api.on("POST", WALLET, ok(UNTOLD))
    typed.write(b"no\n")
    ran = momo(*COMMAND, "-o", "table")
    assert (ran.code, len(api.asked)) == (10, 1)


def test_a_program_answers_with_a_flag(api: FakeApi, momo: Momo) -> None:
    api.on("POST", WALLET, ok(UNTOLD))
    assert momo(*COMMAND).code == 10
    api.on("POST", WALLET, ok(samples.WALLET))
    assert momo(*COMMAND, "--answer", "untold").code == 0
    assert api.asked[-1].body["answer"] == "untold"
