"""Clearing up after Ctrl-C: said only where it takes its time, because a second Ctrl-C then leaves the rest undone."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from momo_cli.terminal import Terminal

SLOW_S: Final = 0.5
"""Whoever has waited for so long wonders whether the key was heard."""


@contextlib.contextmanager
def ending(terminal: Terminal, slow_s: float = SLOW_S) -> Iterator[None]:
    """Do the last things within; a person who waits for them is told so, once."""
    told = threading.Timer(slow_s, terminal.note, args=("\nStopping… (Ctrl-C again to force)",))
    told.daemon = True
    told.start()
    try:
        yield
    finally:
        told.cancel()
