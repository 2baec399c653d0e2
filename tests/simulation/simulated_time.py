"""Simulated time for whole days: an event loop that advances its clock when no task can run."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")
STARTED_US = 1_795_248_000_000_000


class SimulatedClock:
    """A wall clock, a monotonic clock and one that counts sleep, in whole nanoseconds so that no step is rounded away."""

    def __init__(self) -> None:
        self._ns = 1_000_000_000_000
        self._asleep_ns = 0
        self._wrong_us = 0
        self._started_ns = self._ns
        self._boots = 1
        self._booted_ns = 0

    def monotonic_ns(self) -> int:
        return self._ns

    def monotonic(self) -> float:
        return self._ns / 1e9

    def boottime(self) -> float:
        return (self._ns + self._asleep_ns - self._booted_ns) / 1e9

    def boot_id(self) -> str:
        return f"boot-{self._boots}"

    def now_us(self) -> int:
        return self.true_us() + self._wrong_us

    def true_us(self) -> int:
        """Return the network's time, which is independent of the laptop's clock."""
        return STARTED_US + (self._ns + self._asleep_ns - self._started_ns) // 1000

    def advance(self, seconds: float) -> None:
        """Let time pass while the machine is awake; at least a nanosecond, or a timer might never be due."""
        self._ns += max(1, round(seconds * 1e9))

    def sleep(self, seconds: float) -> None:
        """Let time pass while the machine sleeps."""
        self._asleep_ns += round(seconds * 1e9)

    def reboot(self, off_s: float) -> None:
        """Turn the machine off for `seconds`; the monotonic counters restart."""
        self.sleep(off_s)
        self._boots += 1
        self._booted_ns = self._ns + self._asleep_ns

    def set_wrong(self, seconds: float) -> None:
        """Set the laptop's clock this far from the network's."""
        self._wrong_us = round(seconds * 1e6)


class _Selector(selectors.EpollSelector):
    """Never wait: if no descriptor is ready, move the clock to the next timer."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__()
        self._clock = clock
        self._came: dict[int, int] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self._count += 1
        self._came[key.fd] = self._count
        return key

    _count = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout != 0:
            assert timeout is not None, "nothing will ever happen again"
            self._clock.advance(timeout)
        # The kernel's order and the descriptor numbers differ between runs; the order of registration does not.
        return sorted(ready, key=lambda pair: self._came[pair[0].fd])


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop with timers in simulated time. Descriptors work; jobs for a thread run at once in the loop."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(_Selector(clock))
        self._simulated = clock

    def time(self) -> float:
        return self._simulated.monotonic()

    def run_in_executor(
        self, _executor: Executor | None, func: Callable[[*Arguments], Result], *args: *Arguments
    ) -> "asyncio.Future[Result]":
        """Run the job here and now: a thread would not be waited for."""
        future: asyncio.Future[Result] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 -- the caller that awaits the future gets it
            future.set_exception(error)
        return future

    def call_exception_handler(self, context: Mapping[str, Any]) -> None:
        """Let an error in a callback end the simulation."""
        raise context.get("exception") or AssertionError(context)


def run(clock: SimulatedClock, main: Coroutine[Any, Any, Result]) -> Result:
    """Run `main` to its end in simulated time."""
    with asyncio.Runner(loop_factory=lambda: SimulatedLoop(clock)) as runner:
        return runner.run(main)
