"""Faults of the emulated phone, set by name and by field."""

import pytest

from tests.fakes.bare_phone import LENGTH, OK, PDU_A, PDU_B, drain, said
from tests.fakes.each import each
from tests.phones.faults import EVENTS, PRESETS, Faults, healthy_fields, read_fault
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES


def quiet_phone() -> Phone:
    phone = Phone(storages={"SM": 3})
    said(phone, "ATE0;+CNMI=2,1,0,1,0")
    return phone


@each("name", PRESETS)
def test_every_named_fault_can_be_played_and_mended(name: str) -> None:
    phone = quiet_phone()
    phone.play(name)
    assert phone.faults != Faults()
    phone.play("none")
    assert phone.faults == Faults()
    drain(phone)
    assert said(phone, "AT") == OK


@pytest.mark.parametrize("name", [name for name in EVENTS if name != "other-port"])
def test_every_event_can_happen_to_every_family(name: str) -> None:
    for family in FAMILIES.values():
        phone = Phone(family=family)
        phone.play(name)
        said(phone, "AT")


def test_fault_by_field_is_read_as_what_the_field_holds() -> None:
    assert read_fault("chunk=3") == {"chunk": 3}
    assert read_fault("silent=yes") == {"silent": True}
    assert read_fault("silent=0") == {"silent": False}
    assert read_fault("hang_on=+CMGL") == {"hang_on": "+CMGL"}
    phone = Phone()
    phone.play("garbage_before=fffe")
    assert phone.faults.garbage_before == b"\xff\xfe"
    assert read_fault("none") == healthy_fields()


@pytest.mark.parametrize("text", ["", "nonsense", "nonsense=1", "chunk", "chunk=x", "__slots__=1"])
def test_fault_that_is_none_is_refused(text: str) -> None:
    phone = Phone()
    with pytest.raises(ValueError, match=r"no fault|invalid literal"):
        phone.play(text)
    assert phone.faults == Faults()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("other-port", "a phone of the family generic has one port"),
        ("silent_until=never", "fault 'silent_until' is 'reset', 'power' or empty"),
    ],
)
def test_fault_that_cannot_be_now_says_why(fault: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Phone().play(fault)


def test_phone_hangs_at_one_command_and_wakes_up_when_it_is_reset() -> None:
    phone = quiet_phone()
    phone.play("hang_on=+CMGL")
    phone.play("silent_until=reset")
    assert said(phone, "AT+CSQ") == f"\r\n+CSQ: 20,99\r\n{OK}"
    assert said(phone, "AT+CMGL=4") == ""
    assert said(phone, "AT") == ""
    assert said(phone, "AT+CFUN=1,1") == ""
    assert said(phone, "AT") == f"AT\r{OK}"
    assert said(phone, "AT+CNMI?").endswith(f"+CNMI: 0,0,0,0,0\r\n{OK}")


def test_phone_that_hangs_until_it_is_pulled_out_answers_when_it_is_back() -> None:
    phone = quiet_phone()
    phone.play("hang-until-replug")
    assert said(phone, "AT+CFUN=1,1") == ""
    assert said(phone, "AT") == ""
    phone.power_off()
    phone.power_on()
    assert said(phone, "AT") == f"AT\r{OK}"


def test_chosen_commands_fail_for_a_while() -> None:
    phone = quiet_phone()
    phone.play("error_count=2")
    phone.play("error_on=+CMGL")
    phone.play("error_line=+CMS ERROR: 314")
    assert said(phone, "AT+CSQ") == f"\r\n+CSQ: 20,99\r\n{OK}"
    assert [said(phone, "AT+CMGL=4") for _ in range(3)] == ["\r\n+CMS ERROR: 314\r\n"] * 2 + [OK]


def test_echo_can_stay_whatever_it_is_told() -> None:
    phone = quiet_phone()
    phone.play("echo")
    assert said(phone, "ATE0") == f"ATE0\r{OK}"
    assert said(phone, "AT") == f"AT\r{OK}"


def test_bytes_are_lost_on_the_way_out_and_in() -> None:
    phone = quiet_phone()
    phone.play("lose_byte_every=4")
    assert said(phone, "AT+CSQ") == "\r\n+SQ:20,9\r\n\nOK\n"
    phone.play("none")
    phone.play("lose_typed_every=3")
    assert said(phone, "AT") == ""
    assert said(phone, "") == OK


def test_notice_still_knows_its_end_where_bytes_are_lost() -> None:
    phone = quiet_phone()
    phone.play("lose_byte_every=4")
    phone.deliver(PDU_A)
    assert drain(phone) == '\r\n+MTI "S",1\n'
    assert phone.notices[0].offset == phone.bytes_handed_over


def test_send_can_fail_before_or_after_the_message_went() -> None:
    phone = quiet_phone()
    answers = []
    for fault in ("send-fails", "none", "send-unsure"):
        phone.play(fault)
        said(phone, f"AT+CMGS={LENGTH}")
        answers.append(said(phone, PDU_A + "\x1a"))
    assert answers == [
        "\r\n+CMS ERROR: 500\r\n",
        f"\r\n+CMGS: 0\r\n{OK}",
        "\r\n+CMS ERROR: 513\r\n",
    ]
    assert [sent.reference for sent in phone.sent] == [0, 1]


def test_out_of_coverage_nothing_comes_until_there_is_a_network_again() -> None:
    phone = quiet_phone()
    phone.play("no-network")
    assert not phone.deliver(PDU_A)
    assert said(phone, "AT+CSQ;+CREG?") == f"\r\n+CSQ: 99,99\r\n+CREG: 0,0\r\n{OK}"
    assert said(phone, "AT+CREG=2;+CREG?") == f"\r\n+CREG: 2,0\r\n{OK}"
    phone.play("none")
    assert drain(phone) == '\r\n+CMTI: "SM",1\r\n'
    assert said(phone, "AT+CREG?") == f'\r\n+CREG: 2,1,"01F4","4E21"\r\n{OK}'
    phone.play("weak-signal")
    assert said(phone, "AT+CSQ") == f"\r\n+CSQ: 3,99\r\n{OK}"


def test_calm_phone_is_past_its_start_and_says_nothing_unasked_but_notices() -> None:
    phone = Phone(family=FAMILIES["wavecom"])
    phone.play("calm")
    said(phone, "ATE0")
    assert said(phone, "AT+CIMI") == f"\r\n620010000000001\r\n{OK}"
    phone = Phone(family=FAMILIES["zte"])
    phone.play("calm")
    said(phone, "ATE0;+CNMI=2,1,0,0,0")
    assert {said(phone, "AT") for _ in range(20)} == {OK}
    phone.tick(0)
    assert phone.due_ns() is None
    phone.deliver(PDU_A)
    assert drain(phone) == '\r\n+CMTI: "SM",1\r\n'


def test_silent_reboot_loses_settings_without_a_word_and_a_loud_one_tells() -> None:
    phone = Phone(family=FAMILIES["sim800"])
    said(phone, "AT")
    said(phone, "ATE0")
    phone.play("reboot-loud")
    assert drain(phone) == "\r\nRDY\r\n\r\n+CFUN: 1\r\n\r\n+CPIN: READY\r\n"
    assert said(phone, "AT") == f"AT\r{OK}"
    phone.play("reboot")
    assert drain(phone) == ""
    assert said(phone, "AT") == ""
    assert said(phone, "AT+CNMI?") == "AT+CNMI?\r\r\nERROR\r\n"


def test_reboot_takes_back_a_half_typed_message_and_one_not_acknowledged() -> None:
    phone = Phone(family=FAMILIES["zte"])
    for _ in range(4):
        said(phone, "ATE0;+CIMI")
    said(phone, "AT+CSMS=1;+CNMI=2,2,0,0,0")
    phone.deliver(PDU_A)
    said(phone, f"AT+CMGS={LENGTH}")
    phone.play("reboot")
    assert phone.sent == []
    assert phone.stored() == {("SM", 1): PDU_A}


def test_full_storage_is_full_of_other_messages() -> None:
    phone = quiet_phone()
    phone.preload([PDU_A])
    phone.play("full")
    assert len(set(phone.stored().values())) == 3
    assert not phone.deliver(PDU_B)
    assert phone.held() == [PDU_B]
