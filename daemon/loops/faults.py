"""Loops of the database and of present faults.

The file is checked soon after the start and then daily; the writer gives signs of life. The loop of faults finds out why the
database cannot be used, rescues a removed one, and notifies the owner without it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.text import Text
from daemon.core.upkeep.faults import Fault
from daemon.core.upkeep.self_check import DatabaseState
from daemon.env import Env
from daemon.flows.upkeep import machine
from daemon.flows.webhooks import deliver
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked
from daemon.runtime.words import sentences
from daemon.sender.owner_notices import Channel, NotSent
from daemon.store.upkeep import backup
from daemon.store.upkeep.backup import BackupBad
from daemon.wire import FaultCause
from parsers.masking import describe_error
from parsers.times import from_us

WORKER: Final = "faults"
LOOK_S: Final = 5.0
SEND_S_MAX: Final = 60.0


class FaultLoop:
    """Looks for faults every few seconds."""

    def __init__(
        self, env: Env, channels: Mapping[str, Channel], log: Log, not_listening: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """Create the loop; `not_listening` returns why addresses of the API are not bound yet."""
        self._not_listening = not_listening
        self._env = env
        self._channels = channels
        self._log = log
        self._rescued = ""
        """The copy of the open database, since its file was removed or replaced."""

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.look()
            await note_work(self._env, self._log, WORKER)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Look once."""
        env, now = self._env, self._env.clock.now_us()
        began, ended = env.faults.see(await self._find(), env.new_id(), now)
        for fault in began:
            self._log.error("fault.began", cause=fault.cause, why=fault.text)
        for fault in ended:
            self._log.info("fault.ended", cause=fault.cause)
            if fault.told_at is not None:
                await self._send(fault, Text("fault.over", text=fault.text), "")
        for fault in env.faults.due(now):
            await self._send(fault, fault.text, fault.next_step)

    async def _find(self) -> dict[FaultCause, tuple[Text | str, str]]:
        """Return the sentence and the next step of each present cause."""
        store = self._env.store
        fault = store.fault
        found: dict[FaultCause, tuple[Text | str, str]] = {}
        if self._env.journal_fault:
            found[FaultCause.MESSAGE_JOURNAL_UNREADABLE] = (
                Text("fault.journal", why=self._env.journal_fault),
                "momo doctor permissions disk",
            )
        if self._env.ca_fault:
            found[FaultCause.CA_FILE_UNREADABLE] = (
                Text("fault.ca_file", why=self._env.ca_fault),
                "momo doctor webhooks",
            )
        found |= await self._find_locked()
        if waiting := sorted(self._not_listening()):
            found[FaultCause.NOT_LISTENING] = (
                Text("fault.not_listening", why="; ".join(waiting)),
                "momo doctor daemon",
            )
        if (busy := store.busy) is not None:
            found[FaultCause.DATABASE_BUSY] = (Text("fault.database_waits", why=busy.text), busy.next_step)
        if fault is None or fault.cause in (
            None,
            FaultCause.STARTING,
            FaultCause.STANDBY,  # as it should be
        ):
            self._rescued = ""
            return found
        key = "fault.database" if store.is_damaged else "fault.database_waits"
        text, next_step = Text(key, why=fault.text), fault.next_step
        if store.is_lost:
            rescued = await self._rescue()
            if rescued:
                text = Text("fault.rescued", text=text, path=rescued)
                next_step = f"momo restore --stop {rescued}"
        assert fault.cause is not None
        return {fault.cause: (text, next_step), **found}

    async def _find_locked(self) -> dict[FaultCause, tuple[Text | str, str]]:
        """Return the fault that webhooks wait for the master key, until none does."""
        env, held = self._env, 0
        if not env.secrets_fault:
            return {}
        with contextlib.suppress(Unavailable):
            held = await deliver.count_waiting_for_key(env)
        if not held:
            env.secrets_fault = ""
            return {}
        text = Text("fault.secrets_locked", why=env.secrets_fault, count=held)
        return {FaultCause.SECRETS_LOCKED: (text, "momo doctor keyring")}

    async def _rescue(self) -> str:
        """Copy the open database beside its lost file, once; return the newest copy, "" if there is none."""
        env = self._env
        if not env.store.is_open:
            return await asyncio.to_thread(backup.newest_rescue, env.store.path)
        if not self._rescued or not await asyncio.to_thread(Path(self._rescued).exists):
            target = backup.rescue_path(env.store.path, from_us(env.clock.now_us()))
            try:
                await backup.rescue(env.store, target)
            except (Unavailable, BackupBad) as error:
                self._log.error("fault.not_rescued", why=str(error))
                return ""
            self._rescued = str(target)
            self._log.warning("fault.rescued", file=target.name)
        return self._rescued

    async def _send(self, fault: Fault, told: Text | str, next_step: str) -> None:
        """Send a notice over each channel at once: it cannot be queued in the database."""
        words = sentences(self._env.config.notices.language)
        text = told.render(words) if isinstance(told, Text) else told
        body = f"{text}\n\n{next_step}" if next_step else text
        for name, channel in self._channels.items():
            try:
                async with asyncio.timeout(SEND_S_MAX):
                    await channel.send(fault.id, f"momo: {text.partition('. ')[0]}", body)
            except (NotSent, SecretsLocked, Unavailable, TimeoutError) as error:
                self._log.warning("fault.not_sent", channel=name, why=str(error))
            except Exception as error:  # noqa: BLE001 -- the other channels must be tried
                self._log.error("fault.not_sent", channel=name, why=describe_error(error))


CHECK_WORKER: Final = "self check"
CHECK_EVERY_S: Final = 5.0
"""Short, because damage that a statement meets is checked at once."""


async def check_database(env: Env, log: Log) -> None:
    """Run until cancelled. One check of a large file takes minutes, so nothing else waits for it."""
    while True:
        try:
            if (found := await machine.watch_database(env)) is not None:
                say = log.info if found is DatabaseState.OK else log.error
                say("db.checked", found=found)
            await note_work(env, log, CHECK_WORKER)
        except Unavailable as error:
            log.warning("db.check_unavailable", why=error.why)
        await asyncio.sleep(CHECK_EVERY_S)


BEAT_S: Final = 1.0
"""A standby daemon takes over from a writer that is silent for three times as long (`daemon.store.postgresql.server`)."""
CUT_OFF_LOOK_S: Final = 0.5
THREAD_LOOK_S: Final = 5.0


async def until_writer_ends(env: Env) -> None:
    """Raise when the writing thread has ended by a bug: nothing can be stored then, and only a new process helps.

    Raises:
        RuntimeError: It has ended.
    """
    while True:
        if env.store.writer_has_died:
            raise RuntimeError("the thread that writes the database has ended")
        await asyncio.sleep(THREAD_LOOK_S)


async def beat(env: Env, log: Log) -> None:
    """Write nothing every second, until cancelled: the server notes when a connection was last used."""
    while True:
        if env.store.is_open:
            with contextlib.suppress(Unavailable):
                await env.store.check_writable()
        await note_work(env, log, "beat")
        await asyncio.sleep(BEAT_S)


async def until_cut_off(env: Env) -> None:
    """Raise when a connection to the server has ended.

    Raises:
        Unavailable: It has ended. The loops begin again when the database is open again.
    """
    while True:
        if env.store.is_cut_off:
            raise env.store.fault or Unavailable("the connection to the database server has ended")
        await asyncio.sleep(CUT_OFF_LOOK_S)
