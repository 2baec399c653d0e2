"""Quirks of modem makes: one row of data per make, with the source of each departure from the standard.

A phone is recognised by its own identification (`AT+CGMI`, `+CGMM`, `+CGMR`), never by its USB IDs,
which different firmware versions share. A phone in no row is treated by the standard and reported as
unknown once. A phone that answers differently from its row never stalls because of it.

Sources: MM is ModemManager's source (plugins/NAME, mm-broadband-modem-NAME.c), gammu is its
atgen.c, gsmmodem is python-gsmmodem's fakemodems.py (descriptions of real modems), smstools is its
manual, `project#n` is an issue there. `[K]` is general knowledge that was not checked.
"""

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

STANDARD_URCS: Final = (
    "+CREG", "+CGREG", "+CEREG", "+CSQ", "+CPIN", "+CIEV", "+CUSD", "+CDSI", "+CTZV", "+CTZE",
    "+CUSATP", "+CUSATEND", "+CLIP", "+CRING", "+CCWA", "+CGEV", "+CFUN", "+CCWV", "+CSSU", "+CSSI",
    "RING", "NO CARRIER", "BUSY", "NO ANSWER", "NO DIALTONE", "CONNECT", ">",
)  # fmt: skip
"""Prefixes of the unsolicited lines of 27.007, 27.005 and V.250 that need no reaction."""
NOTICES: Final = ("2,1,0,1,0", "2,1,0,2,0", "2,1,0,0,0", "1,1,0,0,0", "3,1,0,0,0", "2,1")
"""Forms of `AT+CNMI`, the best first. Firmware refuses some of them, even some that it offers with `=?`
(MM: cnmi_sequence); some accepts only bfr=1 (gammu#1207, MC75i). `<ds>` 1 sends status reports
inline; with `<mt>` 2 a message is not stored (smstools: routing mode), see `DIRECT`."""
DIRECT: Final = ("2,2,0,1,0", "2,2,0,0,0", "1,2,0,0,0", "2,2")
"""For a phone that accepts none of those: it forwards messages without storing them, so each must
be acknowledged once it is durable (27.005 clause 3.4.1, `+CNMA`), else the network keeps it."""
_WITHOUT_STORED_REPORTS: Final = ("2,1,0,1,0", "2,1,0,0,0", "1,1,0,0,0", "3,1,0,0,0", "2,1")
ICCID: Final = ("AT+CCID", "AT+ICCID", "AT^ICCID?", "AT+QCCID", "AT+CICCID", "AT+ZGETICCID", "AT+CRSM=176,12258,0,0,10")
"""The command differs between makes; the last one reads the file EF-ICCID (27.007 clause 8.18)."""
PIN_COUNTERS: Final = ("AT+CPINR", "AT^CPIN?")
"""27.007 clause 8.65, and the equivalent in Huawei's command set."""


class PortRole(StrEnum):
    """Role of a tty among the ttys of one stick."""

    COMMAND = "command"
    MODEM = "modem"
    """The port for dial-up connections; it accepts commands too."""
    UNKNOWN = "unknown"


class Family(Struct, frozen=True):
    """One make. The defaults follow the standard.

    Attributes:
        name: Our name for it, for logs and status.
        source: Source of each departure.
        says: Pattern of the phone's identification in lower case; the first matching row counts.
        urcs: Prefixes of this make's unsolicited lines that need no reaction.
        init: Commands sent once in PDU mode; each may be refused.
        notice_port: The command that sends notices to the command port, and to the modem port.
        storages: Storages to read; the first one that the phone accepts receives.
        notices: Forms of `AT+CNMI`, the best first.
        iccid: Its command for the ICCID; the others are tried after it.
        pin_counter: The command for the number of PIN tries left.
        slot: The command for the SIM slot in use, for a device with two slots.
        clock: The command that lets the network set the phone's clock. Empty: its clock is not believed.
        last_lines: Prefix of the last answer line, by command, for answers that end without OK.
        deletes_siblings: Deleting one part of a long message deletes all of them.
        restart: `AT+CFUN=1,1` revives a hung phone.
        restart_on_silence: After one unanswered list the phone hangs until it is restarted.
        hilink: Some firmware keeps messages out of reach of AT commands.
        unusable_reason: Reason why messages can never be read from it; empty for all others.
    """

    name: str
    source: str
    says: str
    urcs: tuple[str, ...] = ()
    init: tuple[str, ...] = ()
    notice_port: tuple[str, str] | None = None
    storages: tuple[str, ...] = ("SM", "ME")
    notices: tuple[str, ...] = NOTICES
    iccid: str = ""
    pin_counter: str = ""
    slot: str = ""
    clock: str = ""
    last_lines: tuple[tuple[str, str], ...] = ()
    deletes_siblings: bool = False
    restart: bool = False
    restart_on_silence: bool = False
    hilink: bool = False
    unusable_reason: str = ""

    @property
    def iccid_commands(self) -> tuple[str, ...]:
        """Return the commands for the ICCID in the order to try them."""
        return tuple(dict.fromkeys((self.iccid, *ICCID))) if self.iccid else ICCID

    @property
    def pin_counters(self) -> tuple[str, ...]:
        """Return the commands for the number of PIN tries left, in the order to try them."""
        return tuple(dict.fromkeys(filter(None, (self.pin_counter, *PIN_COUNTERS))))

    def notices_to(self, role: PortRole) -> tuple[str, ...]:
        """Return the command that sends notices to the port that we read, if known."""
        if self.notice_port is None or role is PortRole.UNKNOWN:
            return ()
        return (self.notice_port[role is PortRole.MODEM],)

    def ends_with(self, command: str) -> str:
        """Return the prefix of the last line of an answer without OK; empty for the usual OK."""
        return next((line for asked, line in self.last_lines if asked == command), "")


GENERIC: Final = Family("generic", "3GPP TS 27.005 and 27.007", "")

FAMILIES: Final = (
    Family(
        "huawei-cdma",
        source="Huawei CDMA AT specification: ^HCMT, ^HCMGL, text instead of PDUs",
        says=r"huawei.*\b(?:ec|ets?)[0-9]{3}",
        unusable_reason="it is a CDMA modem, which no GSM network serves",
    ),
    Family(
        "huawei",
        source=(
            "urcs: MM huawei 4866-4934, gammu 6407-6418, chan_dongle wdoekes#47 (^SMMEMFULL); "
            "notice_port: MM huawei unsolicited_enable_sequence, chan_dongle wdoekes#121; "
            "iccid: gsmmodem E1752; restart_on_silence: gammu#4, F_RESET_AFTER_TIMEOUT; restart: "
            "gammu#687; pin_counter: MM huawei load_unlock_retries; hilink: gammu#223, #333, #340, #517. ^CURC=0 is not sent: some firmware "
            "mutes +CMTI with it too [K], and its lines cost us nothing"
        ),
        says=r"huawei|\be(?:1[5-8][0-9]{1,2}|220|226|303|3131|3372|3531)\b",
        urcs=(
            "^RSSI", "^BOOT", "^MODE", "^SRVST", "^SIMST", "^STIN", "^CSNR", "^DSFLOWRPT", "^HCSQ",
            "^HRSSILVL", "^NWTIME", "^EONS", "^LWURC", "^NDISSTAT", "^THERM", "^SYSSTART",
        ),
        notice_port=("AT^PORTSEL=0", "AT^PORTSEL=1"),
        iccid="AT^ICCID?",
        pin_counter="AT^CPIN?",
        restart=True,
        restart_on_silence=True,
        hilink=True,
    ),
    Family(
        "zte",
        source=(
            "urcs: MM mm-common-zte.c; AT+CSMP is never sent, it wipes the SMSC's number (gsmmodem "
            "K3565-Z, faucamp#8); pin_counter: MM zte load_unlock_retries; iccid: [K]; ZTE_INIT of gammu is not sent, since it writes to the stick for "
            "good; reports are never stored, since SR fills up (gammu#209)"
        ),
        says=r"\bzte\b|\bmf[0-9]{2,3}\b|k3[0-9]{3}-z",
        urcs=("+ZUSIMR", "+ZDONR", "+ZPASR", "+ZPSTM", "+ZEND"),
        notices=_WITHOUT_STORED_REPORTS,
        iccid="AT+ZGETICCID",
        pin_counter="AT+ZPINPUK=?",
    ),
    Family(
        "sim800",
        source=(
            "urcs: SIM800 hardware design 4.2.2.3, MM simtech; notices: faucamp#61 (ds=2 breaks "
            "receiving); storages: many refuse ME (+CMS 302); deletes_siblings: smstools "
            "check_memory_method 5; pin_counter: MM simtech; iccid: bare digits of AT+CCID; clock: SIM800 AT command "
            "manual, +CLTS [K]; restart: [K]"
        ),
        says=r"sim[ _]?(?:com)?[ _]?(?:[36]00|[89][0-9]{2}(?![0-9]))",
        urcs=(
            "UNDER-VOLTAGE WARNNING", "OVER-VOLTAGE WARNNING", "*PSUTTZ", "DST:", "+SIMCARD",
        ),
        notices=_WITHOUT_STORED_REPORTS,
        iccid="AT+CCID",
        pin_counter="AT+SPIC",
        clock="AT+CLTS=1",
        deletes_siblings=True,
        restart=True,
    ),
    Family(
        "sim7600",
        source=(
            "urcs, pin_counter: as sim800; notices: babca#106 (+CDSI SR, then CMS 321); iccid: AT+CICCID [K]; "
            "clock: 27.007 clause 8.40; restart: [K]"
        ),
        says=r"simcom|sim7[0-9]{3}|\ba76[0-9]{2}",
        notices=_WITHOUT_STORED_REPORTS,
        iccid="AT+CICCID",
        pin_counter="AT+SPIC",
        clock="AT+CTZU=1",
        restart=True,
    ),
    Family(
        "quectel",
        source=(
            "urcs, pin_counter: MM quectel; slot: [K]; notices: chan-quectel#75 (a report is announced in SM and lies in SR: "
            "reading it deleted an unrelated message); init: serialport-gsm#12 [K]; clock: 3 sets local time, as +CCLK wants it [K]; restart: [K]"
        ),
        says=r"quectel|\b(?:ec2[0-9]|eg[0-9]{2}|uc[12][05]|m35|m95|bg9[0-9])\b",
        urcs=("+QUSIM", "+QIND", "+QNITZ"),
        init=('AT+QURCCFG="urcport","all"',),
        notices=_WITHOUT_STORED_REPORTS,
        iccid="AT+QCCID",
        pin_counter="AT+QPINC?",
        slot="AT+QDSIM?",
        clock="AT+CTZU=3",
        restart=True,
    ),
    Family(
        "wavecom",
        source="gsmmodem WavecomMultiband (+CPIN: READY without OK), gammu#93, gammu#154",
        says=r"wavecom|fastrack|multiband|\bq24",
        urcs=("+WIND",),
        init=("AT+WIND=0",),
        storages=("SM",),
        iccid="AT+CCID",
        last_lines=(("AT+CPIN?", "+CPIN:"),),
    ),
    Family(
        "ublox",
        source="urcs: MM ublox; iccid: AT+CCID; clock: 27.007 clause 8.40; SIM busy for seconds: ubxlib#287",
        says=r"u-?blox|\b(?:leon|lisa|sara|toby)-",
        urcs=("+UUSIMSTAT", "+UMWI"),
        iccid="AT+CCID",
        clock="AT+CTZU=1",
    ),
    Family(
        "nokia-s60",
        source="gsmmodem NokiaN79: neither CNMI nor CMGL",
        says=r"nokia.*\bn[0-9]{2}\b",
        unusable_reason="this phone does not let programs read its messages",
    ),
    Family(
        "qualcomm",
        source="AT+CSMP as on zte (M6280, faucamp#8); no restart: gammu#552 (05c6:6000 never returns)",
        says=r"qualcomm|\bm62[0-9]{2}\b",
    ),
)  # fmt: skip

URCS: Final = STANDARD_URCS + tuple(line for row in FAMILIES for line in row.urcs)
"""Of all makes: a module is sold under many names, and its unsolicited lines are the same."""


def family_of(manufacturer: str | None, model: str | None, firmware: str | None) -> Family:
    """Return the row of a phone from its identification; `GENERIC` when no row matches."""
    said = " ".join(filter(None, (manufacturer, model, firmware))).lower()
    return next((row for row in FAMILIES if re.search(row.says, said) is not None), GENERIC)


_HILINK_NAME: Final = re.compile(r"hilink|huawei_mobile", re.IGNORECASE)
_STICK_FIRMWARE: Final = re.compile(r"(?:11|21)\.", re.ASCII)
HILINK_SLOTS: Final = 20
"""Capacity that such firmware reports for every SIM (gammu#223, #340)."""


def hilink_by_name(manufacturer: str | None, model: str | None) -> str:
    """Return the identification that contains a HiLink name, empty when none does (MM huawei)."""
    return next((said for said in (model, manufacturer) if said and _HILINK_NAME.search(said)), "")


def may_be_hilink(family: Family, firmware: str | None, used: int, total: int) -> bool:
    """Return whether HiLink is possible: an empty storage of 20, and no stick firmware (11.x, 21.x)."""
    stick = firmware is not None and _STICK_FIRMWARE.match(firmware) is not None
    return family.hilink and not stick and used == 0 and total == HILINK_SLOTS
