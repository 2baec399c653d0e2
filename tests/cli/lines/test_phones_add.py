"""`momo phones add android`: the address and the key for the app, what to enter in it, and its first post."""

import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from daemon import wire
from daemon.core.messages.post import PRESETS
from momo_cli.commands.lines.phones import STEPS
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

pytestmark = pytest.mark.usefixtures("in_process")
KEY = "ab" * 20
KEY_PATH = wire.Path.LOCAL_SOURCE_KEY.format(name="phone1")


def made(preset: str, url: str = "https://shop.lan:8420/v1/sources/phone1") -> Any:
    return ok(
        {"name": "phone1", "key": KEY, "url": url, "preset": preset, "phone_url": "", "user": "sms", "ping_s": 300.0}
    )


def listed(result: str | None) -> Any:
    post = (
        None if result is None else {"at": samples.SOURCE["heard_at"], "result": result, "detail": f"it was {result}"}
    )
    return ok([{**samples.SOURCE, "last_post": post}])


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def test_a_person_gets_the_key_and_sees_each_post_until_one_is_stored(
    api: FakeApi, momo: Momo, shop: Shop, typed: BinaryIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for name in ("stop_daemon", "start_daemon"):
        monkeypatch.setattr(f"momo_cli.commands.lines.phones.{name}", lambda *_, name=name: done.append(name))
    monkeypatch.setattr("momo_cli.commands.lines.phones._POLL_S", 0.01)
    api.on("POST", KEY_PATH, made("smsforwarder"))
    api.on("GET", wire.Path.LOCAL_SOURCES, listed(None), listed("refused"), listed("refused"), listed("stored"))
    typed.write(b"\n")
    ran = momo("phones", "add", "android", "phone1", "--network", "mtn", "--preset", "smsforwarder", "-o", "table")
    assert (ran.code, done) == (0, ["stop_daemon", "start_daemon"])
    assert 'preset = "smsforwarder"' in Path(shop.places.config).read_text()
    assert "without --may-pay they are history" in ran.err
    for text in (f"key  {KEY}", "url  https://shop.lan:8420/v1/sources/phone1", "Secret = the key", "sign=[sign]"):
        assert text in ran.out
    assert ran.err.count("✗ refused: it was refused") == 1
    assert ran.err.count("✓ stored: it was stored") == 1


def test_a_program_gets_no_question_and_no_key(momo: Momo) -> None:
    ran = momo("phones", "add", "android", "phone1", "--network", "mtn", "--json")
    assert (ran.code, KEY in ran.out) == (0, False)


def test_every_app_has_its_steps(api: FakeApi, momo: Momo) -> None:
    assert STEPS.keys() == PRESETS.keys()
    for preset, steps in STEPS.items():
        api.on("POST", KEY_PATH, made(preset))
        assert steps.splitlines()[0][:40] in momo("phones", "rotate-key", "phone1", "-o", "table").out


def test_key_in_the_address_is_not_printed_either_if_it_goes_into_a_file(
    api: FakeApi, momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    api.on("POST", KEY_PATH, made("custom", f"https://shop.lan:8420/v1/sources/phone1.{KEY}"))
    ran = momo("phones", "rotate-key", "phone1", "--secret-file", "phone1.key", "--json")
    assert KEY not in ran.out
    assert "phone1.KEY" in ran.out
    assert (tmp_path / "phone1.key").read_text().strip() == KEY
