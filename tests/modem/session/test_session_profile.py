"""A phone whose saved settings differ: numeric or no results, text mode, UCS2, PDUs without SMSC."""

import pytest

from daemon.modem.session.at import operator_name
from daemon.modem.session.events import Event, MessageLost, Noted, PartsRead, Ready, SessionSettings
from daemon.modem.session.session import Session, State
from daemon.modem.session.start import _number
from tests.fakes.receipts import mtn
from tests.fakes.session_with_phone import Shop, ready
from tests.phones.phone import Phone

WHOLE = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001").pdus[0]
BARE = WHOLE[2 * (1 + int(WHOLE[:2], 16)) :]
"""The PDU without its SMSC."""


def test_numeric_results_are_switched_off_at_once() -> None:
    session = Session(SessionSettings(), 0.0)
    session.data_to_send()
    session.receive_data(b"AT\r0\r", 0.1)
    assert session.data_to_send() == b"ATV1\r"
    session.receive_data(b"\r\nOK\r\n", 0.2)
    assert session.state is State.SETTLING


def test_results_that_are_switched_off_are_switched_on_after_the_first_silence() -> None:
    session = Session(SessionSettings(), 0.0)
    assert session.data_to_send() == b"\x1b\rAT\r"
    session.tick(1.1)
    assert session.data_to_send() == b"\x1b\rATQ0\rATV1\rAT\r"
    session.receive_data(b"\r\nOK\r\n", 1.2)
    assert session.state is State.SETTLING


def test_character_set_is_set_at_each_start() -> None:
    """Another program may have saved UCS2, in which networks and numbers are answered in hex."""
    assert 'AT+CSCS="GSM"' in ready().phone.commands
    shop = ready()
    count = shop.phone.command_count
    shop.phone.power_off()
    shop.phone.power_on()
    shop.wait(62.0)
    assert 'AT+CSCS="GSM"' in shop.commands_since(count)


def test_phone_without_the_usual_character_set_gets_the_other() -> None:
    phone = Phone()
    phone.faults.error_on, phone.faults.error_count = "+CSCS", 1
    assert 'AT+CSCS="IRA"' in ready(phone).phone.commands


def test_phone_that_passes_messages_on_as_text_is_set_up_again_within_seconds() -> None:
    shop = ready()
    shop.phone.power_off()
    shop.phone.power_on()
    shop.phone.preload([WHOLE])
    shop.say(b'\r\n+CMT: "+233200000001","","26/11/28,16:00:00+00"\r\nhello\r\n')
    shop.wait(5.0)
    assert [part.pdu for part in shop.read] == [WHOLE]
    assert len(shop.of(Ready)) == 2


def direct(shop: Shop, data: bytes) -> list[Event]:
    before = len(shop.happened)
    shop.say(data)
    return shop.happened[before:]


@pytest.mark.parametrize("pdu", [WHOLE, BARE])
def test_message_that_is_passed_on_with_or_without_its_smsc_is_read(pdu: str) -> None:
    shop = ready()
    found = direct(shop, f"\r\n+CMT: ,{len(BARE) // 2}\r\n{pdu}\r\n".encode())
    [read] = [event for event in found if isinstance(event, PartsRead)]
    assert [part.pdu for part in read.parts] == [pdu]


def test_message_that_is_passed_on_as_text_is_told_and_its_words_are_nowhere() -> None:
    shop = ready()
    text = "Meet Akosua at the bank, PIN is 4821"
    found = direct(shop, f'\r\n+CMT: "+233200000001","","26/11/28,16:00:00+00"\r\n{text}\r\n'.encode())
    assert [type(event) for event in found if isinstance(event, MessageLost)] == [MessageLost]
    assert not [event for event in found if isinstance(event, Noted)]
    assert "Akosua" not in repr(found)
    # What comes after it is read.
    more = direct(shop, f"\r\n+CMT: ,{len(BARE) // 2}\r\n{WHOLE}\r\n".encode())
    assert any(isinstance(event, PartsRead) for event in more)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('+CSCA: "+233244500000",145', "+233244500000"),
        ('+CSCA: "002B003200330033003200340034003500300030003000300030",145', "+233244500000"),
        ('+CSCA: "+47204226000000000000000000000000000000000",145', None),
        ('+CSCA: "MTN",145', None),
        ("+CSCA: ,145", None),
        ("", None),
    ],
)
def test_what_has_not_the_form_of_a_number_is_none(line: str, number: str | None) -> None:
    assert _number(line, 0) == number


def test_name_of_a_network_in_ucs2_is_read() -> None:
    assert operator_name('+COPS: 0,0,"004D0054004E"') == "MTN"
    assert operator_name('+COPS: 0,0,"MTN"') == "MTN"
