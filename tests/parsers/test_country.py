"""Amounts as countries print them, and the day inside an ID."""

import re

import pytest

from parsers.country import GHANA, Country, has_real_date

KENYA = Country("KE", "KES", r"Ksh\.?|KES", 180)
TOGO = Country("TG", "XOF", r"FCFA|F", 0, spaced=True)


def number(pattern: str, text: str) -> str | None:
    match = re.fullmatch(pattern, text, re.ASCII)
    return None if match is None else match["amount"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ksh300.00", "300.00"),
        ("Ksh 1,234,567.8", "1,234,567.8"),
        ("KES5", "5"),
        ("Ksh.50", "50"),
        ("Ksh1,23.00", None),
        ("300.00", None),
        ("300.00Ksh", None),
    ],
)
def test_an_amount_with_its_mark_in_front(text: str, found: str | None) -> None:
    assert number(KENYA.before("amount"), text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("10Ksh", "10"), ("1,000.50 KES", "1,000.50"), ("Ksh10", None), ("10", None)],
)
def test_an_amount_with_its_mark_behind(text: str, found: str | None) -> None:
    assert number(KENYA.after("amount"), text) == found


def test_an_amount_with_its_mark_on_one_side_or_on_none() -> None:
    for text in ("Ksh10", "10Ksh"):
        assert number(KENYA.either("amount"), text) == "10"
        assert number(KENYA.loose("amount"), text) == "10"
    assert number(KENYA.either("amount"), "10") is None
    assert number(KENYA.either("amount"), "Ksh10Ksh") is None
    assert number(KENYA.loose("amount"), "10") == "10"


def test_decimals_that_prove_the_end_have_to_be_there() -> None:
    pattern = KENYA.before("amount", decimals=2)
    assert number(pattern, "Ksh10.00") == "10.00"
    assert number(pattern, "Ksh10.0") is None
    assert number(pattern, "Ksh10") is None
    assert number(TOGO.after("amount", decimals=2), "10,50 F") == "10,50"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("3 165", "3165"),
        ("1\u00a0000\u202f000", "1000000"),
        ("12,345", "12345"),
        ("30386.78", "30386.78"),
        ("30386,78", "30386.78"),
        ("5,1", "5.1"),
        ("1000.0000", "1000.0000"),
        ("1.000", None),
        ("1.000.000", None),
    ],
)
def test_spaces_part_thousands_and_a_comma_may_part_decimals(text: str, plain: str | None) -> None:
    assert TOGO.plain(text) == plain


def test_elsewhere_a_comma_parts_thousands_alone() -> None:
    assert KENYA.plain("1,234.50") == "1234.50"
    assert KENYA.plain(".00") == "0.00"
    assert KENYA.plain("1.000") == "1.000"


def test_ghana_has_the_clock_of_utc() -> None:
    assert (GHANA.region, GHANA.currency, GHANA.zone_minutes) == ("GH", "GHS", 0)


@pytest.mark.parametrize(
    ("telco_id", "real"),
    [
        ("PP260912.1432.A12345", True),
        ("PP261312.1432.A12345", False),
        ("PP260900.1432.A12345", False),
        ("PP260932.1432.A12345", False),
        ("PP260912.2432.A12345", False),
        ("PP260912.1460.A12345", False),
        ("85614800061", True),
        ("TJF670Q749", True),
        ("", True),
    ],
)
def test_the_day_inside_an_id_is_looked_at(telco_id: str, *, real: bool) -> None:
    assert has_real_date(telco_id) is real
