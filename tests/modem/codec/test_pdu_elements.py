"""Elements of a PDU: user data header, coding schemes, and the status of a report."""

import pytest

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_fields import (
    ApplicationPorts,
    Concat,
    Deliver,
    Element,
    SendOutcome,
    StatusReport,
)
from tests.fakes.each import each
from tests.modem.codec.test_pdu import READABLE


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
    assert read.elements == (
        Element(0x05, bytes.fromhex("0B8423F0")),
        Element(0x08, bytes.fromhex("0A0B0201")),
    )


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
