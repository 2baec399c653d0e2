"""Round trips of the codec, and garbage: encoded messages decode to the same values, and decoding never raises."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_encode import encode_deliver, encode_submit
from daemon.modem.codec.pdu_fields import Deliver, Direction, Garbled, StatusReport, Submit
from tests.fakes.tiers import share
from tests.modem.codec.drawn_pdus import names, numbers, texts, times
from tests.modem.codec.test_pdu import READABLE, SENT_AT


@pytest.mark.slow
@settings(max_examples=share(5_000), deadline=None)
@given(st.one_of(numbers, names), texts, times, st.sampled_from([8, 16]))
def test_any_message_reads_back_at_length(
    sender: str, text: str, sent_at: datetime, width: int
) -> None:
    pdus = encode_deliver(sender, text, sent_at, reference=200, width=width)
    values = [decode(pdu) for pdu in pdus]
    assert "".join(value.text for value in values if isinstance(value, Deliver)) == text


@given(names, texts, times, st.booleans())
def test_the_kept_form_of_a_part_is_decoded_to_the_same_values(
    sender: str, text: str, sent_at: datetime, with_smsc: bool
) -> None:
    for pdu in encode_deliver(sender, text, sent_at, reference=7, width=8):
        line, length = (pdu, None) if with_smsc else (pdu[2:], len(pdu) // 2 - 1)
        value = decode(line, tpdu_length=length)
        assert isinstance(value, Deliver)
        assert decode(value.pdu) == value


@given(numbers, texts, st.sampled_from([8, 16]), st.booleans())
def test_any_submit_reads_back(number: str, text: str, width: int, report: bool) -> None:
    submits = encode_submit(number, text, 9, width=width, status_report=report)
    values = [
        decode(submit.hex, tpdu_length=submit.tpdu_length, direction=Direction.TO_NETWORK)
        for submit in submits
    ]
    messages = [value for value in values if isinstance(value, Submit)]
    assert "".join(message.text for message in messages) == text
    assert {(m.recipient, m.status_report) for m in messages} == {(number, report)}


def test_a_zone_of_odd_minutes_is_sent_as_utc() -> None:
    at = SENT_AT.astimezone(timezone(timedelta(hours=1, minutes=7)))
    value = decode(encode_deliver("1", "x", at)[0])
    assert isinstance(value, Deliver)
    assert value.sent_at == SENT_AT
    assert value.sent_at.utcoffset() == timedelta(0)


def check_never_raises(line: str, length: int | None, direction: Direction) -> None:
    value = decode(line, tpdu_length=length, direction=direction)
    if isinstance(value, Garbled):
        assert value.why
        assert value.raw == line
        return
    assert decode(value.pdu, direction=direction) == value
    if not isinstance(value, StatusReport):
        value.text.encode()  # no lone surrogate may reach the database


octet_lines = st.binary(max_size=200).map(bytes.hex)
lengths = st.one_of(st.none(), st.integers(-5, 300))
directions = st.sampled_from(Direction)


@st.composite
def damaged_lines(draw: st.DrawFn) -> str:
    """Take a vector and overwrite, drop or repeat some of it."""
    pdu = bytearray(draw(st.sampled_from([v["pdu"] for v in READABLE])).encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(pdu) - 1)))
        count = draw(st.integers(0, 6))
        pdu[at : at + count] = draw(st.text("0123456789ABCDEF", max_size=6)).encode()
    return pdu.decode()


lines = st.one_of(st.text(), octet_lines, damaged_lines(), octet_lines.map("00".__add__))


@settings(max_examples=200)
@given(lines, lengths, directions)
def test_decoding_garbage_never_raises(line: str, length: int | None, direction: Direction) -> None:
    check_never_raises(line, length, direction)


@pytest.mark.slow
@pytest.mark.timeout(600)  # half a minute of work, on a machine that may be busy or slow
@settings(max_examples=share(20_000), deadline=None)
@given(lines, lengths, directions)
def test_decoding_much_garbage_never_raises(
    line: str, length: int | None, direction: Direction
) -> None:
    check_never_raises(line, length, direction)
