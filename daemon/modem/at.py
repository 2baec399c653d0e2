"""The AT line: bytes to lines, and what single lines say (ITU-T V.250, 3GPP TS 27.005 and 27.007).

Nothing here raises on what a phone says. A line is text in latin-1, since a phone's bytes are no
text at all until a message is decoded; what cannot be read comes back as None.
"""

import re
from dataclasses import dataclass
from typing import Final

LINE_CHARS_MAX: Final = 4096
"""A PDU line has at most 2 * 176 characters; the rest is room for chatty answers."""
INDEX_DIGITS_MAX: Final = 6
PROMPT: Final = ">"
"""What `Codec` gives for a prompt, with or without a line end behind it."""

_FINALS: Final = frozenset(
    {
        "OK", "ERROR", "COMMAND NOT SUPPORT", "TOO MANY PARAMETERS", "NO CARRIER", "BUSY",
        "NO DIALTONE", "NO ANSWER", "ABORTED", "CONNECT",
    }
)  # fmt: skip
_ERROR: Final = re.compile(r"\+(CM[ES]) ERROR:\s*(.*)", re.ASCII)
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})+", re.ASCII)
_LISTED: Final = re.compile(
    rf'\+CMGL:\s*(\d{{1,{INDEX_DIGITS_MAX}}})\s*,\s*"?([0-4])"?\s*,.*?,?\s*(\d{{1,3}})\s*', re.ASCII
)
_READ: Final = re.compile(r'\+CMGR:\s*"?([0-4])"?\s*,.*?,?\s*(\d{1,3})\s*', re.ASCII)
_NOTICE: Final = re.compile(
    rf'\+CMTI:\s*"?([A-Za-z]{{2}})"?\s*,\s*(\d{{1,{INDEX_DIGITS_MAX}}})\s*(?:,.*)?', re.ASCII
)
_IMEI: Final = re.compile(r"(?<!\d)(\d{14,17})(?!\d)", re.ASCII)
_IMSI: Final = re.compile(r"(?<!\d)(\d{14,15})(?!\d)", re.ASCII)
_ICCID: Final = re.compile(r"(?<![0-9A-Fa-f])(\d{18,20})[Ff]{0,2}(?![0-9A-Fa-f])", re.ASCII)
_CRSM: Final = re.compile(r'\+CRSM:\s*144\s*,\s*\d+\s*,\s*"?([0-9A-Fa-f]{20})"?', re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)
_QUOTED: Final = re.compile(r'"([^"]*)"', re.ASCII)
_PHONE: Final = re.compile(r"\+?\d{3,20}", re.ASCII)


class Codec:
    """Cuts what a phone sends into lines, however it was cut on its way.

    Any run of CR and LF ends a line; empty lines are left out. A line that is too long is thrown
    away up to its end: it can be no answer that anybody waits for.
    """

    __slots__ = ("_overlong", "_rest")

    def __init__(self) -> None:
        """Start with nothing received."""
        self._rest = ""
        self._overlong = False

    def receive_data(self, data: bytes) -> list[str]:
        """Take bytes; return the lines that are complete now, and `PROMPT` for a prompt."""
        text = self._rest + data.decode("latin-1").replace("\r", "\n")
        *lines, rest = text.split("\n")
        if lines and self._overlong:
            lines[0] = ""
            self._overlong = False
        lines = [short for line in lines if (short := line.strip(" \0\t"))]
        if len(rest) > LINE_CHARS_MAX:
            self._overlong = True
        if self._overlong:
            rest = ""
        elif rest.strip(" \0\t") == PROMPT:
            # 27.005 clause 3.5.1: the prompt has no line end, and some makes give no space.
            lines.append(PROMPT)
            rest = ""
        self._rest = rest
        return lines

    def clear(self) -> None:
        """Forget the line that is not complete."""
        self._rest = ""
        self._overlong = False


@dataclass(frozen=True, slots=True)
class Result:
    """The final result code of a command: how it ended.

    Attributes:
        ok: It was carried out.
        line: The code as the phone wrote it; empty when there was no answer in time.
        code: The number of a `+CME ERROR` (27.007 clause 9.2) or `+CMS ERROR` (27.005 clause
            3.2.5), also where the phone said it in words that are known here.
    """

    ok: bool
    line: str
    code: int | None = None


OK: Final = Result(ok=True, line="OK")
NO_ANSWER: Final = Result(ok=False, line="")
_WORDS: Final = {
    "sim not inserted": 10,
    "sim pin required": 11,
    "sim puk required": 12,
    "sim failure": 13,
    "sim busy": 14,
    "invalid memory index": 321,
}


def final(line: str) -> Result | None:
    """Return what a final result code says, None when the line is none."""
    if line == "OK":
        return OK
    if line in _FINALS:
        return Result(ok=False, line=line)
    if (error := _ERROR.fullmatch(line)) is None:
        return None
    said = error[2].strip()
    code = int(said) if _NUMBER.fullmatch(said) else _WORDS.get(said.lower())
    return Result(ok=False, line=line, code=code)


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before a PDU; `index` is -1 in a `+CMGR:`, which does not say it."""

    index: int
    status: int
    tpdu_length: int


def listed(line: str) -> Header | None:
    """Return what a `+CMGL:` line says (27.005 clause 3.4.2)."""
    said = _LISTED.fullmatch(line)
    return None if said is None else Header(int(said[1]), int(said[2]), int(said[3]))


def read(line: str) -> Header | None:
    """Return what a `+CMGR:` line says (27.005 clause 3.4.3)."""
    said = _READ.fullmatch(line)
    return None if said is None else Header(-1, int(said[1]), int(said[2]))


def is_hex(line: str) -> bool:
    """Say whether the line is whole octets in hex, as a PDU is."""
    return _HEX.fullmatch(line) is not None


def tpdu_octets(pdu: str) -> int:
    """Return how many octets follow the SMSC field; the header announces that. Takes hex."""
    return len(pdu) // 2 - 1 - int(pdu[:2], 16)


def notice(line: str) -> tuple[str, int] | None:
    """Return storage and index of a `+CMTI:` (27.005 clause 3.4.1)."""
    said = _NOTICE.fullmatch(line)
    return None if said is None else (said[1].upper(), int(said[2]))


def numbers(line: str) -> list[int]:
    """Return all numbers behind the colon, such as the counts of `+CPMS:`."""
    return [int(said) for said in _NUMBER.findall(line.partition(":")[2])]


def selected(line: str) -> str | None:
    """Return the first storage that a `+CPMS?` answer names."""
    names = _QUOTED.findall(line)
    return names[0].upper() if names else None


def offered(line: str) -> list[tuple[str, ...]]:
    """Return the storages that `+CPMS=?` offers, by position; some positions or all may miss."""
    body = line.partition(":")[2]
    groups = re.findall(r"\(([^()]*)\)", body) or ([body] if body.strip() else [])
    return [tuple(n.upper() for n in re.findall(r"[A-Za-z]{2}", group)) for group in groups]


def imei(line: str) -> str | None:
    """Return the IMEI in an answer to `+CGSN`, with or without quotes and words around it."""
    said = _IMEI.search(line)
    return said[1] if said else None


def imsi(line: str) -> str | None:
    """Return the IMSI in an answer to `+CIMI`."""
    said = _IMSI.search(line)
    return said[1] if said else None


def iccid(line: str) -> str | None:
    """Return the ICCID in an answer to one of its many commands; filler `F` is no digit of it.

    `+CRSM` gives the bytes of EF-ICCID, whose nibbles are swapped (3GPP TS 31.102 clause 4.2.1
    by way of ETSI TS 102 221); some makes give those for `^ICCID` too. An ICCID starts with 89.
    """
    if raw := _CRSM.match(line):
        return _unswapped(raw[1])
    if said := _ICCID.search(line):
        return _unswapped(said[1]) if said[1].startswith("98") else said[1]
    return None


def _unswapped(digits: str) -> str | None:
    even = digits if len(digits) % 2 == 0 else digits + "F"
    swapped = "".join(even[at + 1] + even[at] for at in range(0, len(even), 2)).upper()
    plain = swapped.rstrip("F")
    return plain if plain.isdigit() else None


def quoted_phone(line: str, position: int) -> str | None:
    """Return the phone number in that quoted field: 0 in `+CSCA:`, 1 in `+CNUM:`."""
    fields = _QUOTED.findall(line)
    if len(fields) <= position or not _PHONE.fullmatch(fields[position]):
        return None
    return str(fields[position])


def operator(line: str) -> str | None:
    """Return the operator that `+COPS?` names, None when there is none."""
    fields = _QUOTED.findall(line)
    return fields[0] if fields and fields[0] else None


def signal(line: str) -> int | None:
    """Return the strength in `+CSQ:`, 0 to 31 (27.007 clause 8.5); None when it is not known."""
    said = numbers(line)
    return said[0] if said and said[0] <= 31 else None


def registration(line: str) -> int | None:
    """Return `<stat>` of a `+CREG?` answer (27.007 clause 7.2): the second of `n,stat,...`."""
    fields = line.partition(":")[2].split(",")
    said = fields[1].strip() if len(fields) > 1 else ""
    return int(said) if said.isascii() and said.isdigit() and len(said) <= 2 else None
