"""Sending within a session: prompts, errors and hangs of the emulated phone; received messages go first."""

import itertools

import pytest

from daemon.modem.codec import pdu
from daemon.modem.codec.pdu_encode import encode_submit
from daemon.modem.codec.pdu_fields import Direction, StatusReport, Submit
from daemon.modem.session import at
from daemon.modem.session.send import Outgoing, SmsEnded, SmsPartSent, SmsResult, result_of_error
from daemon.modem.session.session import State
from tests.fakes.each import each
from tests.fakes.session_with_phone import Shop, ready
from tests.fakes.session_with_phone import pdu as received
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES, Family

NUMBER = "+233241234567"
LONG = "Pay GHS 12.50 to Ama Provisions \N{SMILING FACE WITH SMILING EYES}. " * 6


def outgoing(text: str = "Pay GHS 12.50", *, report: bool = False, first: int = 0) -> Outgoing:
    return Outgoing("one", encode_submit(NUMBER, text, 77, status_report=report), first)


def send(shop: Shop, message: Outgoing | None = None, wait_s: float = 5.0) -> SmsEnded:
    """Hand a message over, let time pass, and return how it ended."""
    shop.session.send(message or outgoing())
    shop.session.tick(shop.now)
    shop.wait(wait_s)
    [ended] = shop.of(SmsEnded)
    assert isinstance(ended, SmsEnded)
    assert not shop.session.sending
    return ended


def sent_text(shop: Shop) -> str:
    """Return the text that the phone sent, its parts joined."""
    values = [pdu.decode(sent.pdu, direction=Direction.TO_NETWORK) for sent in shop.phone.sent]
    assert all(isinstance(value, Submit) and value.recipient == NUMBER for value in values)
    octets = b"".join(value.user_data for value in values if isinstance(value, Submit))
    first = values[0]
    assert isinstance(first, Submit)
    return octets.decode("utf-16-be") if first.coding.name == "UCS2" else first.text


@pytest.mark.parametrize("family", [*FAMILIES.values()], ids=[*FAMILIES])
def test_every_make_sends_a_message(family: Family) -> None:
    shop = Shop(Phone(family=family))
    shop.wait(60.0)
    if shop.state() is not State.READY:
        pytest.skip(f"{family.name} is no phone that becomes ready by itself")
    ended = send(shop)
    assert ended.result is SmsResult.SENT, ended
    assert sent_text(shop) == "Pay GHS 12.50"


def test_a_long_message_goes_out_part_by_part_with_its_emoji_whole() -> None:
    shop = ready()
    assert send(shop, outgoing(LONG)).result is SmsResult.SENT
    assert len(shop.phone.sent) > 1
    assert sent_text(shop) == LONG
    told = shop.of(SmsPartSent)
    assert told == [SmsPartSent("one", part, sent.reference) for part, sent in enumerate(shop.phone.sent)]


def test_a_message_that_was_begun_goes_on_at_its_next_part() -> None:
    shop = ready()
    message = outgoing(LONG, first=2)
    assert send(shop, message).result is SmsResult.SENT
    assert [sent.pdu for sent in shop.phone.sent] == [one.hex for one in message.pdus[2:]]


def test_no_prompt_is_left_with_escape_and_nothing_was_sent() -> None:
    shop = ready()
    shop.phone.faults.no_prompt = True
    ended = send(shop, wait_s=30.0)
    assert ended.result is SmsResult.RETRY
    assert not shop.phone.sent
    assert shop.state() is State.READY, "the phone is used again"
    shop.phone.faults.no_prompt = False
    shop.happened.clear()
    assert send(shop).result is SmsResult.SENT


def test_a_phone_that_hangs_after_the_message_leaves_it_unknown() -> None:
    shop = ready()
    shop.phone.faults.hang_after_send = True
    ended = send(shop, wait_s=100.0)
    assert ended.result is SmsResult.UNKNOWN
    assert len(shop.phone.sent) == 1
    assert shop.state() is State.HUNG, "and the hang is noticed within 100 s"


def test_a_phone_that_hangs_before_the_prompt_leaves_it_unsent() -> None:
    shop = ready()
    shop.phone.faults.silent = True
    assert send(shop, wait_s=100.0).result is SmsResult.RETRY


@each(
    ("line", "result"),
    [
        ("+CMS ERROR: 42", SmsResult.RETRY),
        ("+CMS ERROR: 331", SmsResult.RETRY),
        ("+CMS ERROR: 314", SmsResult.RETRY),
        ("+CMS ERROR: 21", SmsResult.FAILED),
        ("+CMS ERROR: 304", SmsResult.FAILED),
        ("+CMS ERROR: 332", SmsResult.UNKNOWN),
        ("+CMS ERROR: 500", SmsResult.UNKNOWN),
        ("+CMS ERROR: 513", SmsResult.UNKNOWN),
        ("+CMS ERROR: 777", SmsResult.UNKNOWN),
        ("ERROR", SmsResult.UNKNOWN),
    ],
)
def test_an_error_after_the_message_is_final_transient_or_leaves_a_doubt(line: str, result: SmsResult) -> None:
    shop = ready()
    shop.phone.faults.fail_send = line
    assert send(shop).result is result


def test_nothing_is_in_doubt_before_the_message_was_typed() -> None:
    for kind, code in itertools.product((at.ErrorKind.CMS, at.ErrorKind.CME), range(1000)):
        assert result_of_error(at.Error(kind, code), typed=False) is not SmsResult.UNKNOWN
        assert result_of_error(at.Error(kind, code), typed=True) is not SmsResult.SENT


def test_an_error_in_place_of_the_prompt_is_tried_again() -> None:
    shop = ready()
    shop.phone.faults.change({"error_count": 1, "error_on": "+CMGS", "error_line": "+CMS ERROR: 500"})
    assert send(shop).result is SmsResult.RETRY
    assert not shop.phone.sent


@pytest.mark.parametrize("fault", ["echo", "noise"])
def test_echoes_and_noise_do_not_hurt(fault: str) -> None:
    shop = ready()
    shop.phone.play(fault)
    assert send(shop, outgoing(LONG)).result is SmsResult.SENT
    assert sent_text(shop) == LONG


@pytest.mark.parametrize("prompt", [b"\r\n>", b"\r\n> ", b"\r\n>\r\n", b'> \r\n+CMTI: "SM",1\r\n'])
def test_any_form_of_the_prompt_is_taken(prompt: bytes) -> None:
    shop = ready()
    shop.session.send(outgoing())
    shop.session.tick(shop.now)
    assert shop.session.data_to_send() == b"AT+CMGS=25\r"
    shop.session.receive_data(prompt, shop.now)
    assert shop.session.data_to_send() == outgoing().pdus[0].hex.encode() + b"\x1a"
    shop.session.receive_data(b"\r\n+CMGS: 7\r\n\r\nOK\r\n", shop.now)
    assert shop.session.events() == [SmsPartSent("one", 0, 7), SmsEnded("one", SmsResult.SENT)]


def test_what_arrives_while_sending_waits_for_one_command_at_most() -> None:
    shop = ready()
    numbers = itertools.count(1)
    mark = shop.phone.command_count
    typed = shop.phone.receive_data

    def receive(data: bytes, at_ns: int = 0) -> None:
        if b"\x1a" in data:
            shop.phone.deliver(received(next(numbers)))
        typed(data, at_ns)

    shop.phone.receive_data = receive  # type: ignore[method-assign]  # listened in on
    assert send(shop, outgoing(LONG)).result is SmsResult.SENT
    parts = len(shop.phone.sent)
    assert parts > 2
    work = [command for command in shop.commands_since(mark) if command.startswith(("AT+CMGS", "AT+CMGR", "AT+CMGD"))]
    names = [command.partition("=")[0] for command in work]
    waited = [len([*run]) for name, run in itertools.groupby(names) if name == "AT+CMGS"]
    assert waited == [1] * parts, "each is followed by a command for what has arrived"
    assert not shop.phone.stored()


def test_a_status_report_comes_to_the_shop() -> None:
    shop = ready()
    assert send(shop, outgoing(report=True)).result is SmsResult.SENT
    [report] = shop.read
    value = pdu.decode(report.pdu)
    assert isinstance(value, StatusReport)
    assert (value.reference, value.recipient) == (shop.phone.sent[0].reference, NUMBER)


def test_a_session_that_ends_says_what_became_of_the_message() -> None:
    shop = ready()
    shop.session.send(outgoing())
    shop.session.abandon()
    assert shop.session.events() == [SmsEnded("one", SmsResult.RETRY, "the phone went away")]
    shop.session.send(outgoing())
    shop.session.tick(shop.now)
    shop.session.receive_data(b"\r\n> ", shop.now)
    shop.session.abandon()
    [ended] = shop.session.events()
    assert isinstance(ended, SmsEnded)
    assert ended.result is SmsResult.UNKNOWN
