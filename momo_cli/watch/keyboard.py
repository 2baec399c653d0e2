"""Reading single keys from a terminal; its mode is always restored."""

import codecs
import os
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_NAMES: Final = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x04": "ctrl-d",
    "\x08": "backspace",
    "\x7f": "backspace",
    "\x1b": "escape",
}
_SEQUENCES: Final = {"A": "up", "B": "down", "Z": "up"}
"""The final letter of the sequences of arrows and shift-tab: ESC [ A, or ESC O A in application mode (ECMA-48, 5.4)."""
_READ_BYTES: Final = 1024


@contextmanager
def single_keys(descriptor: int) -> Iterator[None]:
    """Switch to single keys without echo. Ctrl-C still interrupts; Ctrl-Z is disabled, because it would garble the screen."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        mode = termios.tcgetattr(descriptor)
        mode[tty.CC][termios.VSUSP] = b"\x00"  # _POSIX_VDISABLE (termios(3))
        termios.tcsetattr(descriptor, termios.TCSANOW, mode)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class Keys:
    """A decoder of typed bytes into keys. An incomplete one (a letter of two bytes) is kept for the next read."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, descriptor: int) -> list[str]:
        """Return the keys that were typed; `ctrl-d` if the terminal is gone."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except OSError:
            data = b""
        return keys_of(self._decoder.decode(data)) if data else ["ctrl-d"]


def keys_of(text: str) -> list[str]:
    """Split input from a terminal into keys; unknown escape sequences are dropped."""
    found: list[str] = []
    rest = text
    while rest:
        if rest[0] == "\x1b" and len(rest) > 1 and rest[1] in "[O":
            end = next((i for i in range(2, len(rest)) if "@" <= rest[i] <= "~"), len(rest) - 1)
            if name := _SEQUENCES.get(rest[end]):
                found.append(name)
            rest = rest[end + 1 :]
            continue
        character, rest = rest[0], rest[1:]
        if name := _NAMES.get(character):
            found.append(name)
        elif character.isprintable():
            found.append(character)
    return found
