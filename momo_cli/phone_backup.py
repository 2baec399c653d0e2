"""The messages in a file that a phone, or a program on it, has written: as they come, in constant memory.

Three forms: the XML of "SMS Backup & Restore" for Android (`<sms address= date= type= body= service_center=>`), CSV with
a first line that names its columns, and one PDU in hex a line. No I/O of its own: text in, messages out.

XML is read by expat, and a file with a document type is refused: without one there are no entities of its own to expand
(XML 1.0, 2.8 and 4.4), and no backup has one. It writes an emoji as two numbers of a surrogate pair, which XML does not
allow; they are put together first.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain
from typing import Any, Final
from xml.parsers import expat

from momo_cli.errors import Failure, usage
from momo_cli.times import stamp

XML, CSV, PDU = "android-xml", "csv", "pdu"
FORMS: Final = (XML, CSV, PDU)
CHUNK: Final = 65_536
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "sender": ("sender", "address", "from", "number"),
    "text": ("text", "body", "message", "content"),
    "date": ("sent_at", "date_sent", "date", "time", "timestamp"),
    "type": ("type", "direction"),
    "smsc": ("smsc", "service_center"),
}
_NEEDED: Final = ("sender", "text", "date")
_RECEIVED: Final = ("", "1", "in", "inbox", "received")
"""Android's number of the inbox (Telephony.TextBasedSmsColumns), and what people write."""
_NOTHING: Final = ("", "null", "0")
_SECONDS_MAX: Final = 10**11
"""A larger number counts milliseconds."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CODES: Final = re.compile(r"&#(5[5-7]\d{3});(?:&#(5[67]\d{3});)?")
_PAIR_CHARACTERS: Final = 20
"""No longer is the number of a character twice."""


@dataclass(frozen=True, slots=True)
class Found:
    """One message of the file.

    Attributes:
        line: Where it begins, from 1.
        body: What the daemon is sent.
        problem: Why it cannot be sent; empty when it can.
    """

    line: int
    body: dict[str, Any]
    problem: str = ""


def messages_of(chunks: Iterable[str], form: str | None, zone: tzinfo) -> Iterator[Found]:
    """Give the messages that the phone received; what it sent itself and pictures are left out.

    Args:
        chunks: The text of the file, in pieces of any size.
        form: One of `FORMS`; None looks at how the file begins.
        zone: Of a time that names none.

    Raises:
        Failure: USAGE: it is not of that form; says in which line.
    """
    pieces = iter(chunks)
    first = next(pieces, "").removeprefix("\ufeff")
    pieces = chain([first], pieces)
    read = {XML: _of_xml, CSV: _of_csv, PDU: _of_pdus}[form or _form_of(first)]
    return read(pieces, zone)


def _form_of(first: str) -> str:
    begin = first.lstrip()
    if begin.startswith("<"):
        return XML
    line = begin.partition("\n")[0].strip()
    return PDU if line and re.fullmatch(r"[0-9A-Fa-f]+", line) else CSV


def _of_xml(pieces: Iterator[str], zone: tzinfo) -> Iterator[Found]:
    waiting: list[Found] = []
    parser = expat.ParserCreate()

    def element(name: str, attributes: dict[str, str]) -> None:
        if name == "sms" and attributes.get("type", "") in _RECEIVED:
            sent = attributes.get("date_sent", "")
            date = attributes.get("date", "") if sent in _NOTHING else sent
            told = (attributes.get("address"), attributes.get("body"), date)
            smsc = attributes.get("service_center")
            waiting.append(_found(parser.CurrentLineNumber, told, smsc, zone))

    def refuse(*_: object) -> None:
        raise usage(
            f"line {parser.CurrentLineNumber}: a document type; no backup has one, so it is not read"
        )

    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = refuse
    try:
        for piece in _paired(pieces):
            parser.Parse(piece, False)  # expat takes it by position only
            yield from waiting
            waiting.clear()
        parser.Parse("", True)
    except expat.ExpatError as problem:
        why = expat.ErrorString(problem.code)
        raise usage(f"line {problem.lineno}: not the XML of a backup: {why}") from None
    yield from waiting


def _paired(pieces: Iterable[str]) -> Iterator[str]:
    """Put the two numbers of one character together, also where a piece ends between them."""
    kept = ""
    for piece in pieces:
        text = kept + piece
        end = len(text)
        if "&" in text[-_PAIR_CHARACTERS:]:
            end = max(text.rfind(" "), text.rfind("\n")) + 1
        kept = text[end:]
        yield _CODES.sub(_character, text[:end])
    yield _CODES.sub(_character, kept)


def _character(match: re.Match[str]) -> str:
    high, low = int(match[1]), int(match[2] or 0)
    if 0xD800 <= high < 0xDC00 <= low < 0xE000:
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if 0xD800 <= high < 0xE000:
        return "\ufffd" + (f"&#{low};" if low and not 0xD800 <= low < 0xE000 else "")
    return match[0]


def _of_csv(pieces: Iterator[str], zone: tzinfo) -> Iterator[Found]:
    lines = _lines(pieces)
    first = next(lines, "")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        places = _places([cell.strip().casefold().replace(" ", "_") for cell in header])
        begin = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found = {
                    name: cells[place] if place < len(cells) else ""
                    for name, place in places.items()
                }
                if found.get("type", "").strip().casefold() in _RECEIVED:
                    told = (found["sender"], found["text"], found["date"])
                    yield _found(begin, told, found.get("smsc"), zone)
            begin = reader.line_num + 1
    except csv.Error as problem:
        raise usage(f"line {reader.line_num}: not CSV: {problem}") from None


def _places(header: list[str]) -> dict[str, int]:
    places = {}
    for name, words in _COLUMNS.items():
        there = [header.index(word) for word in words if word in header]
        if there:
            places[name] = there[0]
    missing = [name for name in _NEEDED if name not in places]
    if missing:
        raise usage(
            f"line 1: it names no column {', '.join(missing)}; name them sender, text, date (and type, smsc)"
        )
    return places


def _of_pdus(pieces: Iterator[str], zone: tzinfo) -> Iterator[Found]:  # noqa: ARG001  # a PDU names its own
    for number, line in enumerate(_lines(pieces), 1):
        pdu = line.replace(" ", "").strip()
        if pdu:
            is_hex = len(pdu) % 2 == 0 and re.fullmatch(r"[0-9A-Fa-f]+", pdu) is not None
            yield Found(number, {"pdu": pdu}, "" if is_hex else "not a PDU in hex")


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield line + "\n"
    if rest:
        yield rest


def _found(
    line: int, told: tuple[str | None, str | None, str], smsc: str | None, zone: tzinfo
) -> Found:
    sender, text, date = told
    if not sender or not sender.strip() or text is None:
        return Found(line, {}, "it names no sender and text")
    try:
        at = _moment(date.strip(), zone)
    except (ValueError, OverflowError, Failure):
        return Found(line, {}, f"{date!r} is no time; write milliseconds since 1970, or ISO 8601")
    body = {"sender": sender.strip(), "text": text, "sent_at": stamp(at)}
    if smsc is not None and smsc.strip() not in _NOTHING:
        body["smsc"] = smsc.strip()
    return Found(line, body)


def _moment(text: str, zone: tzinfo) -> datetime:
    if text.isascii() and text.isdigit():
        number = int(text)
        return _EPOCH + timedelta(milliseconds=number if number > _SECONDS_MAX else number * 1000)
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo is not None else at.replace(tzinfo=zone)).astimezone(UTC)
