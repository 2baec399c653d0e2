"""A phone's answers about itself on the AT line, and unsolicited lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.modem.session import at
from daemon.modem.session.at import UnsolicitedKind
from tests.fakes.each import each


@pytest.mark.parametrize(
    ("line", "signal"),
    [("+CSQ: 20,99", 20), ("+CSQ:0,0", 0), ("+CSQ: 99,99", None), ("+CSQ: 112,99", None)],
)
def test_signal_is_0_to_31_or_unknown(line: str, signal: int | None) -> None:
    assert at.csq_signal(line) == signal


@pytest.mark.parametrize(
    ("line", "stat"),
    [
        ("+CREG: 2,1,4CA,81DE445", 1),
        ('+CREG: 2,5,"2AF5","0B88E350",2', 5),
        ('+CREG: 2,1,"0B,"0100701",7', 1),
        ('+CREG: 2,1,"5E25', 1),
        ("+CREG: 0,11", 11),
        ("+CREG: 1", None),
        ("+CREG:", None),
    ],
)
def test_registration_is_the_second_field_of_an_answer(line: str, stat: int | None) -> None:
    assert at.registration_stat(line) == stat


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('+COPS: 0,0,"MTN",2', "MTN"),
        ("+COPS: 0,2,62001", "62001"),
        ('+COPS: 0,0,"A, B"', "A, B"),
        ('+COPS: 0,0,""', None),
        ("+COPS: 0", None),
    ],
)
def test_operator_is_the_third_field(line: str, name: str | None) -> None:
    assert at.operator_name(line) == name


@pytest.mark.parametrize(
    ("line", "imei"),
    [
        ("004401000000014", "004401000000014"),
        ('+CGSN: "004401000000014"', "004401000000014"),
        ("IMEI: 00440100000001", "00440100000001"),
        ("0044010000000142", "0044010000000142"),
        ("12345", None),
        ("123456789012345678", None),
    ],
)
def test_imei_is_14_to_17_digits_however_dressed(line: str, imei: str | None) -> None:
    assert at.imei_of(line) == imei


@pytest.mark.parametrize(
    ("line", "imsi"), [("620010000000001", "620010000000001"), ("+CIMI: 62001000000000", None)]
)
def test_imsi_is_14_or_15_digits(line: str, imsi: str | None) -> None:
    assert at.imsi_of(line) == (imsi or line[7:])


@each(
    ("line", "iccid"),
    [
        ("+CCID: 8923301000000000019", "8923301000000000019"),
        ("89233010000000000191", "89233010000000000191"),
        ('+ICCID: "8923301000000000019F"', "8923301000000000019"),
        ("8923301000000000019f", "8923301000000000019"),
        ("^ICCID: 98320310000000000091", "89233001000000000019"),
        ("+QCCID: 983203100000000000F1", "8923300100000000001"),
        ('+CRSM: 144,0,"983203100000000000F1"', "8923300100000000001"),
        ('+CRSM: 106,130,""', None),
        ("+CCID: 12345678901234567890", None),
        ("+CCID: 8923", None),
    ],
)
def test_iccid_begins_with_89_whichever_way_round_it_comes(line: str, iccid: str | None) -> None:
    assert at.iccid_of(line) == iccid


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('+CGMI: "huawei"', "huawei"),
        ("E173", "E173"),
        ("^X: a:b", "a:b"),
        ("rev: 1.0", "rev: 1.0"),
    ],
)
def test_bare_answer_has_no_name_and_no_quotes(line: str, text: str) -> None:
    assert at.answer_value(line) == text


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("+X: ", [""]),
        ("+X: 1,,3", ["1", "", "3"]),
        ('+X: "a,b" , c ,"', ["a,b", "c", ""]),
        ("+X: 1,", ["1", ""]),
    ],
)
def test_fields_stand_between_commas_outside_quotes(line: str, fields: list[str]) -> None:
    assert at.fields(line) == fields


@each(
    ("line", "kind"),
    [
        ('+CMTI: "SM",1', UnsolicitedKind.NOTICE),
        ("+CMT: ,25", UnsolicitedKind.MESSAGE),
        ("+CDS: 25", UnsolicitedKind.REPORT),
        ("RDY", UnsolicitedKind.REBOOTED),
        ("+CPIN: READY", UnsolicitedKind.REBOOTED),
        ("+CPIN: NOT READY", UnsolicitedKind.SIM_OUT),
        ("+CPIN: NOT INSERTED", UnsolicitedKind.SIM_OUT),
        ("^SIMST:255,0", UnsolicitedKind.SIM_OUT),
        ("^SIMST:1", UnsolicitedKind.KNOWN),
        ("+QUSIM: 0", UnsolicitedKind.SIM_OUT),
        ("+CSMINS: 1,0", UnsolicitedKind.SIM_OUT),
        ("+WIND: 0", UnsolicitedKind.SIM_OUT),
        ("SMS Ready", UnsolicitedKind.REBOOTED),
        ("NORMAL POWER DOWN", UnsolicitedKind.REBOOTED),
        ('+QIND: "SMS DONE"', UnsolicitedKind.REBOOTED),
        ("+WIND: 4", UnsolicitedKind.REBOOTED),
        ('^SMMEMFULL:"SM"', UnsolicitedKind.FULL),
        ('+QIND: "smsfull","SM"', UnsolicitedKind.FULL),
        ("+ SMS FULL", UnsolicitedKind.FULL),
        ("+CIEV: smsfull,1", UnsolicitedKind.FULL),
        ("^RSSI:14", UnsolicitedKind.KNOWN),
        ("^BOOT:21083438,0,0,0,89", UnsolicitedKind.KNOWN),
        ("+ZUSIMR:2", UnsolicitedKind.KNOWN),
        ('+CDSI: "SR",8', UnsolicitedKind.STORED_REPORT),
        ("RING", UnsolicitedKind.KNOWN),
        ("UNDER-VOLTAGE WARNNING", UnsolicitedKind.KNOWN),
        ("+XYZZY: 1", UnsolicitedKind.UNKNOWN),
        ("\xff\xfe", UnsolicitedKind.UNKNOWN),
    ],
)  # fmt: skip
def test_lines_nobody_asked_for_are_told_apart(line: str, kind: UnsolicitedKind) -> None:
    assert at.unsolicited_kind(line) is kind


@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=60))
def test_no_line_makes_a_reader_raise(text: str) -> None:
    for name in ("", "+CMGL: ", "+CPMS: ", "+CREG: ", "+CMTI: ", "+CRSM: 144,0,", "+CME ERROR: "):
        line = name + text
        if (error := at.error_of(line)) is not None:
            assert at.pin_wanted(error) is None or not at.sim_absent(error)
            at.is_busy(error)
        for reader in (
            at.cmgl_header, at.cmgr_header, at.unsolicited_header, at.cmti, at.cpms_fills,
            at.cpms_choices, at.csq_signal, at.registration_stat, at.operator_name, at.imei_of,
            at.imsi_of, at.iccid_of, at.answer_value, at.fields, at.unsolicited_kind, at.is_hex,
        ):  # fmt: skip
            reader(line)
