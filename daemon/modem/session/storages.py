"""The message storages of a phone (names, selection, fill level), and the parser of the lists of their messages."""

from typing import Final

from daemon.modem.session import at
from daemon.modem.session.events import Watermark

LIST: Final = "+CMGL:"
READ: Final = "+CMGR:"
HIGH_PERCENT: Final = 80
"""Fill level that is reported: a three-part message still fits into a SIM of 15 slots."""


class Storages:
    """The storages to read; the first one receives."""

    def __init__(self) -> None:
        self.all: tuple[str, ...] = ()
        self.usable: tuple[str, ...] = ()
        """All storages except those that the phone refused since the last sweep."""
        self.selected = ""
        """Empty when unknown."""
        self.own: dict[str, int] = {}
        """Outgoing messages on the phone, which are not deleted, as of the last list."""
        self.to_list: dict[str, None] = {}
        self._refused: set[str] = set()
        self._fills: dict[str, at.Fill] = {}
        self._high: set[str] = set()
        self._unclean: dict[str, int] = {}

    def begin(self, names: tuple[str, ...], fill: at.Fill | None) -> None:
        """Start over: the first storage is selected, `fill` is its fill level, and all are to be listed."""
        self.all = self.usable = names
        self.selected = names[0]
        self.own.clear()
        self._unclean.clear()
        self._fills.clear()
        if fill is not None:
            self._fills[names[0]] = fill
        self._high &= set(names)
        self.to_list = dict.fromkeys(names)

    @property
    def first(self) -> str:
        """Return the storage for received messages."""
        return self.usable[0]

    @property
    def fill(self) -> at.Fill | None:
        """Return the fill level of the first storage, None when unknown."""
        return self._fills.get(self.all[0])

    @property
    def counted(self) -> tuple[tuple[str, int, int], ...]:
        """Return name, used and total of each counted storage."""
        known = ((name, self._fills.get(name)) for name in self.usable)
        return tuple((name, fill.used, fill.total) for name, fill in known if fill is not None)

    def retry(self) -> None:
        """Use refused storages again, because a sweep begins."""
        self.usable = self.all
        self._refused.clear()

    def used(self, storage: str) -> int:
        """Return how many messages a storage had when it was last counted; 0 if unknown."""
        fill = self._fills.get(storage)
        return 0 if fill is None else fill.used

    def total(self, storage: str) -> int:
        """Return how many slots a storage has; 0 if unknown."""
        fill = self._fills.get(storage)
        return 0 if fill is None else fill.total

    def sweep(self) -> None:
        """List every storage soon."""
        self.to_list.update(dict.fromkeys(self.usable))

    def next_to_list(self) -> str:
        """Return the storage to list next: the fullest, or the selected one of equally full ones."""
        waiting = sorted(self.to_list, key=lambda name: name != self.selected)
        return max(waiting, key=self._percent)

    def next_to_empty(self) -> str:
        """Return the storage to empty next: a nearly full one before the selected one."""
        return max(sorted(self._high), key=self._percent, default=self.selected)

    def is_high(self, storage: str) -> bool:
        """Return whether a storage was nearly full when it was last counted."""
        return storage in self._high

    def _percent(self, storage: str) -> int:
        fill = self._fills.get(storage)
        return fill.used * 100 // fill.total if fill is not None and fill.total else 0

    def is_refused(self, storage: str) -> bool:
        """Return whether the phone refused to select it."""
        return storage in self._refused

    def refuse(self, storage: str) -> None:
        """Continue without a storage."""
        self._refused.add(storage)
        self.usable = tuple(name for name in self.usable if name != storage)
        self.to_list.pop(storage, None)

    def full(self, storage: str) -> None:
        """Record a storage that the phone reported as full; an unnamed one is the first."""
        if not self.all:
            return  # reported before the start has read the list of storages
        name = storage if storage in self.all else self.all[0]
        fill = self._fills.get(name)
        if fill is not None:
            self._fills[name] = at.Fill(name, max(fill.used, fill.total), fill.total)

    def count(self, storage: str, fill: at.Fill | None) -> Watermark | None:
        """Record the fill level of a storage; return a `Watermark` when it crossed the threshold."""
        if fill is None:
            self._fills.pop(storage, None)
            return None
        self._fills[storage] = fill
        high = fill.total > 0 and self._percent(storage) >= HIGH_PERCENT
        if high == (storage in self._high):
            return None
        (self._high.add if high else self._high.discard)(storage)
        return Watermark(storage, fill.used, fill.total, high)

    def clean(self, storage: str) -> bool:
        """Record a list without unreadable entries; return whether no storage has any now."""
        self._unclean.pop(storage, None)
        return not self._unclean

    def unclean(self, storage: str) -> int:
        """Record a list with unreadable entries; return the number of such lists in a row."""
        times = self._unclean[storage] = self._unclean.get(storage, 0) + 1
        return times


class MessageListParser:
    """Parses one answer with messages, line by line.

    The PDU of a header is the next line that is all hex; other lines may come in between. A header without a PDU before
    the next header or the end is a message that could not be read. It is `clean` while no loss of a header or PDU was
    detected, and `confused` when headers of the other command came, so that this is another command's answer. `headers`
    counts the received ones.
    """

    __slots__ = ("_header", "_prefix", "clean", "confused", "headers")

    def __init__(self) -> None:
        self.begin("")

    def begin(self, prefix: str) -> None:
        """Expect headers with this prefix from now on; empty expects none."""
        self._prefix = prefix
        self._header: at.Header | None = None
        self.headers = 0
        self.clean = True
        self.confused = False

    @property
    def waits(self) -> bool:
        """Return whether a header waits for its PDU."""
        return self._header is not None

    def is_part(self, line: str) -> bool:
        """Return whether the line could be a header or a PDU, to be passed to `take`."""
        return line.startswith((LIST, READ)) or at.is_hex(line)

    def take(self, line: str) -> tuple[at.Header, str] | None:
        """Process a header or a PDU; return the message when it is complete."""
        if line[0] == "+":
            self._take_header(line)
            return None
        header, self._header = self._header, None
        if header is None:
            self.clean = False
            return None
        return header, line.upper()

    def end(self) -> None:
        """Process the end of the answer."""
        if self._header is not None:
            self._header = None
            self.clean = False

    def _take_header(self, line: str) -> None:
        if not self._prefix:
            return
        if not line.startswith(self._prefix):
            self.confused = True
            return
        self.headers += 1
        self.end()
        self._header = at.cmgl_header(line) if self._prefix == LIST else at.cmgr_header(line)
        if self._header is None:
            self.clean = False
