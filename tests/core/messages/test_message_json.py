"""A message as JSON, with its neighbours on the line."""

import json

import pytest
from msgspec.structs import replace

from daemon.core.json_values import dump
from daemon.core.messages.balance_chain import ChainEntry, Standing, Why
from daemon.core.messages.message_json import ChainPosition, all_fields, balance_chain, stored_fields
from parsers.read import read
from parsers.reading import FIELD_WORDS, fields
from tests.fakes.rows import AT


def entry(number: int, effect: int, after: int | None, **changes: object) -> ChainEntry:
    plain = ChainEntry(
        key=f"m{number}", seq=number, at=AT, stored_at=AT, telco_id=f"{number}", pays=True, amount=effect, effect=effect,
        after=after, standing=Standing.ACCEPTED, gap_minor=0,
    )  # fmt: skip
    return replace(plain, **changes)  # fields by name


def test_two_neighbours_on_each_side_are_shown_in_the_order_of_the_line() -> None:
    here = entry(
        4, 2500, 70_000, standing=Standing.CANDIDATE, why=Why.BREAKS, doubts=("reference_too_long",), gap_minor=None
    )
    beside = [entry(number, 100, 1000 * number) for number in (6, 2, 1, 3, 5, 7)]
    shown = json.loads(dump(balance_chain(ChainPosition(here, beside, "GHS"))))
    assert [one["message_id"] for one in shown["messages"]] == ["m2", "m3", "m4", "m5", "m6"]
    assert shown["messages"][2] == {
        "message_id": "m4",
        "this": True,
        "transaction_id": "4",
        "timestamp": "2026-11-21T08:01:00.123Z",
        "moved": "25.00",
        "balance": "700.00",
        "standing": "candidate",
        "unaccounted": None,
    }
    assert (shown["standing"], shown["why"], shown["doubts"], shown["currency"]) == (
        "candidate",
        "breaks",
        ["reference_too_long"],
        "GHS",
    )


def test_what_cannot_be_read_moved_nobody_knows_how_much() -> None:
    unread = replace(entry(1, 0, None, standing=Standing.DOUBTFUL, pays=False), effect=None)
    shown = balance_chain(ChainPosition(entry(2, 100, 500), [unread], "GHS"))
    assert (shown.messages[0].moved, shown.messages[0].balance) == (None, None)


def test_every_why_is_explained() -> None:
    for why in Why:
        assert balance_chain(ChainPosition(entry(1, 1, 1, why=why), [], "GHS")).explanation


@pytest.mark.parametrize(
    "body", ["hello", "Your phone is at GHS 5", 'Payment received for GHS 2.00 from \u00c9 \x07"x']
)
def test_fields_that_a_message_lacks_are_not_stored_and_come_back_as_null(body: str) -> None:
    found = fields(read("MobileMoney", body))
    assert all_fields(stored_fields(found)) == json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def test_fields_are_stored_without_nulls_in_their_order() -> None:
    found = {**dict.fromkeys(FIELD_WORDS), "amount": "2.00", "fee": "0.10", "tax": "\u00e9\n"}
    assert stored_fields(found) == '{"amount":"2.00","fee":"0.10","tax":"\u00e9\\n"}'
    assert json.loads(all_fields(stored_fields(found))) == found
    assert [*json.loads(all_fields(stored_fields(found)))] == [*FIELD_WORDS, "tax"]


def test_a_message_without_fields_is_not_one_that_was_not_read() -> None:
    nothing = dict.fromkeys(FIELD_WORDS)
    assert json.loads(all_fields(stored_fields(nothing))) == nothing
    assert all_fields("{}") == "{}"
