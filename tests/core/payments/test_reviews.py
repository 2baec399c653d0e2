"""Events that release a held message without a decision."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.messages.balance_chain import Standing, Why
from daemon.core.model import Message, Payment
from daemon.core.payments.reviews import by_itself, explain, payment_row
from daemon.wire import MessageState, ReviewReason
from tests.fakes.entries import entry
from tests.fakes.rows import AT, MINUTE, message

YOURS = "It waits for your decision."


@pytest.mark.parametrize(
    ("standing", "why", "said"),
    [
        (Standing.CANDIDATE, Why.BREAKS, "if a late message leads to its balance"),
        (Standing.ACCEPTED, Why.JOINS, "because of a limit"),
        (Standing.DOUBTFUL, Why.FOREIGN, YOURS),
        (Standing.DOUBTFUL, Why.DOUBTED, YOURS),
        (Standing.DOUBTFUL, Why.CONTRADICTED, YOURS),
    ],
)
def test_each_held_message_says_what_releases_it(standing: Standing, why: Why, said: str) -> None:
    assert said in str(by_itself(replace(entry(1, 100, 100), standing=standing, why=why)))


def test_a_payment_waits_for_a_decision() -> None:
    assert str(by_itself(None)) == YOURS


FIELDS: dict[str, str | None] = {
    "amount": "1700.50",
    "currency": "GHS",
    "payer_name": "KOFI ANTWI",
    "payer_phone": "233209000543",
    "reference": "A7K2M9",
    "transaction_id": "pp261121.0801.a12345",
    "balance": "1800.00",
    "fee": "0.50",
    "timestamp": "2026-11-21T08:00:00",
}


def claiming(fields: dict[str, str | None] | None = None, **changes: Any) -> Message:
    held: dict[str, Any] = {
        "state": MessageState.HELD,
        "kind": "payment_received",
        "payment_id": None,
        "fields": json.dumps(FIELDS | (fields or {})),
        "received_at": AT + MINUTE,
    }
    return message(**(held | changes))


def test_the_payment_is_what_the_message_says() -> None:
    one = claiming()
    assert payment_row(one, payment_id="p", provider="momo_mtn") == {
        "id": "p",
        "mode": one.mode,
        "provider": "momo_mtn",
        "telco_transaction_id": "PP261121.0801.A12345",
        "telco_id_as_read": "pp261121.0801.a12345",
        "message_id": one.id,
        "payment_method_id": one.payment_method_id,
        "sim_key": one.sim_key,
        "device_id": one.device_id,
        "slot_index": 0,
        "kind": "payment_received",
        "amount_minor": 170_050,
        "currency": "GHS",
        "fee_minor": 50,
        "balance_minor": 180_000,
        "payer_name": "KOFI ANTWI",
        "payer_phone": "+233209000543",
        "payer_proven": False,
        "reference_text": "A7K2M9",
        "telco_at": AT,
        "stored_at": AT + MINUTE,
        "historical": False,
        "standing": "open",
        "reversed_at": None,
    }


def test_the_row_has_every_column() -> None:
    row = payment_row(claiming(), payment_id="p", provider="momo_mtn")
    assert isinstance(Payment(seq=1, **row), Payment)


def test_what_the_message_does_not_say_is_not_known() -> None:
    silent = dict.fromkeys(("payer_name", "payer_phone", "reference", "balance", "fee"))
    row = payment_row(claiming(silent, sent_at=None), payment_id="p", provider="momo_mtn")
    unknown = ("payer_name", "payer_phone", "reference_text", "balance_minor", "fee_minor")
    assert {name: row[name] for name in unknown} == dict.fromkeys(unknown)
    assert row["telco_at"] == AT + MINUTE


@pytest.mark.parametrize("printed", ["*****0543", "0800-FLOWERS", "12"])
def test_a_number_that_is_none_is_left_out(printed: str) -> None:
    row = payment_row(claiming({"payer_phone": printed}), payment_id="p", provider="momo_mtn")
    assert row["payer_phone"] is None


def test_a_balance_that_says_more_than_the_currency_can_is_left_out() -> None:
    row = payment_row(claiming({"balance": "1800.005"}), payment_id="p", provider="momo_mtn")
    assert row["balance_minor"] is None


def test_money_without_decimals_is_counted_whole() -> None:
    francs = {"amount": "2500.00", "currency": "XOF", "balance": "9000.00", "fee": None}
    row = payment_row(claiming(francs), payment_id="p", provider="momo_mtn")
    assert (row["amount_minor"], row["currency"], row["balance_minor"]) == (2500, "XOF", 9000)


def test_a_message_without_an_id_is_its_own() -> None:
    one = claiming({"transaction_id": None})
    row = payment_row(one, payment_id="p", provider="momo_mtn")
    assert row["telco_id_as_read"] == "sms:" + one.id
    assert row["telco_transaction_id"] == ("sms:" + one.id).upper()


def test_a_doubt_that_this_version_does_not_know_is_left_out() -> None:
    known = explain(ReviewReason.DOUBTFUL_MESSAGE, ["no_balance"])
    assert explain(ReviewReason.DOUBTFUL_MESSAGE, ["of a later version", "no_balance"]) == known
    assert "it names no balance" in str(known.why)
