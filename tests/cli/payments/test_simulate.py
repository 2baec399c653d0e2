"""`momo simulate` and `momo init --sandbox`: requests, and an output that says that no money moved."""

import json
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

ORDER = f"/v1/transactions/{samples.REF}"


@pytest.fixture(autouse=True)
def _answers(api: FakeApi) -> None:
    api.on("POST", wire.Path.TEST_PAYMENTS, ok(samples.SIMULATED))
    api.on("GET", ORDER, ok({**samples.ONE, "svc_code": samples.CODE}))


def sent(api: FakeApi) -> dict[str, object]:
    asked = api.asked[-1]
    assert asked.path == wire.Path.TEST_PAYMENTS
    assert asked.headers[wire.MODE_HEADER.lower()] == "test"
    return dict(asked.body)


def test_a_refusal_leads_to_a_list_of_the_sandbox(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.TEST_PAYMENTS, refusal(404, "TRANSACTION_NOT_FOUND"))
    ran = momo("simulate", "payment", "--order", samples.REF)
    assert ran.err.splitlines()[-1] == "  next:  momo tx list --sandbox"


def test_the_flags_become_the_body(api: FakeApi, momo: Momo) -> None:
    words = "--amount 5 --network telecel --payer 0209000111 --name Esi --late --fake"
    assert momo("simulate", "payment", *words.split()).code == 0
    assert sent(api) == {
        "amount": "5.00",
        "provider": "momo_telecel",
        "payer_phone": "0209000111",
        "payer_name": "Esi",
        "late": True,
        "sender": "+233241112222",
    }


def test_a_wrong_code_differs_from_the_orders_in_one_character(api: FakeApi, momo: Momo) -> None:
    assert momo("simulate", "payment", "--order", samples.REF, "--wrong-code").code == 0
    body = sent(api)
    assert body["reference"] == samples.REF
    typed = str(body["reference_text"])
    assert sum(a != b for a, b in zip(typed, samples.CODE, strict=True)) == 1


def test_an_order_that_it_did_not_pay_is_named_too(api: FakeApi, momo: Momo) -> None:
    order = {**samples.ONE, "status": "PENDING"}
    holder = {**samples.ONE, "reference": "svc_trx_" + "9" * 32, "origin": "open"}
    outcome = {**samples.SIMULATED, "transaction": holder, "request": order}
    api.on("POST", wire.Path.TEST_PAYMENTS, ok(outcome))
    ran = momo("simulate", "payment", "--order", samples.REF, "--wrong-code", "-o", "table")
    assert f"→ new transaction {holder['reference']}" in ran.out
    assert f"→ transaction {samples.REF}  … waiting, not paid by it" in ran.out
    outcome["transaction"] = order
    assert "not paid by it" not in momo("simulate", "payment", "--amount", "5", "-o", "table").out


def test_many_are_sent_at_a_rate_and_told_one_by_one(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    ran = momo("simulate", "payment", "--amount", "5", "--count", "3", "--rate", "4/s", "--json")
    assert ran.code == 0
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert [one["type"] for one in told] == ["item", "item", "item", "summary"]
    assert len(api.asked) == 3
    assert naps == [0.25, 0.25]


def test_it_says_that_no_money_moved(momo: Momo) -> None:
    ran = momo("simulate", "payment", "--amount", "5", "-o", "table")
    assert "no real money" in ran.out


@pytest.mark.parametrize("words", ["", "--wrong-code --amount 5", "--amount 5 --rate fast", "--amount 5 --count 0"])
def test_what_cannot_be_made_up_is_refused(words: str, api: FakeApi, momo: Momo) -> None:
    assert momo("simulate", "payment", *words.split()).code == 2
    assert api.asked == []


def test_a_text_is_sent_as_it_stands(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "sms.txt"
    file.write_text("You have won\na car")
    assert momo("simulate", "sms", "--file", str(file), "--sender", "PRIZE").code == 0
    assert sent(api) == {"provider": "momo_mtn", "sender": "PRIZE", "text": "You have won\na car"}
    assert momo("simulate", "sms", "--file", str(tmp_path / "none")).code == 2


def test_a_file_without_a_text_is_named(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    (tmp_path / "sms.txt").write_text(" \n")
    ran = momo("simulate", "sms", "--file", str(tmp_path / "sms.txt"))
    assert ran.code == 2
    assert "sms.txt is empty; it must contain the text of one SMS" in ran.err
    assert api.asked == []


def test_an_order_of_the_sandbox_says_how_it_is_paid(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, Says({"success": True, "data": samples.CREATED}, 201))
    ran = momo("init", "5", "--phone", "0244000111", "--sandbox", "-o", "table")
    assert ran.code == 0
    assert api.asked[-1].headers[wire.MODE_HEADER.lower()] == "test"
    assert f"momo simulate payment --order {samples.CREATED['svc_code']}" in ran.err


@pytest.mark.usefixtures("sample_folder")
@pytest.mark.parametrize("line", ["0244124567", "+233244124567", samples.METHOD])
def test_an_sms_to_a_line_is_of_its_network(line: str, api: FakeApi, momo: Momo) -> None:
    telecel = {**samples.METHOD_ROW, "provider": "momo_telecel"}
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([telecel]))
    api.on("POST", wire.Path.TEST_PAYMENTS, ok(samples.SIMULATED))
    assert momo("simulate", "sms", "--line", line, "--file", "receipt.txt").code == 0
    assert api.asked[-1].body["provider"] == "momo_telecel"


@pytest.mark.usefixtures("sample_folder")
def test_an_sms_to_nobodys_line_is_not_made_up(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    sms = ("simulate", "sms", "--line", "0209000111", "--file", "receipt.txt")
    assert momo(*sms).code == 3
    assert momo(*sms, "--network", "mtn").code == 2
    assert [asked.method for asked in api.asked] == ["GET"]


def test_a_text_that_is_not_read_leads_to_the_list_of_those(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    unread = {"message": {**samples.SIMULATED["message"], "state": "unparsed"}, "transaction": None}
    api.on("POST", wire.Path.TEST_PAYMENTS, ok(unread))
    text = tmp_path / "sms.txt"
    text.write_text("You have won!")
    ran = momo("simulate", "sms", "--file", str(text), "-o", "table")
    assert ran.err.splitlines() == ["next:  momo messages list --state unparsed"]


def test_a_held_message_is_shown_with_the_reason_of_its_review(api: FakeApi, momo: Momo) -> None:
    why = "The message comes from the network's own sender, but its transaction ID is too low for its date."
    held = {"id": "r7", "reason": "unknown_sender", "why": why}
    api.on("POST", wire.Path.TEST_PAYMENTS, ok({**samples.SIMULATED, "review": held}))
    ran = momo("simulate", "payment", "--amount", "5", "-o", "table")
    assert f"→ held for review: {why}" in ran.out
