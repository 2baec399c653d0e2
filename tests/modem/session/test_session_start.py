"""How a session starts: a phone of any make, found as it was left, is identified, set up and read."""

import pytest
from msgspec.structs import replace

from daemon.modem.session.events import (
    Event,
    Health,
    HiLink,
    Hung,
    Identified,
    Note,
    Noted,
    PartsRead,
    PinNeeded,
    Ready,
    Registration,
    SessionSettings,
    SimAbsent,
)
from daemon.modem.session.session import Session, State
from tests.fakes.session_with_phone import Shop, part, pdu, ready
from tests.phones.command_lines import Refusal
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES, Family
from tests.phones.sim import Identity


def test_a_phone_is_identified_then_ready_then_read() -> None:
    phone = Phone(Identity(number="+233241234567"))
    phone.preload([pdu(1)])
    shop = ready(phone, store=False)
    assert shop.happened == [
        Noted("Generic GSM-1 1.00", Note.MODEM),
        Identified(
            "004401000000014",
            "8923301000000000019",
            "620010000000001",
            "Generic",
            "GSM-1",
            "1.00",
            "+233240000099",
            "+233241234567",
        ),
        Ready(notices=True, storages=("SM", "ME")),
        PartsRead((part(1, 1),)),
        Health(20, Registration.HOME, "MTN", 1, 30, (("SM", 1, 30), ("ME", 0, 100))),
    ]


def test_the_first_thing_said_gets_out_of_an_open_prompt() -> None:
    assert Session(SessionSettings(), 0.0).data_to_send() == b"\x1b\rAT\r"


def test_a_phone_left_at_a_prompt_sends_nothing() -> None:
    phone = Phone()
    phone.receive_data(b"AT+CMGS=20\r")
    shop = ready(phone)
    assert shop.of(Identified)
    assert phone.sent == []


def test_a_phone_that_says_nothing_is_hung() -> None:
    phone = Phone()
    phone.faults.silent = True
    shop = Shop(phone)
    shop.wait(60.0)
    assert shop.happened == [Hung("the phone does not answer AT", answered=False)]
    assert shop.session.next_deadline() is None
    assert shop.session.data_to_send() == b""


def test_a_phone_that_wakes_late_is_served() -> None:
    phone = Phone()
    phone.faults.silent = True
    shop = Shop(phone)
    shop.wait(3.5)
    phone.faults.silent = False
    shop.wait(3.0)
    assert shop.state() is State.READY


def test_a_phone_with_one_storage_is_read() -> None:
    shop = ready(Phone(storages={"ME": 10}))
    assert shop.of(Ready) == [Ready(notices=True, storages=("ME",))]


def test_both_storages_are_swept_at_the_start() -> None:
    phone = Phone()
    phone.preload([pdu(1)], "SM")
    phone.preload([pdu(2), pdu(3)], "ME")
    shop = ready(phone)
    assert shop.read == [part(1, 1), part(2, 1, "ME"), part(3, 2, "ME")]
    assert phone.stored() == {}


@pytest.mark.parametrize("command", ["+CCID", "^ICCID", "+QCCID"])
def test_the_iccid_is_found_by_whichever_command_the_phone_knows(command: str) -> None:
    shop = ready(Phone(family=Family(iccid_commands=(command,))))
    assert [e.iccid for e in shop.happened if isinstance(e, Identified)] == ["8923301000000000019"]


def test_a_locked_sim_is_told_once_and_served_once_it_is_open() -> None:
    phone = Phone()
    table = phone._handset.table
    was, table["+CPIN"] = table["+CPIN"], lambda _operator, _argument: ["+CPIN: SIM PIN"]
    shop = Shop(phone)
    shop.wait(20.0)
    who = phone.identity
    assert shop.happened == [PinNeeded("SIM PIN", who.iccid, who.imei, 3)]
    assert not any(command.startswith("AT+CPIN=") for command in phone.commands)
    table["+CPIN"] = was
    shop.wait(6.0)
    assert shop.state() is State.READY


@pytest.mark.parametrize(
    ("code", "told"),
    [(10, [SimAbsent("+CME ERROR: 10")]), (11, [PinNeeded("SIM PIN", Identity().iccid, Identity().imei, 3)]), (14, [])],
)
def test_a_sim_that_does_not_work_is_waited_for(code: int, told: list[Event]) -> None:
    def refuse(_operator: str, _argument: str) -> list[str]:
        raise Refusal("CME", code)

    phone = Phone()
    table = phone._handset.table
    was, table["+CPIN"] = table["+CPIN"], refuse
    shop = Shop(phone)
    shop.wait(20.0)
    assert shop.happened == told
    assert shop.state() is State.WAITING
    table["+CPIN"] = was
    shop.wait(6.0)
    assert shop.state() is State.READY


def test_a_phone_that_needs_a_minute_for_pdu_mode_gets_it() -> None:
    phone = Phone()
    table = phone._handset.table
    was = table.pop("+CMGF")
    shop = Shop(phone)
    shop.wait(50.0)
    assert shop.state() is State.WAITING
    table["+CMGF"] = was
    shop.wait(3.0)
    assert shop.state() is State.READY


def test_a_phone_without_pdu_mode_is_given_up() -> None:
    phone = Phone()
    del phone._handset.table["+CMGF"]
    shop = Shop(phone)
    shop.wait(70.0)
    assert shop.happened == [Hung("the phone refuses PDU mode: +CME ERROR: 100", silent=False, unusable=True)]


@pytest.mark.parametrize(("takes", "chosen"), [("2,1,0,2,0", 1), ("1,1,0,0,0", 3), ("2,1", 5), ("none", None)])
def test_the_form_of_notices_is_what_the_phone_takes(takes: str, chosen: int | None) -> None:
    asked = []

    def notify(operator: str, argument: str) -> list[str]:
        if operator == "?":
            return ["+CNMI: 2,1,0,0,0"]
        asked.append(argument)
        if argument != takes:
            raise Refusal("CMS", 302)
        return []

    phone = Phone()
    phone._handset.table["+CNMI"] = notify
    shop = ready(phone)
    assert len(asked) == (6 if chosen is None else chosen + 1)
    assert shop.of(Ready) == [Ready(notices=chosen is not None, storages=("SM", "ME"))]


def test_a_phone_without_notices_is_polled() -> None:
    phone = Phone()
    del phone._handset.table["+CNMI"]
    shop = ready(phone)
    phone.deliver(pdu(1))
    shop.wait(31.0)
    assert shop.read == [part(1, 1)]


def test_a_flash_message_waits_until_it_is_known_whose_it_is() -> None:
    phone = Phone()
    shop = Shop(phone)
    text = pdu(9)
    shop.session.receive_data(f"\r\n+CMT: ,59\r\n{text}\r\n".encode(), shop.now)
    shop.wait(1.0)
    assert [type(e) for e in shop.happened[1:4]] == [Identified, Ready, PartsRead]
    assert shop.read == [part(9, -1, "")]


class Deaf(Phone):
    """Answers all but one command."""

    def __init__(self, deaf_to: bytes) -> None:
        super().__init__()
        self.deaf_to = deaf_to

    def feed(self, data: bytes) -> None:
        if not data.startswith(self.deaf_to):
            super().feed(data)


def test_a_phone_that_never_answers_a_list_is_hung() -> None:
    shop = Shop(Deaf(b"AT+CMGL"))
    shop.wait(120.0)
    assert shop.happened[-1] == Hung("no answer to AT+CMGL 3 times")


@pytest.mark.parametrize("command", [b"AT+CSCA?", b"AT+CNUM", b"AT+CPIN?", b"AT+CGSN"])
def test_a_question_that_is_never_answered_is_left_out(command: bytes) -> None:
    shop = Shop(Deaf(command))
    shop.wait(60.0)
    assert shop.state() is State.READY


def test_a_phone_that_answers_other_commands_is_hung_in_the_end() -> None:
    shop = ready()
    shop.phone._handset.table["+CSQ"] = lambda _o, _a: ["+CPMS: 1,2"]
    shop.wait(120.0)
    assert shop.happened[-1] == Hung("the phone's answers do not match the commands")


@pytest.mark.parametrize("name", [*FAMILIES])
def test_every_make_is_read(name: str) -> None:
    make = FAMILIES[name]
    phone = Phone(make.identity(), family=make)
    shop = Shop(phone)
    shop.wait(60.0)
    assert shop.state() is State.READY
    if make.web_inbox:
        assert shop.of(HiLink) == [HiLink("its firmware says HiLink")]
        return
    assert shop.of(HiLink) == []
    assert shop.of(Noted) == ([Noted("Generic GSM-1 1.00", Note.MODEM)] if name == "generic" else [])
    for number in range(1, 4):
        phone.deliver(pdu(number))
        shop.wait(31.0)
    assert [part.pdu for part in shop.read] == [pdu(1), pdu(2), pdu(3)]
    assert phone.stored() == {}


def test_a_hilink_stick_that_does_not_say_so_is_known_by_its_storage() -> None:
    make = replace(FAMILIES["hilink"], fixed=())
    shop = Shop(Phone(make.identity(), family=make))
    shop.wait(5.0)
    assert shop.of(HiLink) == [HiLink("its storage of 20 is empty and the only one it has")]
    stick = replace(make, revision="21.157.37.01.1114")
    shop = Shop(Phone(stick.identity(), family=stick))
    shop.wait(5.0)
    assert shop.of(HiLink) == []


def test_an_unknown_error_is_noted_once_and_stalls_nothing() -> None:
    phone = Phone()
    shop = ready(phone)
    phone.faults.change({"error_on": "+CSQ", "error_count": 3, "error_line": "+CME ERROR: 777"})
    shop.wait(121.0)
    assert shop.of(Noted)[1:] == [Noted("+CME ERROR: 777", Note.ERROR)]
    assert shop.state() is State.READY


def test_a_restart_is_asked_for_and_waited_for() -> None:
    phone = Phone()
    phone.faults.change({"silent": True, "silent_until": "reset"})
    shop = Shop(phone, restart=True)
    shop.wait(20.0)
    assert shop.state() is State.READY


def test_a_phone_that_hangs_at_a_slow_setting_is_noticed_within_90_s() -> None:
    shop = ready(command_timeout_s=30.0)
    shop.wait(30.5)
    shop.phone.faults.silent = True
    shop.wait(90.0)
    assert [type(e) for e in shop.happened][-1] is Hung
