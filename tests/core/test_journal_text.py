"""Facts of a journal entry, as the API shows them."""

import pytest

from daemon.core.journal_text import facts


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"expected_minor":2500,"currency":"GHS"}', {"expected_amount": "25.00", "currency": "GHS"}),
        ('{"status":"PARTIAL","difference_minor":-500}', {"status": "PARTIAL", "difference": "-5.00"}),
        ('{"amount_minor":null,"why":"x"}', {"amount": None, "why": "x"}),
        ('{"late":false}', {"late": False}),
        ("{}", {}),
    ],
)
def test_money_leaves_as_a_decimal_string(data: str, expected: dict[str, object]) -> None:
    assert facts(data, None) == expected


def test_the_currency_is_the_lines_own_else_that_of_what_it_is_about() -> None:
    assert facts('{"amount_minor":2500}', "XOF") == {"amount": "2500.00"}
    assert facts('{"amount_minor":2500,"currency":"GHS"}', "XOF")["amount"] == "25.00"
