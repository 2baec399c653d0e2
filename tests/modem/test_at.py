"""The AT protocol, with data cut at any place and with invalid data: lines, results, messages, storages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.session import at
from daemon.modem.session.at import Codec, Error, ErrorKind, Fill, Header, UnsolicitedKind
from tests.fakes.each import each


def lines_of(*pieces: bytes) -> list[str]:
    codec = Codec()
    return [line for piece in pieces for line in codec.receive_data(piece)]


@each(
    ("data", "lines"),
    [
        (b"\r\nOK\r\n", ["OK"]),
        (b"ATE0\r\r\nOK\r\n", ["ATE0", "OK"]),
        (b"+CSQ: 20,99\nOK\n", ["+CSQ: 20,99", "OK"]),
        (b"\r\r\n^MODE:5,4\r\r\r\n", ["^MODE:5,4"]),
        (b" \x00OK\x00 \r", ["OK"]),
        (b"\r\n \r\n\t\r\n", []),
        (b"caf\xe9\xff\r\n", ["caf\xe9\xff"]),
        (b"a\x0bb\x0cc\x1cd\x85e\r\n", ["a\x0bb\x0cc\x1cd\x85e"]),
        (b"no end", []),
        (b"", []),
    ],
)
def test_lines_end_with_any_run_of_cr_and_lf(data: bytes, lines: list[str]) -> None:
    assert lines_of(data) == lines


def test_prompt_has_no_line_end() -> None:
    codec = Codec()
    assert not codec.prompt
    for data, prompt in ((b"\r\n", False), (b">", True), (b" ", True), (b"0", False)):
        assert codec.receive_data(data) == []
        assert codec.prompt is prompt
    assert codec.receive_data(b"791\r\n") == ["> 0791"]


def test_half_line_is_forgotten_when_told() -> None:
    codec = Codec()
    codec.receive_data(b"+CMT")
    codec.clear()
    assert codec.receive_data(b"OK\r\n") == ["OK"]


def test_endless_line_gives_its_beginning_once() -> None:
    codec = Codec()
    lines = [line for _ in range(100) for line in codec.receive_data(b"x" * 1000)]
    assert lines == ["x" * at.LINE_BYTES_MAX]
    assert codec.receive_data(b"xx\rOK\r") == ["OK"]


def test_endless_line_is_as_long_in_one_piece() -> None:
    assert lines_of(b"x" * 9000 + b"\r\nOK\r\n") == ["x" * at.LINE_BYTES_MAX, "OK"]


STREAM = st.lists(
    st.one_of(
        st.binary(max_size=8),
        st.sampled_from([b"\r", b"\n", b"\r\n", b"> ", b"\r\nOK\r\n", b" ", b"\x00"]),
        st.integers(4090, 4100).map(lambda size: b"A" * size),
    ),
    max_size=12,
).map(b"".join)


@given(STREAM, st.data())
def test_lines_do_not_depend_on_the_cuts(data: bytes, draw: st.DataObject) -> None:
    places = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=5)))
    cut = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    assert lines_of(*cut) == lines_of(data)


@settings(max_examples=20)
@given(STREAM)
def test_lines_are_the_same_byte_by_byte(data: bytes) -> None:
    assert lines_of(*(bytes([byte]) for byte in data)) == lines_of(data)


@each(
    ("line", "error"),
    [
        ("ERROR", Error(ErrorKind.PLAIN, None, "ERROR")),
        ("COMMAND NOT SUPPORT", Error(ErrorKind.PLAIN, None, "COMMAND NOT SUPPORT")),
        ("TOO MANY PARAMETERS", Error(ErrorKind.PLAIN, None, "TOO MANY PARAMETERS")),
        ("+CME ERROR: 10", Error(ErrorKind.CME, 10, "10")),
        ("+CMS ERROR:321", Error(ErrorKind.CMS, 321, "321")),
        ("+CME ERROR: SIM busy", Error(ErrorKind.CME, None, "SIM busy")),
        ("+CMS ERROR", Error(ErrorKind.CMS, None, "")),
        ("OK", None),
        ("+CMGR: 0,,25", None),
        ("+CMX ERROR: 1", None),
    ],
)
def test_errors_are_read_by_number_or_by_words(line: str, error: Error | None) -> None:
    assert at.error_of(line) == error


@pytest.mark.parametrize("line", ["ERROR", "+CME ERROR: 10", "+CMS ERROR: memory full"])
def test_errors_are_said_as_the_phone_said_them(line: str) -> None:
    assert str(at.error_of(line)) == line


@each(
    ("line", "busy", "absent", "pin"),
    [
        ("+CME ERROR: 14", True, False, None),
        ("+CMS ERROR: 314", True, False, None),
        ("+CME ERROR: 515", True, False, None),
        ("+CME ERROR: SIM busy", True, False, None),
        ("+CME ERROR: 10", False, True, None),
        ("+CMS ERROR: 310", False, True, None),
        ("+CME ERROR: SIM not inserted", False, True, None),
        ("+CME ERROR: 11", False, False, "SIM PIN"),
        ("+CMS ERROR: 316", False, False, "SIM PUK"),
        ("+CME ERROR: SIM PUK required", False, False, "SIM PUK"),
        ("+CME ERROR: 100", False, False, None),
        ("ERROR", False, False, None),
    ],
)
def test_errors_say_what_to_wait_for(line: str, busy: bool, absent: bool, pin: str | None) -> None:
    error = at.error_of(line)
    assert error is not None
    assert (at.is_busy(error), at.sim_absent(error), at.pin_wanted(error)) == (busy, absent, pin)


@each(
    ("line", "header"),
    [
        ("+CMGL: 1,0,,25", Header(1, 0, 25)),
        ("+CMGL:0,1,,80", Header(0, 1, 80)),
        ('+CMGL: 12 , 3 ,"Ama, Kofi", 159', Header(12, 3, 159)),
        ("+CMGL: 4,1,25", Header(4, 1, 25)),
        ('+CMGL: 1,"REC READ",,25', None),
        ("+CMGL: 1,2", None),
        ("+CMGL:", None),
        ("+CMGL: \u00b2,0,,25", None),
        ("+CMGL: 99999999999,0,,25", None),
    ],
)
def test_list_header_gives_slot_status_and_length(line: str, header: Header | None) -> None:
    assert at.cmgl_header(line) == header


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("+CMGR: 0,,25", Header(-1, 0, 25)),
        ("+CMGR:1,25", Header(-1, 1, 25)),
        ('+CMGR: "REC READ","+233","",145', None),
        ("+CMGR: 0", None),
    ],
)
def test_read_header_gives_status_and_length(line: str, header: Header | None) -> None:
    assert at.cmgr_header(line) == header


@pytest.mark.parametrize(("line", "length"), [("+CMT: ,25", 25), ("+CMT:25", 25), ("+CDS: 30", 30), ("+CMT: x", None)])
def test_header_of_a_message_in_no_slot_gives_its_length(line: str, length: int | None) -> None:
    assert at.unsolicited_header(line) == (None if length is None else Header(-1, 0, length))


@pytest.mark.parametrize(
    ("length", "pdu", "whole"), [(2, "0111AABB", True), (2, "0111AA", False), (2, "00AABB", True), (0, "00", True)]
)
def test_length_counts_the_octets_after_the_smsc(length: int, pdu: str, whole: bool) -> None:
    assert at.fits(length, pdu) is whole


@each(
    ("line", "slot"),
    [
        ('+CMTI: "SM",1', ("SM", 1)),
        ('+CMTI:"ME",0', ("ME", 0)),
        ("+CMTI: SM, 12", ("SM", 12)),
        ('+CMTI: "MT" ,255', ("MT", 255)),
        ("+CMTI: ,-1", None),
        ("+CMTI: 5", None),
        ('+CMTI: "SM"', None),
        ('+CMTI: "SM",\u0663', None),
    ],
)
def test_notice_names_a_slot_or_none(line: str, slot: tuple[str, int] | None) -> None:
    assert at.cmti(line) == slot


@pytest.mark.parametrize(
    ("line", "hexadecimal"),
    [("0791ab", True), ("0791a", False), ("", False), ("07 91", False), ("\u0660\u0661", False)],
)
def test_pdu_is_whole_octets_in_hex(line: str, hexadecimal: bool) -> None:
    assert at.is_hex(line) is hexadecimal


@pytest.mark.parametrize(
    ("line", "fills"),
    [
        ('+CPMS: "SM",1,30,"ME",0,23,"SM",1,30', [Fill("SM", 1, 30), Fill("ME", 0, 23), Fill("SM", 1, 30)]),
        ("+CPMS: 0,23,0,23,2,50", [Fill("", 0, 23), Fill("", 0, 23), Fill("", 2, 50)]),
        ("+CPMS: 14,50", [Fill("", 14, 50)]),
        ("+CPMS: ", []),
        ('+CPMS: "SM",1', []),
        ('+CPMS: "SM","ME","MT"', []),
    ],
)
def test_fills_come_with_or_without_names(line: str, fills: list[Fill]) -> None:
    assert at.cpms_fills(line) == fills


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ('+CPMS: ("SM","ME"),("SM","ME"),("SM","ME")', [["SM", "ME"], ["SM", "ME"], ["SM", "ME"]]),
        ('+CPMS: (("SM","BM","SR"),("SM"))', [["SM", "BM", "SR"], ["SM"]]),
        ('+CPMS: "SM","SM","SM"', [["SM"], ["SM"], ["SM"]]),
        ('+CPMS: (ME", "SR"), ("ME")', [["ME", "SR"], ["ME"]]),
        ("+CPMS: ", []),
    ],
)
def test_choices_of_storages_are_read_however_bracketed(line: str, choices: list[list[str]]) -> None:
    assert at.cpms_choices(line) == choices


@pytest.mark.parametrize(
    ("line", "signal"), [("+CSQ: 20,99", 20), ("+CSQ:0,0", 0), ("+CSQ: 99,99", None), ("+CSQ: 112,99", None)]
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


@pytest.mark.parametrize(("line", "imsi"), [("620010000000001", "620010000000001"), ("+CIMI: 62001000000000", None)])
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
    ("line", "text"), [('+CGMI: "huawei"', "huawei"), ("E173", "E173"), ("^X: a:b", "a:b"), ("rev: 1.0", "rev: 1.0")]
)
def test_bare_answer_has_no_name_and_no_quotes(line: str, text: str) -> None:
    assert at.answer_value(line) == text


@pytest.mark.parametrize(
    ("line", "fields"),
    [("+X: ", [""]), ("+X: 1,,3", ["1", "", "3"]), ('+X: "a,b" , c ,"', ["a,b", "c", ""]), ("+X: 1,", ["1", ""])],
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
)
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
