"""ModemManager as a source: each of its modems is a phone, whose messages are read, stored, and deleted after the commit.

Each look asks for everything again; signals only make it come sooner. A message is known by its object path for as long as
this process of ModemManager runs. After a restart it is handed over again, which does not change the stored one.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import PurePath
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import Unavailable
from daemon.core.inputs import PhoneIdentity, ReadPart, Source
from daemon.core.lines.modem_health import READY, SET_ASIDE, TRANSIENT, ModemHealth
from daemon.core.lines.ussd import UssdPort
from daemon.core.text import Text
from daemon.core.upkeep.faults import REPORT
from daemon.env import Env
from daemon.flows.lines.modems import note_modem
from daemon.loops.keep_running import note_failure, note_work
from daemon.loops.sources.handover import NOT_STORING, Handover, PolledSource
from daemon.loops.texts import TextLoop
from daemon.loops.unlock_sim import SimUnlocker
from daemon.modem import modem_manager as manager
from daemon.modem.modem_manager import BusError, BusFault, Lock, ManagerBus, ManagerUssd, MessageSeen, ModemSeen, State
from daemon.modem.session.events import PinNeeded
from daemon.modem.session.send import Outgoing, SmsEnded, SmsPartSent, SmsResult
from daemon.runtime.config import SourceSettings
from daemon.runtime.log import Log
from daemon.steps.store_parts import text_parts
from daemon.wire import TrustLevel

BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses after failures in a row; ModemManager starts in a few seconds."""
AGAIN_S: Final = 60.0
"""Between two tries to switch a modem on."""
SLOW_START_S: Final = 120.0
UNREAD_S: Final = 600.0
"""The parts of a long message arrive within minutes."""
DELETIONS: Final = 3
"""Refused deletions of a message until it is told."""
JOINED: Final = " " * 8
"""The first part of a joined text holds 152 characters or more, a whole one up to 160."""
PLACE: Final = "modemmanager"
_REPLUG: Final = Text("fault.modem.replug.fix")
_ALLOW: Final = Text("fault.manager.barred.fix")
_NO_SIM: Final = frozenset({2, 3})
"""MMModemStateFailedReason: there is no SIM, or it cannot be used."""
_STATES: Final[dict[BusFault, tuple[str, Text | str]]] = {
    BusFault.AWAY: ("unreachable", "sudo systemctl start dbus"),
    BusFault.ABSENT: ("unreachable", "sudo systemctl start ModemManager"),
    BusFault.HUNG: ("hung", "sudo systemctl restart ModemManager"),
    BusFault.BARRED: ("not_allowed", _ALLOW),
    BusFault.GONE: ("recovering", Text("fault.modem.starting.fix")),
    BusFault.REFUSED: ("recovering", _REPLUG),
}


class ModemManagerSource(PolledSource):
    """All modems of ModemManager."""

    def __init__(self, env: Env, log: Log, settings: SourceSettings) -> None:
        super().__init__(env, log, settings)
        self._none = Handover(env, log, settings, PLACE)
        """Shown while there is no modem."""
        self._modems: dict[str, _Modem] = {}
        self._bus: ManagerBus | None = None

    def conditions(self) -> Sequence[ModemHealth]:
        """Return the state of each modem, or why there is none."""
        return [one.handover.condition for one in self._modems.values()] or [self._none.condition]

    async def inspect(self, device_id: str) -> bool:
        """Look at the modems now; False if none of them has this id, or none answers in time."""
        known = {one.handover.state.device_id for one in self._modems.values()}
        return device_id in known and await self._look_now()

    def ussd(self, device_id: str) -> UssdPort | None:
        """Return a modem; None if none of them has this id."""
        found = next((one for one in self._modems.values() if one.handover.state.device_id == device_id), None)
        return None if found is None or self._bus is None else ManagerUssd(self._bus, found.path)

    async def run(self) -> None:
        """Read the modems until cancelled; after a failure with back-off and a new connection."""
        failures = 0
        try:
            while True:
                self._env.heartbeat(self.worker, manager.SLOW_S)
                try:
                    if self._bus is None:
                        self._bus = await ManagerBus.open(self.wake, self._settings.timeout_s)
                    await self._look(self._bus)
                    failures, pause_s = 0, self._settings.poll_s
                    self._looked()
                except BusError as error:
                    failures, pause_s = failures + 1, BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)]
                    await self._close()
                    self._say(self._none, error)
                await note_work(self._env, self._log, self.worker)
                await self._pause(pause_s)
        finally:
            self._env.heartbeats.rest(self.worker)
            await self._close()

    async def _look(self, bus: ManagerBus) -> None:
        seen = {one.place: one for one in await bus.modems()}
        for place, modem in list(self._modems.items()):
            if place not in seen or seen[place].path != modem.path:
                del self._modems[place]
                await modem.gone()
        if not seen:
            self._none.say("gone", Text("fault.manager.none"), Text("fault.manager.none.fix"))
        for place, one in seen.items():
            if place not in self._modems:
                self._modems[place] = _Modem(self._env, self._log, self._settings, bus, one, self.wake)
            modem = self._modems[place]
            try:
                await modem.serve(one)
                await note_work(self._env, self._log, modem.worker)
            except BusError as error:
                if error.fault in {BusFault.AWAY, BusFault.ABSENT}:
                    raise
                self._say(modem.handover, error)
            except Exception as error:  # noqa: BLE001 -- told and counted; no modem ends another
                await note_failure(self._env, self._log, modem.worker, error)
                modem.handover.say("recovering", Text("fault.manager.bug"), REPORT)

    def _say(self, handover: Handover, error: BusError) -> None:
        state, fix = _STATES[error.fault]
        if handover.state.state != state:
            self._log.warning("source.failed", source=self._settings.name, fault=error.fault, why=str(error))
        handover.say(state, Text(f"fault.manager.{error.fault}", why=str(error).rpartition(".")[2]), fix)

    async def _close(self) -> None:
        modems, self._modems = self._modems, {}
        for one in modems.values():
            await one.gone()
        bus, self._bus = self._bus, None
        if bus is not None:
            await bus.close()


class _Modem:
    """One modem, from its plug to the next, with one process of ModemManager."""

    def __init__(
        self, env: Env, log: Log, settings: SourceSettings, bus: ManagerBus, seen: ModemSeen, wake: Callable[[], None]
    ) -> None:
        self._env, self._log, self._bus, self._wake = env, log, bus, wake
        self.path, self._port = seen.path, f"{PLACE}:{PurePath(seen.place).name}"
        self.worker = f"modem {self._port}"
        self.handover = Handover(env, log, settings, self._port)
        self._beat = partial(env.heartbeat, f"source {settings.name}", manager.SLOW_S)
        self._source: Source | None = None
        self._begun, self._again_at = env.clock.monotonic(), 0.0
        self._durable, self._aside = set[MessageSeen](), set[MessageSeen]()
        self._unread: dict[str, float] = {}
        """Since when a message is listed that cannot be read."""
        self._refused = Counter[MessageSeen]()
        self._barred = False
        """It does not allow deleting."""
        self._unlocking = SimUnlocker(env, self._port, log, self.handover.say)
        self._wanted: PinNeeded | None = None
        self._pin = ""
        self._texting = TextLoop(env, log, lambda: self._source, f"texts {self._port}")
        self._tasks: list[asyncio.Task[None]] = []

    async def serve(self, seen: ModemSeen) -> None:
        """Read the messages, or do what the modem needs before it can get any."""
        self._beat()
        if seen.state < State.ENABLED:
            self._source = None
            await self._prepare(seen)
            return
        self._begun = self._env.clock.monotonic()
        source = self._source or await self._identify(seen)
        receives = seen.registration is None or seen.registration.receives
        self.handover.state.health = ModemHealth(
            self._port, READY, health_at=self._env.clock.now_us(), signal=seen.signal, registration=seen.registration,
            receives=receives, network=seen.network,
        )  # fmt: skip
        await self._read(source, seen)
        if self._env.config.modems.delete:
            await self._delete()
        if self.handover.state.state in NOT_STORING:
            return
        if self._barred:
            self.handover.say("not_allowed", Text("fault.manager.barred"), _ALLOW)
        elif self._aside:
            self.handover.say(SET_ASIDE, Text("fault.modem.set_aside"), REPORT)
        else:
            self.handover.say(READY)

    async def gone(self) -> None:
        """Record that the modem is not there any more."""
        self._source = None
        self._texting.stop()
        for task in self._tasks[1:]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.handover.gone()

    async def _prepare(self, seen: ModemSeen) -> None:
        now, state = self._env.clock.monotonic(), self.handover.state.state
        if seen.state == State.FAILED:
            why = Text("fault.manager.reason", reason=seen.failed)
            kind = "no_sim" if seen.failed in _NO_SIM else "unusable"
            self.handover.say(kind, Text(f"fault.modem.{kind}", why=why), _REPLUG)
        elif seen.state == State.LOCKED and seen.lock:
            await self._unlock(seen)
        elif seen.state == State.DISABLED and now >= self._again_at:
            self._again_at = now + AGAIN_S
            self.handover.say("starting")
            await self._bus.call(self.path, manager.MODEM, "Enable", "b", (True,), manager.SLOW_S)
            self._wake()
        elif state in {READY, SET_ASIDE}:
            self.handover.say("starting")
        elif state in TRANSIENT and now - self._begun > SLOW_START_S:
            self.handover.say("hung", Text("fault.manager.slow"), _REPLUG)

    async def _unlock(self, seen: ModemSeen) -> None:
        if seen.lock not in set(Lock):
            why = Text("fault.manager.foreign")
            self.handover.say("unusable", Text("fault.modem.unusable", why=why), _REPLUG)
            return
        iccid, _imsi = await self._bus.sim(seen.sim)
        asks = Lock(seen.lock).name.replace("_", " ")
        wanted = PinNeeded(asks, iccid, seen.imei, seen.tries, seen.manufacturer, seen.model)
        if wanted != self._wanted:
            self._wanted = wanted
            self._unlocking.needed(wanted)
        self._run_tasks()
        self.handover.state.device_id = self._unlocking.device_id
        pin, self._pin = self._pin, ""
        if not pin:
            return
        try:
            await self._bus.call(seen.sim, manager.SIM, "SendPin", "s", (pin,), manager.SLOW_S)
        except BusError as error:
            if not str(error).endswith(".IncorrectPassword"):
                raise
            self._wanted = None
            self._unlocking.refused()
        self._wake()

    def _offer_pin(self, _owner: str, pin: str) -> None:
        self._pin = pin
        self._wake()

    def _run_tasks(self) -> None:
        """Start what sends and what unlocks; an error of one is that of the modem."""
        if not self._tasks:
            sender = _Sender(self._bus, self.path, self._texting.heard)
            loops = self._texting.run(sender.send, sender.abandon), self._unlocking.run(self._offer_pin)
            self._tasks = [asyncio.create_task(loop) for loop in loops]
        for task in self._tasks:
            if task.done():
                task.result()

    async def _identify(self, seen: ModemSeen) -> Source:
        iccid, imsi = await self._bus.sim(seen.sim)
        phone = PhoneIdentity(self._port, seen.imei, iccid, imsi, seen.manufacturer, seen.model)
        self._source = await self.handover.identify(phone)
        self._wanted = None
        self._unlocking.opened(iccid, seen.imei)
        self._run_tasks()
        self._texting.wake()
        return self._source

    async def _read(self, source: Source, seen: ModemSeen) -> None:
        """Store the messages that are not known to be durable, the oldest first."""
        self._durable = {one for one in self._durable if one.path in seen.messages}
        self._unread = {path: since for path, since in self._unread.items() if path in seen.messages}
        new = set(seen.messages) - {one.path for one in self._durable | self._aside}
        found = [one for path in sorted(new, key=_number) if (one := await self._message(path)) is not None]
        found.sort(key=lambda one: one.sent_at or 0)
        name = "message {} of ModemManager".format
        store = partial(self._store, source)
        await self.handover.store_all(found, store, self._aside, lambda one: name(_number(one.path)))

    async def _message(self, path: str) -> MessageSeen | None:
        """Return a message; None if it lacks parts, was not received, or cannot be read. It is told if that lasts."""
        self._beat()
        try:
            properties = await self._bus.properties(path, manager.SMS)
        except BusError as error:
            if error.fault not in {BusFault.GONE, BusFault.REFUSED}:
                raise
            properties = {}
        found = manager.message_of(path, properties)
        if found is None and not manager.is_own(properties):
            now = self._env.clock.monotonic()
            if now - self._unread.setdefault(path, now) > UNREAD_S:
                self._unread[path] = float("inf")  # once
                await self._keeps("a long message lacks parts, or ModemManager does not show it")
        return found

    async def _store(self, source: Source, batch: Sequence[MessageSeen]) -> None:
        made = [(one, *parts_of(one)) for one in batch]
        for level, group in groupby(made, key=lambda one: one[1]):
            same = list(group)
            parts = [part for _message, _level, made_of in same for part in made_of]
            while not await self.handover.store(replace(source, level=level), parts):
                self._beat()
                if self.handover.state.state == "not_deleting":
                    return  # the payments are booked; the next look writes the message journal
            self._durable.update(message for message, _level, _parts in same)

    async def _delete(self) -> None:
        self._barred = False
        for one in list(self._durable):
            self._beat()
            try:
                await self._bus.call(self.path, manager.MESSAGING, "Delete", "o", (one.path,))
                self._refused.pop(one, None)
            except BusError as error:
                if error.fault not in {BusFault.REFUSED, BusFault.BARRED, BusFault.GONE}:
                    raise
                self._barred |= error.fault is BusFault.BARRED
                self._refused[one] += 1
                if self._refused[one] == DELETIONS:
                    await self._keeps(str(error))

    async def _keeps(self, why: str) -> None:
        """Record that the modem keeps messages."""
        self._log.warning("source.kept", port=self._port, why=why)
        with contextlib.suppress(Unavailable):  # the log has it
            await note_modem(self._env, "kept", self.handover.state.device_id, {"port": self._port, "why": why})


def parts_of(message: MessageSeen) -> tuple[TrustLevel, list[ReadPart]]:
    """Return how far a message is trusted, and its parts.

    ModemManager joins parts by their reference alone, and shows the service centre of the part that came first. So only a
    text that is surely one part has a service centre, and is trusted as the PDU of a modem.
    """
    make = partial(text_parts, message.sender, sent_at=message.sent_at, storage=PLACE, slot=_number(message.path))
    if message.smsc is None or len(make(text=message.text + JOINED)) > 1:
        return TrustLevel.PARTIAL, make(text=message.text)
    return TrustLevel.FULL, make(text=message.text, smsc=message.smsc)


def _number(path: str) -> int:
    """Return the number at the end of an object path; ModemManager counts upward."""
    end = path.rpartition("/")[2]
    return int(end) if end.isascii() and end.isdigit() else 0


class _Sender:
    """Sends the SMS of a text loop."""

    def __init__(self, bus: ManagerBus, modem: str, heard: Callable[[SmsPartSent | SmsEnded], None]) -> None:
        self._bus, self._modem, self._heard = bus, modem, heard
        self._result: SmsEnded | None = None
        """Of the present SMS, if it ended now."""
        self._task: asyncio.Task[None] | None = None

    def send(self, outgoing: Outgoing) -> bool:
        """Send an SMS; its result is heard."""
        self._task = asyncio.create_task(self._send(outgoing))
        return True

    def abandon(self) -> list[SmsEnded]:
        """End the SMS being sent, and return its result."""
        if self._task is not None:
            self._task.cancel()
        return [] if self._result is None else [self._result]

    async def _send(self, outgoing: Outgoing) -> None:
        self._result = SmsEnded(outgoing.id, SmsResult.RETRY, "the phone went away")
        text = {"number": ("s", outgoing.number), "text": ("s", outgoing.body)}
        try:
            [path] = await self._bus.call(self._modem, manager.MESSAGING, "Create", "a{sv}", (text,))
            self._result = SmsEnded(outgoing.id, SmsResult.UNKNOWN, "ModemManager did not say whether it was sent")
            await self._bus.call(path, manager.SMS, "Send", limit_s=manager.SLOW_S)
        except BusError as error:
            # A number of the network is its answer to one message; of several parts some may have left.
            refused = ".Error.Message." in str(error) and len(outgoing.pdus) == 1
            final = refused or error.fault is BusFault.BARRED
            self._result = SmsEnded(outgoing.id, SmsResult.FAILED if final else self._result.result, str(error))
        else:
            for part in range(outgoing.first, len(outgoing.pdus)):
                self._heard(SmsPartSent(outgoing.id, part, None))
            self._result = SmsEnded(outgoing.id, SmsResult.SENT)
            with contextlib.suppress(BusError):
                await self._bus.call(self._modem, manager.MESSAGING, "Delete", "o", (path,))
        ended, self._result = self._result, None
        self._heard(ended)
