"""The main loop of `momo watch`: reads keys and results, draws the screen, and always restores the terminal.

rich's Live manages the alternate screen; keys are read here, because rich reads none. This thread draws; `Fetcher` has
the others. The screen is drawn after each event, when its size changes, and once a second for the times on it.
"""

import os
import select
from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from momo_cli import exit_codes, system
from momo_cli.show.terminal import Terminal
from momo_cli.watch import model as state
from momo_cli.watch.fetch import Fetcher
from momo_cli.watch.keyboard import Keys, single_keys
from momo_cli.watch.model import Action, Model
from momo_cli.watch.view import Screen, screen_lines

TICK_S: Final = 1.0
BOOKS_EVERY_S: Final = 30.0
"""Refresh interval, because the end of the day and expired transactions cause no event."""


def run_loop(fetcher: Fetcher, terminal: Terminal, model: Model) -> int:
    """Show the view until the operator quits; return the exit code. Signals end it by an exception."""
    console = _console(terminal)
    descriptor, keys = terminal.stdin.fileno(), Keys()
    with (
        system.ended_by_signals(resized=fetcher.wake),
        single_keys(descriptor),
        Live(
            console=console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live,
    ):
        fetcher.open()
        asked_at = system.monotonic()
        while True:
            live.update(_drawn(model, console, terminal), refresh=True)
            ready, _, _ = select.select([descriptor, fetcher.woken], [], [], TICK_S)
            now = system.monotonic()
            actions: list[Action] = []
            if fetcher.woken in ready:
                for result in fetcher.results():
                    actions += state.apply_result(model, result, now)
            if descriptor in ready:
                for key in keys.read(descriptor):
                    actions += state.handle_key(model, key, now)
            if now - asked_at >= BOOKS_EVERY_S:
                fetcher.refresh()
                asked_at = now
            if _done(actions, fetcher, console):
                return exit_codes.OK


def _done(actions: Iterable[Action], fetcher: Fetcher, console: Console) -> bool:
    """Carry out the actions; return whether the operator quits."""
    for action in actions:
        if isinstance(action, state.Leave):
            return True
        if isinstance(action, state.Lookup):
            fetcher.look_up(action.code)
        elif isinstance(action, state.Approve):
            fetcher.approve(action)
        elif isinstance(action, state.Ring):
            for _ in range(action.times):
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
        _environ={},  # COLUMNS would override the size of a resized window
    )


def _drawn(model: Model, console: Console, terminal: Terminal) -> Text:
    width, height = os.get_terminal_size(terminal.stdout.fileno())
    console.size = (width, height)
    now, tick = terminal.now(), system.monotonic()
    screen = Screen(width, height, now, tick, terminal.zone, terminal.symbols)
    shown = Text("\n", no_wrap=True, overflow="crop", end="").join(screen_lines(model, screen))
    shown.no_wrap, shown.overflow = True, "crop"
    return shown
