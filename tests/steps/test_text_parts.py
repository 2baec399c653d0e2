"""Parts made from the text of a source: any sender, text and time gives parts that the codec reads."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_fields import Deliver
from daemon.steps.store_parts import TEXT_MAX, text_parts

ANY_TEXT = st.text(st.characters(), max_size=2_000)
"""With control characters, halves of surrogate pairs, U+FFFE and U+FFFF."""
YEAR_1_US = -62_135_596_800_000_000
YEAR_9999_US = 253_402_300_799_999_999
ANY_TIME = st.none() | st.integers(YEAR_1_US, YEAR_9999_US) | st.integers(-(10**30), 10**30)


@given(ANY_TEXT, ANY_TEXT, ANY_TIME)
def test_any_sender_text_and_time_can_be_stored(sender: str, text: str, sent_at: int | None) -> None:
    parts = text_parts(sender, text, sent_at, storage="local", slot=1)
    assert 1 <= len(parts) <= 255
    for part in parts:
        assert isinstance(codec.decode(part.pdu, tpdu_length=part.tpdu_length), Deliver)


def test_the_longest_text_of_characters_outside_the_basic_plane_is_cut_to_one_message() -> None:
    parts = text_parts("AMA", "\U0001f609" * 5_000_000, None, storage="app", slot=0)
    read = [codec.decode(part.pdu, tpdu_length=part.tpdu_length) for part in parts]
    texts = [one.text for one in read if isinstance(one, Deliver)]
    assert "".join(texts) == "\U0001f609" * (TEXT_MAX // 2)


def test_a_half_of_a_surrogate_pair_becomes_the_sign_for_an_unreadable_character() -> None:
    [part] = text_parts("AMA", "so \ud83d", None, storage="app", slot=0)
    read = codec.decode(part.pdu, tpdu_length=part.tpdu_length)
    assert isinstance(read, Deliver)
    assert read.text == "so \ufffd"
