"""When API keys were last used, noted in memory and written down now and then: no call costs a write."""


class KeyUse:
    """What has been noted and not written down yet. Times are microseconds."""

    def __init__(self) -> None:
        self._noted: dict[str, int] = {}

    def note(self, key_id: str, now_us: int) -> None:
        """Note that a key was used."""
        self._noted[key_id] = now_us

    def latest(self, key_id: str, written: int | None) -> int | None:
        """Return the later of what is noted here and what was written down."""
        noted = self._noted.get(key_id)
        if noted is None or written is None:
            return noted if written is None else written
        return max(noted, written)

    def take(self) -> dict[str, int]:
        """Return what is to be written down, and forget it."""
        taken, self._noted = self._noted, {}
        return taken

    def put_back(self, taken: dict[str, int]) -> None:
        """Note again what could not be written; what was noted meanwhile is later."""
        self._noted = {**taken, **self._noted}
