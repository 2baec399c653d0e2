"""The files of the message journal: `messages/YYYY-MM.journal` in the shop's folder, and copies in a second folder.

Lines are appended and synced; a line that was cut off by a power loss is cut away when its file is opened again. A file is
changed otherwise only as a whole, by renaming a new one over it. The functions block; call them in a thread. They raise
OSError. `daemon.core.messages.message_journal` has the format.
"""

import contextlib
import mmap
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from daemon.core.messages import message_journal as core
from daemon.core.messages.message_journal import Erased, Key, Record
from daemon.runtime.files import sync
from parsers.times import from_us

FOLDER: Final = "messages"
_NAME: Final = re.compile(r"(?:momo-[0-9a-f]{8}-)?(\d{4}-\d{2})\.journal", re.ASCII)
_FETCHED: Final = "fetched"
"""This file exists from before parts are added in the middle until the database has them."""
_RECENT_MAX: Final = 4_000
"""Parts remembered, so that a phone that lists the same SMS again and again does not fill the disk."""
_TAIL_BYTES: Final = 65_536
"""Compared to check whether a copy is the beginning of its original."""


class SecondFolder(Struct):
    """The state of the second folder.

    Attributes:
        path: The folder; empty if the settings name none.
        why: Why it is not up to date; empty if it is.
        away: The folder is not there, for example because the stick is unplugged.
    """

    path: str = ""
    why: str = ""
    away: bool = False


class _Open(Struct):
    """The file that is appended to."""

    fd: int
    path: Path
    size: int
    inode: tuple[int, int]
    """Device and inode."""


class MessageJournal(Struct):
    """The message journal of one shop.

    Attributes:
        home: The shop's folder.
        key: `core.journal_key` of the shop.
        second: The second folder.
    """

    home: Path
    key: bytes
    second: SecondFolder = field(default_factory=SecondFolder)
    _open: _Open | None = None
    _recent: "OrderedDict[Key, None]" = field(default_factory=OrderedDict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _oldest: str = ""
    """The first month that is kept."""
    _copied: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Name -> inode of the original, inode of the copy, and their common size."""

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return self.home / FOLDER

    def append(self, records: Sequence[Record], now_us: int) -> None:
        """Append the parts that this process has not written yet; they are on the disk when it returns.

        `now_us` selects the file. The months never go back, so that the newest lines are in the last file.
        """
        with self._lock:
            file = self._ready(_month(now_us))
            fresh = {one.key: one for one in records if one.key not in self._recent}
            if not fresh:
                return
            data = b"".join(core.encode(one, self.key) for one in fresh.values())
            try:
                _write_all(file.fd, data)
                os.fdatasync(file.fd)
            except OSError:
                # The written part is unknown, so the next call opens the file again and writes the lines again.
                with contextlib.suppress(OSError):
                    os.ftruncate(file.fd, file.size)
                self._close()
                raise
            file.size += len(data)
            self._recent.update(dict.fromkeys(fresh))
            while len(self._recent) > _RECENT_MAX:
                self._recent.popitem(last=False)

    def close(self) -> None:
        """Close the open file."""
        with self._lock:
            self._close()

    def backward(self) -> Iterator[Record]:
        """Return all parts, the last one first. Lines that cannot be read are left out."""
        for path in reversed(_files(self.folder)):
            for line in _lines_backward(path):
                entry = core.decode(line, self.key)
                if isinstance(entry, Record):
                    yield entry

    def unreadable(self) -> int:
        """Return the number of lines that cannot be read."""
        return sum(
            core.decode(line, self.key) is None
            for path in _files(self.folder)
            for line in path.read_bytes().splitlines(keepends=True)
        )

    def erase(self, keys: set[Key]) -> int:
        """Erase parts from the files; return how many. The second folder follows with its next copy."""
        erased = 0
        with self._lock:
            for path in _files(self.folder):
                before = _entries(path, self.key)
                after = core.erase(before, keys)
                many = sum(new is not old for new, old in zip(after, before, strict=True))
                if many:
                    self._replace(path, after)
                erased += many
        return erased

    def prune(self, before_us: int) -> int:
        """Remove the files of the months that ended before this time; return how many. The second folder follows."""
        month, removed = _month(before_us), 0
        with self._lock:
            self._oldest = month
            for path in _files(self.folder):
                if _month_of(path) < month and (self._open is None or self._open.path != path):
                    path.unlink()
                    removed += 1
        return removed

    def fetch_back(self) -> None:
        """Add the parts that only the second folder has, for example after a change of the disk.

        They are added between the others, so `was_fetched` is true until `searched` is called.
        """
        for copy in self._copies():
            path = self.folder / f"{_month_of(copy)}.journal"
            if _is_beginning(copy, path):
                continue
            # Read before the lock is taken: a stick that hangs must not hold up the messages that come in.
            theirs = _entries(copy, self.key)
            with self._lock:
                if _month_of(copy) < self._oldest:
                    continue  # pruned meanwhile
                ours = _entries(path, self.key) if path.exists() else []
                if {one.key for one in theirs} <= {one.key for one in ours}:
                    continue
                self._make_folder()
                (self.folder / _FETCHED).touch(mode=0o600)
                sync(self.folder)
                self._replace(path, core.merge(ours, theirs))

    @property
    def was_fetched(self) -> bool:
        """Whether parts were added in the middle since the last complete search, also by a killed process."""
        return (self.folder / _FETCHED).exists()

    def searched(self) -> None:
        """Record that the database has all parts."""
        (self.folder / _FETCHED).unlink(missing_ok=True)

    def copy_to_second(self) -> None:
        """Bring the second folder up to date, and record in `second` why that is impossible. One thread at a time calls it."""
        target = Path(self.second.path)
        if not self.second.path:
            return
        if not target.is_dir():
            # Never create it: with the stick unplugged, it would be on the disk that it protects against.
            self.second.why, self.second.away = f"{target} does not exist", True
            self._copied.clear()
            return
        try:
            for path in self._copies():
                if _month_of(path) < self._oldest:
                    path.unlink()
            why = [found for path in _files(self.folder) if (found := self._copy(path))]
        except OSError as error:
            self._copied.clear()
            self.second.why, self.second.away = f"{target} cannot be written: {error}", False
            return
        self.second.why, self.second.away = "; ".join(why), False

    def _copy(self, path: Path) -> str:
        """Copy the appended end of a file; return the reason if that is impossible."""
        copy = Path(self.second.path) / f"momo-{core.shop_mark(self.key)}-{path.name}"
        with self._lock:
            original = path.stat()
            size = original.st_size
            if self._open is not None and self._open.path == path:
                size = self._open.size
        known = self._copied.get(path.name)
        there = copy.stat() if copy.exists() else None
        same = there is not None and known == (original.st_ino, there.st_ino, there.st_size)
        if same and there is not None and there.st_size == size:
            return ""
        if there is not None and not same and not _is_beginning(copy, path):
            ours, theirs = _entries(path, self.key), _entries(copy, self.key)
            if {one.key for one in theirs} - {one.key for one in ours}:
                return (
                    f"{copy} has messages that the shop's own folder lacks; they are read at the next start: "
                    "momo daemon restart"
                )
            there = None
        if there is None:
            _replace(copy, path.read_bytes()[:size])
        else:
            fd = os.open(copy, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                _write_all(fd, _read(path, there.st_size, size))
                os.fsync(fd)
            finally:
                os.close(fd)
        self._copied[path.name] = (original.st_ino, copy.stat().st_ino, size)
        return ""

    def _copies(self) -> list[Path]:
        """Return the shop's files in the second folder; none while it is away."""
        if not self.second.path:
            return []
        mark = core.shop_mark(self.key)
        with contextlib.suppress(OSError):
            return [path for path in _files(Path(self.second.path)) if path.name.startswith(f"momo-{mark}-")]
        return []

    def _ready(self, month: str) -> _Open:
        """Return the open file of a month, or of a later one that exists."""
        if self._open is not None:
            # The file of this name may have been removed or replaced.
            with contextlib.suppress(OSError):
                there = os.stat(self._open.path, follow_symlinks=False)  # noqa: PTH116 - once per intake
                same = (there.st_dev, there.st_ino) == self._open.inode
                if same and month <= _month_of(self._open.path):
                    return self._open
            self._close()
        self._make_folder()
        files = _files(self.folder)
        last = _month_of(files[-1]) if files else ""
        path = self.folder / f"{max(month, last)}.journal"
        if path not in files:
            self._recent.clear()  # the file was removed while it was open
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o600)
        here = os.fstat(fd)
        self._open = _Open(fd, path, 0, (here.st_dev, here.st_ino))
        try:
            whole = os.fstat(fd).st_size
            end = whole
            while end > 0:
                begin = max(end - _TAIL_BYTES, 0)
                found = os.pread(fd, end - begin, begin).rfind(b"\n")
                if found >= 0:
                    end = begin + found + 1
                    break
                end = begin
            if end != whole:
                os.ftruncate(fd, end)
                os.fsync(fd)
            size = end
            if size == 0:
                header = core.encode(self._header(), self.key)
                _write_all(fd, header)
                size = len(header)
                os.fsync(fd)
                sync(self.folder)
            self._open.size = size
        except OSError:
            self._close()
            raise
        return self._open

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            sync(self.home)

    def _header(self) -> core.JournalHeader:
        return core.JournalHeader(core.VERSION, core.shop_mark(self.key))

    def _replace(self, path: Path, entries: Sequence[Record | Erased]) -> None:
        """Replace a file of the shop's folder; appending goes on in the new one."""
        _replace(path, b"".join(core.encode(one, self.key) for one in (self._header(), *entries)))
        self._close()

    def _close(self) -> None:
        if self._open is not None:
            os.close(self._open.fd)
            self._open = None


def _month(at_us: int) -> str:
    return from_us(at_us).astimezone(UTC).strftime("%Y-%m")


def _month_of(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    assert match is not None, "the path comes from `_files`, or was made like it"
    return match[1]


def _files(folder: Path) -> list[Path]:
    """Return the files in a folder, the oldest month first; none if there is no folder."""
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    return sorted(found, key=_month_of)


def _entries(path: Path, key: bytes) -> list[Record | Erased]:
    return core.decode_all(path.read_bytes().splitlines(keepends=True), key)


def _lines_backward(path: Path) -> Iterator[bytes]:
    """Return the lines of a file, the last one first, without one that has no end."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            end = data.rfind(b"\n")
            while end >= 0:
                begin = data.rfind(b"\n", 0, end)
                yield data[begin + 1 : end]
                end = begin


def _is_beginning(copy: Path, original: Path) -> bool:
    """Return whether a copy is the beginning of its original, judged by its last bytes."""
    try:
        size = copy.stat().st_size
        if size > original.stat().st_size:
            return False
        begin = max(size - _TAIL_BYTES, 0)
        return _read(copy, begin, size) == _read(original, begin, size)
    except FileNotFoundError:
        return False


def _read(path: Path, begin: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(end - begin)


def _replace(path: Path, data: bytes) -> None:
    """Write a new file, sync it, and rename it over the old one."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)  # left behind by a killed process
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync(path.parent)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
