"""How far a long piece of work is: one line on stderr that rewrites itself, for people only.

Never in a pipe, a log or a mail of cron: only on a terminal that can go back to the start of a line.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from momo_cli import system
from momo_cli.terminal import ERASE, Terminal

_BAR: Final = 24
_EVERY_S: Final = 0.1
"""Faster than this nobody reads, and a slow line over SSH would hold the work up."""


@contextmanager
def progress(terminal: Terminal, label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show how far the work is for as long as the block runs; the line is gone afterwards.

    Args:
        terminal: Where it is shown, if anybody looks.
        label: What is being done: "Sending".
        total: How many there are.

    Yields:
        A function that takes how many are done by now.
    """
    if not shows(terminal) or total < 2:
        yield lambda _: None
        return
    last_s = system.monotonic() - _EVERY_S

    def step(done: int) -> None:
        nonlocal last_s
        now_s = system.monotonic()
        if now_s - last_s >= _EVERY_S or done == total:
            last_s = now_s
            terminal.stderr.write(ERASE + terminal.plain(line(terminal, label, done, total)))
            terminal.stderr.flush()
            terminal.unfinished.open = True

    try:
        step(0)
        yield step
    finally:
        terminal.stderr.write(ERASE)
        terminal.stderr.flush()
        terminal.unfinished.open = False


def shows(terminal: Terminal) -> bool:
    """Say whether a person would see it, and it would not run into the rows."""
    if terminal.flags.quiet or terminal.located.environ.get("TERM", "dumb") == "dumb":
        return False
    return terminal.stderr.isatty() and (terminal.human or not terminal.on_screen)


def line(terminal: Terminal, label: str, done: int, total: int) -> str:
    """Return the line: `Sending  34 of 120  ━━━━━━━─────────────────`."""
    full = _BAR * done // total
    strong, weak = ("━", "─") if terminal.symbols else ("#", "-")
    return f"{label}  {done} of {total}  {strong * full}{weak * (_BAR - full)}"
