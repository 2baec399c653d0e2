"""The loop of the cashier's view: keys and news in, the screen out. Whatever ends it, the terminal is as it was before.

rich's Live keeps the alternate screen, the keyboard is ours, because rich reads none. One thread draws; `Desk` has the
others. The screen is drawn when something happened, when its size changed, and once a second for the times on it.
"""

import os
import select
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from momo_cli import exits, system
from momo_cli.cashier.desk import Desk
from momo_cli.cashier.keyboard import Keys, key_by_key
from momo_cli.cashier.model import Approve, Deed, Leave, Lookup, Model, Ring, heard, pressed
from momo_cli.cashier.view import Screen, lines
from momo_cli.terminal import Terminal

TICK_S: Final = 1.0
BOOKS_EVERY_S: Final = 30.0
"""The day ends, and orders expire, without an event that says so."""


def watch(desk: Desk, terminal: Terminal, model: Model) -> int:
    """Show the view until the person leaves; return the exit code.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: The terminal was closed, or somebody told us to end.
    """
    console = _console(terminal)
    descriptor, keys = terminal.stdin.fileno(), Keys()
    with (
        _signals(desk),
        key_by_key(descriptor),
        Live(
            console=console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live,
    ):
        desk.open()
        asked_at = system.monotonic()
        while True:
            live.update(_drawn(model, console, terminal), refresh=True)
            ready, _, _ = select.select([descriptor, desk.woken], [], [], TICK_S)
            now = system.monotonic()
            deeds: list[Deed] = []
            if desk.woken in ready:
                for news in desk.news():
                    deeds += heard(model, news, now)
            if descriptor in ready:
                for key in keys.read(descriptor):
                    deeds += pressed(model, key, now)
            if now - asked_at >= BOOKS_EVERY_S:
                desk.refresh()
                asked_at = now
            if _done(deeds, desk, console):
                return exits.OK


def _done(deeds: Iterable[Deed], desk: Desk, console: Console) -> bool:
    """Do what is to be done; say whether the person leaves."""
    for deed in deeds:
        if isinstance(deed, Leave):
            return True
        if isinstance(deed, Lookup):
            desk.look_up(deed.code)
        elif isinstance(deed, Approve):
            desk.approve(deed)
        elif isinstance(deed, Ring):
            for _ in range(deed.times):
                console.bell()
    return False


def _console(terminal: Terminal) -> Console:
    return Console(
        file=terminal.stdout,
        color_system="standard" if terminal.color else None,
        force_terminal=True,
        no_color=not terminal.color,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
        _environ={},  # COLUMNS would hide that the window is another size now
    )


def _drawn(model: Model, console: Console, terminal: Terminal) -> Text:
    width, height = os.get_terminal_size(terminal.stdout.fileno())
    console.size = (width, height)
    screen = Screen(
        width, height, terminal.now(), system.monotonic(), terminal.zone, terminal.symbols
    )
    shown = Text("\n", no_wrap=True, overflow="crop", end="").join(lines(model, screen))
    shown.no_wrap, shown.overflow = True, "crop"
    return shown


@contextmanager
def _signals(desk: Desk) -> Iterator[None]:
    """Draw at once when the window changes, and end tidily when somebody ends us."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers = {
        signal.SIGWINCH: lambda _number, _frame: desk.wake(),
        signal.SIGTERM: end,
        signal.SIGHUP: end,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
