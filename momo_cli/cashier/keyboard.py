"""The keyboard of a terminal, key by key; the terminal is left as it was, whatever happens."""

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
"""The last letter of what arrows and shift-tab send: ESC [ A, or ESC O A in application mode (ECMA-48, 5.4)."""
_READ_BYTES: Final = 1024


@contextmanager
def key_by_key(descriptor: int) -> Iterator[None]:
    """Give keys at once and without an echo. Ctrl-C still interrupts; Ctrl-Z does nothing, it would leave a torn screen."""
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
    """What was typed, as keys. One that is not finished yet (a letter of two bytes) waits for the next read."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, descriptor: int) -> list[str]:
        """Return the keys that are there; `ctrl-d` when the terminal is gone."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except OSError:
            data = b""
        return keys_of(self._decoder.decode(data)) if data else ["ctrl-d"]


def keys_of(text: str) -> list[str]:
    """Part what a terminal sent into keys; a sequence that is no key of ours is dropped whole."""
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
