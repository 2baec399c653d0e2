"""The storages of a phone as an AT session knows them: which there are, which is selected, how full."""

from daemon.modem import at


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
        self.to_list = dict.fromkeys(names)

    @property
    def first(self) -> str:
        """Return the storage that receives."""
        return self.usable[0]

    @property
    def fill(self) -> at.Fill | None:
        """Return how full the first one is, None when it did not say."""
        return self._fills.get(self.all[0])

    def retry(self) -> None:
        """Go back to those that were refused: a sweep begins."""
        self.usable = self.all
        self._refused.clear()

    def sweep(self) -> None:
        """List every storage soon."""
        self.to_list.update(dict.fromkeys(self.usable))

    def next_to_list(self) -> str:
        """Return the storage to list next: the selected one if it is to be listed."""
        return self.selected if self.selected in self.to_list else next(iter(self.to_list))

    def is_refused(self, storage: str) -> bool:
        """Say whether the phone would not select it."""
        return storage in self._refused

    def refuse(self, storage: str) -> None:
        """Go on without a storage."""
        self._refused.add(storage)
        self.usable = tuple(name for name in self.usable if name != storage)
        self.to_list.pop(storage, None)

    def count(self, storage: str, fill: at.Fill | None) -> None:
        """Note how full a storage is."""
        if fill is None:
            self._fills.pop(storage, None)
        else:
            self._fills[storage] = fill

    # --- lists that could not be read whole ------------------------------------------------

    def clean(self, storage: str) -> bool:
        """Note a list without a fault; say whether there is none with one now."""
        self._unclean.pop(storage, None)
        return not self._unclean

    def unclean(self, storage: str) -> int:
        """Note a list with something unreadable; return how many there were in a row."""
        times = self._unclean[storage] = self._unclean.get(storage, 0) + 1
        return times
