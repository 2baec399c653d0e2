"""Suggestions: every typing error of one character finds its code, the likeliest transaction comes first, and the work is bounded."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, LATE_WINDOW_US, MINUTE_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments.suggestions import (
    CODES_MAX,
    SUGGESTIONS_MAX,
    TRANSACTION_AFTER_US,
    Suggestion,
    SuggestionReason,
    codes_near,
    reason_texts,
    suggest,
)
from daemon.wire import Mode, TransactionStatus
from parsers.svc_code import ALPHABET, LENGTH, candidates, complete_code, is_valid_code, make_code
from tests.core.payments.test_matching import NOW, payment, request
from tests.fakes.each import each

DICE = random.Random(7)
CODES = [make_code(DICE.randrange) for _ in range(8)]
CODE = "K7M2Q9"
PHONE = "+233241234567"


def near(typed: str) -> SuggestionReason | None:
    return codes_near(typed).get(CODE)


def paid(**changes: object) -> Payment:
    return payment(**{"reference_text": "food", "payer_name": "YAW OWUSU", **changes})


def wanted(**changes: object) -> Transaction:
    return request(**{"svc_code": CODE, **changes})


def suggested(money: Payment, *requests: Transaction) -> list[Suggestion]:
    return suggest(money, requests, codes_near(money.reference_text or ""))


def reasons(money: Payment, asked: Transaction) -> tuple[SuggestionReason, ...]:
    found = suggested(money, asked)
    return found[0].reasons if found else ()


def test_the_code_of_these_tests_could_have_been_given_out() -> None:
    assert is_valid_code(CODE)


# Slips of the finger ------------------------------------------------------------------------------


@each("code", CODES)
def test_every_single_wrong_character_leads_back_to_its_code(code: str) -> None:
    for at in range(LENGTH):
        for wrong in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            typed = code[:at] + wrong + code[at + 1 :]
            assert typed == code or code in codes_near(typed), (typed, code)


@each("code", CODES)
def test_every_swap_of_neighbours_leads_back_to_its_code(code: str) -> None:
    for at in range(LENGTH - 1):
        typed = code[:at] + code[at + 1] + code[at] + code[at + 2 :]
        assert typed == code or code in codes_near(typed), (typed, code)


@each("code", CODES)
def test_every_missing_character_leads_back_to_its_code(code: str) -> None:
    for at in range(LENGTH):
        assert code in codes_near(code[:at] + code[at + 1 :])


@each("code", CODES)
def test_every_character_too_many_leads_back_to_its_code(code: str) -> None:
    for at in range(LENGTH + 1):
        for more in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            assert code in codes_near(code[:at] + more + code[at:])


@each("code", CODES)
def test_a_hole_is_filled_by_one_character_and_no_other(code: str) -> None:
    for at in range(LENGTH):
        before, after = code[:at], code[at + 1 :]
        valid = [before + one + after for one in ALPHABET if is_valid_code(before + one + after)]
        assert [complete_code(before, after)] == valid == [code]


def test_a_hole_beside_a_character_of_no_code_is_not_filled() -> None:
    assert complete_code("K0M2", "X") is None
    assert complete_code("2345", "6") is None or is_valid_code(complete_code("2345", "6") or "")


@each(
    ("typed", "slip"),
    [
        ("K7M2QF", SuggestionReason.CODE_WRONG_CHARACTER),
        ("7KM2Q9", SuggestionReason.CODE_SWAPPED),
        ("K7M2Q", SuggestionReason.CODE_MISSING_CHARACTER),
        ("K7M22Q9", SuggestionReason.CODE_EXTRA_CHARACTER),
        ("KLMZ09", SuggestionReason.CODE_LOOK_ALIKE),
        ("k1mzq9", SuggestionReason.CODE_LOOK_ALIKE),
        ("K7M/2Q9", SuggestionReason.CODE_SPLIT),
        ("K7_M2,Q9", SuggestionReason.CODE_SPLIT),
        ("rent K7M2Q9thanks", SuggestionReason.CODE_INSIDE),
        ("codek7m2q9", SuggestionReason.CODE_INSIDE),
        ("for order k7m 2qf please", SuggestionReason.CODE_WRONG_CHARACTER),
    ],
)
def test_each_slip_is_named(typed: str, slip: SuggestionReason) -> None:
    assert near(typed) is slip


@pytest.mark.parametrize("typed", [CODE, CODE.lower(), "K7M 2Q9", "k7m-2q9", f"rent {CODE}"])
def test_a_code_that_stands_there_as_it_should_is_no_near_miss(typed: str) -> None:
    assert CODE in candidates(typed)
    assert near(typed) is None


@pytest.mark.parametrize("typed", ["", ".", "K7M", "K7MQ", "K7M2Q999X9", "K6M3Q9", "日本語日本語"])
def test_two_slips_are_no_near_miss(typed: str) -> None:
    assert near(typed) in {None, SuggestionReason.CODE_INSIDE}
    assert near("K7M" + "9" * 3) is None


@given(st.text(max_size=400))
def test_whatever_is_typed_leads_to_few_codes_and_valid_ones(typed: str) -> None:
    found = codes_near(typed)
    assert len(found) <= CODES_MAX
    assert all(is_valid_code(code) for code in found)
    assert not set(found) & set(candidates(typed))


@given(st.text(alphabet=ALPHABET + "01IL O-./", min_size=100, max_size=2000))
def test_a_reference_made_to_cost_work_is_cut_short(typed: str) -> None:
    assert len(codes_near(typed)) <= CODES_MAX


def test_one_typed_word_leads_to_a_dozen_codes_of_twenty_six_million() -> None:
    counts = [len(codes_near(word)) for word in ("THANKS", "FOOD12", "MENSAH", "86105", "WATER22")]
    assert max(counts) < 30


# Which request ------------------------------------------------------------------------------------


def test_a_code_nearly_typed_is_suggested_whatever_the_amount() -> None:
    assert reasons(paid(reference_text="K7M2QF", amount_minor=100), wanted()) == (
        SuggestionReason.CODE_WRONG_CHARACTER,
    )


def test_the_right_amount_makes_a_code_nearly_typed_likelier() -> None:
    assert reasons(paid(reference_text="K7M2QF"), wanted()) == (
        SuggestionReason.CODE_WRONG_CHARACTER,
        SuggestionReason.AMOUNT,
    )


def test_the_right_number_and_amount_are_suggested_without_a_code() -> None:
    money = paid(payer_phone=PHONE)
    assert reasons(money, wanted()) == (SuggestionReason.PAYER_AND_AMOUNT,)
    other = wanted(phone_number="+233209999999", expected_payer_phone=PHONE)
    assert reasons(money, other) == (SuggestionReason.PAYER_AND_AMOUNT,)


def test_the_right_number_with_another_amount_is_not() -> None:
    assert reasons(paid(payer_phone=PHONE, amount_minor=2400), wanted()) == ()


def test_the_right_amount_and_a_like_name_are_suggested() -> None:
    money = paid(payer_name="KOFI ANTWI BADU")
    assert reasons(money, wanted(customer_name="Badu Kofi")) == (SuggestionReason.NAME_AND_AMOUNT,)
    assert reasons(money, wanted(expected_payer_name="Kofi Antwi Badu")) == (SuggestionReason.NAME_AND_AMOUNT,)
    assert reasons(money, wanted(customer_name="Kofi Mensah")) == ()
    assert reasons(paid(payer_name=None), wanted(customer_name="Kofi")) == ()


def test_the_right_amount_alone_is_nothing() -> None:
    assert reasons(paid(), wanted()) == ()


def test_everything_together_is_said_the_strongest_first() -> None:
    money = paid(reference_text="K7M2QF", payer_phone=PHONE, payer_name="KOFI BADU")
    asked = wanted(customer_name="Kofi Badu")
    [found] = suggested(money, asked)
    assert found.reasons == (
        SuggestionReason.PAYER_AND_AMOUNT,
        SuggestionReason.CODE_WRONG_CHARACTER,
        SuggestionReason.NAME_AND_AMOUNT,
    )
    assert str(found.why) == (
        "Its customer's number paid exactly its amount, and the reference has its code with one wrong character, "
        "and a payer with a name like its customer's paid exactly its amount."
    )


def test_every_reason_has_its_words() -> None:
    assert all(str(one) for one in reason_texts(SuggestionReason))


@each(
    "changes",
    [
        {"status": TransactionStatus.SUCCESS},
        {"status": TransactionStatus.CANCELLED},
        {"status": TransactionStatus.MANUAL_REVIEW},
        {"origin": "open"},
        {"mode": Mode.TEST},
        {"currency": "XOF"},
        {"expires_at": NOW - MINUTE_US - LATE_WINDOW_US},
        {"expected_telco_transaction_id": "999"},
        {"expected_payer_phone": "+233550000000"},
        {"created_at": NOW + TRANSACTION_AFTER_US},
    ],
)
def test_a_request_that_the_money_cannot_be_for_is_never_suggested(changes: dict[str, object]) -> None:
    money = paid(reference_text="K7M2QF", payer_phone=PHONE)
    assert reasons(money, wanted()) != ()
    assert reasons(money, wanted(**changes)) == ()


def test_a_lately_expired_request_is_suggested() -> None:
    late = wanted(status=TransactionStatus.EXPIRED, expires_at=NOW - DAY_US, created_at=NOW - 2 * DAY_US)
    assert reasons(paid(reference_text="K7M2QF"), late) == (
        SuggestionReason.CODE_WRONG_CHARACTER,
        SuggestionReason.AMOUNT,
    )


def test_a_request_that_names_this_very_payment_is_suggested() -> None:
    money = paid(payer_phone=PHONE)
    asked = wanted(expected_payer_phone=PHONE, expected_telco_transaction_id=money.telco_transaction_id)
    assert reasons(money, asked) == (SuggestionReason.PAYER_AND_AMOUNT,)


def test_a_code_that_did_not_exist_yet_cannot_have_been_mistyped() -> None:
    after = wanted(created_at=NOW + HOUR_US)
    assert reasons(paid(reference_text="K7M2QF"), after) == ()
    assert reasons(paid(payer_phone=PHONE), after) == (SuggestionReason.PAYER_AND_AMOUNT,)


def test_never_more_than_a_few_are_suggested_the_likeliest_and_then_the_newest_first() -> None:
    money = paid(reference_text="K7M2QF", payer_phone=PHONE)
    others = [wanted(id=str(seq), seq=seq, svc_code="X") for seq in range(10, 20)]
    best = wanted(id="best", seq=1)
    found = suggested(money, *others, best, replace(best))
    assert [one.request.id for one in found] == ["best", "19", "18"]
    assert len(found) == SUGGESTIONS_MAX


@given(st.permutations([wanted(id=str(seq), seq=seq, expected_minor=2500 + seq % 2) for seq in range(6)]))
def test_the_order_in_which_requests_are_found_does_not_matter(requests: list[Transaction]) -> None:
    money = paid(reference_text="K7M2QF", payer_phone=PHONE)
    assert [one.request.id for one in suggested(money, *requests)] == ["4", "2", "0"]
