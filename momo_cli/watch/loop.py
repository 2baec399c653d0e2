"""The main loop of `momo watch`: reads keys and results, draws the screen, and always restores the terminal.

rich's Live manages the alternate screen; keys are read here, because rich reads none. This thread draws; `Fetcher` has
the others. The screen is drawn after each event, when its size changes, and once a second for the times on it.
"""

import codecs
import os
import queue
import select
import termios
import threading
import tty
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from daemon.wire import ErrorCode, Mode, Path
from momo_cli import errors, exit_codes, system
from momo_cli.errors import Failure
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import money
from momo_cli.socket.client import PAUSE_S, Client, Outage, path_of
from momo_cli.text import at
from momo_cli.watch import model as state
from momo_cli.watch.model import Action, Approve, DaemonConnection, DayData, LookupResult, Model, Result, ScreenMessage
from momo_cli.watch.view import Screen, screen_lines
from parsers.svc_code import is_valid_code

RECENT: Final = 20
REVIEWS_MAX: Final = 20


def fetch_day(client: Client) -> DayData:
    """Fetch today's day sheet and the open reviews, or fail as `Client.call`."""
    mode = Mode.TEST if client.sandbox else Mode.LIVE
    report = client.get(Path.LOCAL_REPORT, recent=RECENT, mode=mode)
    reviews = client.get(Path.REVIEWS, limit=REVIEWS_MAX)
    wanted = (row for row in reviews.data or () if bool(row.get("test")) is client.sandbox)
    return DayData(report.data or {}, tuple(wanted))


class Fetcher:
    """The two threads; they end with the process."""

    def __init__(self, client: Client) -> None:
        # Warnings of the client on stderr would garble the screen.
        self._client = replace(client, warn=lambda _text: None, trace=None)
        self._jobs: queue.SimpleQueue[Callable[[], Result]] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._asked = threading.Event()
        self._failed: Failure | None = None
        self.woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def open(self) -> None:
        """Start the threads."""
        for work in (self._read_events, self._work):
            threading.Thread(target=work, daemon=True).start()

    def results(self) -> list[Result]:
        """Return the new results without waiting, or fail if the daemon has been away for too long (`Outage`)."""
        os.read(self.woken, 4096)
        if self._failed is not None:
            raise self._failed
        found: list[Result] = []
        while not self._results.empty():
            found.append(self._results.get())
        return found

    def wake(self) -> None:
        """Wake the loop."""
        try:
            os.write(self._wake, b"\0")
        except BlockingIOError:
            return  # the pipe is full, so the loop is about to wake

    def refresh(self) -> None:
        """Fetch the day sheet and the reviews again; several pending requests are combined into one."""
        if not self._asked.is_set():
            self._asked.set()
            self._jobs.put(self._day)

    def look_up(self, code: str) -> None:
        """Fetch the transaction with this code."""
        self._jobs.put(lambda: self._found(code))

    def approve(self, action: Approve) -> None:
        """Approve a review, and fetch the day sheet and the reviews again."""
        self._jobs.put(lambda: self._approved(action))
        self.refresh()

    def _put(self, result: Result) -> None:
        self._results.put(result)
        self.wake()

    def _read_events(self) -> None:
        since: str | None = None
        outage = Outage(self._client, "momo watch", answered=True)
        while True:
            failure = None
            try:
                for event in self._client.events(since=since):
                    outage.over()
                    if event is None:
                        self._put(DaemonConnection(up=True))
                    else:
                        since = event.id or since
                    self.refresh()
            except Failure as problem:
                failure = problem
            self._put(DaemonConnection(up=False))
            try:
                outage.missed(failure)
            except Failure as final:
                self._failed = final
                self.wake()
                return
            self._client.pause(PAUSE_S)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                self._put(job())
            except Failure as failure:
                said = ScreenMessage(_sentence(failure), "red")
                down = failure.code == ErrorCode.DAEMON_DOWN
                self._put(DaemonConnection(up=False) if down else said)

    def _day(self) -> Result:
        # Cleared before the call, so that a change during the call causes another one.
        self._asked.clear()
        return fetch_day(self._client)

    def _found(self, code: str) -> Result:
        try:
            reply = self._client.get(path_of(Path.TRANSACTION_BY_CODE, svc_code=code))
        except Failure as failure:
            if failure.code == ErrorCode.DAEMON_DOWN:
                self._put(DaemonConnection(up=False))
            typo = "" if is_valid_code(code) else "mistyped: not a valid code"
            return LookupResult(code, None, typo or _sentence(failure))
        return LookupResult(code, reply.data)

    def _approved(self, action: Approve) -> Result:
        body = {"reference": action.reference}
        if action.password is not None:
            body["password"] = action.password
        reply = self._client.post_once(path_of(Path.REVIEW_APPROVE, id=action.review), body)
        amount = money(at(reply.data, "amount"), at(reply.data, "currency"))
        return ScreenMessage(f"✓ Approved: {amount} pays {action.svc_code}.", "green")


def _sentence(failure: Failure) -> str:
    """Return the message of a failure on one line."""
    sentence = errors.headline(failure)
    left = at(failure.body, "error.attempts_remaining")
    return f"{sentence} ({left} tries left)" if isinstance(left, int) else sentence


_NAMES: Final = {
    "\r": "enter", "\n": "enter", "\t": "tab", "\x04": "ctrl-d", "\x08": "backspace", "\x7f": "backspace",
    "\x1b": "escape",
}  # fmt: skip
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


TICK_S: Final = 1.0
BOOKS_EVERY_S: Final = 30.0
"""Refresh interval, because the end of the day and expired transactions cause no event."""


def run_loop(fetcher: Fetcher, terminal: Terminal, model: Model) -> int:
    """Show the view until the operator quits; return the exit code. Signals end it by an exception."""
    console = Console(
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
    descriptor, keys = terminal.stdin.fileno(), Keys()
    with (
        system.ended_by_signals(resized=fetcher.wake),
        single_keys(descriptor),
        Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live,
    ):
        fetcher.open()
        asked_at = system.monotonic()
        while True:
            width, height = os.get_terminal_size(terminal.stdout.fileno())
            console.size = (width, height)
            local, at_s = terminal.now(), system.monotonic()
            screen = Screen(width, height, local, at_s, terminal.zone, terminal.symbols)
            shown = Text("\n", no_wrap=True, overflow="crop", end="").join(screen_lines(model, screen))
            shown.no_wrap, shown.overflow = True, "crop"
            live.update(shown, refresh=True)
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
