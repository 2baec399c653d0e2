"""Reader of message files written by a phone or a program on it, in constant memory.

Three forms: the XML of "SMS Backup & Restore" for Android (`<sms address= date= type= body= service_center=>`), CSV with
a header line, and one PDU in hex per line. No I/O: text in, messages out.

XML is read by expat, and a file with a document type is rejected: without one there are no custom entities to expand
(XML 1.0, 2.8 and 4.4), and no backup has one. Backups have numbers of characters that XML does not allow; they are made
readable first (`parsers.xml_text`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain
from typing import Any, Final
from xml.parsers import expat

from parsers.statement import records_of
from parsers.xml_text import clean_xml

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
"""Android's number of the inbox (Telephony.TextBasedSmsColumns), and common words for it."""
_NOTHING: Final = ("", "null", "0")
_SECONDS_MAX: Final = 10**11
"""A larger number is in milliseconds."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PAIR_CHARACTERS: Final = 20
"""The most characters that the two numbers of a surrogate pair take."""
_RUN_CHARACTERS_MAX: Final = 65_536
"""So much text without a blank is kept until its end is known; a character in more of it may be read as two marks."""


class BackupError(ValueError):
    """The file does not have the form of a backup; the text says where and why."""


@dataclass(frozen=True, slots=True)
class BackupMessage:
    """One message of the file.

    Attributes:
        line: The line on which it begins, from 1.
        body: The body for the daemon.
        problem: Why it cannot be imported; empty if it can.
    """

    line: int
    body: dict[str, Any]
    problem: str = ""


def encoding_of(begin: bytes) -> str:
    """Return the encoding of a file that begins with these octets. Decode it with `errors="replace"`."""
    if begin[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    return {b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}.get(begin[:2], "utf-8")


def messages_of(chunks: Iterable[str], form: str | None, zone: tzinfo) -> Iterator[BackupMessage]:
    """Yield the received messages; sent messages and pictures are skipped. The text comes in pieces of any size.

    `form` is one of `FORMS`; None detects it from the beginning. `zone` is that of times without one.

    Raises:
        BackupError: With the line number, if the file does not have that form.
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


def _of_xml(pieces: Iterator[str], zone: tzinfo) -> Iterator[BackupMessage]:
    waiting: list[BackupMessage] = []
    parser = expat.ParserCreate()

    def element(name: str, attributes: dict[str, str]) -> None:
        if name == "sms" and attributes.get("type", "") in _RECEIVED:
            sent = attributes.get("date_sent", "")
            dates = [*([] if sent in _NOTHING else [sent]), attributes.get("date", "")]
            values = (attributes.get("address"), attributes.get("body"), dates)
            smsc = attributes.get("service_center")
            waiting.append(_found(parser.CurrentLineNumber, values, smsc, zone))

    def refuse(*_: object) -> None:
        why = "it has a document type, which no backup has, so it is not read"
        raise BackupError(f"line {parser.CurrentLineNumber}: {why}")

    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = refuse
    try:
        for piece in _paired(pieces):
            parser.Parse(piece, False)  # expat accepts it by position only
            yield from waiting
            waiting.clear()
        parser.Parse("", True)
    except expat.ExpatError as problem:
        why = expat.ErrorString(problem.code)
        raise BackupError(f"line {problem.lineno}: not the XML of a backup: {why}") from None
    yield from waiting


def _paired(pieces: Iterable[str]) -> Iterator[str]:
    """Join the two numbers of one character, also if a piece ends between them."""
    kept = ""
    for piece in pieces:
        text = kept + piece
        end = len(text)
        if "&" in text[-_PAIR_CHARACTERS:]:
            end = max(text.rfind(" "), text.rfind("\n")) + 1
            if len(text) - end > _RUN_CHARACTERS_MAX:
                end = len(text) - _PAIR_CHARACTERS
        kept = text[end:]
        yield clean_xml(text[:end])
    yield clean_xml(kept)


def _of_csv(pieces: Iterator[str], zone: tzinfo) -> Iterator[BackupMessage]:
    lines = _lines(pieces)
    first = next(lines, "")
    if "\ufffd" in first:
        raise BackupError("it is not text (UTF-8)")  # a picture, a spreadsheet: the names of columns are whole
    delimiter = max(",;\t", key=first.count)
    records = records_of(chain([first], lines), delimiter)
    begin, header, why = next(records, (1, list[str](), ""))
    if why:
        raise BackupError(f"line {begin}: not CSV: {why}")
    places = _places([cell.strip().casefold().replace(" ", "_") for cell in header])
    for begin, cells, why in records:
        if why:
            yield BackupMessage(begin, {}, f"not CSV: {why}")
        elif any(cell.strip() for cell in cells):
            padded = [*cells, *[""] * (len(header) - len(cells))]
            found = {name: padded[place] for name, place in places.items()}
            if found.get("type", "").strip().casefold() in _RECEIVED:
                values = (found["sender"], found["text"], [found["date"]])
                yield _found(begin, values, found.get("smsc"), zone)


def _places(header: list[str]) -> dict[str, int]:
    places = {}
    for name, words in _COLUMNS.items():
        there = [header.index(word) for word in words if word in header]
        if there:
            places[name] = there[0]
    missing = [name for name in _NEEDED if name not in places]
    if missing:
        wanted = "name the columns sender, text, date (and type, smsc)"
        raise BackupError(f"line 1: no column {', '.join(missing)}; {wanted}")
    return places


def _of_pdus(pieces: Iterator[str], zone: tzinfo) -> Iterator[BackupMessage]:  # noqa: ARG001  # a PDU has its own
    for number, line in enumerate(_lines(pieces), 1):
        pdu = line.replace(" ", "").strip()
        if pdu:
            is_hex = len(pdu) % 2 == 0 and re.fullmatch(r"[0-9A-Fa-f]+", pdu) is not None
            yield BackupMessage(number, {"pdu": pdu}, "" if is_hex else "not a PDU in hex")


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    rest: list[str] = []
    for piece in pieces:
        first, *others = piece.split("\n")
        rest.append(first)
        if others:
            yield "".join(rest) + "\n"
            for line in others[:-1]:
                yield line + "\n"
            rest = [others[-1]]
    if last := "".join(rest):
        yield last


def _found(
    line: int, values: tuple[str | None, str | None, Sequence[str]], smsc: str | None, zone: tzinfo
) -> BackupMessage:
    """Return a message with the first of its dates that is a time: a phone writes -1 for an unknown one."""
    sender, text, dates = values
    if not sender or not sender.strip() or text is None:
        return BackupMessage(line, {}, "it has no sender or no text")
    at = next((found for date in dates if (found := _moment(date.strip(), zone)) is not None), None)
    if at is None:
        why = f"{dates[-1]!r} is not a time; write milliseconds since 1970, or ISO 8601"
        return BackupMessage(line, {}, why)
    body = {
        "sender": sender.strip(),
        "text": text,
        "sent_at": at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    if smsc is not None and smsc.strip() not in _NOTHING:
        body["smsc"] = smsc.strip()
    return BackupMessage(line, body)


def _moment(text: str, zone: tzinfo) -> datetime | None:
    try:
        if text.isascii() and text.isdigit():
            number = int(text)
            ms = number if number > _SECONDS_MAX else number * 1000
            return _EPOCH + timedelta(milliseconds=ms)
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo is not None else at.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
