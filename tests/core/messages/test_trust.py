"""Doubts about a message with the network's sender name."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.messages.balance_chain import ChainEntry, Standing
from daemon.core.messages.trust import (
    ID_SEEN_MAX,
    ID_SLACK_DAYS,
    ID_SPEED_FACTOR_MAX,
    IDS_PER_DAY,
    PRINTED_APART_US_MAX,
    REFERENCE_CHARACTERS_MAX,
    Doubt,
    doubts_about,
    fee_doubt,
    id_doubt,
    is_home,
    printed_time_doubt,
    text_doubt,
)
from daemon.core.payments.reviews import explain
from daemon.wire import ReviewReason
from parsers.read import read
from parsers.reading import Payment
from parsers.times import to_us
from tests.fakes.each import each
from tests.fakes.rows import AT

CORPUS = Path(__file__).parents[2] / "corpus" / "sms_corpus.jsonl"
NOW_ID = 93_000_000_000


def seen(days_ago: int, telco_id: int | str, **changes: object) -> ChainEntry:
    at = AT - days_ago * DAY_US
    plain = ChainEntry(
        key=f"{telco_id}", seq=1, at=at, stored_at=at, telco_id=f"{telco_id}", pays=True,
        amount=500, effect=500, after=10_000, standing=Standing.ACCEPTED,
    )  # fmt: skip
    return replace(plain, **changes)  # fields by name


WEEK = [seen(days, NOW_ID - 67_000_000 * days) for days in range(1, 8)]
PLAIN: dict[str, Any] = {
    "provider": "momo_mtn",
    "telco_id": f"{NOW_ID}",
    "sent_at": AT,
    "printed_at": AT - 58 * SECOND_US,
    "texts": ("K7M2QX", "KOFI ANTWI BADU"),
}


def test_an_ordinary_receipt_raises_no_doubt() -> None:
    assert doubts_about(WEEK, **PLAIN) == []


@pytest.mark.parametrize(("amount", "fee", "doubt"), [(500, 50, None), (500, 51, Doubt.FEE_TOO_HIGH), (500, 0, None)])
def test_a_fee_above_a_tenth_is_doubted(amount: int, fee: int, doubt: Doubt | None) -> None:
    assert fee_doubt(amount, fee) is doubt


def test_every_doubt_is_named_once() -> None:
    bad = {**PLAIN, "telco_id": "1" * 9, "printed_at": AT - HOUR_US, "texts": ("x" * 1161, "y" * 161)}
    assert doubts_about(WEEK, **bad) == [Doubt.ID_TOO_LOW, Doubt.PRINTED_TIME, Doubt.REFERENCE_TOO_LONG]


@pytest.mark.parametrize(
    ("apart", "doubt"),
    [
        (0, None),
        (PRINTED_APART_US_MAX, None),
        (PRINTED_APART_US_MAX + 1, Doubt.PRINTED_TIME),
        (-PRINTED_APART_US_MAX - 1, Doubt.PRINTED_TIME),
    ],
)
def test_the_printed_time_is_that_of_the_network(apart: int, doubt: Doubt | None) -> None:
    assert printed_time_doubt(AT + apart, AT) is doubt


def test_a_time_that_is_not_known_raises_no_doubt() -> None:
    assert printed_time_doubt(None, AT) is None
    assert printed_time_doubt(AT, None) is None
    assert id_doubt("momo_mtn", "1" * 9, None, WEEK) is None
    assert id_doubt("momo_mtn", None, AT, WEEK) is None


@pytest.mark.parametrize(
    ("telco_id", "doubt"),
    [
        (NOW_ID, None),
        (NOW_ID - 67_000_000 * 3, None),
        (NOW_ID - 67_000_000 * 30, Doubt.ID_TOO_LOW),
        (85_614_800_061, Doubt.ID_TOO_LOW),
        (NOW_ID + 67_000_000 * 2, None),
        (NOW_ID + 67_000_000 * 60, Doubt.ID_TOO_HIGH),
        (930_000_000_000, Doubt.ID_TOO_HIGH),
    ],
)
def test_an_id_far_from_those_of_its_time_is_doubted(telco_id: int, doubt: Doubt | None) -> None:
    assert id_doubt("momo_mtn", f"{telco_id}", AT, WEEK) is doubt


def test_the_clock_goes_on_to_twelve_digits() -> None:
    week = [seen(days, 100_000_100_000 - 67_000_000 * days) for days in range(1, 8)]
    assert id_doubt("momo_mtn", "100000100000", AT, week) is None
    assert id_doubt("momo_mtn", "099999999999", AT, week) is None


def test_an_old_message_is_compared_with_the_later_ones() -> None:
    old = AT - 90 * DAY_US
    assert id_doubt("momo_mtn", f"{NOW_ID - 67_000_000 * 90}", old, WEEK) is None
    assert id_doubt("momo_mtn", f"{NOW_ID + 67_000_000 * 9}", old, WEEK) is Doubt.ID_TOO_HIGH
    assert id_doubt("momo_mtn", f"{NOW_ID - 67_000_000 * 400}", old, WEEK) is Doubt.ID_TOO_LOW


def test_one_false_id_in_the_line_does_not_stop_the_clock() -> None:
    line = [*WEEK, seen(0, 99_999_999_999)]
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, line) is None


def test_few_or_held_messages_are_no_clock() -> None:
    assert id_doubt("momo_mtn", "111111111", AT, WEEK[:2]) is None
    held = [replace(entry, standing=Standing.CANDIDATE) for entry in WEEK]
    assert id_doubt("momo_mtn", "111111111", AT, held) is None
    odd = [replace(entry, telco_id="TJK2P9QA53") for entry in WEEK]
    assert id_doubt("momo_mtn", "111111111", AT, odd) is None


def test_a_network_whose_pace_is_not_known_has_no_clock() -> None:
    assert id_doubt("momo_other", "111111111", AT, WEEK) is None
    assert id_doubt("momo_mtn", "TJK2P9QA53", AT, WEEK) is None


@pytest.mark.parametrize(
    ("minute", "second", "doubt"),
    [(8, 0, None), (8, 59, None), (10, 59, None), (11, 1, Doubt.ID_OF_ANOTHER_TIME), (5, 59, Doubt.ID_OF_ANOTHER_TIME)],
)
def test_a_time_inside_an_id_is_that_of_the_message(minute: int, second: int, doubt: Doubt | None) -> None:
    sent = to_us(datetime(2026, 11, 21, 8, minute, second, tzinfo=UTC))
    assert id_doubt("momo_at", "PP261121.0808.A12345", sent, []) is doubt


@each(
    "text",
    [
        None,
        "",
        ".",
        "k7m 2qx thanks",
        "balance for the shoes",
        "payment for order 12",
        "TransactionId - 11aa22bb-3c4d-4e5f-8a9b-0c1d2e3f4a5b",
        # The parser refuses a text that could move money; words alone are no reason to hold a receipt.
        "K7M2QX. Transaction ID: 86100777731. TRANSACTION FEE: 0.00",
        "Payment received",
        "Current Balance: GHS 9.00",
        "NEW BALANCE SHOES",
        "FTR - MM DescAcctTrsfSenderNAME - 09FG06151350342536301",
        "x" * REFERENCE_CHARACTERS_MAX,
    ],
)
def test_what_people_and_gateways_type_is_not_doubted(text: str | None) -> None:
    assert text_doubt(text) is None


def test_a_reference_longer_than_anybody_types_is_doubted() -> None:
    assert text_doubt("x" * (REFERENCE_CHARACTERS_MAX + 1)) is Doubt.REFERENCE_TOO_LONG


def payments() -> dict[str, Payment]:
    """Every payment of Ghana's networks in the corpus that can be read."""
    found = {}
    for line in CORPUS.read_text().splitlines():
        row = json.loads(line)
        reading = read(row["sender"], row["text"])
        if row["id"].startswith(("gh-mtn", "gh-telecel", "gh-adv")) and isinstance(reading, Payment):
            found[row["id"]] = reading
    return found


def test_of_the_corpus_no_typed_text_is_doubted() -> None:
    assert not [name for name, read_as in payments().items() if text_doubt(read_as.reference)]


@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text: str) -> None:
    assert text_doubt(text) in {None, Doubt.REFERENCE_TOO_LONG}
    assert id_doubt("momo_mtn", text, AT, WEEK) in {None, *Doubt}


def test_a_minute_is_what_an_id_cannot_say() -> None:
    assert id_doubt("momo_at", "PP260231.0808.A12345", AT + MINUTE_US, []) is None


def test_a_person_is_told_each_doubt_in_words() -> None:
    for doubt in [*Doubt, "wording_unverified"]:
        why = str(explain(ReviewReason.DOUBTFUL_MESSAGE, [doubt]).why)
        assert why.startswith("The message comes from the network's own sender, but ")
        assert str(doubt) not in why
    stranger = explain(ReviewReason.UNKNOWN_SENDER, ["sender_is_a_number"])
    assert stranger == explain(ReviewReason.UNKNOWN_SENDER)
    assert "not come from the network's own sender" in str(stranger.why)


def test_a_forgery_and_a_reversal_are_explained_as_what_they_are() -> None:
    assert "do not contain its money" in str(explain("forged").why)
    assert "adds no money" in str(explain("reversal").todo)


LOW, HIGH = Doubt.ID_TOO_LOW, Doubt.ID_TOO_HIGH


@pytest.mark.parametrize("provider", IDS_PER_DAY)
@pytest.mark.parametrize("days", [0, 1, -1])
def test_what_is_believed_of_an_id_ends_at_the_very_id(provider: str, days: int) -> None:
    per_day = IDS_PER_DAY[provider]
    slack, haste = ID_SLACK_DAYS * per_day, ID_SPEED_FACTOR_MAX * per_day
    line = [seen(0, NOW_ID)] * 3
    lowest, highest = NOW_ID - slack + min(days, 0) * haste, NOW_ID + slack + max(days, 0) * haste
    at = AT + days * DAY_US
    judged = [id_doubt(provider, f"{number}", at, line) for number in (lowest - 1, lowest, highest, highest + 1)]
    assert judged == [LOW, None, None, HIGH]


def test_the_figures_are_the_measured_ones() -> None:
    assert dict(IDS_PER_DAY) == {"momo_mtn": 67_000_000, "momo_telecel": 10_000_000}
    assert (ID_SLACK_DAYS, ID_SPEED_FACTOR_MAX, ID_SEEN_MAX) == (3, 3, 9)


def test_three_messages_are_a_clock_and_half_of_them_no_majority() -> None:
    assert id_doubt("momo_mtn", "111111111", AT, WEEK[:3]) is LOW
    false = seen(0, 99_999_999_999)
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, [*WEEK[:2], false, false]) is None
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, [*WEEK[:1], false, false]) is LOW


def test_the_nine_nearest_in_time_vote() -> None:
    false, true = [seen(0, 99_999_999_999)] * 5, [seen(1, NOW_ID)] * 5
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, [*true, *false]) is LOW


@pytest.mark.parametrize(
    ("minute", "second", "microsecond", "doubted"),
    [(6, 0, 0, False), (5, 59, 999_999, True), (11, 0, 0, False), (11, 0, 1, True)],
)
def test_two_minutes_around_the_minute_of_an_id_are_believed(
    minute: int, second: int, microsecond: int, *, doubted: bool
) -> None:
    sent = to_us(datetime(2026, 11, 21, 8, minute, second, microsecond, tzinfo=UTC))
    found = id_doubt("momo_at", "PP261121.0808.A12345", sent, [])
    assert found is (Doubt.ID_OF_ANOTHER_TIME if doubted else None)


HOME = "+233240000099"


@each(
    ("smsc", "home"),
    [
        (HOME, True),
        ("233240000099", True),
        ("+233240000001", True),
        ("+233240000199", False),
        ("+447000000001", False),
        ("+2332400000991", False),
        ("", False),
        (None, False),
        ("99", False),
    ],
)
def test_a_number_that_differs_from_a_home_one_in_the_last_two_digits_only_is_home(
    smsc: str | None, *, home: bool
) -> None:
    assert is_home(smsc, [HOME]) is home


def test_while_no_smsc_is_home_every_message_is_foreign() -> None:
    assert not is_home(HOME, [])
    assert not is_home(None, [])
