"""`momo lines`: the next command for a SIM without a number."""

from typing import Any

import pytest

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok


def bare(name: str) -> dict[str, Any]:
    sim = {"slot_index": 0, "network": "MTN", "unplaced_payments": 0, "line": None}
    phone = {"device_id": samples.DEVICE, "name": name, "reads_payments": True, "sims": [sim]}
    return {"ready": False, "unplaced_payments": 0, "phones": [phone]}


def number(phone: str, *, placed: bool = False) -> dict[str, Any]:
    place = {"device_id": samples.DEVICE, "slot_index": 0} if placed else None
    return {**samples.METHOD_ROW, "phone_number": phone, "sim": place}


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([number("+233244124567"), number("+233200000011", placed=True)],
         ["next:  momo lines update 0244124567 --sim 'till 1:0'",
          "       momo lines ignore 'till 1:0'"]),
        ([number("+233244124567"), number("+233200000011")],
         ["next:  momo lines update 0244124567 --sim 'till 1:0'",
          "       momo lines update 0200000011 --sim 'till 1:0'",
          "       momo lines ignore 'till 1:0'"]),
        ([number("+233200000011", placed=True)],
         ["next:  momo lines add NUMBER --name \"NAME\" --sim 'till 1:0'",
          "       momo lines ignore 'till 1:0'"]),
    ],
)  # fmt: skip
def test_a_sim_without_a_number_is_offered_those_that_have_no_sim(
    numbers: list[dict[str, Any]], told: list[str], api: FakeApi, momo: Momo
) -> None:
    api.on("GET", Path.LINES, ok(bare("till 1")))
    api.on("GET", Path.PAYMENT_METHODS, ok(numbers))
    assert momo("lines", "-o", "table").err.splitlines() == told


def never_read(api: FakeApi) -> None:
    """Connect a phone that has never read a payment; its SIM has no number, yet the daemon says `ready`."""
    lines = bare("spare")
    lines["phones"][0]["reads_payments"] = False
    api.on("GET", Path.LINES, ok({**lines, "ready": True}))


def test_a_connected_sim_without_a_number_is_not_ready(api: FakeApi, momo: Momo) -> None:
    never_read(api)
    heading, *_, row = momo("lines", "-o", "table").out.splitlines()
    assert heading == "NOT READY  ! 1 SIM has no number: spare:0     UNPLACED (30 d)  0"
    assert "no number" in row
    assert momo("lines", "-o", "table").code == 0
    ran = momo("lines", "--fail-if-unready", "--quiet")
    assert ran.code == 6
    assert "error: 1 SIM has no number: spare:0" in ran.err


def test_a_sim_of_a_phone_that_is_away_needs_no_number(api: FakeApi, momo: Momo) -> None:
    never_read(api)
    away = {"device_id": samples.DEVICE, "name": "spare", "state": "away", "troubles": []}
    api.on("GET", Path.LOCAL_MODEMS, ok([away]))
    heading, *_ = momo("lines", "-o", "table").out.splitlines()
    assert heading == "READY  ✓ every SIM in use has a number     UNPLACED (30 d)  0"
    assert momo("lines", "--fail-if-unready", "--quiet").code == 0


def test_programs_are_asked_for_nothing_more(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LINES, ok(bare("till")))
    assert momo("lines", "--json").code == 0
    assert [asked.path for asked in api.asked] == [Path.LINES]


def test_a_number_taken_off_its_sim_is_said_to_be_on_none(api: FakeApi, momo: Momo) -> None:
    api.on("PATCH", f"/v1/payment-methods/{samples.METHOD}", ok(number("+233244124567")))
    ran = momo("lines", "update", samples.METHOD, "--sim", "none", "-o", "table")
    assert ran.out == "✓ 024 412 4567 (Ama Mensah) is on no SIM now\n"
    assert ran.err.splitlines()[0] == "next:  momo phones list"


def deaf(api: FakeApi) -> str:
    """Make the only line unable to receive; return the reason."""
    why = "the SIM asks for its PIN"
    lines = bare("till")
    [phone] = lines["phones"]
    phone["sims"][0] |= {
        "receiving": False, "receiving_reason": why, "line": {"phone_number": "+233244124567"},
    }  # fmt: skip
    cannot = {"ready": True, "receiving": False, "receiving_reason": why}
    api.on("GET", Path.LINES, ok(lines | cannot))
    return why


@pytest.mark.parametrize("form", [["--quiet"], ["--json"], ["-o", "csv"], ["-o", "table"]])
def test_the_reason_of_a_failure_is_on_stderr_in_every_form(
    form: list[str], api: FakeApi, momo: Momo
) -> None:
    why = deaf(api)
    ran = momo("lines", "--fail-if-unready", *form)
    assert ran.code == 6
    assert f"error: payments are not seen: {why}" in ran.err


def test_a_line_that_cannot_receive_is_shown_once_with_the_reason(api: FakeApi, momo: Momo) -> None:
    why = deaf(api)
    ran = momo("lines", "-o", "table")
    assert ran.code == 0
    assert f"\nNOT RECEIVING  ✗ {why}\n" in ran.out
    assert (ran.out + ran.err).count(why) == 1
    assert "error:" not in ran.err


def test_a_modem_that_is_locked_is_not_called_no_phone(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LINES, ok({**bare("x"), "ready": True, "phones": []}))
    trouble = {"id": "modem.pin", "level": "fail", "text": "the SIM asks for its PIN"}
    locked = {"name": "x", "state": "pin_needed", "troubles": [{**trouble, "fix": "momo lines pin x:0"}]}  # fmt: skip
    api.on("GET", Path.LOCAL_MODEMS, ok([locked]))
    err = momo("lines", "-o", "table").err
    assert "A modem is connected, but no SIM can be read yet." in err
    assert "x: the SIM asks for its PIN" in err
    assert "next:  momo lines pin x:0" in err
