"""What people paste is read as what they meant, and nothing that is an ID already changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.pasted import plain_id
from parsers.phone import read_phone
from parsers.reading import normalize_telco_id, valid_for_any
from parsers.statement import _id
from parsers.svc_code import candidates

ID = "0000015577167190"


@pytest.mark.parametrize(
    "pasted",
    [
        f"{ID}.",
        f" {ID} ",
        "00000 15577 167190",
        f"\u200e{ID}",
        f"\u202a{ID}\u202c",
        f"\u2068{ID}\u2069",
        "0000\u00a0015577167190",
        "0000\u202f01557\u20077167190",
        f"Transaction ID: {ID}",
        f"Financial Transaction Id: {ID}.",
        f"Trans. ID: {ID}",
        f"ID#{ID}",
        f'="{ID}"',
        f"'{ID}",
        f"#{ID}",
        "\uff10\uff10\uff10\uff10\uff10\uff11\uff15\uff15\uff17\uff17\uff11\uff16\uff17\uff11\uff19\uff10",
        f"\ufeff{ID}",
    ],
)
def test_an_id_is_read_however_it_was_pasted(pasted: str) -> None:
    assert normalize_telco_id(pasted) == ID
    assert valid_for_any(pasted)
    assert _id(pasted) == ID


@pytest.mark.parametrize("form", ["9.3E+10", "sms:0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "", "..."])
def test_what_is_no_id_stays_as_it_is(form: str) -> None:
    assert normalize_telco_id(form) == form.upper()


@given(st.from_regex(r"[A-Z0-9]([A-Z0-9.]{0,30}[A-Z0-9])?", fullmatch=True))
def test_an_id_never_changes(text: str) -> None:
    assert plain_id(text) == text


@given(st.text(max_size=60))
def test_any_text_is_read_once(text: str) -> None:
    once = normalize_telco_id(text)
    assert normalize_telco_id(once) == once


@pytest.mark.parametrize(
    "pasted",
    [
        "\u202a+233244124567\u202c",
        "+233\u00a024\u00a0412\u00a04567",
        "\u2068+233 24 412 4567\u2069",
        "024\u2011412\u20114567",
        "\uff10\uff12\uff14 412 4567",
    ],
)
def test_a_phone_number_is_read_however_it_was_pasted(pasted: str) -> None:
    assert read_phone(pasted) == "+233244124567"


@pytest.mark.parametrize("hyphen", "-\u2010\u2013\u2014\u2212")
def test_a_code_may_be_typed_with_any_hyphen(hyphen: str) -> None:
    assert "JXH2VT" in candidates(f"JXH{hyphen}2VT")
