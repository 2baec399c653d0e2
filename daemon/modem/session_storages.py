"""The storages of a phone as an AT session knows them: which there are, which is selected, how full."""

from typing import Final

from daemon.modem import at
from daemon.modem.session_values import Watermark

HIGH_PERCENT: Final = 80
"""So full a storage is told of: a three-part message fits into a SIM of 15 once more."""


class Storages:
    """The storages to read; the first one receives."""

    def __init__(self) -> None:
        """Start with none; `begin` names them."""
        self.all: tuple[str, ...] = ()
        self.usable: tuple[str, ...] = ()
        """All but those that the phone refused since the last sweep."""
        self.selected = ""
        """Empty when that is not known."""
        self.own: dict[str, int] = {}
        """Messages that were written here and are not ours to delete, as a list last showed."""
        self.to_list: dict[str, None] = {}
        self._refused: set[str] = set()
        self._fills: dict[str, at.Fill] = {}
        self._high: set[str] = set()
        self._unclean: dict[str, int] = {}

    def begin(self, names: tuple[str, ...], fill: at.Fill | None) -> None:
        """Start over: the first is selected, `fill` is how full it is, and all are to be listed."""
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
        """Return the storage that receives."""
        return self.usable[0]

    @property
    def fill(self) -> at.Fill | None:
        """Return how full the first one is, None when it did not say."""
        return self._fills.get(self.all[0])

    @property
    def counted(self) -> tuple[tuple[str, int, int], ...]:
        """Return name, used and total of each that was counted."""
        known = ((name, self._fills.get(name)) for name in self.usable)
        return tuple((name, fill.used, fill.total) for name, fill in known if fill is not None)

    def retry(self) -> None:
        """Go back to those that were refused: a sweep begins."""
        self.usable = self.all
        self._refused.clear()

    def sweep(self) -> None:
        """List every storage soon."""
        self.to_list.update(dict.fromkeys(self.usable))

    def next_to_list(self) -> str:
        """Return the storage to list next: the fullest, of equal ones the selected."""
        waiting = sorted(self.to_list, key=lambda name: name != self.selected)
        return max(waiting, key=self._percent)

    def next_to_empty(self) -> str:
        """Return the storage to empty next: a nearly full one before the one that is selected."""
        return max(sorted(self._high), key=self._percent, default=self.selected)

    def is_high(self, storage: str) -> bool:
        """Say whether a storage was nearly full when it was last counted."""
        return storage in self._high

    def _percent(self, storage: str) -> int:
        fill = self._fills.get(storage)
        return fill.used * 100 // fill.total if fill is not None and fill.total else 0

    def is_refused(self, storage: str) -> bool:
        """Say whether the phone would not select it."""
        return storage in self._refused

    def refuse(self, storage: str) -> None:
        """Go on without a storage."""
        self._refused.add(storage)
        self.usable = tuple(name for name in self.usable if name != storage)
        self.to_list.pop(storage, None)

    def full(self, storage: str) -> None:
        """Note that the phone says this storage is full; one that it does not name is the first."""
        if not self.all:
            return  # said before the start has asked which storages there are
        name = storage if storage in self.all else self.all[0]
        fill = self._fills.get(name)
        if fill is not None:
            self._fills[name] = at.Fill(name, max(fill.used, fill.total), fill.total)

    def count(self, storage: str, fill: at.Fill | None) -> Watermark | None:
        """Note how full a storage is; return what there is to tell of that."""
        if fill is None:
            self._fills.pop(storage, None)
            return None
        self._fills[storage] = fill
        high = fill.total > 0 and self._percent(storage) >= HIGH_PERCENT
        if high == (storage in self._high):
            return None
        (self._high.add if high else self._high.discard)(storage)
        return Watermark(storage, fill.used, fill.total, high)

    # --- lists that could not be read whole ------------------------------------------------

    def clean(self, storage: str) -> bool:
        """Note a list without a fault; say whether there is none with one now."""
        self._unclean.pop(storage, None)
        return not self._unclean

    def unclean(self, storage: str) -> int:
        """Note a list with something unreadable; return how many there were in a row."""
        times = self._unclean[storage] = self._unclean.get(storage, 0) + 1
        return times
