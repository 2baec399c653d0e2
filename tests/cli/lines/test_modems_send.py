"""`momo phones test --send-to`: an SMS costs money, so the command asks first; then it reports the result."""

import io
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

MODEM = f"/local/v1/modems/{samples.DEVICE}"
WELL = {**samples.MODEM, "answered": True, "took_ms": 42}
TEXTS = f"{MODEM}/texts"
SEND = ("phones", "test", "zte-front", "--send-to", "0244124567")


@pytest.fixture
def well(api: FakeApi, naps: list[float]) -> FakeApi:
    assert naps == []
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    api.on("POST", f"{MODEM}/test", ok(WELL))
    api.on("POST", TEXTS, ok(samples.SMS))
    api.on("GET", f"{TEXTS}/{samples.SMS['id']}", sms("sending"), sms("sent"))
    return api


def sms(status: str, why: str = "") -> Any:
    return ok({**samples.SMS, "status": status, "why": why})


def sent(api: FakeApi) -> list[Any]:
    return [asked.body for asked in api.asked if asked.path == TEXTS]


def types(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)


def test_it_waits_until_the_network_has_it(well: FakeApi, momo: Momo) -> None:
    ran = momo(*SEND, "--yes", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "zte-front"
    assert ran.out.splitlines()[-1] == "✓ the network took the SMS to 024 412 4567"
    assert sent(well) == [{"number": "0244124567"}]


@pytest.mark.usefixtures("well")
def test_the_document_is_the_modem_with_its_sms(momo: Momo) -> None:
    ran = momo(*SEND, "--yes", "--json")
    assert ran.json["data"] == {**WELL, "sms": {**samples.SMS, "status": "sent"}}
    assert momo(*SEND, "--yes", "--fields", "name,sms").out == "zte-front\tsent\n"


def test_a_person_sees_the_modem_and_is_asked_first(
    well: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    types("n", monkeypatch)
    ran = momo(*SEND, "-o", "table")
    assert (ran.code, ran.out) == (10, "No SMS was sent.\n")
    assert "✓ it answers (42 ms)" in ran.err
    assert "Send an SMS from zte-front to 0244124567?" in ran.err
    assert sent(well) == []
    types("y", monkeypatch)
    ran = momo(*SEND, "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ the network took the SMS to 024 412 4567\n")


def test_without_a_person_yes_must_be_said_and_nothing_is_asked_of_the_modem(
    well: FakeApi, momo: Momo
) -> None:
    ran = momo(*SEND, "--json", "--no-input")
    assert (ran.code, ran.json["error"]["code"]) == (2, "USAGE")
    assert "--yes" in ran.json["error"]["message"]
    assert well.asked == []


def test_what_is_no_number_is_refused_before_anything_else(well: FakeApi, momo: Momo) -> None:
    ran = momo("phones", "test", "zte-front", "--send-to", "02441", "--yes", "--json")
    assert ran.code == 2
    assert "'02441' is no phone number" in ran.json["error"]["message"]
    assert well.asked == []


@pytest.mark.parametrize(
    ("status", "why", "line"),
    [
        ("failed", "no credit", "✗ the SMS to 024 412 4567 was not sent: no credit"),
        ("unknown", "", "! the SMS to 024 412 4567 may or may not have been sent"),
        ("expired", "", "✗ the SMS to 024 412 4567 was not sent in time"),
    ],
)
def test_what_did_not_surely_go_out_is_a_finding(
    status: str, why: str, line: str, well: FakeApi, momo: Momo
) -> None:
    well.on("GET", f"{TEXTS}/{samples.SMS['id']}", sms(status, why))
    ran = momo(*SEND, "--yes", "-o", "table")
    assert (ran.code, ran.out.splitlines()[-1]) == (6, line)


def test_when_nobody_knows_yet_it_is_8(
    well: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    well.on("GET", f"{TEXTS}/{samples.SMS['id']}", sms("sending"))
    seconds = iter(range(0, 10_000, 20))
    monkeypatch.setattr("momo_cli.system.monotonic", lambda: float(next(seconds)))
    ran = momo(*SEND, "--yes", "--json")
    assert (ran.code, ran.json["data"]["sms"]["status"]) == (8, "sending")


def test_a_modem_that_is_not_well_sends_nothing(well: FakeApi, momo: Momo) -> None:
    well.on("POST", f"{MODEM}/test", ok({**WELL, "answered": False}))
    ran = momo(*SEND, "--yes", "-o", "table")
    assert (ran.code, ran.out.splitlines()[-1]) == (6, "No SMS was sent.")
    assert momo(*SEND, "--yes", "--json").json["data"]["sms"] is None
    assert sent(well) == []


def test_a_simulated_phone_sends_nothing(well: FakeApi, momo: Momo) -> None:
    well.on("GET", wire.Path.LOCAL_MODEMS, ok([{**samples.MODEM, "simulated": True}]))
    ran = momo(*SEND, "--yes")
    assert ran.code == 5
    assert "zte-front is simulated: no SMS leaves it" in ran.err
    assert sent(well) == []
