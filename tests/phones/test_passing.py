"""The emulated phone: messages passed on without storage, status reports, restarts, and SIMs."""

import pytest

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_encode import encode_submit
from daemon.modem.codec.pdu_fields import Deliver, StatusReport
from tests.fakes.bare_phone import LENGTH, OK, PDU_A, PDU_B, drain, said
from tests.phones.network import advertisement, report
from tests.phones.phone import Phone
from tests.phones.sim import Sim
from tests.phones.sim_commands import swap_nibbles
from tests.phones.test_quirks import SECOND_NS, calm, make


def test_hilink_keeps_what_it_receives_from_every_command() -> None:
    phone = calm("hilink")
    said(phone, "AT+CNMI=2,1,0,1,0")
    assert phone.deliver(PDU_A)
    assert drain(phone) == ""
    assert said(phone, "AT+CMGL=4") == OK
    assert said(phone, "AT+CPMS?") == f'\r\n+CPMS: "SM",0,20,"SM",0,20,"SM",0,20\r\n{OK}'
    assert said(phone, 'AT+CPMS="WEB"') == "\r\n+CMS ERROR: 302\r\n"
    assert phone.stored() == {("WEB", 1): PDU_A}


def test_message_is_passed_on_unstored_and_waits_to_be_acknowledged() -> None:
    phone = calm("zte")
    assert said(phone, "AT+CNMA") == "\r\n+CMS ERROR: 340\r\n"
    said(phone, "AT+CSMS=1;+CNMI=2,2,0,0,0")
    assert phone.deliver(PDU_A)
    assert not phone.deliver(PDU_B)
    assert drain(phone) == f"\r\n+CMT: ,{LENGTH}\r\n{PDU_A}\r\n"
    assert (phone.passed_on, phone.stored()) == ([], {})
    assert said(phone, "AT+CNMA") == f"{OK}\r\n+CMT: ,{LENGTH}\r\n{PDU_B}\r\n"
    assert said(phone, "AT+CNMA=1") == OK
    assert phone.passed_on == [PDU_A, PDU_B]
    assert [notice.index for notice in phone.notices] == [-1, -1]


def test_message_that_nobody_acknowledges_comes_again_and_is_stored_then() -> None:
    phone = calm("zte")
    said(phone, "AT+CSMS=1;+CNMI=2,2,0,0,0")
    phone.deliver(PDU_A)
    phone.tick(0)
    phone.tick(15 * SECOND_NS)
    assert said(phone, "AT+CNMI?").endswith(f"\r\n+CNMI: 2,0,0,0,0\r\n{OK}")
    assert (phone.passed_on, phone.stored()) == ([], {("SM", 1): PDU_A})


def test_refused_message_is_delivered_again() -> None:
    phone = calm("zte")
    said(phone, "AT+CSMS=1;+CNMI=2,2,0,0,0")
    phone.deliver(PDU_A)
    drain(phone)
    assert said(phone, "AT+CNMA=2") == f"{OK}\r\n+CMT: ,{LENGTH}\r\n{PDU_A}\r\n"


def test_without_phase_two_plus_what_was_passed_on_is_gone() -> None:
    phone = calm("zte")
    said(phone, "AT+CNMI=2,2,0,0,0")
    phone.deliver(PDU_A)
    phone.power_off()
    phone.power_on()
    assert (phone.passed_on, phone.stored(), phone.held()) == ([PDU_A], {}, [])


def test_report_comes_inline_only_when_it_was_wanted_twice() -> None:
    phone = calm("huawei")
    [plain] = encode_submit("+233241234567", "hello")
    [asking] = encode_submit("+233241234567", "hello", status_report=True)
    answers = []
    for mode in (0, 1):
        said(phone, f"AT+CNMI=2,1,0,{mode},0")
        for submit in (plain, asking):
            said(phone, f"AT+CMGS={submit.tpdu_length}")
            phone.receive_data(submit.hex.encode() + b"\x1a")
            answers.append(drain(phone).partition(OK)[2])
    wanted = report(asking.hex, 3)
    assert wanted is not None
    assert answers == ["", "", "", f"\r\n+CDS: {len(wanted) // 2 - 1}\r\n{wanted}\r\n"]
    read = decode(wanted)
    assert isinstance(read, StatusReport)
    assert (read.reference, read.recipient, read.status) == (3, "+233241234567", 0)


def test_restart_by_command_is_a_restart_and_some_leave_the_bus() -> None:
    for name, leaves in (("huawei", True), ("sim800", False), ("generic", False)):
        phone = calm(name)
        said(phone, "AT+CNMI=2,1,0,0,0")
        answer = said(phone, "AT+CFUN=1,1")
        booted = "" if leaves else "".join(f"\r\n{x}\r\n" for x in phone.family.boot_lines)
        assert answer == OK + booted
        assert phone.leaving is leaves
        assert said(phone, "ATE0;+CSMS?").startswith("ATE0;")


def test_two_sims_in_one_phone_are_used_in_turn() -> None:
    second = Sim.from_data({"iccid": "89233020000000000016", "imsi": "620020000000001"})
    phone = make("quectel", spare=second)
    phone._handset.noisy = False
    assert said(phone, "AT+QDSIM?") == f"\r\n+QDSIM: 0\r\n{OK}"
    phone.preload([PDU_A])
    assert not phone.deliver(PDU_B, "SM", "89233020000000000016")
    assert said(phone, "AT+QDSIM=1").startswith(OK + "\r\n+CPIN: NOT READY\r\n")
    for _ in range(2):
        assert "ERROR" in said(phone, "AT+CIMI")
    assert said(phone, "AT+CIMI") == f"\r\n620020000000001\r\n{OK}"
    assert said(phone, "AT+QCCID") == f"\r\n+QCCID: 89233020000000000016\r\n{OK}"
    assert phone.stored() == {("SM", 0): PDU_B}
    said(phone, "AT+QDSIM=0")
    assert phone.stored() == {("SM", 0): PDU_A}
    with pytest.raises(ValueError, match="one slot"):
        Phone(spare=second)


def test_iccid_lies_on_the_card_with_nibbles_swapped() -> None:
    assert swap_nibbles("8923301000000000019") == "983203010000000010F9"
    assert swap_nibbles("1234") == "2143"


def test_advertisements_are_messages_unlike_each_other() -> None:
    pdus = [advertisement(number) for number in range(1, 30)]
    assert len(set(pdus)) == len(pdus)
    read = decode(pdus[6])
    assert isinstance(read, Deliver)
    assert (read.sender, read.text) == ("MTN", "Y'ello! Dial *138*7# for a data bundle.")
