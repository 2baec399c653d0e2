"""`momo lines centres|trust|test-payment`: the home SMSCs of a SIM, and the commands for the other ones."""

from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.payments.test_review_decisions import posted
from tests.fakes.fake_api import FakeApi, ok, refusal

PLACE = {"device_id": samples.DEVICE, "slot_index": 0}
NEW = {**samples.SMSCS, "has_chain": False}
PAID_TO = {**samples.SIMS[0]["sims"][0], "phone_number": "+233244124567"}


@pytest.fixture
def shown(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.SIMS, ok([{**samples.SIMS[0], "sims": [PAID_TO]}]))
    api.on("POST", wire.Path.LOCAL_SIM_SMSCS, ok(samples.SMSCS))
    api.on("POST", wire.Path.LOCAL_SIM_TEST_PAYMENT, ok(samples.TEST_PAYMENT))
    return api


def test_each_service_centre_is_shown_with_the_reason(shown: FakeApi, momo: Momo) -> None:
    ran = momo("lines", "centres", "zte-front:0", "-o", "table")
    assert ran.code == 0
    assert "zte-front:0, MTN: its balance is known" in ran.out
    home, foreign = (line for line in ran.out.splitlines() if "+" in line)
    assert "✓ home" in home
    assert "the SIM's own (AT+CSCA)" in home
    assert "! foreign" in foreign
    assert "not used before: its messages wait" in foreign
    assert "differs from a home one in its last two digits only is home too" in ran.err
    assert "next:  momo review list" in ran.err
    assert posted(shown) == [PLACE]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("test_payment", "brought your test payment"),
        ("approved", "you approved a message through it"),
        ("proved", "what the wallet showed"),
    ],
)
def test_every_reason_has_words(source: str, why: str, shown: FakeApi, momo: Momo) -> None:
    row = {**samples.SMSCS["smscs"][0], "source": source}
    shown.on("POST", wire.Path.LOCAL_SIM_SMSCS, ok({**samples.SMSCS, "smscs": [row]}))
    assert why in momo("lines", "centres", "zte-front:0", "-o", "table").out


def test_a_sim_without_a_chain_is_shown_with_the_way_to_begin_it(shown: FakeApi, momo: Momo) -> None:
    expecting = {**NEW, "test_payment": samples.TEST_PAYMENT}
    shown.on("POST", wire.Path.LOCAL_SIM_SMSCS, ok(NEW), ok(expecting))
    ran = momo("lines", "centres", "zte-front:0", "-o", "table")
    assert "its balance is not known yet" in ran.out
    assert "next:  momo lines test-payment zte-front:0" in ran.err
    ran = momo("lines", "centres", "zte-front:0", "-o", "table")
    assert "send exactly GHS 1.37 to the number of this SIM" in ran.err
    assert "momo lines test-payment" not in ran.err


def test_trust_sends_the_message_and_the_password_and_says_how_many_settled(
    shown: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    (tmp_path / "pw").write_text("correct horse\n")
    words = ("lines", "trust", "zte-front:0", "--message", samples.MESSAGE)
    with_file = (*words, "--password-file", str(tmp_path / "pw"), "-o", "table")
    shown.on("POST", wire.Path.LOCAL_SIM_TRUST, ok({"message_id": samples.MESSAGE, "settled": 3}))
    ran = momo(*with_file)
    assert ran.out == "✓ The message is accepted.\n  3 other held messages settled with it.\n"
    assert posted(shown) == [{**PLACE, "message_id": samples.MESSAGE, "password": "correct horse"}]
    shown.on("POST", wire.Path.LOCAL_SIM_TRUST, refusal(403, "INVALID_PASSWORD"))
    assert momo(*with_file).code == 4
    assert momo(*words).code == 2, "without a terminal and a file, nobody gives the password"


def test_the_odd_amount_is_named_with_the_number_and_the_time(shown: FakeApi, momo: Momo) -> None:
    ran = momo("lines", "test-payment", "zte-front:0", "-o", "table")
    assert ran.out.replace("\n", " ") == (
        "From any other phone, send exactly GHS 1.37 to 024 412 4567, without a code, until today 10:18. "
    )
    assert posted(shown) == [PLACE]


def test_a_wait_ends_when_the_test_payment_has_come_or_when_its_time_is_over(
    shown: FakeApi, momo: Momo, naps: list[float]
) -> None:
    waiting = ok({**NEW, "test_payment": samples.TEST_PAYMENT})
    shown.on("POST", wire.Path.LOCAL_SIM_SMSCS, waiting, waiting, ok(samples.SMSCS))
    ran = momo("lines", "test-payment", "zte-front:0", "--wait=10m", "-o", "table")
    assert (ran.code, ran.out, len(naps)) == (0, "✓ It has come.\n", 2)
    assert "send exactly GHS 1.37 to 024 412 4567" in ran.err
    shown.on("POST", wire.Path.LOCAL_SIM_SMSCS, waiting)
    ran = momo("lines", "test-payment", "zte-front:0", "--wait=0s", "-o", "table")
    assert (ran.code, ran.out) == (8, "It has not come.\n")


def test_a_test_payment_that_expired_has_not_come(shown: FakeApi, momo: Momo) -> None:
    over = {**samples.TEST_PAYMENT, "expires_at": "2026-11-20T09:17:59.000Z"}
    shown.on("POST", wire.Path.LOCAL_SIM_TEST_PAYMENT, ok(over))
    ran = momo("lines", "test-payment", "zte-front:0", "--wait=10m")
    assert ran.code == 8
