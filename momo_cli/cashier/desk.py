"""What the cashier's view asks of the daemon: two threads, so that a slow answer never stops the keyboard.

One follows the events and goes on where it was when the daemon comes back (Last-Event-ID); the other makes the calls, one
after the other. What they learn is put where the loop finds it, and a byte in a pipe wakes the loop.
"""

import os
import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from daemon.wire import ErrorCode, Mode, Path
from momo_cli import errors, system
from momo_cli.cashier.model import Approve, Books, Found, Line, News, Said
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure
from momo_cli.text import at
from momo_cli.words import money
from parsers.svc_code import is_valid_code

RECENT: Final = 20
REVIEWS_MAX: Final = 20
_PAUSE_S: Final = 1.0


def books(client: Client, *, sandbox: bool) -> Books:
    """Ask for the sheet of today and the reviews that wait.

    Raises:
        Failure: The daemon refused, or could not be reached.
    """
    mode = Mode.TEST if sandbox else Mode.LIVE
    report = client.get(Path.LOCAL_REPORT, recent=RECENT, mode=mode)
    reviews = client.get(Path.REVIEWS, limit=REVIEWS_MAX)
    return Books(
        report.data or {},
        tuple(row for row in reviews.data or () if bool(row.get("test")) is sandbox),
    )


class Desk:
    """The two threads; they end with the process."""

    def __init__(self, client: Client, *, sandbox: bool) -> None:
        # What the client would write to stderr would stand in the middle of the screen.
        self._client = replace(client, warn=lambda _text: None, trace=None)
        self._sandbox = sandbox
        self._jobs: queue.SimpleQueue[Callable[[], News]] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._asked = threading.Event()
        self.woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def open(self) -> None:
        """Begin."""
        for work in (self._follow, self._work):
            threading.Thread(target=work, daemon=True).start()

    def news(self) -> list[News]:
        """Return what is new; never waits."""
        os.read(self.woken, 4096)
        found: list[News] = []
        while not self._news.empty():
            found.append(self._news.get())
        return found

    def wake(self) -> None:
        """Let the loop look now."""
        try:
            os.write(self._wake, b"\0")
        except BlockingIOError:
            return  # it is full: the loop will look anyway

    def refresh(self) -> None:
        """Ask for the books again; many wishes at once are one."""
        if not self._asked.is_set():
            self._asked.set()
            self._jobs.put(self._books)

    def look_up(self, code: str) -> None:
        """Ask for the order with this code."""
        self._jobs.put(lambda: self._found(code))

    def approve(self, deed: Approve) -> None:
        """Approve a review, and look at the books again."""
        self._jobs.put(lambda: self._approved(deed))
        self.refresh()

    def _tell(self, news: News) -> None:
        self._news.put(news)
        self.wake()

    def _follow(self) -> None:
        since: str | None = None
        while True:
            try:
                for event in self._client.events(since=since):
                    if event is None:
                        self._tell(Line(up=True))
                    else:
                        since = event.id or since
                    self.refresh()
            except Failure:
                pass  # it is told below: the line is down
            self._tell(Line(up=False))
            self._client.pause(_PAUSE_S)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                self._tell(job())
            except Failure as failure:
                down = failure.code == ErrorCode.DAEMON_DOWN
                self._tell(Line(up=False) if down else Said(_sentence(failure), "red"))

    def _books(self) -> News:
        # Before the call: what happens while it is under way is asked for again.
        self._asked.clear()
        return books(self._client, sandbox=self._sandbox)

    def _found(self, code: str) -> News:
        try:
            reply = self._client.get(path_of(Path.TRANSACTION_BY_CODE, svc_code=code))
        except Failure as failure:
            if failure.code == ErrorCode.DAEMON_DOWN:
                self._tell(Line(up=False))
            typo = "" if is_valid_code(code) else "mistyped: no code is spelled like that"
            return Found(code, None, typo or _sentence(failure))
        return Found(code, reply.data)

    def _approved(self, deed: Approve) -> News:
        body = {"reference": deed.reference}
        if deed.password is not None:
            body["password"] = deed.password
        reply = self._client.call(
            "POST",
            path_of(Path.REVIEW_APPROVE, id=deed.review),
            body=body,
            idempotency_key=system.new_key(),
        )
        amount = money(at(reply.data, "amount"), at(reply.data, "currency"))
        return Said(f"✓ Approved: {amount} pays {deed.svc_code}.", "green")


def _sentence(failure: Failure) -> str:
    """Return what went wrong, in one line."""
    sentence = errors.row_for(failure).sentence
    left = at(failure.body, "error.attempts_remaining")
    return f"{sentence} ({left} tries left)" if isinstance(left, int) else sentence
