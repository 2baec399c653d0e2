"""Phone numbers: every form gives the same E.164 number, and the fast path agrees with the library."""

import sys

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import phone
from parsers.phone import e164_prefix, mask, read_phone
from tests.fakes.each import each


@each(
    "text",
    [
        "0244124567",
        "024 412 4567",
        "024-412-4567",
        "233244124567",
        "+233244124567",
        "+233 24 412 4567",
        "00233244124567",
        "244124567",
        " 0244124567 ",
    ],
)
def test_every_form_of_a_number_gives_one_e164(text: str) -> None:
    assert read_phone(text) == "+233244124567"


@each(
    "text",
    [
        *("", "abc", "12", "0244", "02441245678", "0001112222", "+233", "11xxxxxx11", "****4111"),
        *("D500001", "0244124567 ext 5", "+999244124567", "٠٢٤٤١٢٤٥٦٧", "0244000XXX", "0" * 500),
    ],
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert read_phone(text) is None


def test_numbers_of_other_countries_are_read() -> None:
    assert read_phone("+254712345678") == "+254712345678"
    assert read_phone("254712345678") == "+254712345678"


def test_the_short_way_accepts_only_what_the_library_accepts() -> None:
    for prefix in range(1000):
        national = f"{prefix:03d}412456"
        if phone._GHANA_MOBILE.fullmatch(f"0{national}") is None:
            continue
        number = phonenumbers.parse(f"+233{national}")
        assert phonenumbers.is_valid_number(number), national
        assert read_phone(f"233{national}") == f"+233{national}"


@given(st.text(max_size=50))
@settings(max_examples=200, deadline=None)
def test_no_text_whatever_makes_a_phone_number_raise(text: str) -> None:
    read_phone(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0244", "+233244"),
        ("024 412-4567", "+233244124567"),
        ("+233 24", "+23324"),
        ("233244124567", None),
        ("02", None),
        ("order-024", None),
    ],
)
def test_the_beginning_of_a_number_as_people_write_it(text: str, expected: str | None) -> None:
    assert e164_prefix(text) == expected


def test_a_masked_number_hides_the_middle() -> None:
    assert mask("+233244124567") == "+23324****567"
    assert mask("12345") == "*****"


@pytest.mark.parametrize("text", ["", "Ama", "0800-FLOWERS", "0" * 41])
def test_what_cannot_be_a_number_does_not_load_the_library(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    phone.clear_phone_cache()
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    assert read_phone(text) is None
