"""Unknown lines of a phone in the log: their name, never the words of a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.loops.lines.modems import _shape


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("^RSSI:12", "^RSSI"),
        ("+CUSD: 1,secret", "+CUSD"),
        ("+PACSP0", "+PACSP0"),
        ("Meet Akosua at the bank, PIN is 4821", "36 characters"),
        ("SEND MONEY", "10 characters"),
        ("+233244123456", "13 characters"),
        ("+CODE 1234", "10 characters"),
        ("", "0 characters"),
    ],
)
def test_line_is_logged_by_its_name_or_length(line: str, shape: str) -> None:
    assert _shape(line) == shape


@given(st.text(st.characters(min_codepoint=32), max_size=60))
def test_text_that_is_no_name_of_a_result_is_never_in_the_log(text: str) -> None:
    assert _shape(f"text: {text}").endswith(" characters")
