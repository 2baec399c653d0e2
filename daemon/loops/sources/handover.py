"""The interface between a source and the intake: record the phone's identity and store its parts.

Both wait while the database cannot be written.
A source may delete a message only after `store` has returned True.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from daemon.core.errors import NotJournaled, Unavailable
from daemon.core.inputs import PhoneIdentity, ReadPart, Source
from daemon.core.lines.modem_health import READY, SET_ASIDE, ModemHealth
from daemon.core.text import Text
from daemon.core.upkeep.faults import REPORT
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.flows.messages import ingest
from daemon.loops.keep_running import set_aside
from daemon.runtime.config import SourceSettings
from daemon.runtime.log import Log
from daemon.steps.intake import Ingested

STORE_RETRY_S: Final = 5.0
"""Between two tries to store while the disk is full; short, because a phone's storage is small."""
BATCH_MAX: Final = 20
"""Messages in one database transaction."""
T = TypeVar("T", bound=Hashable)


NOT_STORING: Final = frozenset({"not_storing", "not_deleting"})


def state_without_store(error: Unavailable) -> str:
    """Return the state of a phone whose messages were not stored: not at all, or in the database only."""
    return "not_deleting" if isinstance(error, NotJournaled) else "not_storing"


async def store_parts(env: Env, log: Log, source: Source, parts: Sequence[ReadPart]) -> Ingested:
    """Store parts durably, and log the results.

    Raises:
        Unavailable: They were not stored, so they must not be deleted.
    """
    taken = await ingest.ingest(env, source, parts)
    for fault in taken.faults:
        log.error("ingest.fault", error=fault)
    if taken.concluded:
        log.info("ingest", new=taken.new_parts, whole=len(taken.concluded))
    return taken


async def store_identity(env: Env, log: Log, phone: PhoneIdentity) -> Source:
    """Store which phone and SIM this is; wait while nothing can be stored."""
    while True:
        try:
            return await modems.identify(env, phone)
        except Unavailable as error:
            log.warning("identify.unavailable", why=error.why)
            await asyncio.sleep(min(error.retry_after_s, STORE_RETRY_S))


class SourceState(Struct):
    """The state of a source that is no AT modem; `health` has the last values that it read."""

    state: str = "opening"
    detail: Text | str = ""
    next_step: Text | str = ""
    device_id: str | None = None
    last_sms_at_us: int | None = None
    health: ModemHealth | None = field(default=None)


class Handover:
    """Hands the messages of one configured source to the intake, and keeps the state that is shown."""

    def __init__(self, env: Env, log: Log, settings: SourceSettings, port: str) -> None:
        """Prepare; `port` is the place of the phone as shown, such as `http://192.168.8.1`."""
        self._env = env
        self._log = log
        self._settings = settings
        self._port = port
        self._before = READY
        self.state = SourceState()

    @property
    def condition(self) -> ModemHealth:
        """The state as an immutable value for display."""
        state = self.state
        base = state.health or ModemHealth(self._port, state.state)
        return replace(
            base, port=self._port, state=state.state, detail=state.detail, next_step=state.next_step,
            device_id=state.device_id, last_sms_at=state.last_sms_at_us, source=self._settings.name,
            kind=self._settings.kind, level=self._settings.level,
        )  # fmt: skip

    def say(self, state: str, detail: Text | str = "", next_step: Text | str = "") -> None:
        """Set the state, such as `ready`, `unreachable` or `gone` (`core.lines.modem_health`)."""
        self.state.state, self.state.detail, self.state.next_step = state, detail, next_step

    async def identify(self, phone: PhoneIdentity) -> Source:
        """Store which phone and SIM the messages come from; call it again when the SIM may have changed."""
        found = await store_identity(self._env, self._log, replace(phone, smsc=None))
        self.state.device_id = found.device_id
        return replace(found, name=self._settings.name, level=self._settings.level, history=self._settings.history)

    async def store(self, source: Source, parts: Sequence[ReadPart]) -> bool:
        """Store parts, the oldest message first; return whether they are durable, and may be deleted at the source.

        After a pause return False if nothing can be stored now: hand them over again.
        """
        try:
            taken = await store_parts(self._env, self._log, source, parts)
        except Unavailable as error:
            self._log.warning("ingest.unavailable", why=error.why)
            if self.state.state not in NOT_STORING:
                self._before = self.state.state
            self.say(state_without_store(error), error.why)
            await asyncio.sleep(min(error.retry_after_s, STORE_RETRY_S))
            return False
        if taken.new_parts:
            self.state.last_sms_at_us = self._env.clock.now_us()
        if self.state.state in NOT_STORING:
            self.say(self._before)
        return True

    async def store_all(
        self,
        found: Sequence[T],
        store: Callable[[Sequence[T]], Awaitable[None]],
        aside: set[T],
        name: Callable[[T], str],
    ) -> None:
        """Store messages in batches; those on which it fails by a bug are added to `aside`, and told by their `name`."""
        for start in range(0, len(found), BATCH_MAX):
            batch = found[start : start + BATCH_MAX]
            try:
                await store(batch)
            except Exception:  # noqa: BLE001 -- each is tried alone, and told if it is the cause
                for one in batch:
                    try:
                        await store([one])
                    except Exception as error:  # noqa: BLE001 -- told and counted; the other messages must be stored
                        aside.add(one)
                        self.say(SET_ASIDE, Text("fault.modem.set_aside"), REPORT)
                        await set_aside(self._env, self._log, f"source {self._settings.name}", name(one), error)

    async def gone(self) -> None:
        """Record that the phone is not there any more."""
        device_id, self.state.device_id = self.state.device_id, None
        if device_id is None:
            return
        try:
            await modems.disconnect(self._env, device_id)
        except Unavailable as error:
            self._log.warning("source.disconnect", why=error.why)


class PolledSource:
    """What sources have in common that look for messages again and again: their pause, and a look on request."""

    def __init__(self, env: Env, log: Log, settings: SourceSettings) -> None:
        self._env, self._log, self._settings = env, log, settings
        self.worker = f"source {settings.name}"
        self._asked: list[asyncio.Event] = []
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """End the present pause."""
        self._wake.set()

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until a request wakes the loop."""
        self._env.heartbeat(self.worker, seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    async def _look_now(self) -> bool:
        """Wake the loop; return whether it has looked within two time limits."""
        done = asyncio.Event()
        self._asked.append(done)
        self.wake()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.timeout_s * 2):
                await done.wait()
        return done.is_set()

    def _looked(self) -> None:
        """Tell those who asked for a look."""
        for done in self._asked:
            done.set()
        self._asked.clear()
