"""The commands about modems, with their output for people."""

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

MODEM = f"/local/v1/modems/{samples.DEVICE}"


@pytest.fixture
def phones(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM, samples.HUNG]))
    api.on("GET", MODEM, ok(samples.MODEM))
    return api


@pytest.mark.usefixtures("phones")
def test_the_list_says_what_is_wrong_in_a_word(momo: Momo) -> None:
    ran = momo("phones", "status", "-o", "table", COLUMNS="120")
    head, *rows = [" ".join(line.split()) for line in ran.out.splitlines() if line.strip()]
    assert head == "MODEM STATE SIGNAL NETWORK SIM HOLDS LAST SMS TROUBLE"
    assert rows[-2:] == [
        "zte-front ✓ ready ▂▄▆_ -79 dBm MTN GH 2/30 4m ago",
        "/dev/ttyUSB3 ✗ hung — — — 4m ago hung (+1)",
    ]
    assert "next:  momo phones show /dev/ttyUSB3" in ran.err


@pytest.mark.usefixtures("phones")
@pytest.mark.parametrize(
    "wanted", ["zte-front", samples.DEVICE, samples.DEVICE.upper(), samples.MODEM["port"]]
)
def test_one_is_found_by_name_id_or_port(wanted: str, momo: Momo) -> None:
    ran = momo("phones", "show", wanted, "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "zte-front  ✓ ready",
        "  port      /dev/serial/by-id/usb-ZTE-if01",
        "  make      ZTE MF823",
        "  IMEI      356938035643809",
        "  signal    ▂▄▆_ -79 dBm",
        "  network   MTN GH",
        "  storage   2/30 messages",
        "  last SMS  4m ago",
        "  SIM       slot 0  MTN  024 412 4567  ICCID …0012",
    ]


@pytest.mark.usefixtures("phones")
def test_a_port_without_a_phone_is_shown_with_what_to_do(momo: Momo) -> None:
    ran = momo("phones", "show", "/dev/ttyUSB3", "-o", "table")
    assert ran.out.splitlines()[0] == "/dev/ttyUSB3  ✗ hung"
    assert ran.out.splitlines()[-4:] == [
        "✗ no answer to AT+CMGL 2 times",
        "    pull the modem out",
        "! no message came",
        "    send one",
    ]
    assert momo("phones", "show", "/dev/ttyUSB3", "--json").json["data"] == samples.HUNG


@pytest.mark.usefixtures("phones")
def test_an_unknown_one_is_3_and_names_those_that_there_are(momo: Momo) -> None:
    ran = momo("phones", "show", "back", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "DEVICE_NOT_FOUND")
    assert ran.json["error"]["message"] == (
        "no phone is called 'back'; there are: zte-front, /dev/ttyUSB3"
    )


def test_two_of_one_name_are_told_apart_by_their_ids(api: FakeApi, momo: Momo) -> None:
    twin = {**samples.MODEM, "device_id": samples.METHOD}
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM, twin]))
    ran = momo("phones", "test", "zte-front")
    assert ran.code == 2
    assert samples.DEVICE in ran.err
    assert samples.METHOD in ran.err


def test_a_test_says_what_is_well(phones: FakeApi, momo: Momo) -> None:
    answer = {**samples.MODEM, "answered": True, "took_ms": 42}
    phones.on("POST", f"{MODEM}/test", ok(answer))
    ran = momo("phones", "test", "zte-front", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "zte-front",
        "✓ it answers (42 ms)",
        "✓ signal ▂▄▆_ -79 dBm",
        "✓ network MTN GH",
        "✓ the SIM holds 2/30 messages",
        "✓ last SMS 4m ago",
    ]


def test_a_test_says_what_is_not_and_exits_6(phones: FakeApi, momo: Momo) -> None:
    full = {"id": "modem.full", "level": "fail", "text": "the SIM is full", "fix": "empty it"}
    answer = {**samples.MODEM, "answered": True, "took_ms": 42, "troubles": [full]}
    phones.on("POST", f"{MODEM}/test", ok(answer))
    ran = momo("phones", "test", "zte-front", "-o", "table")
    assert ran.code == 6
    assert "the SIM holds" not in ran.out
    assert ran.out.splitlines()[-2:] == ["✗ the SIM is full", "    empty it"]
    assert "momo doctor modem" in ran.err


def test_a_warning_alone_is_no_finding(phones: FakeApi, momo: Momo) -> None:
    weak = {"id": "modem.signal", "level": "warn", "text": "weak", "fix": "move it"}
    answer = {**samples.MODEM, "answered": True, "took_ms": 42, "troubles": [weak]}
    phones.on("POST", f"{MODEM}/test", ok(answer))
    assert momo("phones", "test", "zte-front").code == 0


def test_no_answer_is_a_finding(phones: FakeApi, momo: Momo) -> None:
    phones.on("POST", f"{MODEM}/test", ok({**samples.MODEM, "answered": False, "took_ms": 15_000}))
    ran = momo("phones", "test", "zte-front", "-o", "table")
    assert ran.code == 6
    assert ran.out.splitlines() == ["zte-front", "✗ it does not answer"]


@pytest.mark.usefixtures("phones")
def test_a_port_that_never_answered_cannot_be_asked_or_named(momo: Momo) -> None:
    ran = momo("phones", "test", "/dev/ttyUSB3", "--json")
    assert (ran.code, ran.json["data"]["answered"]) == (6, False)
    assert momo("phones", "name", "/dev/ttyUSB3", "till").code == 2


def test_a_name_is_given(phones: FakeApi, momo: Momo) -> None:
    phones.on("PATCH", MODEM, ok({**samples.MODEM, "name": "till 2"}))
    ran = momo("phones", "name", "zte-front", "till 2", "-o", "table")
    assert ran.out == "✓ zte-front is now called till 2\n"
    assert phones.asked[-1].body == {"name": "till 2"}


def test_the_lines_say_what_is_wrong_with_the_phones(phones: FakeApi, momo: Momo) -> None:
    phones.on("GET", wire.Path.LINES, ok(samples.LINES))
    ran = momo("lines", "-o", "table")
    assert "! /dev/ttyUSB3: no answer to AT+CMGL 2 times\n" in ran.err
    assert "/dev/ttyUSB3" not in momo("lines", "--plain").err, "a script gets the lines alone"
