"""USSD in a session with the emulated phone: menus, answers in every form, and what goes wrong."""

from collections.abc import Iterable

import pytest

from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.modem.codec import gsm7
from daemon.modem.session.session import State
from daemon.modem.session.ussd import decode
from tests.fakes.session_with_phone import Shop, pdu, ready
from tests.phones import ussd
from tests.phones.phone import Phone

PIN = "4929123456781234"


def phone(fault: str = "") -> Phone:
    made = Phone()
    made.faults.ussd = fault
    return made


def said(shop: Shop, text: str, *, opens: bool = False, wait_s: float = 2.0) -> list[UssdMenu]:
    """Send a code or a reply; return what came since."""
    before = len(shop.of(UssdMenu))
    shop.session.send_ussd(text, opens=opens)
    shop.session.tick(shop.now)
    shop.wait(wait_s)
    return [event for event in shop.of(UssdMenu)[before:] if isinstance(event, UssdMenu)]


@pytest.mark.parametrize("fault", ["", "ucs2", "packed", "wrong_coding", "late_ok"])
@pytest.mark.parametrize("cut", [lambda data: (data,), lambda data: (data[i : i + 1] for i in range(len(data)))])
def test_a_balance_is_asked_through_menus_in_every_form(fault: str, cut: object) -> None:
    shop = ready(phone(fault), cut=cut)
    steps = [("*170#", ussd.MENU), ("6", ussd.WALLET), ("1", ussd.PIN), (PIN, ussd.BALANCE)]
    for text, shown in steps:
        end = UssdEnd.ANSWERED if text == PIN else None
        assert said(shop, text, opens=text == "*170#") == [UssdMenu(shown, end)]
    assert shop.phone.ussd.typed == [text for text, _ in steps]
    assert shop.state() is State.READY


@pytest.mark.parametrize(
    ("fault", "end"), [("unsupported", UssdEnd.UNSUPPORTED), ("timeout", UssdEnd.TIMEOUT), ("refuses", UssdEnd.REFUSED)]
)
def test_a_code_that_is_not_served_ends_with_its_reason(fault: str, end: UssdEnd) -> None:
    assert said(ready(phone(fault)), "*170#", opens=True) == [UssdMenu("", end)]


def test_a_refused_code_is_sent_once_more_in_the_other_form_and_a_refused_reply_is_not() -> None:
    shop = ready(phone())
    said(shop, "*170#", opens=True)
    shop.phone.faults.ussd = "packed"
    count = shop.phone.command_count
    assert said(shop, "6") == [UssdMenu("", UssdEnd.REFUSED)]
    assert [each for each in shop.commands_since(count) if "CUSD" in each] == ['AT+CUSD=1,"6",15']


def test_wrong_codes_and_wrong_replies_show_what_the_network_says() -> None:
    shop = ready(phone())
    assert said(shop, "*999#", opens=True) == [UssdMenu(ussd.UNKNOWN, UssdEnd.ANSWERED)]
    said(shop, "*170#", opens=True)
    assert said(shop, "9") == [UssdMenu(ussd.WRONG)]


def test_without_an_answer_nothing_is_said_and_messages_are_read_on() -> None:
    shop = ready(phone("silent"))
    assert said(shop, "*170#", opens=True, wait_s=90) == []
    shop.phone.deliver(pdu(1))
    shop.wait(2)
    assert [part.pdu for part in shop.read] == [pdu(1)]
    assert shop.state() is State.READY


def test_a_session_ended_by_the_network_and_a_menu_that_changes_are_two_answers() -> None:
    assert said(ready(phone("ended")), "*170#", opens=True) == [UssdMenu(ussd.MENU), UssdMenu("", UssdEnd.NETWORK)]
    assert said(ready(phone("changes")), "*170#", opens=True) == [UssdMenu(ussd.MENU), UssdMenu(ussd.CHANGED)]


def test_an_sms_in_a_session_is_read_and_the_session_goes_on() -> None:
    shop = ready(phone())
    said(shop, "*170#", opens=True)
    shop.phone.deliver(pdu(1))
    shop.wait(2)
    assert [part.pdu for part in shop.read] == [pdu(1)]
    assert said(shop, "6") == [UssdMenu(ussd.WALLET)]


def test_an_sms_that_cuts_a_session_is_read_and_the_end_is_told() -> None:
    shop = ready(phone("cut"))
    said(shop, "*170#", opens=True)
    shop.phone.deliver(pdu(1))
    shop.wait(2)
    assert [part.pdu for part in shop.read] == [pdu(1)]
    assert shop.of(UssdMenu)[-1] == UssdMenu("", UssdEnd.NETWORK)


@pytest.mark.parametrize("fault", ["garbage", "unclosed"])
def test_a_broken_answer_is_shown_as_far_as_it_can_be_read(fault: str) -> None:
    shop = ready(phone(fault))
    [menu] = said(shop, "*170#", opens=True) or [UssdMenu("")]
    assert menu.text == (ussd.MENU if fault == "unclosed" else 'ÿþ"Mo"[2J,,,99999')
    shop.phone.deliver(pdu(1))
    shop.wait(2)
    assert [part.pdu for part in shop.read] == [pdu(1)]


def test_a_notice_within_a_broken_answer_is_no_part_of_it() -> None:
    shop = ready(phone("silent"))
    said(shop, "*170#", opens=True)
    shop.say(b'\r\n+CUSD: 1,"MobileMoney\n1) Transfer\r\n\r\n+CMTI: "SM",1\r\n')
    assert shop.of(UssdMenu)[-1] == UssdMenu("MobileMoney\n1) Transfer")


def test_the_end_is_told_to_the_network() -> None:
    shop = ready(phone())
    said(shop, "*170#", opens=True)
    shop.session.cancel_ussd()
    shop.wait(1)
    assert not shop.phone.ussd.is_open
    assert shop.phone.commands[-1] == "AT+CUSD=2"


@pytest.mark.parametrize("fault", ["reboot-loud", "hang"])
def test_a_phone_that_restarts_or_hangs_ends_the_session(fault: str) -> None:
    shop = ready(phone())
    said(shop, "*170#", opens=True)
    shop.phone.play("reboot-loud") if fault == "reboot-loud" else shop.phone.faults.change({"silent": True})
    shop.wait(120)
    assert shop.of(UssdMenu)[-1] == UssdMenu("", UssdEnd.LOST)


def test_before_the_phone_is_ready_nothing_is_sent() -> None:
    shop = Shop(phone())
    assert said(shop, "*170#", opens=True, wait_s=0) == [UssdMenu("", UssdEnd.LOST)]


def test_no_event_but_a_menu_has_what_was_typed() -> None:
    echoing = phone()
    echoing.faults.echo_stays = True
    shop = ready(echoing)
    said(shop, "*170#", opens=True)
    said(shop, PIN)
    shop.say(f'USD=1,"{PIN}",15\r\n'.encode())
    assert shop.phone.ussd.typed[-1] == PIN
    lines = [each for each in shop.happened if PIN in repr(each)]
    # A broken echo is an unknown line, of which the daemon logs the length.
    assert [type(each).__name__ for each in lines] == ["Noted"]


def texts() -> Iterable[tuple[str, int | None, str]]:
    menu = "1) Send\n2) Ask"
    packed = gsm7.pack(gsm7.encode(menu) or b"").hex().upper()
    yield from ((menu, 15, menu), (menu, None, menu), ("", 15, ""))
    for coding in (None, 0, 15, 17, 72):
        yield menu.encode("utf-16-be").hex(), coding, menu
    yield "ɛyɛ ₵5".encode("utf-16-be").hex(), 72, "ɛyɛ ₵5"
    yield from ((packed, coding, menu) for coding in (0, 15))
    yield "AA182C3602", 15, "*101#"
    yield menu.encode().hex(), 4, menu
    yield "233244123456", 15, "233244123456"
    yield "Ba1\x1b[2J\u202e\ufffd\uffff", 15, "Ba1[2J"
    yield "A" * 5000, 15, decode("A" * 5000, 15)


@pytest.mark.parametrize(("text", "coding", "shown"), list(texts()))
def test_the_content_decides_what_an_answer_is(text: str, coding: int | None, shown: str) -> None:
    assert decode(text, coding) == shown
    assert len(shown) <= 1000
