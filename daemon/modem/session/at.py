r"""Codec for the AT serial line: cuts bytes into lines and parses the lines. Never raises.

Framing and answers follow ITU-T V.250 clause 5 and 3GPP TS 27.005 / 27.007, read as loosely as
real phones write: echoes, `\r\r\n`, lone `\n`, missing blank lines, text instead of error numbers,
other lines in the middle of an answer. Bytes are decoded as latin-1, in which every byte is valid.
"""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.modem.quirks import URCS
from parsers.times import to_us

LINE_BYTES_MAX: Final = 4096
"""A PDU has at most 2 * 176 hex digits; the longest regular line is a list of networks."""
NUMBER_DIGITS_MAX: Final = 9

_CLOCK: Final = re.compile(r"(\d\d/\d\d/\d\d,\d\d:\d\d:\d\d)([+-]\d{1,2})(?!\d)", re.ASCII)
_ENDS: Final = (b"\r", b"\n")
_FILL: Final = " \t\x00"


class Codec:
    """Cuts the stream into lines; the result does not depend on how the stream is chunked."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def receive_data(self, data: bytes) -> list[str]:
        """Return the lines that are complete now, trimmed, without empty ones.

        A line longer than `LINE_BYTES_MAX` is cut to that length; the rest is dropped.
        """
        if not data:
            return []
        data = self._rest + data
        pieces = data.splitlines()
        if data.endswith(_ENDS):
            self._rest = b""
            whole = True
        else:
            self._rest = pieces.pop()
            whole = False
        lines: list[str] = []
        if self._skipping and (pieces or whole):
            self._skipping = False
            del pieces[:1]
        for piece in pieces:
            line = piece[:LINE_BYTES_MAX].decode("latin-1").strip(_FILL)
            if line:
                lines.append(line)
        if len(self._rest) > LINE_BYTES_MAX or self._skipping:
            self._cut(lines)
        return lines

    def _cut(self, lines: list[str]) -> None:
        """Emit the beginning of an overlong line once and drop the rest as it arrives."""
        if not self._skipping:
            line = self._rest[:LINE_BYTES_MAX].decode("latin-1").strip(_FILL)
            if line:
                lines.append(line)
            self._skipping = True
        self._rest = b""

    @property
    def prompt(self) -> bool:
        """Return whether the phone waits for a message's text: `>` with no line end (27.005 3.5.1)."""
        return self._rest.strip(b" ") == b">"

    def clear(self) -> None:
        """Drop a partial line, for a phone that has restarted."""
        self._rest = b""
        self._skipping = False


class ErrorKind(StrEnum):
    """Which kind of error ended a command."""

    PLAIN = "plain"
    """`ERROR` and its relatives, without a reason."""
    CME = "cme"
    CMS = "cms"


class Error(Struct, frozen=True):
    """An error of the phone: its number, or None and its words (`AT+CMEE=2`)."""

    kind: ErrorKind
    code: int | None = None
    text: str = ""

    def __str__(self) -> str:
        if self.kind is ErrorKind.PLAIN:
            return self.text
        return f"+{self.kind.upper()} ERROR: {self.text if self.code is None else self.code}"


_PLAIN_ERRORS: Final = frozenset(
    {"ERROR", "COMMAND NOT SUPPORT", "COMMAND NOT SUPPORTED", "TOO MANY PARAMETERS", "ABORTED"}
)
_CODED_ERROR: Final = re.compile(r"\+(CM[ES]) ERROR:? *(.*)", re.ASCII | re.DOTALL)
_BUSY_CODES: Final = {
    ErrorKind.CME: frozenset({14, 107, 112, 256, 258, 515}),
    ErrorKind.CMS: frozenset({314, 500, 512, 515}),
}
_ABSENT_CODES: Final = {ErrorKind.CME: frozenset({10, 13, 15}), ErrorKind.CMS: frozenset({310, 313, 315})}
_PIN_CODES: Final = {
    ErrorKind.CME: {11: "SIM PIN", 12: "SIM PUK", 17: "SIM PIN2", 18: "SIM PUK2"},
    ErrorKind.CMS: {311: "SIM PIN", 312: "PH-SIM PIN", 316: "SIM PUK"},
}
EMPTY_SLOT: Final = 321
"""`+CMS ERROR`: no message there (27.005 clause 3.2.5)."""


class ErrorClass(StrEnum):
    """Consequence of an error for the caller."""

    TRANSIENT = "transient"
    """The same command may work later; retry a limited number of times."""
    FINAL = "final"
    """The same command will never work: the message, the command or the storage is refused."""
    SIM = "sim"
    """The SIM is missing, broken or locked; the operator must act."""
    FULL = "full"
    """The storage is full and must be emptied."""
    EMPTY = "empty"
    """The slot is empty."""
    UNKNOWN = "unknown"
    """Not in the table: treated as transient, and logged."""


# 27.007 clause 9.2, 27.005 clause 3.2.5, 24.011 annex E, classified as in smstools. 500 means
# "unknown", and starting phones return it (gammu#438); after 513 the message may have been sent.
_CLASSES: Final[dict[ErrorKind, dict[ErrorClass, tuple[int | range, ...]]]] = {
    ErrorKind.CME: {
        ErrorClass.TRANSIENT: (14, 30, 31, 32, 107, 112, 256, 258, 515),
        ErrorClass.SIM: (5, 6, 7, 10, 11, 12, 13, 15, 16, 17, 18),
        ErrorClass.FULL: (20,),
        ErrorClass.EMPTY: (21, 22),
        ErrorClass.FINAL: (0, 1, 2, 3, 4, 23, 24, 25, 26, 27, 50, 100, 103, 106),
    },
    ErrorKind.CMS: {
        ErrorClass.TRANSIENT: (17, 27, 38, 41, 42, 47, 314, 331, 332, 500, range(512, 516)),
        ErrorClass.SIM: (range(310, 314), range(315, 320)),
        ErrorClass.FULL: (22, 208, 211, 322),
        ErrorClass.EMPTY: (EMPTY_SLOT,),
        ErrorClass.FINAL: (
            1, 8, 10, 21, 28, 29, 30, 50, 69, 81, range(95, 100), 111, range(127, 208), 209, 210,
            range(212, 256), range(300, 306), 320, 330, 340,
        ),
    },
}  # fmt: skip
_CLASS_OF: Final = {
    (kind, code): cls
    for kind, classes in _CLASSES.items()
    for cls, entries in classes.items()
    for entry in entries
    for code in (entry if isinstance(entry, range) else (entry,))
}


def error_class(error: Error) -> ErrorClass:
    """Classify an error; for text errors (`AT+CMEE=2`) only the needed ones are recognised."""
    if error.kind is ErrorKind.PLAIN:
        return ErrorClass.FINAL
    if error.code is not None:
        return _CLASS_OF.get((error.kind, error.code), ErrorClass.UNKNOWN)
    if is_busy(error):
        return ErrorClass.TRANSIENT
    if sim_absent(error) or pin_wanted(error) is not None:
        return ErrorClass.SIM
    return ErrorClass.FULL if error.text.lower() == "memory full" else ErrorClass.UNKNOWN


def error_of(line: str) -> Error | None:
    """Parse an error line; None when the line is not an error."""
    if line in _PLAIN_ERRORS:
        return Error(ErrorKind.PLAIN, text=line)
    found = _CODED_ERROR.fullmatch(line)
    if found is None:
        return None
    kind = ErrorKind(found[1].lower())
    text = found[2].strip()
    return Error(kind, whole_number(text), text)


def is_busy(error: Error) -> bool:
    """Return whether the same command may succeed in a few seconds: the SIM or the phone is busy."""
    if error.code is None:
        return "busy" in error.text.lower()
    return error.code in _BUSY_CODES.get(error.kind, ())


def sim_absent(error: Error) -> bool:
    """Return whether the error means that there is no SIM that works."""
    if error.code is None:
        return error.text.lower() in {"sim not inserted", "sim failure", "sim wrong"}
    return error.code in _ABSENT_CODES.get(error.kind, ())


def pin_wanted(error: Error) -> str | None:
    """Return the code that the SIM asks for, such as `SIM PIN`, if the error names one."""
    if error.code is None:
        text = error.text.upper()
        return text.removesuffix(" REQUIRED") if text.endswith(" REQUIRED") else None
    return _PIN_CODES.get(error.kind, {}).get(error.code)


_UCS2: Final = re.compile(r"(?:00[2-7][0-9A-Fa-f]){3,}", re.ASCII)
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})+", re.ASCII)
_FIELD: Final = re.compile(r'"([^"]*)"?|([^,"]+)')
_CMTI: Final = re.compile(r'\+CMTI: *"?([A-Z]{2})"? *, *([0-9]{1,5})', re.ASCII)


def whole_number(text: str) -> int | None:
    """Return a small number written in decimal digits, None for anything else."""
    if text.isascii() and text.isdecimal() and len(text) <= NUMBER_DIGITS_MAX:
        return int(text)
    return None


def is_hex(line: str) -> bool:
    """Return whether a line is whole octets in hex, as a PDU is."""
    return _HEX.fullmatch(line) is not None


def fields(line: str) -> list[str]:
    """Return the comma-separated fields after the colon, without quotes, empty ones included.

    Commas within quotes do not separate. An unclosed quote ends at the end of the line.
    """
    found: list[str] = []
    rest = line.partition(":")[2]
    while True:
        rest = rest.lstrip(" ")
        match = _FIELD.match(rest)
        if match is None:
            found.append("")
        else:
            found.append(match[1] if match[1] is not None else match[2].strip(" "))
            rest = rest[match.end() :]
        comma = rest.find(",")
        if comma < 0:
            return found
        rest = rest[comma + 1 :]


class Header(Struct, frozen=True):
    """Header before a PDU in `+CMGL`, `+CMGR`, `+CMT` and `+CDS`; index -1 means no slot."""

    index: int
    status: int
    length: int


def cmgl_header(line: str) -> Header | None:
    """Read `+CMGL: <index>,<stat>,[<alpha>],<length>` (27.005 clause 3.4.2)."""
    given = line[6:].lstrip(" :").split(",")
    if len(given) < 3:
        return None
    index, status = whole_number(given[0].strip()), whole_number(given[1].strip())
    length = whole_number(given[-1].strip())
    if index is None or status is None or length is None:
        return None
    return Header(index, status, length)


def cmgr_header(line: str) -> Header | None:
    """Read `+CMGR: <stat>,[<alpha>],<length>` (27.005 clause 3.4.3)."""
    given = line[6:].lstrip(" :").split(",")
    if len(given) < 2:
        return None
    status, length = whole_number(given[0].strip()), whole_number(given[-1].strip())
    if status is None or length is None:
        return None
    return Header(-1, status, length)


def unsolicited_header(line: str) -> Header | None:
    """Read `+CMT: [<alpha>],<length>` or `+CDS: <length>` (27.005 clause 3.4.1)."""
    length = whole_number(line.rpartition(":")[2].rpartition(",")[2].strip())
    return None if length is None else Header(-1, 0, length)


def fits(length: int, pdu: str) -> bool:
    """Return whether a PDU in hex has the length its header gives: TPDU octets without the SMSC."""
    return len(pdu) == 2 * (length + 1 + int(pdu[:2], 16))


def from_ucs2(text: str) -> str:
    """Return a text that the phone wrote in hex, because its character set is UCS2; any other text as it is."""
    return bytes.fromhex(text).decode("utf-16-be") if _UCS2.fullmatch(text) else text


def may_fit(length: int, pdu: str) -> bool:
    """Return whether a PDU in hex may have the length its header gives, with an SMSC in front or without."""
    return len(pdu) == 2 * length or fits(length, pdu)


def cmti(line: str) -> tuple[str, int] | None:
    """Read `+CMTI: <mem>,<index>`; None when it names no slot, as in `+CMTI: ,-1`."""
    found = _CMTI.match(line)
    return None if found is None else (found[1], int(found[2]))


class Fill(Struct, frozen=True):
    """Used and total slots of a storage; the name is empty where the answer omits it."""

    storage: str
    used: int
    total: int


def cpms_fills(line: str) -> list[Fill]:
    """Read the answer of `AT+CPMS?` or of `AT+CPMS=...`, position by position."""
    given = fields(line)
    found = []
    at = 0
    while at < len(given):
        name = ""
        if whole_number(given[at]) is None:
            name = given[at]
            at += 1
        numbers = [whole_number(text) for text in given[at : at + 2]]
        at += 2
        if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
            found.append(Fill(name, numbers[0], numbers[1]))
    return found


_STORAGE: Final = re.compile(r"[A-Z]{2}", re.ASCII)


def cpms_choices(line: str) -> list[list[str]]:
    """Read the answer of `AT+CPMS=?`: the storages offered for each position.

    Also accepts variants seen on real phones: doubled brackets, no brackets, a missing quote.
    """
    text = line.partition(":")[2].strip()
    groups = text.replace("((", "(").replace("))", ")").split(")")
    found = [_STORAGE.findall(group) for group in groups]
    found = [group for group in found if group]
    if len(found) == 1 and "(" not in text:
        return [[name] for name in found[0]]
    return found


def csq_signal(line: str) -> int | None:
    """Read `+CSQ: <rssi>,<ber>`: 0 to 31, None when unknown (27.007 clause 8.5)."""
    signal = whole_number(fields(line)[0])
    return signal if signal is not None and signal <= 31 else None


def clock_us(line: str) -> int | None:
    """Read `+CCLK: "yy/MM/dd,hh:mm:ss+zz"` (27.007 clause 8.15); return microseconds since 1970.

    The time is local, and `zz` is its difference from UTC in quarters of an hour. Return None for another form: without
    `zz` the time is not known.
    """
    said = _CLOCK.search(line)
    if said is None:
        return None
    try:
        local = datetime.strptime(said[1], "%y/%m/%d,%H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    # `strptime` reads 69 to 99 as 19xx.
    return to_us(local - timedelta(minutes=15 * int(said[2])))


def registration_stat(line: str) -> int | None:
    """Read `<stat>` of the answer to `AT+CREG?`, also of `+CGREG` and `+CEREG`."""
    given = fields(line)
    return whole_number(given[1]) if len(given) > 1 else None


def operator_name(line: str) -> str | None:
    """Read `+COPS: <mode>,<format>,<oper>`; None when the phone is in no network."""
    given = fields(line)
    return from_ucs2(given[2].strip()) or None if len(given) > 2 else None


_DIGITS: Final = re.compile(r"(?<![0-9])([0-9]{14,17})(?![0-9])", re.ASCII)
_IMSI: Final = re.compile(r"(?<![0-9])([0-9]{14,15})(?![0-9])", re.ASCII)
_ICCID: Final = re.compile(r'(?:\^|\+)?[A-Z]*:? *"?([0-9]{18}[0-9Ff]{0,4})"?', re.ASCII)
_CRSM: Final = re.compile(r'\+CRSM: *144 *, *[0-9]+ *, *"?([0-9A-Fa-f]{20})"?', re.ASCII)


def imei_of(line: str) -> str | None:
    """Return the IMEI in a line of `AT+CGSN`: 14 to 17 digits with any other text around them."""
    found = _DIGITS.search(line)
    return None if found is None else found[1]


def imsi_of(line: str) -> str | None:
    """Return the IMSI in a line of `AT+CIMI`: 14 or 15 digits."""
    found = _IMSI.search(line)
    return None if found is None else found[1]


def iccid_of(line: str) -> str | None:
    """Return the ICCID in a line of `AT+CCID`, of a vendor's variant, or of `AT+CRSM`.

    ITU-T E.118: it begins with 89. Some phones return it as stored on the SIM, with the two digits
    of each octet swapped (ETSI TS 102 221 clause 13.2) and with the filler F.
    """
    found = _CRSM.fullmatch(line) or _ICCID.fullmatch(line)
    if found is None:
        return None
    digits = found[1]
    if digits.startswith("98"):
        digits = "".join(a + b for a, b in zip(digits[1::2], digits[0::2], strict=False))
    digits = digits.rstrip("Ff")
    return digits if digits.startswith("89") and digits.isdecimal() else None


def answer_value(line: str) -> str:
    """Return the value of an answer without its prefix and quotes: `+CGMI: "x"` is `x`."""
    head, colon, rest = line.partition(":")
    if colon and head[:1] in {"+", "^"}:
        line = rest
    return line.strip().strip('"').strip()


def prefix_of(command: str) -> str:
    """Return the prefix of a command's answer lines: `+SPIC:` for `AT+SPIC=?`."""
    return re.split(r"[=?]", command[2:], maxsplit=1)[0] + ":"


_PIN_TRIES_AT: Final = {"+CPINR": 1, "+QPINC": 1, "^CPIN": 3, "+ZPINPUK": 0, "+SPIC": 0}
"""Field that holds the tries left for the first PIN; 27.007 clause 8.65, and makers' manuals."""
_FIRST_PIN: Final = frozenset({"SIM PIN", "SC"})


def pin_tries(line: str) -> int | None:
    """Read the number of PIN tries left; None when this line does not contain it.

    `+CPINR: SIM PIN,3,3`, `^CPIN: SIM PIN,3,10,3,10,3`, `+ZPINPUK: 3,10`, `+SPIC: 3,10,0,10`,
    `+QPINC: "SC",3,10`.
    """
    name = line.partition(":")[0]
    given, place = fields(line), _PIN_TRIES_AT.get(name)
    if place is None or len(given) <= place:
        return None
    if place and name != "^CPIN" and given[0] not in _FIRST_PIN:
        return None
    return whole_number(given[place])


_REBOOTED: Final = re.compile(
    r"RDY|NORMAL POWER DOWN|UNDER-VOLTAGE POWER DOWN|OVER-VOLTAGE POWER DOWN|POWERED DOWN"
    r"|SMS Ready|Call Ready|SMS DONE|PB DONE|\*ATREADY: *1|\+CPIN: *READY"
    r'|\+QIND: *"?(?:SMS|PB) DONE"?|\+WIND: *[34]',
    re.ASCII,
)
_FULL: Final = re.compile(
    r'\^SMMEMFULL.*|\+ ?SMS ?FULL.*|\*SMSFULL.*|\+QIND: *"?smsfull.*|\+CIEV: *"?smsfull.*', re.ASCII | re.IGNORECASE
)
_SIM_OUT: Final = re.compile(
    r"\^SIMST: *(?:0|255)(?:,.*)?|\+CPIN: *NOT (?:READY|INSERTED)|\+QUSIM: *0"
    r"|\+CSMINS: *\d, *0|\+QSIMSTAT: *\d, *0|\+WIND: *0",
    re.ASCII | re.IGNORECASE,
)
"""In this order: Huawei, most makes, Quectel, SIMCom, Quectel, Wavecom."""
_STORAGE_NAMED: Final = re.compile(r"\b(SM|ME|MT|SR|BM)\b", re.ASCII)


def full_storage(line: str) -> str:
    """Return the storage that the line reports as full, empty when it names none."""
    found = _STORAGE_NAMED.search(line.partition(":")[2])
    return "" if found is None else found[1]


class UnsolicitedKind(StrEnum):
    """Kind of an unsolicited line."""

    NOTICE = "notice"
    """A message has arrived: `+CMTI`."""
    MESSAGE = "message"
    """A message's PDU follows; the message is stored in no slot: `+CMT`."""
    REPORT = "report"
    """A status report follows: `+CDS`."""
    STORED_REPORT = "stored_report"
    """A status report was stored: `+CDSI`; the location it gives is unreliable."""
    REBOOTED = "rebooted"
    """The phone has just started or is shutting down."""
    FULL = "full"
    """A storage is full; no further notices will come."""
    SIM_OUT = "sim_out"
    """The SIM was removed; the next one may be a different SIM."""
    KNOWN = "known"
    """Another known line that needs no reaction."""
    UNKNOWN = "unknown"


_UNASKED_NAMES: Final = {
    "+CMTI": UnsolicitedKind.NOTICE,
    "+CMT": UnsolicitedKind.MESSAGE,
    "+CDS": UnsolicitedKind.REPORT,
    "+CDSI": UnsolicitedKind.STORED_REPORT,
}


def unsolicited_kind(line: str) -> UnsolicitedKind:
    """Classify a line that belongs to no answer."""
    if (named := _UNASKED_NAMES.get(line.partition(":")[0])) is not None and ":" in line:
        return named
    if _FULL.fullmatch(line) is not None:
        return UnsolicitedKind.FULL
    if _REBOOTED.fullmatch(line) is not None:
        return UnsolicitedKind.REBOOTED
    if _SIM_OUT.fullmatch(line) is not None:
        return UnsolicitedKind.SIM_OUT
    return UnsolicitedKind.KNOWN if line.startswith(URCS) else UnsolicitedKind.UNKNOWN


class ModemCommand(Struct, frozen=True):
    """One command.

    `text` has no line end. `prefix` begins the answer lines; empty accepts every line that is not a known notice.
    `timeout_s` None uses the setting. If `needed`, the start cannot continue without an answer. `last` is the prefix of
    the last answer line, for a make that ends the answer without OK.
    """

    text: str
    prefix: str = ""
    timeout_s: float | None = None
    needed: bool = False
    last: str = ""

    @property
    def name(self) -> str:
        """Return the command without its arguments."""
        return self.text.partition("=")[0]


class CommandAnswer(Struct, frozen=True):
    """Lines and result of an answer; neither `ok` nor an error means that no answer came."""

    ok: bool
    error: Error | None = None
    lines: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """Return the first line, empty when there is none."""
        return self.lines[0] if self.lines else ""

    @property
    def code(self) -> int | None:
        """Return the number of the error, if it has one."""
        return None if self.error is None else self.error.code

    @property
    def why(self) -> str:
        """Return the error text of the phone."""
        return "no answer" if self.error is None else str(self.error)


DONE: Final = CommandAnswer(ok=True)
NO_ANSWER: Final = CommandAnswer(ok=False)
