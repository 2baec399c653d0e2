"""PDUs to the network: a submit, its parts, and values that a PDU cannot hold."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_encode import encode_deliver, encode_submit
from daemon.modem.codec.pdu_fields import Concat, Deliver, Direction, Garbled, SenderType, Submit, write_concat
from tests.fakes.each import each
from tests.modem.codec.drawn_pdus import names, numbers, texts, times
from tests.modem.codec.test_pdu import HELLO, SENT_AT


def test_what_goes_to_the_network_is_a_submit_only() -> None:
    (submit,) = encode_submit("+233000000001", "hi")
    value = decode(submit.hex, direction=Direction.TO_NETWORK)
    assert isinstance(value, Submit)
    assert value.text == "hi"
    why = "a delivery report or command, not a message to send"
    assert decode(HELLO, direction=Direction.TO_NETWORK) == Garbled(why, HELLO)


def test_a_submit_with_everything_reads_back() -> None:
    (submit,) = encode_submit(
        "+233200000001", "Code A7K2M9", status_report=True, smsc="+233000000500", validity=0xA7, message_class=0
    )
    value = decode(submit.hex, tpdu_length=submit.tpdu_length)
    assert isinstance(value, Submit)
    assert value.recipient == "+233200000001"
    assert value.recipient_type is SenderType.INTERNATIONAL
    assert (value.status_report, value.validity) == (True, b"\xa7")
    assert (value.smsc, value.message_class) == ("+233000000500", 0)
    assert value.text == "Code A7K2M9"


def test_parts_of_a_submit_carry_their_reference() -> None:
    submits = encode_submit("0200000001", "x" * 161, 77, width=16)
    values = [decode(submit.hex, tpdu_length=submit.tpdu_length) for submit in submits]
    messages = [value for value in values if isinstance(value, Submit)]
    assert [m.concat for m in messages] == [Concat(77, 16, 2, 1), Concat(77, 16, 2, 2)]
    assert [len(m.text) for m in messages] == [152, 9]
    assert {m.recipient_type for m in messages} == {SenderType.UNKNOWN}


@each(
    ("text", "width", "sizes"),
    [
        ("a" * 160, 8, [160]),
        ("a" * 161, 8, [153, 8]),
        ("a" * 161, 16, [152, 9]),
        ("a" * 152 + "€" * 10, 8, [152, 10]),  # the pair that would be cut goes over whole
        ("₵" * 70, 8, [70]),
        ("₵" * 71, 8, [67, 4]),
        ("₵" * 71, 16, [66, 5]),
        ("₵" * 66 + "👍" * 3, 8, [66, 3]),
        ("", 8, [0]),
    ],
)
def test_long_texts_are_cut_where_the_standard_allows(text: str, width: int, sizes: list[int]) -> None:
    pdus = encode_deliver("+233000000001", text, SENT_AT, reference=5, width=width)
    values = [decode(pdu) for pdu in pdus]
    texts = [value.text for value in values if isinstance(value, Deliver)]
    assert [len(part) for part in texts] == sizes
    assert "".join(texts) == text


@each(
    ("arguments", "why"),
    [
        ({"sender": "A name too long"}, "not 1 to 11 GSM 7-bit characters"),
        ({"sender": "GH₵"}, "not 1 to 11 GSM 7-bit characters"),
        ({"sender": "1" * 21}, "not 1 to 20 digits|not 1 to 11"),
        ({"sender": "x", "sender_type": SenderType.NATIONAL}, "not a number of 1 to 20 digits"),
        ({"smsc": "network"}, "not a number of 1 to 20 digits"),
        ({"smsc": ""}, "not a number of 1 to 20 digits"),
        ({"sent_at": datetime(2026, 1, 1)}, "needs a zone"),  # noqa: DTZ001 -- that is the fault
        ({"sent_at": datetime(1989, 1, 1, tzinfo=UTC)}, "cannot hold the year 1989"),
        ({"sent_at": datetime(2090, 1, 1, tzinfo=UTC)}, "cannot hold the year 2090"),
        ({"reference": 256}, "reference 256 does not fit 8 bits"),
        ({"reference": -1}, "does not fit"),
        ({"width": 12}, "does not fit 12 bits"),
        ({"message_class": 4}, "message class 4"),
        ({"text": "x" * 153 * 256}, "at most 255"),
        ({"text": "₵" * 67 * 256}, "at most 255"),
    ],
)
def test_what_a_pdu_cannot_hold_is_refused(arguments: dict[str, Any], why: str) -> None:
    valid: dict[str, Any] = {"sender": "MobileMoney", "text": "hi", "sent_at": SENT_AT}
    with pytest.raises(ValueError, match=why):
        encode_deliver(**valid | arguments)


@pytest.mark.parametrize("number", ["", "+", "name", "+" + "1" * 21, "12 34"])
def test_only_a_number_can_be_sent_to(number: str) -> None:
    with pytest.raises(ValueError, match="is not a number of 1 to 20 digits"):
        encode_submit(number, "hi")


@pytest.mark.parametrize("validity", [-1, 256])
def test_a_validity_is_one_octet(validity: int) -> None:
    with pytest.raises(ValueError, match=f"validity {validity} is not one octet"):
        encode_submit("1234", "hi", validity=validity)


@pytest.mark.parametrize(("total", "position"), [(0, 0), (2, 0), (2, 3), (256, 1)])
def test_a_part_has_a_place_in_its_message(total: int, position: int) -> None:
    with pytest.raises(ValueError, match=f"no part {position} of {total}"):
        write_concat(1, 8, total, position)


@settings(max_examples=200)
@given(st.one_of(numbers, names), texts, times, st.sampled_from([8, 16]), st.data())
@example("+233", "x" * 152 + "€" * 80, SENT_AT, 8, None)
def test_any_message_reads_back(
    sender: str, text: str, sent_at: datetime, width: int, data: st.DataObject | None
) -> None:
    reference = data.draw(st.integers(0, (1 << width) - 1)) if data else 0
    pdus = encode_deliver(sender, text, sent_at, smsc="+1", reference=reference, width=width)
    values = [decode(pdu, tpdu_length=len(pdu) // 2 - 3) for pdu in pdus]
    messages = [value for value in values if isinstance(value, Deliver)]
    assert len(messages) == len(pdus)
    assert "".join(message.text for message in messages) == text
    assert {(m.sender, m.sent_at, m.smsc) for m in messages} == {(sender, sent_at, "+1")}
    assert {m.sent_at and m.sent_at.utcoffset() for m in messages} == {sent_at.utcoffset()}
    if len(messages) == 1:
        assert messages[0].concat is None
    else:
        total = len(messages)
        expected = [Concat(reference, width, total, at) for at in range(1, total + 1)]
        assert [message.concat for message in messages] == expected
