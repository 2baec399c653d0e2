"""The emulated phone, bytes in and bytes out: commands, storages and messages."""

import pytest

from tests.fakes.bare_phone import LENGTH, PDU_A, PDU_B, PDU_C, heard, said
from tests.fakes.each import each
from tests.phones.faults import Sent
from tests.phones.message_commands import Deletion
from tests.phones.phone import Phone
from tests.phones.quirks import GENERIC, Family
from tests.phones.sim import Identity

IDENTITY = Identity(number="+233241000001", operator="MTN", operator_code="62001")


def quiet_phone(storages: dict[str, int] | None = None, family: Family = GENERIC) -> Phone:
    phone = Phone(IDENTITY, storages or {"SM": 3, "ME": 5}, family)
    assert said(phone, "ATE0") == "ATE0\r\r\nOK\r\n"
    return phone


@each(
    ("command", "lines"),
    [
        ("AT", []),
        ("ATV1", []),
        ("ATQ0", []),
        ("ATE0V1Q0", []),
        ("AT&F", []),
        ("at+cgmi", ["Generic"]),
        ("AT+CGMM", ["GSM-1"]),
        ("AT+CGMR", ["1.00"]),
        ("AT+GMI", ["Generic"]),
        ("AT+CGSN", ["004401000000014"]),
        ("AT+CGSN=1", ['+CGSN: "004401000000014"']),
        ("AT+CIMI", ["620010000000001"]),
        ("AT+CCID", ["+CCID: 8923301000000000019"]),
        ("AT+ICCID", ["+ICCID: 8923301000000000019"]),
        ("AT+CNUM", ['+CNUM: "","+233241000001",145']),
        ("AT+CPIN?", ["+CPIN: READY"]),
        ("AT+CFUN?", ["+CFUN: 1"]),
        ("AT+CSQ", ["+CSQ: 20,99"]),
        ("AT+CREG?", ["+CREG: 0,1"]),
        ("AT+CGREG?", ["+CGREG: 0,1"]),
        ("AT+CEREG?", ["+CEREG: 0,1"]),
        # gammu's networkinfo asks for these two.
        ("AT+CREG=2;+CREG?", ['+CREG: 2,1,"01F4","4E21"']),
        ("AT+CGATT?", ["+CGATT: 1"]),
        ("AT+COPS?", ['+COPS: 0,0,"MTN"']),
        ("AT+COPS=3,2;+COPS?", ['+COPS: 0,2,"62001"']),
        ("AT+COPS=0", []),
        ("AT+CSCA?", ['+CSCA: "+233240000099",145']),
        ("AT+CSCS?", ['+CSCS: "IRA"']),
        ('AT+CSCS="GSM"', []),
        ("AT+CCLK?", ['+CCLK: "70/01/01,00:00:00+00"']),
        ("AT+CSMS=0", ["+CSMS: 1,1,1"]),
        ("AT+CMGF=0", []),
        ("AT+CMGF?", ["+CMGF: 0"]),
        ("AT+CPMS=?", ['+CPMS: ("SM","ME"),("SM","ME"),("SM","ME")']),
        ("AT+CPMS?", ['+CPMS: "SM",0,3,"SM",0,3,"SM",0,3']),
        ('AT+CPMS="ME","ME","ME"', ["+CPMS: 0,5,0,5,0,5"]),
        ("AT+CNMI=?", ["+CNMI: (0,1,2),(0,1),(0),(0,1),(0,1)"]),
        ("AT+CNMI?", ["+CNMI: 0,0,0,0,0"]),
        ("AT+CNMI=2,1,0,1,0;+CNMI?", ["+CNMI: 2,1,0,1,0"]),
        ("AT+CNMI=2,1;+CNMI?", ["+CNMI: 2,1,0,0,0"]),
        ("AT+CMGL=4", []),
        ("AT+CMGD=2", []),
        ("AT+CMGD=?", ["+CMGD: (),(0-4)"]),
    ],
)
def test_known_command_is_answered(command: str, lines: list[str]) -> None:
    shown = "".join(f"\r\n{line}\r\n" for line in lines)
    assert said(quiet_phone(), command) == f"{shown}\r\nOK\r\n"


@each(
    ("command", "verbosity", "result"),
    [
        ("AT+NONE", 0, "ERROR"),
        ("AT+NONE", 1, "+CME ERROR: 100"),
        ("AT+NONE", 2, "+CME ERROR: unknown"),
        ("ATJUNK", 0, "ERROR"),
        ("AT+CMEE=3", 1, "+CME ERROR: 50"),
        ("AT+CMGF=1", 1, "+CME ERROR: 50"),
        ("AT+CSMS=1", 1, "+CME ERROR: 50"),
        ("AT+CMGR=1", 0, "+CMS ERROR: 321"),
        ("AT+CMGR=1", 2, "+CMS ERROR: invalid memory index"),
        ("AT+CMGR=99", 1, "+CMS ERROR: 321"),
        ("AT+CMGR=x", 1, "+CMS ERROR: 321"),
        ("AT+CMGD=99", 1, "+CMS ERROR: 321"),
        ("AT+CMGD=1,9", 1, "+CMS ERROR: 302"),
        ('AT+CPMS="XX"', 1, "+CMS ERROR: 302"),
        ('AT+CPMS="SM","SM","SM","SM"', 1, "+CMS ERROR: 302"),
        ("AT+CNMI=2,2", 1, "+CMS ERROR: 302"),
        ("AT+CMGL=9", 1, "+CMS ERROR: 302"),
        ('AT+CMGL="ALL"', 1, "+CMS ERROR: 302"),
        ("AT+CMGS=0", 1, "+CMS ERROR: 304"),
        ("AT+CMGS=10;+CSQ", 1, "+CMS ERROR: 302"),
        ("AT+CSQ=1", 1, "+CME ERROR: 4"),
        ("AT+CFUN=9", 1, "+CME ERROR: 50"),
        ("AT+COPS=9", 1, "+CME ERROR: 50"),
        ("AT+CSCA=abc", 1, "+CMS ERROR: 304"),
        ('AT+CSCS="UCS2"', 1, "+CME ERROR: 50"),
    ],
)
def test_refused_command_says_why(command: str, verbosity: int, result: str) -> None:
    phone = quiet_phone()
    said(phone, f"AT+CMEE={verbosity}")
    assert said(phone, command) == f"\r\n{result}\r\n"


def test_echo_is_on_until_it_is_switched_off_and_on_again_after_a_reset() -> None:
    phone = Phone()
    assert said(phone, "AT") == "AT\r\r\nOK\r\n"
    assert said(phone, "ATE0") == "ATE0\r\r\nOK\r\n"
    assert said(phone, "AT") == "\r\nOK\r\n"
    assert said(phone, "ATZ") == "\r\nOK\r\n"
    assert said(phone, "AT") == "AT\r\r\nOK\r\n"


def test_first_refusal_ends_a_line_of_commands() -> None:
    phone = quiet_phone()
    assert said(phone, "AT+CSQ;+NONE;+CMGF?") == "\r\n+CSQ: 20,99\r\n\r\nERROR\r\n"
    assert list(phone.commands) == ["ATE0", "AT+CSQ", "AT+NONE"]
    assert phone.command_count == 3


def test_line_without_at_is_ignored_and_rubbish_before_it_too() -> None:
    phone = quiet_phone()
    assert said(phone, "") == ""
    assert said(phone, "hello") == ""
    assert said(phone, "\x1b\xffAT") == "\r\nOK\r\n"


def test_endless_line_is_thrown_away() -> None:
    phone = quiet_phone()
    phone.receive_data(b"A" * 5000)
    assert said(phone, "AT") == "\r\nOK\r\n"


def test_delivered_message_is_announced_listed_read_and_deleted() -> None:
    phone = quiet_phone()
    said(phone, "AT+CNMI=2,1,0,1,0")
    assert phone.deliver(PDU_A)
    assert heard(phone) == b'\r\n+CMTI: "SM",1\r\n'
    assert phone.stored() == {("SM", 1): PDU_A}
    assert said(phone, "AT+CMGL=0") == f"\r\n+CMGL: 1,0,,{LENGTH}\r\n{PDU_A}\r\n\r\nOK\r\n"
    assert said(phone, "AT+CMGL=0") == "\r\nOK\r\n"
    assert said(phone, "AT+CMGL=1") == f"\r\n+CMGL: 1,1,,{LENGTH}\r\n{PDU_A}\r\n\r\nOK\r\n"
    assert said(phone, "AT+CMGR=1") == f"\r\n+CMGR: 1,,{LENGTH}\r\n{PDU_A}\r\n\r\nOK\r\n"
    phone.receive_data(b"AT+CMGD=1\r", 42)
    assert heard(phone) == b"\r\nOK\r\n"
    assert phone.stored() == {}
    assert phone.deleted == [Deletion("SM", 1, PDU_A, 0, phone.command_count, 42)]


def test_length_leaves_the_smsc_out() -> None:
    phone = quiet_phone()
    phone.deliver("07913232000000F1" + PDU_A[2:])
    assert said(phone, "AT+CMGR=1").startswith(f"\r\n+CMGR: 0,,{LENGTH}\r\n")


def test_listing_is_by_slot_number_and_a_freed_slot_is_used_again() -> None:
    phone = quiet_phone()
    for pdu in (PDU_A, PDU_B):
        phone.deliver(pdu)
    said(phone, "AT+CMGD=1")
    phone.deliver(PDU_C)
    assert said(phone, "AT+CMGL=4") == (
        f"\r\n+CMGL: 1,0,,{LENGTH}\r\n{PDU_C}\r\n+CMGL: 2,0,,{LENGTH}\r\n{PDU_B}\r\n\r\nOK\r\n"
    )


def test_full_storage_keeps_later_messages_waiting_in_order() -> None:
    phone = quiet_phone({"SM": 1})
    said(phone, "AT+CNMI=2,1,0,1,0")
    assert [phone.deliver(pdu) for pdu in (PDU_A, PDU_B, PDU_C)] == [True, False, False]
    assert heard(phone) == b'\r\n+CMTI: "SM",1\r\n'
    assert phone.held() == [PDU_B, PDU_C]
    assert said(phone, "AT+CMGD=1") == '\r\nOK\r\n\r\n+CMTI: "SM",1\r\n'
    assert (phone.stored(), phone.held()) == ({("SM", 1): PDU_B}, [PDU_C])
    phone.resize("SM", 2)
    assert heard(phone) == b'\r\n+CMTI: "SM",2\r\n'
    assert (phone.stored(), phone.held()) == ({("SM", 1): PDU_B, ("SM", 2): PDU_C}, [])


def test_message_goes_to_the_storage_that_was_chosen_or_named() -> None:
    phone = quiet_phone()
    said(phone, 'AT+CPMS="SM","SM","ME"')
    said(phone, "AT+CNMI=2,1,0,1,0")
    phone.deliver(PDU_A)
    phone.deliver(PDU_B, "SM")
    assert heard(phone) == b'\r\n+CMTI: "ME",1\r\n\r\n+CMTI: "SM",1\r\n'
    assert phone.stored() == {("SM", 1): PDU_B, ("ME", 1): PDU_A}
    assert said(phone, "AT+CPMS?") == '\r\n+CPMS: "SM",1,3,"SM",1,3,"ME",1,5\r\n\r\nOK\r\n'


def test_nothing_is_announced_before_it_is_asked_for() -> None:
    phone = quiet_phone()
    phone.deliver(PDU_A)
    assert heard(phone) == b""


def test_notice_knows_where_it_ends_in_the_stream() -> None:
    phone = quiet_phone()
    said(phone, "AT+CNMI=2,1,0,1,0")
    before = phone.bytes_handed_over
    phone.deliver(PDU_A)
    assert phone.notices[0].offset == before + len(heard(phone)) == phone.bytes_handed_over


def test_preloaded_messages_are_silent_and_all_or_none() -> None:
    phone = quiet_phone()
    said(phone, "AT+CNMI=2,1,0,1,0")
    assert phone.preload([PDU_A, PDU_B]) == [1, 2]
    with pytest.raises(ValueError, match="2 messages do not fit: SM has 1 free"):
        phone.preload([PDU_B, PDU_C])
    assert (heard(phone), len(phone.stored())) == (b"", 2)


@pytest.mark.parametrize("pdu", ["", "0", "XY", "00 1", "é"])
def test_pdu_that_is_no_hex_is_refused(pdu: str) -> None:
    phone = quiet_phone()
    with pytest.raises(ValueError, match=r"hex|octet"):
        phone.deliver(pdu)
    assert phone.stored() == {}


def test_impossible_storage_is_refused() -> None:
    with pytest.raises(ValueError, match="no storage 'XX'; this phone has SM, ME"):
        quiet_phone().deliver(PDU_A, "XX")
    with pytest.raises(ValueError, match="at least one storage"):
        Phone(storages={})
    with pytest.raises(ValueError, match="capacity -1 is not 0 to"):
        Phone(storages={"SM": -1})
    with pytest.raises(ValueError, match="capacity 1048576 is not 0 to"):
        quiet_phone().resize("SM", 1 << 20)


def test_mass_delete_is_done_and_written_down() -> None:
    phone = quiet_phone()
    for pdu in (PDU_A, PDU_B):
        phone.deliver(pdu)
    said(phone, "AT+CMGR=2")
    assert said(phone, "AT+CMGD=1,1") == "\r\nOK\r\n"
    assert said(phone, "AT+CMGD=1,4") == "\r\nOK\r\n"
    assert [(gone.pdu, gone.flag) for gone in phone.deleted] == [(PDU_B, 1), (PDU_A, 4)]


def test_message_is_sent_after_the_prompt() -> None:
    phone = quiet_phone()
    assert said(phone, f"AT+CMGS={LENGTH}") == "\r\n> "
    phone.deliver(PDU_B)
    phone.receive_data(PDU_A.encode() + b"\x1a", 7)
    assert heard(phone) == b"\r\n+CMGS: 0\r\n\r\nOK\r\n"
    assert phone.sent == [Sent(PDU_A, 0, 2, 7)]
    said(phone, f"AT+CMGS={LENGTH}")
    phone.receive_data(PDU_A.encode() + b"\x1a")
    assert heard(phone) == b"\r\n+CMGS: 1\r\n\r\nOK\r\n"


def test_escape_leaves_the_prompt_and_sends_nothing() -> None:
    phone = quiet_phone()
    said(phone, f"AT+CMGS={LENGTH}")
    phone.receive_data(PDU_A.encode() + b"\x1bAT\r")
    assert (heard(phone), phone.sent) == (b"\r\nOK\r\n\r\nOK\r\n", [])


@pytest.mark.parametrize("typed", [PDU_A[:-2], "no hex", ""])
def test_message_of_another_length_is_not_sent(typed: str) -> None:
    phone = quiet_phone()
    said(phone, f"AT+CMGS={LENGTH}")
    phone.receive_data(typed.encode() + b"\x1a")
    assert (heard(phone), phone.sent) == (b"\r\n+CMS ERROR: 304\r\n", [])


def test_without_radio_nothing_comes_or_goes() -> None:
    phone = quiet_phone()
    said(phone, "AT+CFUN=4")
    assert not phone.deliver(PDU_A)
    assert said(phone, "AT+CREG?") == "\r\n+CREG: 0,0\r\n\r\nOK\r\n"
    assert said(phone, "AT+COPS?") == "\r\n+COPS: 0\r\n\r\nOK\r\n"
    said(phone, f"AT+CMGS={LENGTH}")
    assert said(phone, PDU_A + "\x1a") == "\r\n+CMS ERROR: 331\r\n"
    said(phone, "AT+CFUN=1")
    assert phone.stored() == {("SM", 1): PDU_A}
