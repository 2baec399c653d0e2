"""XML of phones and sticks is readable for a parser, whatever stands in it."""

from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.xml_text import clean_xml, decode_xml

NUMBERS = st.integers(0, 0x110010).map(lambda code: f"&#{code};") | st.integers(0, 0x110010).map(
    lambda code: f"&#x{code:x};"
)
TYPED = st.lists(NUMBERS | st.text(st.characters(exclude_characters='<>"'), max_size=20)).map("".join)


def read_attribute(text: str) -> str:
    found = list[str]()
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda _name, attributes: found.append(attributes["body"])
    parser.Parse(f'<sms body="{text}"/>', True)
    return found[0]


@given(TYPED)
def test_a_parser_reads_whatever_was_typed(text: str) -> None:
    read_attribute(clean_xml(text))


@given(TYPED)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean_xml(text)
    assert clean_xml(once) == once


@given(st.binary(max_size=2_000))
def test_any_octets_become_text_that_a_parser_reads(octets: bytes) -> None:
    text = clean_xml(decode_xml(octets))
    read_attribute(text.replace("<", "").replace('"', ""))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("nice &#55357;&#56841;", "nice \U0001f609"),
        ("nice &#xD83D;&#xDE09;", "nice \U0001f609"),
        ("half &#xD83D; a", "half \ufffd a"),
        ("&#0;&#15;&#65535;&#9999999999999;", "\ufffd" * 4),
        ("&#34;&#10;&#38;&#60;", '"\n&<'),
        ("AT&T &amp; &nbsp;", "AT&T & &nbsp;"),
    ],
)
def test_numbers_of_characters(written: str, read: str) -> None:
    assert read_attribute(clean_xml(written)) == read


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_usual_encodings_are_read(encoding: str) -> None:
    assert decode_xml("gr\u00fc\u00dfe \U0001f609".encode(encoding)) == "gr\u00fc\u00dfe \U0001f609"


def test_surrogates_in_utf8_become_their_character_or_a_sign() -> None:
    assert decode_xml(b"\xed\xa0\xbd\xed\xb8\x89 \xed\xa0\xbd") == "\U0001f609 \ufffd"


def test_a_million_octets_of_open_numbers_take_no_quadratic_time() -> None:
    for one in ("&#1", "&#xd83d;", "&#", "\x0f", "\udc80"):
        assert len(clean_xml(one * (1_000_000 // len(one)))) > 0
