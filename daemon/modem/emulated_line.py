"""The emulated phone's end of the serial line: lines in, bytes out, and what is lost on the way."""

from typing import Final

from daemon.modem.emulated_faults import Faults

INPUT_BYTES_MAX: Final = 4096
"""A line longer than this is thrown away; an SMS to send has at most 2 * 176 characters."""
_CANCEL: Final = 0x1B
_SEND: Final = 0x1A


class Line:
    """Two buffers. `prompt` is True while the phone waits for a message instead of a command."""

    def __init__(self, faults: Faults) -> None:
        """Begin with nothing on the line."""
        self.prompt = False
        self.handed_over = 0
        """How many bytes `take` ever gave."""
        self._faults = faults
        self._in = bytearray()
        self._out = bytearray()
        self._said = 0
        self._heard = 0

    def clear(self) -> None:
        """Forget half lines and unread answers."""
        self.prompt = False
        self._in.clear()
        self._out.clear()

    # --- out -------------------------------------------------------------------------------

    def say(self, data: bytes) -> int:
        """Put bytes out; return where they end in the stream of all bytes ever said."""
        if every := self._faults.lose_byte_every:
            data, self._said = _thinned(data, every, self._said)
        self._out += data
        return self.handed_over + len(self._out)

    def unread(self) -> int:
        """Return how many bytes wait to be taken."""
        return len(self._out)

    def take(self) -> bytes:
        """Hand over bytes, empty when there are none; ask until empty."""
        data = bytes(self._out[: self._faults.chunk or len(self._out)])
        del self._out[: len(data)]
        self.handed_over += len(data)
        return data

    # --- in --------------------------------------------------------------------------------

    def hear(self, data: bytes) -> bytes:
        """Take typed bytes; return those that arrived."""
        if every := self._faults.lose_typed_every:
            data, self._heard = _thinned(data, every, self._heard)
        self._in += data
        if len(self._in) > INPUT_BYTES_MAX and self._ends() is None:
            self._in.clear()
        return data

    def next_line(self) -> bytes | None:
        """Return the next complete line without its end, None when there is none."""
        end = self._ends()
        return None if end is None else bytes(self._in[:end])

    def drop_line(self) -> bool:
        """Remove that line; say whether it ended in ESC after a prompt, and so sends nothing."""
        end = self._ends()
        if end is None:
            return False
        cancelled = self._in[end] == _CANCEL
        del self._in[: end + 1]
        return cancelled

    def _ends(self) -> int | None:
        """Return where the next complete line, or message after a prompt, ends."""
        if not self.prompt:
            end = self._in.find(b"\r")
            return None if end < 0 else end
        ends = [at for at in (self._in.find(_SEND), self._in.find(_CANCEL)) if at >= 0]
        return min(ends, default=None)


def _thinned(data: bytes, every: int, seen: int) -> tuple[bytes, int]:
    """Return the data without each so manyth byte, and how many were seen by now."""
    kept = bytes(byte for at, byte in enumerate(data, start=seen + 1) if at % every)
    return kept, seen + len(data)
