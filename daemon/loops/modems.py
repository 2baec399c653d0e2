"""One task per port: open it, read what the phone says, store it, and only then let the slots be emptied.

The session (sans-I/O) says what it read; a worker stores it in batches while the next commands run; `stored` tells
the session which parts are durable. A port that vanishes or hangs is opened again after 1 to 60 s.

It is longer than 300 lines because everything that may happen to one port, and what is said of it, stands together.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from daemon.core.errors import Unavailable
from daemon.core.phones import Condition
from daemon.core.requests import PhoneIdentity, ReadPart, Source
from daemon.env import Env
from daemon.flows import identify, ingest
from daemon.flows.note_modem import note_modem
from daemon.log import Log
from daemon.loops.texts import TextLoop
from daemon.loops.unlocking import Unlocking
from daemon.modem import session_values as said
from daemon.modem.discovery import role_of
from daemon.modem.families import GENERIC, Family, family_of
from daemon.modem.port import Closed, Link, Port, PortError, PortGone, open_port
from daemon.modem.session import Session
from daemon.modem.session_send import SmsEnded, SmsPartSent

BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Between tries to open a port; a plugged-in modem needs seconds until it answers."""

JITTER: Final = 0.2
"""So much less at most, so that phones on one hub that lost its power do not all start at once."""

RESTART_EVERY_S: Final = 600.0
"""No phone is restarted more often (modems.md section 6)."""

HANGS_BEFORE_RESTART: Final = 2
"""The first time it is enough to open the port again."""

NOTED_MAX: Final = 200
"""Unknown lines remembered per port, so that each is logged once and a storm fills nothing."""

SERVING: Final = frozenset({"ready", "hilink", "not_storing"})
"""States of a phone that was set up."""

BATCH_MAX: Final = 64
"""Parts stored in one transaction."""

LINGER_S: Final = 0.001
"""How long a part waits for those behind it that are announced and not yet read: one commit then serves a whole
message. A phone that takes longer to answer gains nothing and loses this."""

INSPECT_S: Final = 15.0
"""A phone that is reading a long list may be so late; a person waits no longer."""

STORE_AGAIN_S: Final = 5.0
"""Between two tries to store while the disk is full: the phone's storage is small, so go on soon."""


class Simulated(Protocol):
    """A program that plays a phone."""

    source: Source

    def taken(self, pdus: Sequence[str]) -> None:
        """Learn that these were read and are durable."""


@dataclass(slots=True)
class PhoneState:
    """What `status` shows of one port."""

    port: str
    state: str = "opening"
    detail: str = ""
    next_step: str = ""
    device_id: str | None = None
    health: said.Health | None = None
    health_at_us: int | None = None
    last_sms_at_us: int | None = None
    noted: set[str] = field(default_factory=set)
    simulated: bool = False
    mute: bool = False
    """Nothing ever answered `AT` here: perhaps another port of the device does."""

    @property
    def condition(self) -> Condition:
        """The same as a value for those who show it."""
        base = Condition(
            self.port,
            self.state,
            self.detail,
            self.next_step,
            self.device_id,
            self.last_sms_at_us,
            simulated=self.simulated,
        )
        if self.health is None:
            return base
        health = self.health
        return replace(
            base,
            health_at=self.health_at_us,
            signal=health.signal,
            registration=health.registration.value,
            receives=health.registration.receives,
            network=health.operator,
            used=health.used,
            total=health.total,
            storages=health.storages,
        )


class PortLoop:
    """Keeps one port open for as long as the daemon runs."""

    def __init__(
        self,
        env: Env,
        path: str,
        log: Log,
        door: Callable[[str], Port] = open_port,
        told_hung: set[str] | None = None,
        simulated: "Simulated | None" = None,
    ) -> None:
        """Prepare to serve a port.

        Args:
            env: The shop's doors.
            path: The port.
            log: For what happens.
            door: Opens it.
            told_hung: Phones of which the journal says that they hang, and not yet that they answer again; shared by
                all ports, since a phone that is pulled out may come back at another.
            simulated: Set for a program that plays a phone: nothing about it is written down, and all that it reads is
                test mode.
        """
        self._env = env
        self._open = door
        self._log = log
        self.state = PhoneState(path, simulated=simulated is not None)
        self._simulated = simulated
        self._path = path
        self._worker = f"modem {path}"
        self._source: Source | None = None
        self._texting = TextLoop(env, log, self._sends_from)
        self._queue: list[said.StoredPart | said.Identified | said.HiLink | said.Watermark] = []
        """What is to be stored, in the order it came: a part belongs to the SIM that was named before it."""
        self._queued = asyncio.Event()
        self._present: str | None = None
        """The device that this port brought in and has not taken out yet."""
        self._link: Link | None = None
        self._session: Session | None = None
        self._family: Family = GENERIC
        self._hangs = 0
        self._restarted_at: float | None = None
        self._hilink = ""
        self._told_hung = set[str]() if told_hung is None else told_hung
        self._unlocking = Unlocking(env, path, log, self._say)
        self._answered = False
        """A modem spoke at this port once: when it hangs, this is still the port to wake it at."""
        self._asked = asyncio.Event()
        """Set when the phone has said how it fares."""

    async def run(self) -> None:
        """Open, serve, back off, again. Ends only by cancellation."""
        failures = 0
        while True:
            try:
                served = await self._serve()
                failures = 0 if served else failures + 1
                if self.state.state == "resuming":
                    continue
            except PortError as error:
                failures += 1
                if self.state.detail != error.message:
                    self._log.warning("modem.port", port=self._path, why=error.message)
                self._say("unreachable", error.message, error.next_step)
            await asyncio.sleep(self._delay_s(failures))

    async def inspect(self) -> bool:
        """Ask the phone how it fares, through the session that reads its messages; False when it does not say."""
        if self._link is None or self._session is None:
            return False
        self._asked.clear()
        self._link.do(self._session.inspect)
        try:
            async with asyncio.timeout(INSPECT_S):
                await self._asked.wait()
        except TimeoutError:
            return False
        return True

    def reopen(self) -> None:
        """Close the port and open it again at once: the machine slept, and the phone may have lost its settings."""
        if self._link is not None:
            self._say("resuming", "the computer was asleep")
            self._link.close()

    def _delay_s(self, failures: int) -> float:
        """Return how long to wait before the next try, 1 to 60 s."""
        longest = BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1 if failures else 0]
        return max(BACK_OFF_S[0], longest * (1 - JITTER * self._env.entropy.unit()))

    def _say(self, state: str, detail: str = "", next_step: str = "") -> None:
        self.state.state, self.state.detail, self.state.next_step = state, detail, next_step

    async def _serve(self) -> bool:
        """Serve one opening of the port; True when the phone got as far as being ready."""
        port = self._open(self._path)
        started = self._env.clock.monotonic()
        restart = self._restart_now(started)
        session = Session(self._session_settings(restart=restart), started)
        if restart:
            self._log.warning("modem.restart", port=self._path)
            self._say("restarting", "the phone hangs and was told to restart")
        elif not self._hangs:
            self._say("starting")
        self._queue.clear()
        self._hilink = ""
        self._source = None
        self.state.health = None
        texting = self._texting = TextLoop(self._env, self._log, self._sends_from)
        link = Link(port, session, clock=self._env.clock.monotonic, on_events=self._heard)
        self._link, self._session = link, session
        storing = asyncio.create_task(self._store(link, session))
        sending = asyncio.create_task(texting.run(link, session))
        link.start()
        closing = asyncio.create_task(link.wait_closed())
        unlocking = asyncio.create_task(self._unlocking.run(self._offer_pin))
        try:
            ours = {storing, unlocking}
            await asyncio.wait({*ours, closing}, return_when=asyncio.FIRST_COMPLETED)
            for mine in ours:
                if mine.done():
                    mine.result()  # a fault of ours: crash the task, loudly
            why = closing.result()
            self._log.warning("modem.closed", port=self._path, why=str(why))
            ready = self.state.state in SERVING
            self._say_closed(why, self._env.clock.monotonic() - started)
            if self.state.state == "hung":
                await self._tell_hung(why)
            return ready
        finally:
            self._link = self._session = None
            self._env.pulse.rest(self._worker)
            for task in (storing, closing, unlocking):
                task.cancel()
            link.close()
            # Our own cancellation must pass through here, or the daemon could not be stopped.
            texting.stop()
            await asyncio.gather(storing, closing, sending, unlocking, return_exceptions=True)
            device_id = self._present or self._unlocking.device_id
            self._present = self._unlocking.device_id = None
            if device_id is not None:
                with contextlib.suppress(Unavailable):
                    await identify.leave(self._env, device_id)

    def _session_settings(self, *, restart: bool) -> said.SessionSettings:
        settings = self._env.config.modems
        return said.SessionSettings(
            poll_s=settings.poll_s,
            sweep_s=settings.sweep_s,
            heartbeat_s=settings.heartbeat_s,
            command_timeout_s=settings.command_timeout_s,
            delete=settings.delete,
            role=role_of(self._path),
            restart=restart,
        )

    async def _tell_hung(self, why: object) -> None:
        """Write down that the phone hangs, once until it answers again."""
        device_id = self.state.device_id
        if device_id is None or device_id not in self._told_hung:
            if device_id is not None:
                self._told_hung.add(device_id)
            await self._journal(said.Hung(str(why)))

    def _restart_now(self, now: float) -> bool:
        """Say whether to restart a phone that goes on hanging; note that it is done."""
        if self._hangs < HANGS_BEFORE_RESTART or not self._family.restart:
            return False
        if self._restarted_at is not None and now < self._restarted_at + RESTART_EVERY_S:
            return False
        self._restarted_at = now
        return True

    def _say_closed(self, why: PortGone | said.Hung | Closed, served_s: float) -> None:
        if isinstance(why, Closed) and self.state.state == "resuming":
            return
        if not isinstance(why, said.Hung):
            self._say("gone", str(why))
            return
        self._answered |= why.answered
        self.state.mute = not self._answered
        if not why.silent:
            self._say("gone", why.why)
            return
        self._hangs = 1 if served_s > RESTART_EVERY_S else self._hangs + 1
        if self._hangs < HANGS_BEFORE_RESTART:
            self._say("recovering", why.why)
        else:
            self._say("hung", why.why, "pull the modem out, wait 5 seconds and plug it in again")

    def _sends_from(self) -> Source | None:
        """Return the SIM that SMS can be sent from now, None while there is none."""
        return self._source if self.state.state in SERVING and self._simulated is None else None

    def _say_ready(self) -> None:
        if not self._hilink:
            self._say("ready")
            self._log.info("modem.ready", port=self._path)
            return
        self._say(
            "hilink",
            f"this stick keeps its messages to itself: {self._hilink}",
            "read them at http://192.168.8.1; use another modem, or have its firmware changed to one without HiLink",
        )
        self._log.error("modem.hilink", port=self._path, why=self._hilink)
        self._queue.append(said.HiLink(self._hilink))
        self._queued.set()

    def _heard(self, events: Sequence[said.Event]) -> None:  # noqa: C901, PLR0912 - a case each
        """Take the session's events; called in the loop, must not block."""
        for event in events:
            match event:
                case said.PartsRead(parts=parts):
                    if self.state.state == "hilink":
                        self._say("ready")  # it can be read after all
                    self._live_step()
                    self._queue.extend(parts)
                    self.state.last_sms_at_us = self._env.clock.now_us()
                    self._queued.set()
                case said.Identified(manufacturer=maker, model=model, firmware=firmware):
                    self._family = family_of(maker, model, firmware)
                    self._answered = True
                    self._unlocking.opened(event.iccid, event.imei)
                    self._queue.append(event)
                    self._queued.set()
                case said.HiLink(why=why):
                    self._hilink = why
                case said.Watermark():
                    self._tell_storage(event)
                case said.Ready():
                    self._say_ready()
                case said.Health():
                    self.state.health = event
                    self.state.health_at_us = self._env.clock.now_us()
                    self._asked.set()
                case said.PinNeeded():
                    self._unlocking.needed(event)
                case said.PinRefused():
                    self._unlocking.refused()
                case said.SimAbsent(why=why):
                    self._say("no_sim", why, "put the SIM in and plug the modem in again")
                case SmsPartSent() | SmsEnded():
                    self._texting.heard(event)
                case said.KeptOnPhone(part=part, why=why):
                    self._log.warning("modem.kept", port=self._path, slot=part.index, why=why)
                case said.Noted(line=line, what=said.Note.LINE):
                    self._note(line, _shape(line))
                case said.Noted(line=line, what=what):
                    self._note(line, f"{what}: {line}")
                case _:
                    pass

    def _live_step(self) -> None:
        self._env.precedence.step(self._env.clock.monotonic())

    def _offer_pin(self, owner: str, pin: str) -> None:
        """Hand a PIN to the session; on a link that is closed it is lost, and never typed."""
        session, link = self._session, self._link
        if session is not None and link is not None:
            link.do(lambda now: session.offer_pin(owner, pin, now))

    def _tell_storage(self, mark: said.Watermark) -> None:
        self._log.warning(
            "modem.storage", port=self._path, storage=mark.storage, used=mark.used, total=mark.total
        )
        self._queue.append(mark)
        self._queued.set()

    async def _journal(
        self, fact: said.Hung | said.HiLink | said.Watermark | said.Identified
    ) -> None:
        """Write down what happened to the phone; where that cannot be now, the log has it."""
        if self._simulated is not None:
            return
        facts: dict[str, str | int | None] = {"port": self._path}
        match fact:
            case said.Watermark(storage=storage, used=used, total=total, high=high):
                kind = "storage_high" if high else "storage_low"
                facts |= {"storage": storage, "used": used, "total": total}
            case said.Hung(why=why):
                kind, facts["why"] = "hung", why
            case said.HiLink(why=why):
                kind, facts["why"] = "hilink", why
            case said.Identified():
                kind = "answers"
        with contextlib.suppress(Unavailable):
            await note_modem(self._env, kind, self.state.device_id, facts)

    def _note(self, line: str, shape: str) -> None:
        """Log what no table knows, once; of a line what it looks like rather than what it says."""
        if line not in self.state.noted and len(self.state.noted) < NOTED_MAX:
            self.state.noted.add(line)
            self._log.info("modem.unknown_line", port=self._path, shape=shape)

    async def _store(self, link: Link, session: Session) -> None:
        """Store what was read, in the order it came, as batches; then tell the session that it is durable."""
        while True:
            await self._queued.wait()
            self._queued.clear()
            while self._queue:
                self._env.promise(self._worker)
                if not isinstance(first := self._queue[0], said.StoredPart):
                    if isinstance(first, said.Identified):
                        await self._identify(first)
                    else:
                        await self._journal(first)
                    del self._queue[0]
                    continue
                await self._linger(session)
                batch = self._next_batch()
                if not await self._ingest(batch):
                    continue
                del self._queue[: len(batch)]
                link.stored(batch)
            self._env.pulse.rest(self._worker)

    async def _linger(self, session: Session) -> None:
        """Wait a moment for parts that are announced, so that they share a commit with those that are here."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while session.expects_parts and len(self._queue) < BATCH_MAX:
                    self._queued.clear()
                    await self._queued.wait()

    def _next_batch(self) -> list[said.StoredPart]:
        """Return the parts at the head of the queue, of one SIM."""
        batch: list[said.StoredPart] = []
        for waiting in self._queue[:BATCH_MAX]:
            if not isinstance(waiting, said.StoredPart):
                break
            batch.append(waiting)
        return batch

    async def _ingest(self, batch: Sequence[said.StoredPart]) -> bool:
        """Store a batch; False, after a pause, when that is not possible now."""
        assert self._source is not None, (
            "the session says who the phone is before it hands out parts"
        )
        parts = [ReadPart(part.storage, part.index, part.tpdu_length, part.pdu) for part in batch]
        try:
            taken = await ingest.ingest(self._env, self._source, parts)
        except Unavailable as error:
            # Nothing was stored, so nothing is deleted: the messages stay on the phone.
            self._log.error("ingest.unavailable", why=error.why)
            self._say("not_storing", error.why)
            await asyncio.sleep(min(error.retry_after_s, STORE_AGAIN_S))
            return False
        self._live_step()
        for fault in taken.faults:
            self._log.error("ingest.fault", error=fault)
        if taken.concluded:
            self._log.info("ingest", new=taken.new_parts, whole=len(taken.concluded))
        if self.state.state == "not_storing":
            self._say("ready")
        if self._simulated is not None:
            self._simulated.taken([part.pdu for part in batch])
        return True

    async def _identify(self, identity: said.Identified) -> None:
        if self._simulated is not None:
            self._source = self._simulated.source
            self.state.device_id = self._source.device_id
            return
        while True:
            try:
                self._source = await identify.identify(
                    self._env,
                    PhoneIdentity(
                        port=self._path,
                        imei=identity.imei,
                        iccid=identity.iccid,
                        imsi=identity.imsi,
                        manufacturer=identity.manufacturer,
                        model=identity.model,
                        slot_index=identity.slot,
                    ),
                )
            except Unavailable as error:
                self._log.error("identify.unavailable", why=error.why)
                await asyncio.sleep(min(error.retry_after_s, STORE_AGAIN_S))
                continue
            self.state.device_id = self._present = self._source.device_id
            self._texting.wake()
            if self._source.device_id in self._told_hung:
                self._told_hung.discard(self._source.device_id)
                await self._journal(identity)
            return


def _shape(line: str) -> str:
    """Return what a line looks like without what it says: a line may hold a message or a number."""
    return "".join("0" if c.isdigit() else c for c in line.split(":", maxsplit=1)[0][:40])
