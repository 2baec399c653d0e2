"""When API keys were last used and from where, noted in memory and written down now and then: no call costs a write."""

from typing import NamedTuple


class Use(NamedTuple):
    """One use of a key: when, in microseconds, and from where: an IP address, or `socket`; None when nobody knows."""

    at: int
    origin: str | None


class KeyUse:
    """What has been noted and not written down yet."""

    def __init__(self) -> None:
        self._noted: dict[str, Use] = {}

    def note(self, key_id: str, now_us: int, origin: str) -> None:
        """Note that a key was used."""
        self._noted[key_id] = Use(now_us, origin)

    def latest(self, key_id: str, written: Use | None) -> Use | None:
        """Return the later of what is noted here and what was written down."""
        noted = self._noted.get(key_id)
        if noted is None or written is None:
            return noted if written is None else written
        return written if written.at > noted.at else noted

    def take(self) -> dict[str, Use]:
        """Return what is to be written down, and forget it."""
        taken, self._noted = self._noted, {}
        return taken

    def put_back(self, taken: dict[str, Use]) -> None:
        """Note again what could not be written; what was noted meanwhile is later."""
        self._noted = {**taken, **self._noted}
