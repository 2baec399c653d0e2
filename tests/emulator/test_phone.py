"""The phone of the demo and the sandbox: the daemon's own session reads it, and it keeps what does not fit."""

import pytest

from daemon.core.lines.ussd import UssdMenu
from daemon.emulator.phone import CAPACITY, Identity, Phone
from daemon.modem.codec.pdu_encode import encode_submit
from daemon.modem.session.events import Identified, PartsRead, Ready
from daemon.modem.session.send import Outgoing, SmsPartSent
from tests.fakes.receipts import mtn
from tests.fakes.session_with_phone import Shop, pdu

LENGTH = len(pdu(1)) // 2 - 8


def said(phone: Phone, command: str) -> str:
    """Send a command and return the answer."""
    phone.receive_data(command.encode() + b"\r")
    return phone.data_to_send().decode("latin-1")


def read_by_a_session(phone: Phone) -> Shop:
    return Shop(phone)  # type: ignore[arg-type]  # the same bytes as the phone of the tests


def test_a_session_identifies_the_phone_and_is_ready() -> None:
    shop = read_by_a_session(Phone(Identity(imei="004999010640000", iccid="8923301999999999911")))
    shop.wait(60)
    (identified,) = shop.of(Identified)
    assert isinstance(identified, Identified)
    assert (identified.imei, identified.iccid) == ("004999010640000", "8923301999999999911")
    assert shop.of(Ready)


def test_messages_are_read_in_their_order_and_deleted_also_if_they_came_before() -> None:
    phone = Phone(Identity())
    phone.deliver(pdu(1))
    shop = read_by_a_session(phone)
    phone.deliver(pdu(2))
    phone.deliver(pdu(3))
    shop.wait(60)
    read = [part.pdu for event in shop.happened if isinstance(event, PartsRead) for part in event.parts]
    assert read == [pdu(1), pdu(2), pdu(3)]
    assert "+CMGL:" not in said(phone, "AT+CMGL=4")


def test_a_message_that_does_not_fit_is_delivered_when_a_slot_is_free() -> None:
    phone = Phone(Identity())
    for number in range(CAPACITY + 1):
        phone.deliver(pdu(number))
    assert said(phone, "AT+CMGL=4").count("+CMGL:") == CAPACITY
    assert pdu(CAPACITY) not in said(phone, "AT+CMGL=4")
    said(phone, "AT+CMGD=1")
    assert pdu(CAPACITY) in said(phone, "AT+CMGR=1")


def test_a_message_is_announced_only_if_the_daemon_asked_for_it() -> None:
    phone = Phone(Identity())
    phone.deliver(pdu(1))
    assert phone.data_to_send() == b""
    assert said(phone, "AT+CNMI=2,1").endswith("\r\nOK\r\n")
    phone.deliver(pdu(2))
    assert phone.data_to_send() == b'\r\n+CMTI: "SM",2\r\n'


@pytest.mark.parametrize(("ends", "answer"), [(b"\x1a", "\r\n+CMGS: 1\r\n\r\nOK\r\n"), (b"\x1b", "\r\nOK\r\n")])
def test_an_sms_is_sent_after_the_prompt_and_cancelled_by_escape(ends: bytes, answer: str) -> None:
    phone = Phone(Identity())
    said(phone, "ATE0")
    assert said(phone, f"AT+CMGS={LENGTH}") == "\r\n> "
    phone.receive_data(pdu(1).encode() + ends)
    assert phone.data_to_send().decode() == answer


@pytest.mark.parametrize(
    "command", ["AT+NEVER?", "hello", "AT+CMGR=x", "AT+CMGR=7", "AT+CMGD=", "AT+CNMI=9", "AT+CMGS=", "AT+CMGL=9"]
)
def test_a_command_that_it_does_not_know_is_an_error(command: str) -> None:
    phone = Phone(Identity())
    said(phone, "ATE0")
    assert "ERROR" in said(phone, command)


def test_an_endless_line_is_dropped() -> None:
    phone = Phone(Identity())
    said(phone, "ATE0")
    phone.receive_data(b"A" * 10_000)
    assert said(phone, "AT") == "\r\nOK\r\n"


def test_a_session_sends_an_sms() -> None:
    shop = read_by_a_session(Phone(Identity()))
    shop.session.send(Outgoing("one", encode_submit("+233244123456", "Your code is A7K2M9", 77)))
    shop.wait(5)
    assert shop.of(SmsPartSent)


def test_its_menu_shows_the_balance_of_the_last_message() -> None:
    phone = Phone(Identity())
    assert '+CUSD: 0,"Unknown code",15' in said(phone, 'AT+CUSD=1,"*999#",15')
    shop = read_by_a_session(phone)
    shop.wait(5)

    def shown(*typed: str) -> str:
        for text in typed:
            shop.session.send_ussd(text, opens=text.endswith("#"))
            shop.session.tick(shop.now)
            shop.wait(2)
        menu = shop.of(UssdMenu)[-1]
        assert isinstance(menu, UssdMenu)
        return menu.text

    assert shown("*170#") == "Practice wallet\n1) Check balance"
    shop.session.cancel_ussd()
    assert shown("*170#", "1", "1234") == "Current Balance: not known yet"
    for part in mtn(2500, "KOFI ANTWI BADU", 72_500, "food", "93214500001").pdus:
        phone.deliver(part)
    phone.deliver(pdu(1))
    assert shown("*170#", "1", "1234") == "Current Balance: GHS 725.00"
