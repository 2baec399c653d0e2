"""Read strace's log: the bytes written to each file, and the part of the database's log that was on disk at each
moment.

The proof of "stored first, deleted after" is the order of three things in one trace:

1. a commit in the write-ahead log with the text in its pages. A commit is a run of frames of which the last
   names the size of the database (sqlite.org/fileformat2.html, section 4.1); a run without that end is no commit.
2. an `fdatasync` of that file which *began* after the commit's last page was written and has *returned* 0;
3. only then the write that announces it: `AT+CMGD` to the tty, or `HTTP/1.1 2..` to a socket.

strace logs a system call of one thread that others interrupt as two lines, `<unfinished ...>` and `resumed`: a call
counts as begun at the first and as done at the second.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARGUMENTS = (
    "strace", "--daemonize", "--follow-forks", "--decode-fds=path", "--strings-in-hex=non-ascii",
    "--string-limit=100000", "--quiet=attach", "--seccomp-bpf",
    "--trace=write,writev,pwrite64,pwritev,sendto,sendmsg,sendmmsg,fdatasync,fsync",
)  # fmt: skip
"""Run a program under strace with these, then `--output=FILE`; it stays our own child (`--daemonize`)."""

ATTACHED = (*(word for word in ARGUMENTS if word not in ("--daemonize", "--seccomp-bpf")), "--string-limit=2000000")
"""The same for programs that run already: `--attach=PID` for each."""

COMMITTED = b"C\0\0\0\x0bCOMMIT\0"
"""PostgreSQL's message CommandComplete for a COMMIT."""
WAL_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24

_LINE = re.compile(r"^(?P<thread>\d+) +(?P<rest>.*)$")
_CALL = re.compile(r"^(?P<name>\w+)\((?P<fd>\d+)<(?P<path>[^>]*)>(?P<arguments>.*)$")
_RESUMED = re.compile(r"^<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)$")
_RESULT = re.compile(r"\) += (?P<result>-?\d+)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?')
_UNFINISHED = "<unfinished ...>"


class TraceUnreadable(Exception):
    """The trace lacks data that the proof needs."""


@dataclass(frozen=True, slots=True)
class Call:
    """One system call.

    Attributes:
        name: Such as `write`.
        path: The file of its descriptor.
        data: The bytes written; empty for a sync.
        begun: The line where it began.
        done: The line where it had returned; None if the trace ends before.
        result: Its return value.
        thread: The number of its thread, which for a program of one thread is that of the process.
    """

    name: str
    path: str
    data: bytes
    begun: int
    done: int | None
    result: int | None
    thread: int

    @property
    def is_sync(self) -> bool:
        return self.name in {"fdatasync", "fsync"}


def calls(lines: Iterable[str]) -> list[Call]:
    """Return the calls in the order in which they began.

    Raises:
        TraceUnreadable: A string was cut short.
    """
    found: list[Call] = []
    open_calls: dict[str, tuple[int, int, str]] = {}
    for number, line in enumerate(lines):
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            continue
        thread, rest = match["thread"], match["rest"]
        resumed = _RESUMED.match(rest)
        if resumed is not None:
            place, begun, text = open_calls.pop(thread)
            found[place] = _call(int(thread), text + resumed["rest"], begun, number)
        elif rest.endswith(_UNFINISHED):
            text = rest.removesuffix(_UNFINISHED)
            if _CALL.match(text):
                open_calls[thread] = (len(found), number, text)
                found.append(_call(int(thread), text, number, None))
        elif _CALL.match(rest):
            found.append(_call(int(thread), rest, number, number))
    return found


def has_ended(log: Path) -> bool:
    """Return whether the traced program has ended, and strace has written everything."""
    return "+++ exited" in log.read_text(encoding="ascii", errors="replace")[-2000:]


def deletions(trace: Iterable[Call], tty: str, deleted: Sequence[Mapping[str, Any]]) -> list[tuple[Call, bytes]]:
    """Return the writes that delete an SMS on a phone, each with its PDU in hex, by the list of the phone itself.

    Raises:
        AssertionError: They are not the deletions that the phone saw.
    """
    deletes = [call for call in trace if call.path == tty and call.data.startswith(b"AT+CMGD=")]
    assert [call.data for call in deletes] == [b"AT+CMGD=%d\r" % entry["index"] for entry in deleted]
    return [(call, entry["pdu"].encode()) for call, entry in zip(deletes, deleted, strict=True)]


def octets(announced: Iterable[tuple[Call, bytes]]) -> list[tuple[Call, bytes]]:
    """Return PDUs as the database has them: as octets, where the message journal has hex."""
    return [(call, bytes.fromhex(pdu.decode())) for call, pdu in announced]


def _call(thread: int, text: str, begun: int, done: int | None) -> Call:
    match = _CALL.match(text)
    assert match is not None
    strings = _STRING.findall(match["arguments"])
    if any(cut for _, cut in strings):
        raise TraceUnreadable("a string was cut short: raise --string-limit")
    data = b"".join(codecs.escape_decode(string)[0] for string, _ in strings)
    result = _RESULT.search(match["arguments"])
    return Call(
        match["name"], match["path"], data, begun, done,
        None if result is None or done is None else int(result["result"]), thread,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit in the log of the database.

    Attributes:
        pages: The pages in its frames.
        written: The line where its last frame had been written.
        durable: The line where the first sync that covers it had returned 0; None without one.
    """

    pages: tuple[bytes, ...]
    written: int
    durable: int | None


def commits(trace: Iterable[Call], wal: str) -> list[Commit]:
    """Return the commits of a write-ahead log in order.

    Raises:
        TraceUnreadable: The writes are not those of a write-ahead log.
    """
    trace = [call for call in trace if call.path == wal]
    syncs = [call for call in trace if call.is_sync and call.result == 0]
    found: list[Commit] = []
    for pages, written in _written(call for call in trace if not call.is_sync):
        done = [sync.done for sync in syncs if sync.begun > written and sync.done is not None]
        found.append(Commit(pages, written, min(done, default=None)))
    return found


def _written(writes: Iterable[Call]) -> Iterator[tuple[tuple[bytes, ...], int]]:
    """Yield the pages of each commit and the line where the last of them was written."""
    pages: list[bytes] = []
    ends_commit: bool | None = None
    for write in writes:
        if write.name != "pwrite64" or write.done is None or write.result != len(write.data):
            raise TraceUnreadable(f"an unexpected write to the log: {write.name} {write.result}")
        if len(write.data) == WAL_HEADER_BYTES:
            continue
        if len(write.data) == FRAME_HEADER_BYTES:
            if ends_commit is not None:
                raise TraceUnreadable("two frame headers without a page between them")
            ends_commit = int.from_bytes(write.data[4:8], "big") != 0
            continue
        if ends_commit is None:
            raise TraceUnreadable(f"{len(write.data)} bytes without a frame header before them")
        pages.append(write.data)
        if ends_commit:
            yield tuple(pages), write.done
            pages = []
        ends_commit = None


def durable_at(found: Iterable[Commit], text: bytes) -> int | None:
    """Return the line where the first commit that holds `text` was durable, or None."""
    first = next((one for one in found if any(text in page for page in one.pages)), None)
    return None if first is None else first.durable


def announced_too_early(
    trace: Iterable[Call], wal: str, announced: Iterable[tuple[Call, bytes]]
) -> list[tuple[Call, bytes]]:
    """Return the writes of `announced` that began before the commit with their text was durable."""
    found = commits(trace, wal)
    early = []
    for write, text in announced:
        durable = durable_at(found, text)
        if durable is None or durable >= write.begun:
            early.append((write, text))
    return early


def committed_at(trace: Sequence[Call], server: int, text: bytes) -> int:
    """Return the line where a PostgreSQL server said that the transaction with `text` is committed.

    The trace has the server's processes and those of its client. `server` is the process that serves the client. Its
    write-ahead log has the text, and it says `COMMIT` only after a sync that began after its last write to the log, and has
    returned 0.

    Raises:
        AssertionError: It said so too early.
    """
    sent = next(call for call in trace if text in call.data and call.path.startswith("socket:"))
    said = next(call for call in trace if call.thread == server and call.begun > sent.begun and COMMITTED in call.data)
    log = [call for call in trace if "/pg_wal/" in call.path and call.done is not None and call.done < said.begun]
    assert any(text in call.data for call in log), f"{text!r} is not in the log"
    last = max(call.begun for call in log if call.thread == server and not call.is_sync)
    assert any(call.is_sync and call.result == 0 and call.begun > last for call in log), (
        f"COMMIT was said before the log with {text!r} was on the disk"
    )
    return said.begun


def journaled_too_late(
    trace: Iterable[Call], folder: str, announced: Iterable[tuple[Call, bytes]]
) -> list[tuple[Call, bytes]]:
    """Return the writes of `announced` that began before their text was durable in the message journal.

    `folder` is the journal's folder. A line is durable when a sync of its file that began after the line was written has
    returned 0.
    """
    calls_there = [call for call in trace if call.path.startswith(f"{folder}/")]
    writes = [call for call in calls_there if not call.is_sync and call.done is not None]
    syncs = [call for call in calls_there if call.is_sync and call.result == 0]
    late = []
    for write, text in announced:
        first = next((one for one in writes if text in one.data), None)
        durable = first is not None and any(
            sync.path == first.path
            and sync.begun > (first.done or 0)
            and sync.done is not None
            and sync.done < write.begun
            for sync in syncs
        )
        if not durable:
            late.append((write, text))
    return late
