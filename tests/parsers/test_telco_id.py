"""Network transaction IDs: each network's form, and the refusal of similar ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.reading import has_real_date, is_valid_telco_id, normalize_telco_id, valid_for_any
from tests.fakes.each import each


@pytest.mark.parametrize(
    ("provider", "text"),
    [
        ("momo_mtn", "123456789"),
        ("momo_mtn", "85614800061"),
        ("momo_mtn", "123456789012345"),
        ("momo_telecel", "0000014673911819"),
        ("momo_telecel", "0014673911"),
        ("momo_at", "PP260912.1432.A12345"),
        ("momo_at", " pp260912.1432.a12345 "),
    ],
)
def test_ids_of_each_network_are_valid(provider: str, text: str) -> None:
    assert is_valid_telco_id(text, provider)
    assert valid_for_any(text)


@each(
    ("provider", "text"),
    [
        ("momo_mtn", "12345678"),
        ("momo_mtn", "1234567890123456"),
        ("momo_mtn", "8561480006A"),
        ("momo_mtn", "٨٥٦١٤٨٠٠٠٦١"),
        ("momo_mtn", ""),
        ("momo_telecel", "123456789"),
        ("momo_telecel", "0" * 19),
        ("momo_telecel", "PP260912.1432.A12345"),
        ("momo_at", "PP260230.1432.A12345"),
        ("momo_at", "PP261312.1432.A12345"),
        ("momo_at", "PP260912.2432.A12345"),
        ("momo_at", "PP260912.1460.A12345"),
        ("momo_at", "PP260912.1432.A12345."),
        ("momo_at", "85614800061"),
        ("momo_nobody", "85614800061"),
    ],
)
def test_other_forms_are_not_valid(provider: str, text: str) -> None:
    assert not is_valid_telco_id(text, provider)


def test_ids_compare_trimmed_and_upper_cased_with_their_zeros() -> None:
    assert normalize_telco_id(" pp260912.1432.a00042\n") == "PP260912.1432.A00042"
    assert normalize_telco_id("0000014673911819") == "0000014673911819"


def test_no_form_at_all_is_valid_for_none() -> None:
    assert not valid_for_any("hello")
    assert not valid_for_any("12345678")


@given(st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalize_telco_id(text)
    assert normalize_telco_id(once) == once


@each(
    ("telco_id", "real"),
    [
        ("PP260912.1432.A12345", True),
        ("PP261312.1432.A12345", False),
        ("PP260900.1432.A12345", False),
        ("PP260230.1432.A12345", False),
        ("PP260912.2432.A12345", False),
        ("PP260912.1460.A12345", False),
        ("85614800061", True),
        ("", True),
    ],
)
def test_an_impossible_date_inside_an_id_is_found(telco_id: str, *, real: bool) -> None:
    assert has_real_date(telco_id) is real
