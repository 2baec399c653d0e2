"""Faults of the emulated phone: silent, noisy, slow, wrong answers, and without power."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.bare_phone import LENGTH, PDU_A, PDU_B, heard, said
from tests.phones.phone import Phone
from tests.phones.quirks import Family
from tests.phones.test_phone import quiet_phone


def test_phone_without_power_is_dead_and_forgets_settings_but_no_message() -> None:
    phone = quiet_phone()
    said(phone, "AT+CNMI=2,1,0,1,0")
    phone.deliver(PDU_A)
    phone.receive_data(b"AT+CM")
    phone.power_off()
    assert not phone.deliver(PDU_B)
    assert said(phone, "AT") == ""
    phone.power_on()
    assert said(phone, "AT") == "AT\r\r\nOK\r\n"
    assert said(phone, "AT+CNMI?") == "AT+CNMI?\r\r\n+CNMI: 0,0,0,0,0\r\n\r\nOK\r\n"
    assert phone.stored() == {("SM", 1): PDU_A, ("SM", 2): PDU_B}
    assert phone.notices == []


def test_another_make_counts_from_zero_and_reads_empty_slots_as_nothing() -> None:
    phone = quiet_phone(family=Family("other", 0, False, ("^ICCID",)))
    phone.deliver(PDU_A)
    assert phone.stored() == {("SM", 0): PDU_A}
    assert said(phone, "AT+CMGR=2") == "\r\nOK\r\n"
    assert said(phone, "AT+CMGR=3") == "\r\n+CMS ERROR: 321\r\n"
    assert said(phone, "AT^ICCID?") == "\r\n^ICCID: 8923301000000000019\r\n\r\nOK\r\n"
    assert said(phone, "AT+CCID") == "\r\nERROR\r\n"


def test_silent_phone_swallows_commands_and_still_receives() -> None:
    phone = quiet_phone()
    said(phone, "AT+CNMI=2,1,0,1,0")
    phone.faults.silent = True
    assert said(phone, "AT") == ""
    phone.deliver(PDU_A)
    assert heard(phone) == b""
    phone.faults.silent = False
    assert said(phone, "AT") == "\r\nOK\r\n"
    assert phone.stored() == {("SM", 1): PDU_A}


def test_garbage_noise_and_small_pieces_come_as_asked() -> None:
    phone = quiet_phone()
    phone.faults.change(
        {"garbage_before": "fffe", "garbage_after": b"\x80", "noise": "^RSSI:14", "chunk": 3}
    )
    phone.receive_data(b"AT+CSQ\r")
    assert phone.data_to_send() == b"\xff\xfe\r"
    assert heard(phone) == b"\n^RSSI:14\r\n\r\n+CSQ: 20,99\r\n\r\nOK\r\n\x80"


def test_noise_can_come_between_a_header_and_its_pdu() -> None:
    phone = quiet_phone()
    phone.deliver(PDU_A)
    phone.faults.change({"noise": "^RSSI:14", "noise_inside": True})
    assert said(phone, "AT+CMGR=1") == (
        f"\r\n^RSSI:14\r\n\r\n+CMGR: 0,,{LENGTH}\r\n^RSSI:14\r\n{PDU_A}\r\n\r\nOK\r\n"
    )


def test_lost_notice_loses_no_message() -> None:
    phone = quiet_phone()
    said(phone, "AT+CNMI=2,1,0,1,0")
    phone.faults.lose_notices = True
    assert phone.deliver(PDU_A)
    assert (heard(phone), phone.notices, phone.stored()) == (b"", [], {("SM", 1): PDU_A})


def test_second_delete_from_now_fails_once() -> None:
    phone = quiet_phone()
    for pdu in (PDU_A, PDU_B):
        phone.deliver(pdu)
    phone.faults.fail_delete_in = 2
    assert said(phone, "AT+CMGD=1") == "\r\nOK\r\n"
    assert said(phone, "AT+CMGD=2") == "\r\n+CMS ERROR: 500\r\n"
    assert phone.stored() == {("SM", 2): PDU_B}
    assert said(phone, "AT+CMGD=2") == "\r\nOK\r\n"
    assert phone.stored() == {}


def test_delete_can_be_a_lie() -> None:
    phone = quiet_phone()
    phone.deliver(PDU_A)
    phone.faults.ignore_deletes = True
    assert said(phone, "AT+CMGD=1") == "\r\nOK\r\n"
    assert (phone.stored(), phone.deleted) == ({("SM", 1): PDU_A}, [])


def test_slot_changes_between_being_read_and_being_deleted() -> None:
    phone = quiet_phone()
    phone.deliver(PDU_A)
    phone.faults.swap_pdu = PDU_B
    assert PDU_A in said(phone, "AT+CMGL=4")
    assert PDU_B in said(phone, "AT+CMGR=1")
    assert phone.displaced == [("SM", 1, PDU_A)]
    assert phone.faults.swap_pdu == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"nonsense": True}, "no fault 'nonsense'; there are silent, "),
        ({"change": True}, "no fault 'change'"),
        ({"silent": 1}, "fault 'silent' cannot be 1"),
        ({"chunk": -1}, "fault 'chunk' cannot be -1"),
        ({"chunk": True}, "fault 'chunk' cannot be True"),
        ({"swap_pdu": "x"}, "hex"),
    ],
)
def test_fault_that_cannot_be_is_refused_and_changes_nothing(
    change: dict[str, object], why: str
) -> None:
    phone = quiet_phone()
    with pytest.raises(ValueError, match=why):
        phone.faults.change({"lose_notices": True, **change})
    assert not phone.faults.lose_notices


def test_slow_shell_asks_how_many_commands_wait_and_does_them_line_by_line() -> None:
    phone = quiet_phone()
    phone.feed(b"AT+CMGF=0;+CSMS=0\rnonsense\rATE0V1\rAT")
    assert (phone.waiting(), heard(phone)) == (2, b"")
    phone.step()
    assert heard(phone) == b"\r\n+CSMS: 1,1,1\r\n\r\nOK\r\n"
    assert phone.waiting() == 2
    phone.step()
    assert (phone.waiting(), heard(phone)) == (0, b"\r\nOK\r\n")
    phone.step()
    assert heard(phone) == b""


PIECES = st.binary(max_size=20) | st.sampled_from(
    [b"AT\r", b"AT+CMGL=4\r", b"AT+CMGR=1\r", b"AT+CMGD=1\r", b"AT+CMGS=20\r", b"0041\x1a",
     b"\x1b", b"\r", b";", b"=", b"?", b'"', b"+", b"AT+CNMI=2,1,0,1,0\r", b"AT+CMEE=1\r"]
)  # fmt: skip
RESETS = st.sampled_from([b"ATE1\r", b"AT&F\r", b"AT+CFUN=1,1\r", b"AT+CFUN=4\r"])


@given(st.lists(PIECES | RESETS, max_size=30))
def test_nothing_that_is_typed_breaks_the_phone_or_loses_a_message(typed: list[bytes]) -> None:
    phone = Phone(storages={"SM": 1})
    for pdu in (PDU_A, PDU_B):
        phone.deliver(pdu)
    for data in typed:
        phone.receive_data(data)
    known = [*phone.stored().values(), *phone.held(), *(gone.pdu for gone in phone.deleted)]
    assert sorted(known) == [PDU_A, PDU_B]


@given(st.lists(PIECES, max_size=20), st.integers(1, 5))
def test_answers_do_not_depend_on_how_the_bytes_are_cut(typed: list[bytes], size: int) -> None:
    whole, cut = Phone(), Phone()
    for phone in (whole, cut):
        phone.receive_data(b"ATE0\r")
        phone.deliver(PDU_A)
    data = b"".join(typed)
    whole.receive_data(data)
    for start in range(0, len(data), size):
        cut.receive_data(data[start : start + size])
    assert heard(whole) == heard(cut)
    assert list(whole.commands) == list(cut.commands)
