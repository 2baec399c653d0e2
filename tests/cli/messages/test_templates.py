"""`momo messages templates`: check, learn, confirm, reparse, and samples for maintainers."""

import json
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok
from tests.parsers.test_own import FILE, TEXT
from tests.parsers.test_own_learn import INLINE, OTHER

ONE = f"/local/v1/messages/{samples.MESSAGE}"
BODY = (
    "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: GHS 628.92. "
    "Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "mtn.toml"
    path.write_text(FILE)
    return path


def test_check_of_a_good_file_is_0(momo: Momo, template: Path) -> None:
    ran = momo("messages", "templates", "check", str(template), "--json")
    assert (ran.code, ran.json["success"]) == (0, True)
    assert ran.json["data"]["problems"] == []
    assert momo("messages", "templates", "check", str(template)).out.startswith("ok\town:receipt_2027#")


def test_check_of_a_bad_file_is_6_with_file_line_and_what_to_type(momo: Momo, template: Path) -> None:
    template.write_text(FILE.replace("{amount}", "{amout}"))
    ran = momo("messages", "templates", "check", str(template), "-o", "table")
    assert ran.code == 6
    assert f"{template}:6" in ran.out
    assert "unknown field {amout}" in ran.out
    assert "use one of amount" in ran.out
    assert momo("messages", "templates", "check", "/nonexistent").code == 2


def test_check_says_when_a_wording_is_not_needed(momo: Momo, template: Path) -> None:
    template.write_text(
        f"""[[wording]]
name = "same"
network = "mtn"
kind = "payment_received"
text = "Payment received for {{amount}} from {{payer_name}} Current Balance: {{balance}} . Available Balance: GHS 628.92. Reference: {{reference}}. Transaction ID: {{transaction_id}}. TRANSACTION FEE: 0.00"
[[wording.sample]]
text = "{BODY}"
"""
    )
    ran = momo("messages", "templates", "check", str(template))
    assert ran.code == 0
    assert "it is not needed" in ran.err


def test_learn_proposes_what_check_accepts(momo: Momo, tmp_path: Path) -> None:
    given = tmp_path / "samples.txt"
    given.write_text(f"{INLINE}\n---\n{OTHER}\n")
    out = tmp_path / "new.toml"
    flags = ("--name", "receipt_2027", "--network", "mtn")
    assert momo("messages", "templates", "learn", str(given), *flags, "--out", str(out)).code == 0
    assert momo("messages", "templates", "check", str(out)).code == 0
    assert momo("messages", "templates", "learn", str(given), *flags).out.strip() == out.read_text().strip()
    again = momo("messages", "templates", "learn", str(given), *flags, "--out", str(out))
    assert again.code == 2
    assert "File exists" in again.err


def test_learn_takes_values_as_flags_and_asks_nobody_without_a_terminal(momo: Momo, tmp_path: Path) -> None:
    given = tmp_path / "sms.txt"
    given.write_text(TEXT)
    flags = ("--name", "new", "--network", "mtn")
    values = (
        "amount=1,070.00",
        "payer_name=KOFI ANTWI\nBADU",
        "balance=628.92",
        "reference=K7M2QX",
        "transaction_id=101234567890",
    )
    told = [word for value in values for word in ("--set", value)]
    ran = momo("messages", "templates", "learn", str(given), *flags, *told, "--json")
    assert ran.code == 0
    assert "You got {amount} from {payer_name}. Wallet: {balance}." in ran.json["data"]["toml"]
    assert momo("messages", "templates", "learn", str(given), *flags).code == 2
    assert momo("messages", "templates", "learn", str(given), *flags, "--set", "amout=1").code == 2
    missing = momo("messages", "templates", "learn", str(given), *flags, "--set", "amount=99.99")
    assert "the message does not contain" in missing.err


def test_parse_uses_the_shops_own_wordings(momo: Momo, shop: Shop, tmp_path: Path) -> None:
    given = tmp_path / "sms.txt"
    given.write_text(TEXT)
    assert not momo("messages", "parse", str(given), "--json").json["data"][0]["is_receipt"]
    (shop.home / "templates").mkdir()
    (shop.home / "templates" / "mtn.toml").write_text(FILE)
    [told] = momo("messages", "parse", str(given), "--json").json["data"]
    assert told["wording"].startswith("own:receipt_2027#")
    assert "no genuine message has confirmed this wording yet" in told["why"]


def test_a_sample_holds_nothing_personal_with_redact(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok({**samples.MESSAGE_ROW, "sender": "MobileMoney", "body": BODY}))
    ran = momo("messages", "sample", samples.MESSAGE, "--redact", "--json")
    assert ran.code == 0
    text = ran.json["data"]["text"]
    for personal in ("ESI", "NAANA", "QUANSAH", "628.92", "85614800061", "Q4T9WD", "70.00"):
        assert personal not in json.dumps(ran.json)
    assert text.startswith("Payment received for GHS ")
    assert ran.json["data"]["wording"] == "receipt"
    plain = momo("messages", "sample", samples.MESSAGE)
    assert "--redact replaces them" in plain.err


def test_reparse_goes_on_until_there_is_nothing_left(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.LOCAL_REPARSE, ok({**samples.REPARSED, "next": 50}), ok(samples.REPARSED))
    ran = momo("messages", "reparse", "--all-unparsed", "--json")
    assert ran.json["data"]["looked_at"] == 6
    assert ran.json["data"]["counts"] == {"held": 2}
    assert [asked.body["after"] for asked in api.asked] == [0, 50]
    assert momo("messages", "reparse").code == 2


def test_confirm_sends_the_password_and_says_what_counts_now(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", f"{ONE}/confirm-wording", ok({**samples.CONFIRMED, "confirmed": True}))
    secret = tmp_path / "password"
    secret.write_text("open sesame\n")
    ran = momo("messages", "templates", "confirm", samples.MESSAGE, "--password-file", str(secret), "-o", "table")
    assert ran.code == 0
    assert "at receipt from AT Money counts automatically from now on." in ran.out
    assert api.asked[-1].body == {"undo": False, "password": "open sesame"}


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (False, "counts automatically from now on."),
        (True, "is confirmed in the sandbox only: the message is a simulated one."),
    ],
)
def test_a_simulated_message_confirms_a_wording_in_the_sandbox_only(
    test: bool, said: str, api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    row = {**samples.CONFIRMED, "confirmed": True, "test": test}
    path = wire.Path.LOCAL_MESSAGE_CONFIRM.format(id=samples.MESSAGE)
    api.on("POST", path, ok(row))
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    ran = momo("messages", "templates", "confirm", samples.MESSAGE, "--password-file", str(file), "-o", "table")
    assert ran.out == f"✓ at receipt from AT Money {said}\n"
