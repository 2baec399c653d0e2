"""The table of makes: identification of a make, and valid rows."""

import re

from daemon.modem import quirks
from daemon.modem.quirks import FAMILIES, GENERIC, PortRole, family_of
from daemon.modem.session import at
from tests.fakes.each import each


@each(
    ("said", "name"),
    [
        (("huawei", "E173", "11.126.29.00.209"), "huawei"),
        (("huawei", "E3131", "21.158.13.00.209"), "huawei"),
        (("huawei", "EC156", None), "huawei-cdma"),
        (("ZTE CORPORATION", "MF190", "BD_P673A2V1.0.0"), "zte"),
        (("SIMCOM_Ltd", "SIMCOM_SIM800L", "Revision:1418B05SIM800L24"), "sim800"),
        (("SIMCOM_Ltd", "SIMCOM_SIM900", None), "sim800"),
        (("SIMCOM INCORPORATED", "SIMCOM_SIM7600E-H", "LE20B04"), "sim7600"),
        (("Quectel", "EC25", "EC25EFAR06A03M4G"), "quectel"),
        (("WAVECOM MODEM", "MULTIBAND 900E 1800", None), "wavecom"),
        (("u-blox", "LEON-G200", None), "ublox"),
        (("Nokia", "Nokia N79", None), "nokia-s60"),
        (("Generic", "GSM-1", "1.00"), "generic"),
        ((None, None, None), "generic"),
    ],
)
def test_a_phone_is_known_by_what_it_says(said: tuple[str | None, ...], name: str) -> None:
    assert family_of(*said).name == name


def test_every_row_names_its_source_and_its_lines_are_known() -> None:
    for row in FAMILIES:
        assert row.source
        re.compile(row.says)
        for line in row.urcs:
            assert at.unsolicited_kind(line + ": 1") is not at.UnsolicitedKind.UNKNOWN, line
        assert set(row.notices) <= set(quirks.NOTICES)
        assert set(row.iccid_commands) == set(quirks.ICCID)


def test_no_row_asks_for_messages_that_are_stored_nowhere() -> None:
    assert [m for row in (*FAMILIES, GENERIC) for m in row.notices if m[1:3] != ",1"] == []


def test_notices_are_sent_to_the_port_that_is_read() -> None:
    huawei = family_of("huawei", "E173", None)
    assert huawei.notices_to(PortRole.COMMAND) == ("AT^PORTSEL=0",)
    assert huawei.notices_to(PortRole.MODEM) == ("AT^PORTSEL=1",)
    assert huawei.notices_to(PortRole.UNKNOWN) == ()
    assert GENERIC.notices_to(PortRole.COMMAND) == ()


@each(
    ("line", "cls"),
    [
        ("+CMS ERROR: 500", at.ErrorClass.TRANSIENT),
        ("+CMS ERROR: 314", at.ErrorClass.TRANSIENT),
        ("+CME ERROR: 515", at.ErrorClass.TRANSIENT),
        ("+CME ERROR: SIM busy", at.ErrorClass.TRANSIENT),
        ("+CME ERROR: 10", at.ErrorClass.SIM),
        ("+CMS ERROR: 316", at.ErrorClass.SIM),
        ("+CME ERROR: SIM PIN required", at.ErrorClass.SIM),
        ("+CMS ERROR: 322", at.ErrorClass.FULL),
        ("+CMS ERROR: 208", at.ErrorClass.FULL),
        ("+CMS ERROR: 321", at.ErrorClass.EMPTY),
        ("+CMS ERROR: 302", at.ErrorClass.FINAL),
        ("+CMS ERROR: 28", at.ErrorClass.FINAL),
        ("ERROR", at.ErrorClass.FINAL),
        ("+CMS ERROR: 777", at.ErrorClass.UNKNOWN),
        ("+CME ERROR: odd words", at.ErrorClass.UNKNOWN),
    ],
)
def test_errors_are_sorted_by_what_to_do(line: str, cls: at.ErrorClass) -> None:
    error = at.error_of(line)
    assert error is not None
    assert at.error_class(error) is cls


def test_whatever_may_work_in_seconds_is_transient() -> None:
    for code in range(1000):
        for kind in (at.ErrorKind.CME, at.ErrorKind.CMS):
            error = at.Error(kind, code)
            if at.is_busy(error):
                assert at.error_class(error) is at.ErrorClass.TRANSIENT
