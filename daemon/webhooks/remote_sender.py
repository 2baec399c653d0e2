"""Post through a process of its own what is sent again in bulk.

One post costs the HTTP client half a millisecond of Python, and while it runs nothing else of the daemon does. Live
payments are posted by the daemon itself, without a detour; a replay goes through `sending_process`, which starts with
the first post and ends when there has been none for a while (docs/decisions/0046).

The process is no single point of failure: what cannot be posted through it (it did not start, it died, it does not
answer) is posted by the daemon itself, which may repeat a POST under its `webhook-id`, as after any crash.
"""

import asyncio
import contextlib
import itertools
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any, Final

from daemon.core.delivery import DeliveryError, Outcome
from daemon.webhooks.frames import Frames
from daemon.webhooks.sending_process import Settings
from daemon.webhooks.targets import Target

IDLE_S: Final = 10.0
"""Without a post for so long the process ends; its 40 MB are free again."""
STARTS_S: Final = 10.0
"""An answer may come so much later than the attempt may last: the process may still be starting."""
AGAIN_S: Final = 60.0
"""After a failure of the process the daemon posts by itself for so long."""
END_S: Final = 5.0

_Told = tuple[Any, ...] | str
"""The fields of an outcome, or the name of a fault."""


class ProcessFailed(Exception):
    """The process is not there, or gave no answer."""


class SendingProcess:
    """The process: at most one at a time, started by the first post."""

    def __init__(
        self, settings: Settings, *, on_failure: Callable[[str], None] = lambda _why: None
    ) -> None:
        """Remember the settings; `on_failure` is told in a few words what went wrong."""
        self._settings = settings
        self._on_failure = on_failure
        self._calls: dict[int, asyncio.Future[_Told]] = {}
        self._numbers = itertools.count(1)
        self._running: _Running | None = None
        self._starting = asyncio.Lock()
        self._not_before = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """Its process number; None while there is none."""
        return None if self._running is None else self._running.process.pid

    def sender(self, fallback: Target) -> "RemoteSender":
        """Return a sender whose posts go through the process, or through `fallback` while that fails."""
        return RemoteSender(self, next(self._numbers), fallback)

    async def post(self, sender: int, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Make one attempt.

        Raises:
            ProcessFailed: It was not made, or nobody knows.
        """
        running = await self._started()
        call = next(self._numbers)
        answer = self._calls[call] = asyncio.get_running_loop().create_future()
        self._rest()
        running.frames.send((call, sender, url, dict(headers), body))
        try:
            async with asyncio.timeout(self._settings.timeout_s + STARTS_S):
                told = await answer
        except TimeoutError:
            self._fail(running, "it does not answer")
            raise ProcessFailed from None
        finally:
            del self._calls[call]
            self._rest()
        if isinstance(told, str):
            self._on_failure(f"fault {told}")
            raise ProcessFailed
        status, text, code, *rest = told
        return Outcome(status, text, None if code is None else DeliveryError(code), *rest)

    def close(self, sender: int) -> None:
        """Let the connections of a sender go."""
        if self._running is not None:
            self._running.frames.send((sender,))

    async def aclose(self) -> None:
        """End the process, and wait for its end."""
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

    def _answered(self, told: tuple[int, _Told]) -> None:
        answer = self._calls.get(told[0])
        if answer is not None and not answer.done():
            answer.set_result(told[1])

    def _ended(self, running: "_Running") -> None:
        if self._running is running:
            self._fail(running, "it ended")

    def _fail(self, running: "_Running | None", why: str) -> None:
        """Post no more through the process, and let whoever waits for it do it otherwise."""
        self._on_failure(why)
        self._not_before = asyncio.get_running_loop().time() + AGAIN_S
        if running is None or running is self._running:
            self._end()
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(ProcessFailed())

    def _rest(self) -> None:
        """End the process when nothing is posted for a while."""
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
    """One process that runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.frames: Frames

    @classmethod
    async def start(
        cls,
        settings: Settings,
        answered: Callable[[tuple[int, _Told]], None],
        ended: Callable[["_Running"], None],
    ) -> "_Running":
        """Start it and tell it the settings.

        Raises:
            OSError: It could not be started.
        """
        ours, its = socket.socketpair()
        with its:
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "daemon.webhooks.sending_process", str(its.fileno()),
                    pass_fds=(its.fileno(),), stdin=asyncio.subprocess.DEVNULL,
                    # A trace of a fault could quote what is private.
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
        """Let go of it, and see to it that it ends."""
        self.frames.close()
        try:
            async with asyncio.timeout(END_S):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class RemoteSender:
    """A worker's door to the receivers, in the other process."""

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
