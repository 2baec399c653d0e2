"""Sender for bulk resends, which posts through a separate process.

A post costs the HTTP client half a millisecond of CPU time, which blocks the daemon. Live payments are posted by the
daemon itself; a replay is posted by `bulk_process`, which starts with the first post and ends after an idle time
(docs/decisions/0015).

The process is not a single point of failure: if it does not start, dies or does not answer, the daemon posts the
delivery itself, which may repeat a POST with the same `webhook-id`, as after any crash.
"""

import asyncio
import contextlib
import itertools
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any, Final

from daemon.core.webhooks.delivery import DeliveryError, Outcome
from daemon.sender.bulk_process import Frames, Settings
from daemon.sender.targets import Target

IDLE_S: Final = 10.0
"""Idle time after which the process ends, which frees 40 MB."""
STARTUP_S: Final = 10.0
"""Added to the time limit of an attempt, because the process may still be starting."""
PROCESS_RETRY_S: Final = 60.0
"""After a failure of the process the daemon posts itself for this time."""
END_S: Final = 5.0

_Reply = tuple[Any, ...] | str
"""The fields of an outcome, or the name of a fault."""


class ProcessFailed(Exception):
    """The process is not available, or gave no answer."""


class SendingProcess:
    """Manages the process: at most one at a time, started by the first post."""

    def __init__(
        self, settings: Settings, *, on_failure: Callable[[str], None] = lambda _why: None
    ) -> None:
        """Store the settings; `on_failure` is called with a short description of a failure."""
        self._settings = settings
        self._on_failure = on_failure
        self._calls: dict[int, asyncio.Future[_Reply]] = {}
        self._numbers = itertools.count(1)
        self._running: _Running | None = None
        self._starting = asyncio.Lock()
        self._not_before = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The process number; None while no process runs."""
        return None if self._running is None else self._running.process.pid

    def sender(self, fallback: Target) -> "RemoteSender":
        """Return a sender that posts through the process, or through `fallback` while the process fails."""
        return RemoteSender(self, next(self._numbers), fallback)

    async def post(self, sender: int, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Make one attempt.

        Raises:
            ProcessFailed: The attempt was not made, or its result is unknown.
        """
        running = await self._started()
        call = next(self._numbers)
        answer = self._calls[call] = asyncio.get_running_loop().create_future()
        self._rest()
        running.frames.send((call, sender, url, dict(headers), body))
        try:
            async with asyncio.timeout(self._settings.timeout_s + STARTUP_S):
                reply = await answer
        except TimeoutError:
            self._fail(running, "it does not answer")
            raise ProcessFailed from None
        finally:
            del self._calls[call]
            self._rest()
        if isinstance(reply, str):
            self._on_failure(f"fault {reply}")
            raise ProcessFailed
        status, text, code, *rest = reply
        return Outcome(status, text, None if code is None else DeliveryError(code), *rest)

    def close(self, sender: int) -> None:
        """Close the connections of a sender."""
        if self._running is not None:
            self._running.frames.send((sender,))

    async def aclose(self) -> None:
        """End the process and wait until it has ended."""
        self._end()
        await asyncio.gather(*self._ending)

    async def _started(self) -> "_Running":
        async with self._starting:
            if self._running is None:
                if asyncio.get_running_loop().time() < self._not_before:
                    raise ProcessFailed
                try:
                    self._running = await _Running.start(
                        self._settings, self._answered, self._ended
                    )
                except OSError as error:
                    self._fail(None, f"it could not be started: {error.strerror}")
                    raise ProcessFailed from None
            return self._running

    def _answered(self, reply: tuple[int, _Reply]) -> None:
        answer = self._calls.get(reply[0])
        if answer is not None and not answer.done():
            answer.set_result(reply[1])

    def _ended(self, running: "_Running") -> None:
        if self._running is running:
            self._fail(running, "it ended")

    def _fail(self, running: "_Running | None", why: str) -> None:
        """Stop using the process, and make the callers that wait for it use their fallback."""
        self._on_failure(why)
        self._not_before = asyncio.get_running_loop().time() + PROCESS_RETRY_S
        if running is None or running is self._running:
            self._end()
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(ProcessFailed())

    def _rest(self) -> None:
        """Start the idle timer that ends the process, if no post is in progress."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._calls and self._running is not None:
            self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end)

    def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        running, self._running = self._running, None
        if running is not None:
            ending = asyncio.create_task(running.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)


class _Running:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.frames: Frames

    @classmethod
    async def start(
        cls,
        settings: Settings,
        answered: Callable[[tuple[int, _Reply]], None],
        ended: Callable[["_Running"], None],
    ) -> "_Running":
        """Start the process and send it the settings.

        Raises:
            OSError: The process could not be started.
        """
        ours, its = socket.socketpair()
        with its:
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "daemon.sender.bulk_process", str(its.fileno()),
                    pass_fds=(its.fileno(),), stdin=asyncio.subprocess.DEVNULL,
                    # A traceback could contain private data.
                    stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
                )  # fmt: skip
            except BaseException:
                ours.close()
                raise
        running = cls(process)
        running.frames = await Frames.over(ours, answered, lambda: ended(running))
        running.frames.send(astuple(settings))
        return running

    async def end(self) -> None:
        """Close the socket, and kill the process if it does not end in time."""
        self.frames.close()
        try:
            async with asyncio.timeout(END_S):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class RemoteSender:
    """A worker's sender that posts in the other process."""

    def __init__(self, process: SendingProcess, number: int, fallback: Target) -> None:
        self._process = process
        self._number = number
        self._fallback = fallback

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Make one attempt, as `Sender.post` does."""
        try:
            return await self._process.post(self._number, url, headers, body)
        except ProcessFailed:
            return await self._fallback.post(url, headers, body)

    async def aclose(self) -> None:
        """Close the warm connections."""
        self._process.close(self._number)
        await self._fallback.aclose()
