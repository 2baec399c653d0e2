"""HiLink sticks and Android phones in `momo setup`: by flags, and offered when no modem is found. The settings file is real."""

import os
import pty
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from daemon import wire
from momo_cli.service.daemon_program import Started
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.setup.test_setup import DONE, statuses
from tests.fakes.fake_api import FakeApi, ok
from tests.fakes.hilink_stick import FakeStick

pytestmark = pytest.mark.usefixtures("in_process", "opened")
TO_THE_PHONE = b"\nn\n\n"
"""No public address, it may sleep, no modem is plugged in. The service is refused by a flag."""
REST = b"\n\n"
"""No endpoint, no stick for backups."""
FLAGS = ("--service", "none", "-o", "table")


@pytest.fixture
def opened(api: FakeApi, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that runs without a phone."""
    monkeypatch.setattr("momo_cli.setup.phone.LOOK_S", 0.01)
    shop.environ["HOME"] = str(shop.home)
    api.on("POST", wire.Path.LOCAL_SETUP, ok(DONE["data"]))
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    api.on("GET", wire.Path.SIMS, ok([]))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([]))
    api.on("GET", wire.Path.LOCAL_MESSAGES, ok([]))
    api.on("GET", wire.Path.LOCAL_SOURCES, ok([]))
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([]))
    api.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))


@pytest.fixture
def restarts(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stops and starts of the daemon; after a restart it reads the SIM of the sample phone."""
    done: list[str] = []

    def stop(*_: Any) -> str:
        done.append("stop")
        return "stopped"

    def start(*_: Any, **__: Any) -> Started:
        done.append("start")
        api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
        api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
        return Started("started", 7, "log", 0.1)

    monkeypatch.setattr("momo_cli.setup.phone.stop_daemon", stop)
    monkeypatch.setattr("momo_cli.setup.phone.start_daemon", start)
    return done


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def sources(shop: Shop) -> list[Any]:
    settings = Path(shop.places.config)
    found = tomllib.loads(settings.read_text()) if settings.exists() else {}
    return list(found.get("sources", ()))


def test_flags_add_an_android_phone_once(momo: Momo, shop: Shop) -> None:
    words = ("setup", "--no-input", "--service", "none", "--android", "mtn", "--android", "none", "--android-may-pay",
             "--json")  # fmt: skip
    wanted = {"name": "phone1", "kind": "post", "networks": ["mtn", "none"], "may_pay": True}
    ran = momo(*words)
    assert sources(shop) == [wanted]
    # The daemon that runs has not read it.
    assert statuses(ran)["daemon"] == "needs_action"
    assert statuses(momo(*words))["daemon"] == "done"
    assert sources(shop) == [wanted]


def test_a_network_that_there_is_not_is_2(momo: Momo, shop: Shop) -> None:
    ran = momo("setup", "--no-input", "--android", "mtm")
    assert (ran.code, sources(shop)) == (2, [])
    assert "--android" in ran.err


def test_an_android_phone_is_offered_when_no_modem_is_found(
    momo: Momo, shop: Shop, typed: BinaryIO, restarts: list[str]
) -> None:
    # A wrong kind and a wrong network are asked again; its messages may pay.
    typed.write(TO_THE_PHONE + b"phone\nandroid\nsmsforwarder\nmtm\nmtn,none\ny\n" + REST)
    ran = momo("setup", *FLAGS)
    assert ran.err.count("Is it? hilink, android") == 2
    assert ran.err.count("The networks of its SIMs") == 2
    assert "Whoever holds the phone can invent messages" in ran.err
    wanted = {"name": "phone1", "kind": "post", "networks": ["mtn", "none"], "may_pay": True, "preset": "smsforwarder"}
    assert sources(shop) == [wanted]
    assert restarts == ["stop", "start"]
    following = ["momo daemon certificate create", "momo phones rotate-key phone1 --qr", "momo phones sources"]
    places = [ran.err.index(f"      {line}\n") for line in following]
    assert places == sorted(places)
    assert ran.code == 6
    assert "next:  momo daemon certificate create" in ran.err


def test_a_phone_is_history_unless_the_owner_agrees(
    momo: Momo, shop: Shop, typed: BinaryIO, restarts: list[str]
) -> None:
    typed.write(TO_THE_PHONE + b"android\nsms\nmtn\n\nandroid\n\nmtn\n\n" + REST)
    ran = momo("setup", *FLAGS)
    assert "preset takes one of: capcom6, httpsms, textbee, smsforwarder, custom" in ran.err  # it is asked again
    assert sources(shop) == [{"name": "phone1", "kind": "post", "networks": ["mtn"]}]


def test_a_hilink_stick_is_offered_and_read_at_once(
    momo: Momo, shop: Shop, typed: BinaryIO, restarts: list[str]
) -> None:
    with FakeStick() as stick:
        url = stick.url
        # Nothing answers at the first address.
        wrong = b"hilink\nhttp://127.0.0.1:9\n"
        right = f"hilink\n{url}\n".encode()
        typed.write(TO_THE_PHONE + wrong + right + b"0244124567\nAma Mensah\n" + REST)
        ran = momo("setup", *FLAGS)
    assert "no HiLink stick answers at http://127.0.0.1:9" in ran.err
    assert sources(shop) == [{"name": "stick", "kind": "hilink", "url": url}]
    assert restarts == ["stop", "start"]
    assert "The stick is asked for its SIM." in ran.err
    assert "Found the MTN SIM" in ran.err


def test_neither_is_remembered_and_asked_again_only_when_wished(momo: Momo, shop: Shop, typed: BinaryIO) -> None:
    typed.write(TO_THE_PHONE + b"\n" + REST)
    first = momo("setup", *FLAGS)
    assert "Is it? hilink, android" in first.err
    typed.write(b"\n")  # no modem
    assert "Is it? hilink, android" not in momo("setup", *FLAGS).err
    typed.write(TO_THE_PHONE + b"no\n" + REST)
    assert "Is it? hilink, android" in momo("setup", *FLAGS, "--again").err
    assert sources(shop) == []


def test_who_has_a_modem_is_not_asked(momo: Momo, api: FakeApi, typed: BinaryIO) -> None:
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([{**samples.MODEM, "state": "no_sim"}]))
    typed.write(TO_THE_PHONE + REST)
    assert "Is it? hilink, android" not in momo("setup", *FLAGS).err
