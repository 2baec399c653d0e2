"""Explanations of unreadable texts: the nearest wording, and the place of the first difference."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.explain import _pieces, _shown, nearest, nearest_of
from parsers.read import compile_pattern, wordings

ON_NET = (
    "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: GHS "
    "628.92. Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
)


def test_every_pattern_is_cut_into_patterns_and_loses_nothing() -> None:
    for wording in wordings():
        pieces = _pieces(wording.pattern)
        assert "".join(pieces) == wording.pattern
        sample = wording.samples[0]
        assert compile_pattern("".join(pieces[: len(pieces) // 2])).match(sample), wording.name


@pytest.mark.parametrize(
    ("text", "at", "expected", "found"),
    [
        (ON_NET[:-5], "TRANSACTION FEE:", "{fee}{tax}{advert}", ""),
        (ON_NET.replace("Available Balance", "Usable Funds"), "628.92 . ", "", "Usable Funds:"),
        (ON_NET.replace("Transaction ID", "Token"), "Reference:", "{reference}", " Q4T9WD. Token"),
    ],
)
def test_the_place_is_named(text: str, at: str, expected: str, found: str) -> None:
    close = nearest(text)
    assert close is not None
    assert (close.network, close.wording) == ("mtn", "receipt")
    assert close.at == text.index(at) + len(at)
    assert close.expected.startswith(expected)
    assert close.found.startswith(found)
    assert "nearest to mtn receipt: at character" in str(close)


def test_what_is_expected_is_words_and_fields_and_no_regular_expression() -> None:
    for wording in wordings():
        for piece in _pieces(wording.pattern):
            words = re.sub(r"\{[a-z_]+\}", "", _shown(piece))
            assert not re.search(r"[\\\[\]{}?*+^$|]", words), (wording.name, piece)
    close = nearest("Your one-time password is 483920. Do not share it with anyone.")
    assert close is not None
    assert close.expected == "Use OTP {digits}"


def test_a_fixed_piece_that_stands_twice_is_named() -> None:
    wording = replace(next(w for w in wordings() if w.name == "ecw_receipt"), once=True)
    text = wording.samples[0].replace("sender: .", "sender: Your new balance: 5.")
    close = nearest_of(text, [wording])
    assert close is not None
    assert close.repeated == "Your new balance:"
    assert "more than once" in str(close)


def test_nothing_is_near_to_a_text_that_shares_no_words() -> None:
    assert nearest("see you at five") is None


@given(st.text(max_size=400))
@settings(max_examples=50, deadline=None)
def test_no_text_whatever_makes_explaining_raise(text: str) -> None:
    nearest(text)
    nearest(ON_NET[: len(text)] + text)
