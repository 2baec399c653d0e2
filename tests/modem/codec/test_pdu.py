"""The codec reads published and synthetic PDUs.

`tests/corpus/pdu_vectors.jsonl` has the expected fields of each PDU, and `pdu_found.jsonl` the same
for PDUs that people posted, with the phone numbers replaced. The codec represents one of their values
differently: a text of null (8-bit data, half a surrogate pair) is "" or contains U+FFFD in a
`Deliver`, and its `user_data` has the octets.
"""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_encode import encode_deliver, encode_submit
from daemon.modem.codec.pdu_fields import (
    ApplicationPorts,
    Coding,
    Concat,
    Deliver,
    Direction,
    Element,
    Garbled,
    SenderType,
    SendOutcome,
    StatusReport,
    Submit,
)
from tests.fakes.each import each
from tests.fakes.tiers import share
from tests.modem.codec.drawn_pdus import names, numbers, texts, times

CORPUS = Path(__file__).parents[2] / "corpus"
VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("pdu_vectors.jsonl", "pdu_found.jsonl")
    for line in (CORPUS / name).read_text("utf-8").splitlines()
]
READABLE = [vector for vector in VECTORS if not vector.get("expect_error")]
DAMAGED = [vector for vector in VECTORS if vector.get("expect_error")]
HELLO = "07912143658709F1040B918100551512F20000111010214365000AE8329BFD4697D9EC37"
SENT_AT = datetime(2026, 2, 14, 9, 5, 7, tzinfo=UTC)


def described(value: Deliver | Submit | StatusReport | Garbled) -> dict[str, Any]:
    """Return a value with the field names of the corpus."""
    if isinstance(value, Garbled):
        return {"error": value.why}
    other = value.sender if isinstance(value, Deliver) else value.recipient
    kind = value.sender_type if isinstance(value, Deliver) else value.recipient_type
    sent_at = None if isinstance(value, Submit) else value.sent_at
    said: dict[str, Any] = {
        "smsc": value.smsc,
        "sender": other,
        "sender_type": str(kind),
        "timestamp": sent_at and sent_at.isoformat(),
    }
    if isinstance(value, StatusReport):
        discharged_at = value.discharged_at
        return said | {
            "mr": value.reference,
            "status": value.status,
            "discharge": discharged_at and discharged_at.isoformat(),
            "text": None,
            "encoding": None,
            "udh": None,
        }
    if isinstance(value, Submit):
        said["mr"] = value.reference
    if value.elements:
        said["ies"] = [f"{ie.id:02X}:{ie.data.hex().upper()}" for ie in value.elements]
    if value.coding is Coding.OCTETS:
        said["data"] = value.user_data.hex().upper()
    concat = value.concat
    return said | {
        "text": value.text,
        "encoding": str(value.coding),
        "udh": concat
        and {"ref": concat.reference, "parts": concat.total, "part": concat.position, "ref_bits": concat.width},
        "pid": value.pid,
        "dcs": value.dcs,
        "class": value.message_class,
    }


@each("vector", READABLE)
def test_a_vector_reads_as_published(vector: dict[str, Any]) -> None:
    value = decode(vector["pdu"], tpdu_length=vector["tpdu_octets"])
    expected = dict(vector["expect"])
    role = expected.pop("sender_role")
    kinds: dict[str, type] = {"originator": Deliver, "destination": Submit, "recipient": StatusReport}
    assert isinstance(value, kinds[role])
    said = described(value)
    # Clause 6.2.1.1 does not define an escape at the very end: it may show as a space or not at all.
    texts = expected.pop("text_any", [expected["text"]])
    octets = expected.pop("text_utf16be_hex", None)
    expected.pop("note_text", None)
    if octets is not None:
        assert isinstance(value, Deliver)
        assert value.user_data.hex().upper() == octets
        texts = [value.user_data.decode("utf-16-be", "replace")]
        assert "\ufffd" in texts[0]
    elif expected["encoding"] == "8bit":
        texts = [""]
    assert said.pop("text") in texts
    expected.pop("text")
    assert said == expected


@each("vector", DAMAGED)
def test_damaged_vector_says_what_is_wrong(vector: dict[str, Any]) -> None:
    value = decode(vector["pdu"])
    assert isinstance(value, Garbled)
    assert value.raw == vector["pdu"]
    assert value.why


@each("vector", READABLE)
def test_vector_reads_the_same_with_and_without_smsc(vector: dict[str, Any]) -> None:
    length = vector["tpdu_octets"]
    value = decode(vector["pdu"], tpdu_length=length)
    assert not isinstance(value, Garbled)
    bare = vector["pdu"][-2 * length :]
    without = decode(bare, tpdu_length=length)
    assert not isinstance(without, Garbled)
    assert without.pdu == "00" + bare.upper()
    assert described(without) == described(value) | {"smsc": None}
    # A stored PDU is decoded again without a length.
    assert decode(value.pdu) == value
    assert decode(without.pdu) == without


@each("vector", VECTORS)
def test_cut_anywhere_a_pdu_gives_a_value(vector: dict[str, Any]) -> None:
    pdu = vector["pdu"]
    length = vector.get("tpdu_octets")
    whole = decode(pdu, tpdu_length=length)
    for end in range(len(pdu)):
        cut = decode(pdu[:end])
        assert isinstance(cut, Deliver | Submit | StatusReport | Garbled)
        if end % 2:
            assert isinstance(cut, Garbled)
        # With the length that the modem announced, only ignored octets may be missing.
        announced = decode(pdu[:end], tpdu_length=length)
        if length is not None and not isinstance(announced, Garbled):
            assert described(announced) == described(whole)


@each("vector", [vector for vector in READABLE if vector["direction"] == "deliver"])
def test_a_cut_deliver_is_always_garbled(vector: dict[str, Any]) -> None:
    pdu = vector["pdu"]
    for end in range(0, len(pdu), 2):
        assert isinstance(decode(pdu[:end], tpdu_length=vector["tpdu_octets"]), Garbled)
        assert isinstance(decode(pdu[:end]), Garbled)


@each(
    ("line", "length", "why"),
    [
        ("", None, "the PDU is empty"),
        (" \t", None, "the PDU is empty"),
        ("ZZ", None, "not hexadecimal: 'Z' at place 1"),
        ("07 91", None, "not hexadecimal: ' ' at place 3"),
        ("0791é", None, "not hexadecimal: 'é' at place 5"),
        ("079", None, "an odd number of hexadecimal digits (3)"),
        ("FFFF", None, "an erased slot of the SIM, no message"),
        ("00FFFFFFFF", None, "an erased slot of the SIM, no message"),
        ("00", None, "an erased slot of the SIM, no message"),
        ("07", None, "cut short in the SMSC: 7 octets expected, 0 left"),
        ("0C91", None, "the SMSC has 12 octets; 11 is the most there can be"),
        ("0004FF91", None, "the sender has 255 semi-octets; 20 is the most there can be"),
        ("0003", None, "message type 3 is reserved"),
        (HELLO[:-2], None, "cut short in the user data: 9 octets expected, 8 left"),
        (HELLO[:-2], 28, "the modem announced 28 octets behind the SMSC, the line has 27"),
        (HELLO + "00", 28, "the modem announced 28 octets behind the SMSC, the line has 29"),
        (HELLO + "00", 20, "the modem announced 20 octets behind the SMSC, the line has 29"),
    ],
)
def test_what_is_garbled_says_why_it_is(line: str, length: int | None, why: str) -> None:
    value = decode(line, tpdu_length=length)
    assert value == Garbled(why, line)


def test_a_miscounting_modem_is_believed_when_the_pdu_fits_itself() -> None:
    value = decode(HELLO, tpdu_length=27)
    assert isinstance(value, Deliver)
    assert value.text == "hellohello"
    # Some count the SMSC field too.
    assert decode(HELLO, tpdu_length=len(HELLO) // 2) == value


def test_filler_behind_a_pdu_is_ignored_without_a_length() -> None:
    # A SIM record is 176 octets; some modems list all of it.
    value = decode(HELLO + "FF" * 20)
    assert isinstance(value, Deliver)
    assert value.text == "hellohello"


def test_a_whole_deliver_has_every_field() -> None:
    (pdu,) = encode_deliver("MobileMoney", "GHS 5.00", SENT_AT, smsc="+233000000500")
    assert decode(pdu) == Deliver(
        pdu=pdu,
        smsc="+233000000500",
        sender="MobileMoney",
        sender_type=SenderType.ALPHANUMERIC,
        sent_at=SENT_AT,
        text="GHS 5.00",
        user_data=bytes.fromhex(pdu[-14:]),
        septets=b"GHS 5.00",
        coding=Coding.GSM7,
        udh=b"",
        elements=(),
        concat=None,
        ports=None,
        locking=0,
        single=0,
        pid=0,
        dcs=0,
        message_class=None,
    )


def test_encoding_makes_the_published_pdus() -> None:
    published = {vector["id"]: vector for vector in READABLE}
    for name in ("syn-alnum-11-mobilemoney", "syn-cedi-ucs2", "syn-emoji-1", "syn-gsm7-euro-160"):
        vector = published[name]
        expect = vector["expect"]
        pdus = encode_deliver(expect["sender"], expect["text"], SENT_AT, smsc=expect["smsc"])
        assert pdus == (vector["pdu"],)
    for name in ("syn-submit-gh", "syn-submit-ucs2-emoji", "syn-submit-euro"):
        vector = published[name]
        expect = vector["expect"]
        (submit,) = encode_submit(expect["sender"], expect["text"], validity=0xFF)
        assert (submit.hex, submit.tpdu_length) == (vector["pdu"], vector["tpdu_octets"])
    vector = published["syn-submit-no-vp"]
    (submit,) = encode_submit("+233000000001", "no validity")
    assert (submit.hex, submit.tpdu_length) == (vector["pdu"], vector["tpdu_octets"])


def test_a_character_that_no_database_of_a_hub_stores_is_replaced() -> None:
    (pdu,) = encode_deliver("MobileMoney", "hi \0 \u4f60", SENT_AT)
    value = decode(pdu)
    assert isinstance(value, Deliver)
    assert value.text == "hi \ufffd \u4f60"


def test_a_header_whose_last_element_runs_over_counts_as_empty() -> None:
    # Clause 9.2.3.24; the text behind it is still read.
    value = decode("0040048121430004622041905070000704000901AA4142")
    assert isinstance(value, Deliver)
    assert (value.elements, value.concat) == ((), None)
    assert value.udh == bytes.fromhex("04000901AA")
    assert value.user_data == b"AB"


def test_elements_ports_and_concat_are_found_among_others() -> None:
    value = next(v for v in READABLE if v["id"] == "syn-concat-ports-16")
    read = decode(value["pdu"])
    assert isinstance(read, Deliver)
    assert read.ports == ApplicationPorts(destination=2948, source=9200)
    assert read.concat == Concat(reference=0x0A0B, width=16, total=2, position=1)
    assert read.elements == (Element(0x05, bytes.fromhex("0B8423F0")), Element(0x08, bytes.fromhex("0A0B0201")))


def test_elements_of_a_wrong_length_are_skipped() -> None:
    # Concatenation of 2 octets, language of 2 octets; ports of 3 octets.
    header = "0D" + "00020201" + "24020101" + "0503010203"
    value = decode("00400481214300046220419050700010" + header + "0041")
    assert isinstance(value, Deliver)
    assert [element.id for element in value.elements] == [0x00, 0x24, 0x05]
    assert (value.concat, value.ports, value.single) == (None, None, 0)


def test_a_language_of_a_wrong_length_is_the_default() -> None:
    value = decode("00400481214300006220419050700007" + "05240302020261")
    assert isinstance(value, Deliver)
    assert (value.elements, value.single) == ((Element(0x24, b"\x02\x02\x02"),), 0)


def test_eight_bit_ports_are_read() -> None:
    value = decode("004004812143000462204190507000060404020102" + "41")
    assert isinstance(value, Deliver)
    assert value.ports == ApplicationPorts(destination=1, source=2)


@each("dcs", range(256))
def test_every_coding_scheme_is_read_by_the_standard(dcs: int) -> None:
    # 23.038 clause 4, written out once more, by rows instead of by bits.
    if dcs <= 0x7F:
        coding = ("gsm7", "8bit", "ucs2", "gsm7")[dcs % 16 // 4]
        if dcs % 64 >= 32:
            coding = "8bit"  # compressed: TP-UDL counts octets, and the text is unreadable
        message_class = dcs % 4 if dcs % 32 >= 16 else None
    elif dcs < 0xF0:
        coding, message_class = ("ucs2" if dcs >= 0xE0 else "gsm7"), None
    else:
        coding, message_class = ("8bit" if dcs % 8 >= 4 else "gsm7"), dcs % 4
    value = decode(f"00040481214300{dcs:02X}622041905070000400410042")
    assert isinstance(value, Deliver)
    assert (str(value.coding), value.message_class) == (coding, message_class)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (0x00, SendOutcome.DELIVERED),
        (0x1F, SendOutcome.DELIVERED),
        (0x20, SendOutcome.TRYING),
        (0x3F, SendOutcome.TRYING),
        (0x40, SendOutcome.FAILED),
        (0x60, SendOutcome.FAILED),
        (0xFF, SendOutcome.FAILED),
    ],
)
def test_status_says_what_became_of_a_message(status: int, outcome: SendOutcome) -> None:
    pdu = f"079132030000500006070C913203000000106220419050700062204190502100{status:02X}"
    value = decode(pdu)
    assert isinstance(value, StatusReport)
    assert value.outcome is outcome


@pytest.mark.slow
@settings(max_examples=share(5_000), deadline=None)
@given(st.one_of(numbers, names), texts, times, st.sampled_from([8, 16]))
def test_any_message_reads_back_at_length(sender: str, text: str, sent_at: datetime, width: int) -> None:
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
    values = [decode(submit.hex, tpdu_length=submit.tpdu_length, direction=Direction.TO_NETWORK) for submit in submits]
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
def test_decoding_much_garbage_never_raises(line: str, length: int | None, direction: Direction) -> None:
    check_never_raises(line, length, direction)
