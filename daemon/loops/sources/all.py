"""All sources of messages of a running daemon: the AT modems, and the other `[[sources]]` of the settings.

A source is a `RunningSource`: it runs for ever, reports the health of its phones, and hands over the parts that it reads
through `handover.Handover`. No other module of the daemon depends on the kind of a source. A kind's
modules are imported only when a source of it is configured.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.ussd import UssdPort, UssdSource
from daemon.core.messages.post import PostedSource
from daemon.env import Env
from daemon.flows.lines.receiving import Watch
from daemon.loops.keep_running import keep_running
from daemon.loops.receiving import WORKER as RECEIVING
from daemon.loops.receiving import watch_receiving
from daemon.runtime.config import SourceSettings
from daemon.runtime.log import Log
from daemon.wire import SourceKind


class RunningSource(Protocol):
    """One source. It delays no other one: its blocking calls are in threads and have time limits.

    Attributes:
        worker: Its name among the loops of the daemon.
    """

    worker: str

    def conditions(self) -> Sequence[ModemHealth]:
        """Return the state of each of its phones, for display."""

    async def inspect(self, device_id: str) -> bool:
        """Refresh the health of a phone; False if it is not of this source, or does not answer."""

    async def run(self) -> None:
        """Read messages until cancelled. An exception means a bug: it is run again after a pause."""


class Sources:
    """Runs all sources."""

    def __init__(self, env: Env, log: Log, sources: Sequence[RunningSource]) -> None:
        self._env = env
        self._log = log
        self._sources = sources
        self._posted = {one.name: one for one in sources if isinstance(one, PostedSource)}
        self.receiving = Watch()

    def posted(self, name: str) -> PostedSource | None:
        """Return the source of this name that gets its messages by POST; None if there is none."""
        return self._posted.get(name)

    def conditions(self) -> list[ModemHealth]:
        """Return the state of each phone of all sources."""
        return [one for source in self._sources for one in source.conditions()]

    async def inspect(self, device_id: str) -> bool:
        """Refresh the health of a phone; False when it is not connected or does not answer."""
        return any([await source.inspect(device_id) for source in self._sources])

    def ussd(self, device_id: str) -> UssdPort | None:
        """Return a phone for USSD; None if it is not connected, or cannot do that."""
        sources = (one for one in self._sources if isinstance(one, UssdSource))
        return next((port for one in sources if (port := one.ussd(device_id)) is not None), None)

    async def run(self) -> None:
        """Run the sources until cancelled; one that fails by a bug is started again and ends no other one.

        Raises:
            ExceptionGroup: The database cannot be used.
        """
        env, log = self._env, self._log
        looking = partial(watch_receiving, env, log, self.conditions, self.receiving)
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            RECEIVING: looking,
            **{one.worker: one.run for one in self._sources},
        }
        async with asyncio.TaskGroup() as group:
            for name, run in loops.items():
                group.create_task(keep_running(env, log, name, run), name=name)


def new_source(env: Env, log: Log, settings: SourceSettings) -> RunningSource:
    """Return the source of an entry that is not of kind `modem`."""
    if settings.kind == SourceKind.POST:
        from daemon.loops.sources.post import PostSource  # noqa: PLC0415 -- only if configured

        return PostSource(env, log, settings)
    if settings.kind == SourceKind.MODEMMANAGER:
        from daemon.loops.sources.modem_manager import ModemManagerSource  # noqa: PLC0415 -- only if configured

        return ModemManagerSource(env, log, settings)
    assert settings.kind == SourceKind.HILINK, "the settings allow only kinds that are here"
    from daemon.loops.sources.hilink import HiLinkSource  # noqa: PLC0415 -- only if configured

    return HiLinkSource(env, log, settings)
