"""Erasure of a payer from stored texts: the removed parts, and the parts that stay."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.upkeep.erasure import forget_in_json, forget_in_text

NUMBER = "+233244124567"


@pytest.mark.parametrize(
    "written", ["0244124567", "+233244124567", "233244124567", "024 412 4567", "+233 24 412 4567", "024-412-4567"]
)
def test_a_number_is_found_however_it_is_written(written: str) -> None:
    assert forget_in_text(f"call {written}, today", NUMBER) == "call ***, today"


@pytest.mark.parametrize("text", ["0244124568", "93244124567890", "ID 2441245670", "none"])
def test_digits_of_something_else_stay(text: str) -> None:
    assert forget_in_text(text, NUMBER) == text


def test_the_payer_goes_out_of_a_payload_and_the_money_and_the_shop_s_own_number_stay() -> None:
    body = {
        "data": {
            "amount": "25.00", "payer": {"phone_number": NUMBER, "name": "Kofi"}, "raw": "from KOFI",
            "payer_source": {"phone_number": "request", "name": "receipt"},
            "meta": {"mail": "k@x.example"}, "telco": {"transaction_id": "1", "reference_text": "KOFI"},
            "payment_method": {"phone_number": "+233244000000"}, "changed": ["payer", "meta"],
        }
    }  # fmt: skip
    left = json.loads(forget_in_json(json.dumps(body), NUMBER))["data"]
    assert left == {
        "amount": "25.00", "payer": {"phone_number": None, "name": None}, "raw": None, "meta": {},
        "payer_source": {"phone_number": None, "name": None},
        "telco": {"transaction_id": "1", "reference_text": None},
        "payment_method": {"phone_number": "+233244000000"}, "changed": ["payer", "meta"],
    }  # fmt: skip


def test_the_facts_of_a_routing_lose_theirs_by_their_dotted_names() -> None:
    facts = {"payer.phone_number": NUMBER, "meta.table": "4", "telco.reference_text": "X", "amount": "1.00"}
    left = json.loads(forget_in_json(json.dumps({"facts": facts}), NUMBER))["facts"]
    assert left == dict.fromkeys(facts, None) | {"amount": "1.00"}


@given(st.text())
def test_a_text_that_is_no_json_stays_a_text(text: str) -> None:
    assert NUMBER not in forget_in_json(f"{{{text} {NUMBER} ", NUMBER)
