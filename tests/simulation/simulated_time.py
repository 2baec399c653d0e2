"""Time that passes only when nobody has anything to do: an event loop for simulations of whole days."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")
STARTED_US = 1_795_248_000_000_000


class SimulatedClock:
    """Three hands that the loop moves, counted in whole nanoseconds so that no step is rounded away."""

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
        """What the network's clock says, however wrong the laptop's is."""
        return STARTED_US + (self._ns + self._asleep_ns - self._started_ns) // 1000

    def advance(self, seconds: float) -> None:
        """Let time pass while the machine is awake; at least a nanosecond, or a timer might never be due."""
        self._ns += max(1, round(seconds * 1e9))

    def sleep(self, seconds: float) -> None:
        """Let time pass while the machine sleeps."""
        self._asleep_ns += round(seconds * 1e9)

    def reboot(self, off_s: float) -> None:
        """Let the machine be off for so long; the counter that nobody can set begins anew."""
        self.sleep(off_s)
        self._boots += 1
        self._booted_ns = self._ns + self._asleep_ns

    def set_wrong(self, seconds: float) -> None:
        """Set the laptop's clock this far from the network's."""
        self._wrong_us = round(seconds * 1e6)


class _Selector(selectors.EpollSelector):
    """Never waits: when no descriptor is ready it moves the clock to the next timer instead."""

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
        # The kernel's order and the numbers of descriptors differ from run to run; who came first does not.
        return sorted(ready, key=lambda pair: self._came[pair[0].fd])


class SimulatedLoop(asyncio.SelectorEventLoop):
    """A loop whose timers fire in simulated time. Descriptors work; what is for a thread is done at once instead."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(_Selector(clock))
        self._simulated = clock

    def time(self) -> float:
        return self._simulated.monotonic()

    def run_in_executor(
        self,
        _executor: Executor | None,
        func: Callable[[*Arguments], Result],
        *args: *Arguments,
    ) -> "asyncio.Future[Result]":
        """Do it here and now: nobody would wait for a thread."""
        future: asyncio.Future[Result] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 -- whoever waits for it is to have it
            future.set_exception(error)
        return future

    def call_exception_handler(self, context: Mapping[str, Any]) -> None:
        """Let a fault in a callback end the simulation."""
        raise context.get("exception") or AssertionError(context)


def run(clock: SimulatedClock, main: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end of `main` in simulated time."""
    with asyncio.Runner(loop_factory=lambda: SimulatedLoop(clock)) as runner:
        return runner.run(main)
