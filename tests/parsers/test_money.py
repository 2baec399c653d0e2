"""Money: accepted and refused amounts, and round trips of reading and rendering."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.money import EXPONENTS, Money, read_api_amount, read_balance, read_money, render
from tests.fakes.each import each


@each(
    ("text", "minor"),
    [
        ("GHS 50", 5000),
        ("GHS 50.00", 5000),
        ("GHS50", 5000),
        ("20GHS", 2000),
        ("1000.00 GHS", 100000),
        ("GH₵12.5", 1250),
        ("GH¢ 12.50", 1250),
        ("GHC 1,200.00", 120000),
        ("GHc30.00000", 3000),
        ("GHS 1,234.50", 123450),
        ("GHS 1,234,567.89", 123456789),
        ("GHS GHS 5.00", 500),
        ("GHS 200.00000000", 20000),
        ("  GHS 0 ", 0),
        ("GHS 0.01", 1),
    ],
)
def test_amounts_of_receipts_are_read(text: str, minor: int) -> None:
    assert read_money(text) == Money(minor, "GHS")


@each(
    "text",
    [
        "",
        "GHS",
        "GHS -",
        "GHS -5.00",
        "GHS +5.00",
        "GHS 5.001",
        "GHS 5.0000000001",
        "GHS 1,23.50",
        "GHS 12,34,567",
        "GHS 1,2345",
        "GHS ,123",
        "GHS 1 234",
        "GHS 1e3",
        "GHS 5.",
        "GHS .5",
        "GHS ৫০",
        "GHS \uff15\uff10",
        "50",
        "XOF GHS 50",
        "GHS 50 XOF",
        "XYZ 50",
        "GHS 50 cedis",
        "GHS 12345678901234",
    ],
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    assert read_money(text) is None


def test_an_amount_without_currency_takes_the_one_given() -> None:
    assert read_money("12.50", currency="GHS") == Money(1250, "GHS")
    assert read_money("GHS 12.50", currency="GHS") == Money(1250, "GHS")
    assert read_money("XOF 12", currency="GHS") is None
    assert read_money("12", currency="XYZ") is None


def test_a_currency_without_minor_units_keeps_whole_units_inside_and_two_places_outside() -> None:
    assert read_money("XOF 2,500") == Money(2500, "XOF")
    assert read_money("2500.00 XOF") == Money(2500, "XOF")
    assert read_money("XOF 2500.50") is None
    assert render(2500, "XOF") == "2500.00"
    assert str(Money(2500, "XOF")) == "XOF 2500.00"


@pytest.mark.parametrize(
    ("text", "minor"), [("0.01", 1), ("25", 2500), ("25.5", 2550), ("25.50", 2550), ("1000000.00", 100_000_000)]
)
def test_api_amounts_are_read(text: str, minor: int) -> None:
    assert read_api_amount(text) == minor


@each(
    "text",
    [
        *("", "0", "0.00", "0.001", "25.000", "1000000.01", "1000001", "-1", "+1", "1e2", " 1", "1 "),
        *("1\n", "1,000", "1.", ".5", "\uff11", "٣", "GHS 5", "0x10", "1_000", "NaN", "9" * 400),
    ],
)
def test_api_amounts_have_one_strict_form(text: str) -> None:
    assert read_api_amount(text) is None


def test_api_amounts_of_a_currency_without_minor_units_are_whole() -> None:
    assert read_api_amount("2500.00", "XOF") == 2500
    assert read_api_amount("2500.50", "XOF") is None
    assert read_api_amount("1000001", "XOF") is None


def test_a_difference_is_rendered_with_its_sign() -> None:
    assert [render(minor) for minor in (2500, 5, 0, -5, -12345)] == [*("25.00", "0.05", "0.00", "-0.05", "-123.45")]


@given(st.integers(0, 10**12), st.sampled_from(sorted(EXPONENTS)))
@settings(max_examples=100, deadline=None)
def test_what_is_rendered_reads_back_as_the_same(minor: int, currency: str) -> None:
    assert read_money(f"{currency} {render(minor, currency)}") == Money(minor, currency)


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_text_whatever_makes_money_raise(text: str) -> None:
    read_money(text)
    read_money(text, currency="GHS")
    read_api_amount(text)


def test_money_has_no_order_and_no_negative_count() -> None:
    with pytest.raises(TypeError):
        _ = Money(1, "GHS") < Money(2, "GHS")  # type: ignore[operator]  # the test is that it has no order
    with pytest.raises(AssertionError):
        Money(-1, "GHS")
    with pytest.raises(AssertionError):
        Money(1, "XYZ")


@each("text", ["GHS 5.00", "Your airtime balance is GHS 2.30", "Balance: 5", "Balance GHS 5.00 and balance GHS 6.00"])
def test_what_is_not_one_balance_of_the_wallet_is_not_offered(text: str) -> None:
    assert read_balance(text, "GHS") is None


@each("text", ["Current Balance: GHS 214.56", "Your new balance is GHS214.56. Available balance: GHS214.56", "balance:GH₵ 214.56",
               "Current Balance: GHS 214.56. Available Balance: GHS 210.00", "Dial *138# for bundle. Your MoMo balance is GHS 214.56."])  # fmt: skip
def test_a_balance_of_the_wallet_is_read(text: str) -> None:
    assert str(read_balance(text, "GHS")) == "GHS 214.56"
