"""The calls of `momo watch` to the daemon, in two threads, so that a slow answer never blocks the keyboard.

One thread reads the event stream and resumes it when the daemon is back (Last-Event-ID); the other makes the calls one
after the other. Both put their results into a queue for the loop, and wake it with a byte in a pipe.
"""

import os
import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from daemon.wire import ErrorCode, Mode, Path
from momo_cli import errors
from momo_cli.errors import Failure
from momo_cli.show.words import money
from momo_cli.socket.client import Client, path_of
from momo_cli.socket.outage import PAUSE_S, Outage
from momo_cli.text import at
from momo_cli.watch.model import (
    Approve,
    DaemonConnection,
    DayData,
    LookupResult,
    Result,
    ScreenMessage,
)
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
