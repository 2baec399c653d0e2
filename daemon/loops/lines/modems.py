"""One task per port: opens it, stores the messages that the session reads, and only then has the slots emptied.

The sans-I/O session emits the parts it read; a worker stores them in batches while the next commands run; `stored`
marks them as durable in the session. A port that disappears or hangs is opened again after 1 to 60 s (back-off).
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from daemon.core.errors import NotJournaled, Unavailable
from daemon.core.inputs import PhoneIdentity, ReadPart, Source
from daemon.core.lines.modem_health import SET_ASIDE, ModemHealth
from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.core.shape import taken
from daemon.core.text import Text
from daemon.core.upkeep.faults import REPORT
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.flows.lines.modems import note_modem
from daemon.loops.keep_running import note_failure, note_work, set_aside
from daemon.loops.sources.handover import NOT_STORING, STORE_RETRY_S, state_without_store, store_identity, store_parts
from daemon.loops.texts import TextLoop
from daemon.loops.unlock_sim import SimUnlocker
from daemon.modem.discovery import role_of
from daemon.modem.port import Closed, Link, Port, PortError, PortGone, open_port
from daemon.modem.quirks import GENERIC, Family, family_of
from daemon.modem.session import events as session_events
from daemon.modem.session.send import Outgoing, SmsEnded, SmsPartSent
from daemon.modem.session.session import Session
from daemon.runtime.log import Log

BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Between tries to open a port; a newly plugged-in modem needs seconds until it answers."""

LOOK_S: Final = 1.0
"""Between two looks at a missing port's path during a pause: a modem that is back is served at once."""

JITTER: Final = 0.2
"""Largest reduction of a pause, so that phones on one hub do not all start at once after a power loss."""

RESTART_EVERY_S: Final = 600.0
"""Shortest time between two restarts of a phone."""

HANGS_BEFORE_RESTART: Final = 2
"""After the first hang the port is only opened again."""

NOTED_MAX: Final = 200
"""Unknown lines remembered per port, so that each is logged once and memory stays bounded."""

SERVING: Final = frozenset({"ready", SET_ASIDE, "hilink", "not_storing", "not_deleting"})
"""States of a phone that is set up."""

BATCH_MAX: Final = 64
"""Parts stored in one database transaction."""

GROUP_COMMIT_S: Final = 0.001
"""How long a part waits for announced parts that are not read yet, so that one commit stores a whole message
(group commit). With a slower phone there is no gain, and this delay is lost."""

INSPECT_S: Final = 15.0
"""Time limit of an inspection; a phone that is reading a long list may need this long."""


class Simulated(Protocol):
    """A program that simulates a phone."""

    source: Source

    def taken(self, pdus: Sequence[str]) -> None:
        """Handle that these PDUs were read and are durable."""


class PhoneState(Struct):
    """State of one port for `status`."""

    port: str
    state: str = "opening"
    detail: Text | str = ""
    next_step: Text | str = ""
    device_id: str | None = None
    health: session_events.Health | None = None
    health_at_us: int | None = None
    last_sms_at_us: int | None = None
    noted: set[str] = field(default_factory=set)
    simulated: bool = False
    mute: bool = False
    """This port never answered `AT`: perhaps another port of the device does."""

    @property
    def condition(self) -> ModemHealth:
        """The state as an immutable value for display."""
        base = ModemHealth(
            self.port, self.state, self.detail, self.next_step, self.device_id, self.last_sms_at_us,
            simulated=self.simulated,
        )  # fmt: skip
        health = self.health
        if health is None:
            return base
        return replace(
            base, health_at=self.health_at_us, signal=health.signal, registration=health.registration.value,
            receives=health.registration.receives, network=health.operator, used=health.used, total=health.total,
            storages=health.storages,
        )  # fmt: skip


class PortLoop:
    """Keeps one port open for as long as the daemon runs."""

    def __init__(
        self,
        env: Env,
        path: str,
        log: Log,
        opener: Callable[[str], Port] = open_port,
        reported_hung: set[str] | None = None,
        simulated: "Simulated | None" = None,
    ) -> None:
        """Prepare to serve a port.

        `opener` opens the port. `reported_hung` has the phones recorded in the journal as hung and not yet as answering
        again; all ports share it, since an unplugged phone may return at another port. `simulated` is set for a program
        that simulates a phone: the phone is not recorded, and its messages are in test mode.
        """
        self._env = env
        self._open = opener
        self._log = log
        self.state = PhoneState(path, simulated=simulated is not None)
        self._simulated = simulated
        self._path = path
        self.worker = f"modem {path}"
        self._source: Source | None = None
        self._texting = TextLoop(env, log, self._sends_from)
        self._singly = 0
        """So many parts are stored one by one, because storing them together has failed by a bug."""
        self._failing = set[str]()
        """The parts on which storing failed once by a bug. At the second time they are set aside: they stay on the phone."""
        self._booked = set[str]()
        """The parts that the database has and the message journal has not: they stay on the phone, and hold up no other part."""
        self._aside = set[str]()
        self._queue: list[_Queued] = []
        """Items to store, in order of arrival: a part belongs to the SIM identified before it."""
        self._queued = asyncio.Event()
        self._present: str | None = None
        """The device that is recorded as present at this port."""
        self._link: Link | None = None
        self._session: Session | None = None
        self._family: Family = GENERIC
        self._hangs = 0
        self._restarted_at: float | None = None
        self._hilink = ""
        self._reported_hung = set[str]() if reported_hung is None else reported_hung
        self._unusable = ""
        """The reason for which this phone cannot be used, once it was reported."""
        self._unlocking = SimUnlocker(env, path, log, self._say)
        self._answered = False
        """A modem has answered at this port: if it hangs, retries stay on this port."""
        self._asked = asyncio.Event()
        """Set when a `Health` event has arrived."""
        self._menu: asyncio.Future[UssdMenu] | None = None
        """The awaited answer of the network."""
        self._unasked: UssdMenu | None = None
        """What came in a session while no answer was awaited; the next reply is then not sent."""

    async def run(self) -> None:
        """Open and serve the port, with back-off, until cancelled."""
        failures = 0
        while True:
            node = _node(self._path)
            try:
                served = await self._serve()
                failures = 0 if served else failures + 1
                await note_work(self._env, self._log, self.worker)
                if self.state.state == "resuming":
                    continue
            except PortError as error:
                failures += 1
                if self.state.detail != error.message:
                    self._log.warning("modem.port", port=self._path, why=error.message)
                self._say("unreachable", error.message, error.next_step)
                await note_work(self._env, self._log, self.worker)
            except Exception:
                self._say("recovering", "an error in momo stopped its reader, which starts again")
                raise
            longest = BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1 if failures else 0]
            if await self._pause(max(BACK_OFF_S[0], longest * (1 - JITTER * self._env.entropy.unit())), node):
                failures = 0

    async def _pause(self, seconds: float, node: "_Node") -> bool:
        """Wait; return True early when the device file is another than `node`: it was plugged in or out."""
        while seconds > 0:
            await asyncio.sleep(min(LOOK_S, seconds))
            seconds -= LOOK_S
            if _node(self._path) != node:
                return True
        return False

    async def inspect(self) -> bool:
        """Refresh the phone's health through the running session; False when the phone does not answer in time."""
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

    async def send(self, text: str, *, opens: bool) -> UssdMenu:
        """Send a USSD code or reply, and return the network's answer."""
        unasked, self._unasked = self._unasked, None
        if unasked is not None and not opens:
            return replace(unasked, sent=False)
        link, session = self._link, self._session
        if link is None or session is None:
            return UssdMenu("", UssdEnd.LOST)
        self._menu = asyncio.get_running_loop().create_future()
        link.do(lambda _now: session.send_ussd(text, opens=opens))
        return await self._menu

    async def cancel(self) -> None:
        """End the USSD session."""
        if self._link is not None and self._session is not None:
            session = self._session
            self._link.do(lambda _now: session.cancel_ussd())

    def _show(self, menu: UssdMenu) -> None:
        if self._menu is not None and not self._menu.done():
            self._menu.set_result(menu)
        else:
            self._unasked = menu

    def reopen(self) -> None:
        """Close the port and open it again at once: after a sleep of the machine the phone may have lost its settings."""
        if self._link is not None:
            self._say("resuming", Text("fault.modem.asleep"))
            self._link.close()

    def _say(self, state: str, detail: Text | str = "", next_step: Text | str = "") -> None:
        self.state.state, self.state.detail, self.state.next_step = state, detail, next_step

    async def _serve(self) -> bool:  # noqa: PLR0915 - one connection from its start to its end
        """Open and serve the port once; True when the phone became ready."""
        port = self._open(self._path)
        started = self._env.clock.monotonic()
        restart = self._restart_now(started)
        session = Session(self._session_settings(restart=restart), started)
        if restart:
            self._log.warning("modem.restart", port=self._path)
            self._say("restarting", Text("fault.modem.restarting"))
        elif not self._hangs and not self._unusable:
            self._say("starting")
        self._queue.clear()
        self._hilink = ""
        self._source = None
        self.state.health = None
        texting = self._texting = TextLoop(self._env, self._log, self._sends_from, f"texts {self._path}")
        link = Link(port, session, clock=self._env.clock.monotonic, on_events=self._heard)
        self._link, self._session = link, session
        storing = asyncio.create_task(self._store(link, session))
        sending = asyncio.create_task(texting.run(partial(_send, link, session), partial(_abandon, session)))
        link.start()
        closing = asyncio.create_task(link.wait_closed())
        unlocking = asyncio.create_task(self._unlocking.run(self._offer_pin))
        try:
            ours = {storing, unlocking}
            await asyncio.wait({*ours, closing}, return_when=asyncio.FIRST_COMPLETED)
            for mine in ours:
                if mine.done():
                    mine.result()  # an unexpected exception ends the task
            why = closing.result()
            if not self._unusable or str(why) != self._unusable:
                self._log.warning("modem.closed", port=self._path, why=str(why))
            ready = self.state.state in SERVING
            self._say_closed(why, self._env.clock.monotonic() - started)
            if self.state.state == "hung":
                await self._report_hung(why)
            elif isinstance(why, session_events.Hung) and why.unusable and why.why != self._unusable:
                self._unusable = why.why
                await self._journal(why)
            return ready
        finally:
            self._link = self._session = None
            self._show(UssdMenu("", UssdEnd.LOST))
            self._env.heartbeats.rest(self.worker)
            for task in (storing, closing, unlocking):
                task.cancel()
            link.close()
            # A cancellation must not be suppressed here, or the daemon could not be stopped.
            texting.stop()
            await asyncio.gather(storing, closing, sending, unlocking, return_exceptions=True)
            device_id = self._present or self._unlocking.device_id
            self._present = self._unlocking.device_id = None
            if device_id is not None:
                with contextlib.suppress(Unavailable):
                    await modems.disconnect(self._env, device_id)

    def _session_settings(self, *, restart: bool) -> session_events.SessionSettings:
        role = role_of(self._path)
        return taken(session_events.SessionSettings, self._env.config.modems, role=role, restart=restart)

    async def _report_hung(self, why: object) -> None:
        """Record in the journal that the phone hangs, once until it answers again."""
        device_id = self.state.device_id
        if device_id is None or device_id not in self._reported_hung:
            if device_id is not None:
                self._reported_hung.add(device_id)
            await self._journal(session_events.Hung(str(why)))

    def _restart_now(self, now: float) -> bool:
        """Return whether to restart a phone that still hangs, and record the restart time."""
        if self._hangs < HANGS_BEFORE_RESTART or not self._family.restart:
            return False
        if self._restarted_at is not None and now < self._restarted_at + RESTART_EVERY_S:
            return False
        self._restarted_at = now
        return True

    def _say_closed(self, why: PortGone | session_events.Hung | Closed, served_s: float) -> None:
        if isinstance(why, Closed) and self.state.state == "resuming":
            return
        if not isinstance(why, session_events.Hung):
            self._say("gone", str(why))
            return
        self._answered |= why.answered
        self.state.mute = not self._answered
        if why.unusable:
            self._say("unusable", Text("fault.modem.unusable", why=why.why), _OTHER_MODEM)
            return
        if not why.silent:
            self._say("gone", why.why)
            return
        self._hangs = 1 if served_s > RESTART_EVERY_S else self._hangs + 1
        if self._hangs < HANGS_BEFORE_RESTART:
            self._say("recovering", why.why)
        else:
            self._say("hung", why.why, Text("fault.modem.replug.fix"))

    def _sends_from(self) -> Source | None:
        """Return the SIM from which SMS can be sent now, None while there is none."""
        return self._source if self.state.state in SERVING and self._simulated is None else None

    def _heard(self, events: Sequence[session_events.Event]) -> None:  # noqa: C901, PLR0912, PLR0915 - a case each
        """Handle the session's events; called in the event loop, must not block."""
        for event in events:
            match event:
                case session_events.PartsRead(parts=parts):
                    if self.state.state == "hilink":
                        self._say("ready")  # messages can be read after all
                    self._live_step()
                    self._queue.extend(parts)
                    self.state.last_sms_at_us = self._env.clock.now_us()
                    self._queued.set()
                case session_events.Identified(manufacturer=maker, model=model, firmware=firmware):
                    self._family = family_of(maker, model, firmware)
                    self._answered = True
                    self._unlocking.opened(event.iccid, event.imei)
                    self._enqueue(event)
                case session_events.HiLink(why=why):
                    self._hilink = why
                case session_events.Watermark(storage=storage, used=used, total=total):
                    self._log.warning("modem.storage", port=self._path, storage=storage, used=used, total=total)
                    self._enqueue(event)
                case session_events.Ready():
                    self._enqueue(session_events.Ready())
                    if not self._hilink:
                        self._say("ready")
                        self._log.info("modem.ready", port=self._path)
                    else:
                        self._say(
                            "hilink",
                            Text("fault.modem.hilink", why=self._hilink),
                            "momo setup --hilink http://192.168.8.1",
                        )
                        self._log.error("modem.hilink", port=self._path, why=self._hilink)
                        self._enqueue(session_events.HiLink(self._hilink))
                case session_events.Health():
                    self.state.health = event
                    self.state.health_at_us = self._env.clock.now_us()
                    self._asked.set()
                case session_events.NetworkClock(at_us=at_us) if self._simulated is None:
                    boot_s = self._env.clock.boottime()
                    self._env.clock_check.note_phone_clock(self._path, at_us, boot_s)
                case session_events.PinNeeded():
                    self._unlocking.needed(event)
                case session_events.PinRefused():
                    self._unlocking.refused()
                case session_events.SimAbsent(why=why):
                    self._say("no_sim", Text("fault.modem.no_sim", why=why), _PUT_SIM)
                case UssdMenu():
                    self._show(event)
                case SmsPartSent() | SmsEnded():
                    self._texting.heard(event)
                case session_events.MessageLost(why=why):
                    self._log.warning("modem.message_lost", port=self._path, why=why)
                    self._enqueue(event)
                case session_events.KeptOnPhone(part=part, why=why):
                    self._log.warning("modem.kept", port=self._path, slot=part.index, why=why)
                    if event.tell:
                        self._enqueue(event)
                case session_events.Noted(line=line, what=session_events.Note.LINE):
                    self._note(line, _shape(line))
                case session_events.Noted(line=line, what=what):
                    self._note(line, f"{what}: {line}")
                case _:
                    pass

    def _live_step(self) -> None:
        self._env.live_priority.step(self._env.clock.monotonic())

    def _offer_pin(self, owner: str, pin: str) -> None:
        """Offer a PIN to the session; on a closed link it is dropped and never entered."""
        session, link = self._session, self._link
        if session is not None and link is not None:
            link.do(lambda now: session.offer_pin(owner, pin, now))

    def _enqueue(self, item: "_Queued") -> None:
        self._queue.append(item)
        self._queued.set()

    async def _journal(self, fact: "_Fact | session_events.Hung") -> None:
        """Record an event of the phone in the journal; if that is impossible now, it is only in the log."""
        if self._simulated is not None:
            return
        facts: dict[str, str | int | None] = {"port": self._path}
        match fact:
            case session_events.Watermark(storage=storage, used=used, total=total, high=high):
                kind = "storage_high" if high else "storage_low"
                facts |= {"storage": storage, "used": used, "total": total}
            case session_events.Hung(why=why, unusable=unusable):
                kind, facts["why"] = "unusable" if unusable else "hung", why
            case session_events.Ready():
                kind = "usable"
            case session_events.KeptOnPhone(part=part, why=why):
                kind, facts["why"], facts["storage"] = "kept", why, part.storage
            case session_events.MessageLost(why=why):
                kind, facts["why"] = "message_lost", why
            case session_events.HiLink(why=why):
                kind, facts["why"] = "hilink", why
            case session_events.Identified():
                kind = "answers"
        with contextlib.suppress(Unavailable):
            await note_modem(self._env, kind, self.state.device_id, facts)

    def _note(self, line: str, shape: str) -> None:
        """Log an unknown line, error or modem once; of a line only its shape."""
        if line not in self.state.noted and len(self.state.noted) < NOTED_MAX:
            self.state.noted.add(line)
            self._log.info("modem.unknown_line", port=self._path, shape=shape)

    async def _store(self, link: Link, session: Session) -> None:
        """Store queued items in order, parts in batches; then mark the parts as durable in the session."""
        while True:
            await self._queued.wait()
            self._queued.clear()
            while self._queue:
                self._env.heartbeat(self.worker)
                if not isinstance(first := self._queue[0], session_events.StoredPart):
                    if isinstance(first, session_events.Identified):
                        await self._identify(first)
                    elif isinstance(first, session_events.Ready):
                        await note_work(self._env, self._log, self.worker)
                        if self._unusable:
                            self._unusable = ""
                            await self._journal(first)
                    else:
                        await self._journal(first)
                    del self._queue[0]
                    continue
                # Wait a moment for announced parts, so that they share a commit with the queued ones.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(GROUP_COMMIT_S):
                        while session.expects_parts and len(self._queue) < BATCH_MAX:
                            self._queued.clear()
                            await self._queued.wait()
                batch = self._next_batch()
                if not await self._ingest(batch):
                    continue
                done = {id(part) for part in batch}
                self._queue[:] = [one for one in self._queue if id(one) not in done]
                self._booked.difference_update(part.pdu for part in batch)
                link.stored([part for part in batch if part.pdu not in self._aside])
            self._env.heartbeats.rest(self.worker)

    def _next_batch(self) -> list[session_events.StoredPart]:
        """Return the next parts of the queue, all from one SIM; those that are booked already come last."""
        head: list[session_events.StoredPart] = []
        for waiting in self._queue:
            if not isinstance(waiting, session_events.StoredPart):
                break
            head.append(waiting)
        head.sort(key=lambda part: part.pdu in self._booked)
        return head[: 1 if self._singly else BATCH_MAX]

    async def _ingest(self, batch: Sequence[session_events.StoredPart]) -> bool:
        """Store a batch; after a pause return False when that is impossible now."""
        assert self._source is not None, "the session says who the phone is before it hands out parts"
        parts = [
            ReadPart(part.storage, part.index, part.tpdu_length, part.pdu)
            for part in batch
            if part.pdu not in self._aside
        ]
        try:
            await store_parts(self._env, self._log, self._source, parts)
        except Unavailable as error:
            # The parts were not stored, so they are not deleted: they stay on the phone.
            self._log.error("ingest.unavailable", why=error.why)
            self._say(state_without_store(error), error.why)
            if isinstance(error, NotJournaled):
                self._booked.update(part.pdu for part in batch)
                if self._next_batch()[0].pdu not in self._booked:
                    return False
            await asyncio.sleep(min(error.retry_after_s, STORE_RETRY_S))
            return False
        except Exception as error:  # noqa: BLE001 -- told and counted; the other parts must be stored
            return await self._store_failed(batch, error)
        self._singly = max(0, self._singly - len(batch))
        await note_work(self._env, self._log, self.worker)
        self._live_step()
        if self.state.state in NOT_STORING:
            self._say("ready")
        if self._simulated is not None:
            self._simulated.taken([part.pdu for part in batch])
        return True

    async def _store_failed(self, batch: Sequence[session_events.StoredPart], error: Exception) -> bool:
        """Find the part on which storing fails by a bug; return whether that one was set aside."""
        if len(batch) > 1:
            self._singly = len(batch)
            return False
        [part] = batch
        if part.pdu not in self._failing:
            self._failing.add(part.pdu)
            await note_failure(self._env, self._log, self.worker, error)
            await asyncio.sleep(STORE_RETRY_S)
            return False
        self._singly = max(0, self._singly - 1)
        self._aside.add(part.pdu)
        if self.state.state == "ready":
            self._say(SET_ASIDE, Text("fault.modem.set_aside"), REPORT)
        item = f"the message in slot {part.index} of {part.storage}"
        await set_aside(self._env, self._log, self.worker, item, error)
        await note_work(self._env, self._log, self.worker)
        return True

    async def _identify(self, identity: session_events.Identified) -> None:
        if self._simulated is not None:
            self._source = self._simulated.source
            self.state.device_id = self._source.device_id
            return
        phone = taken(PhoneIdentity, identity, port=self._path, slot_index=identity.slot)
        self._source = await store_identity(self._env, self._log, phone)
        self.state.device_id = self._present = self._source.device_id
        self._texting.wake()
        if self._source.device_id in self._reported_hung:
            self._reported_hung.discard(self._source.device_id)
            await self._journal(identity)


_PUT_SIM: Final = "put the SIM in and plug the modem in again"
_OTHER_MODEM: Final = (
    "use another modem, or another port of this one (momo phones status); momo doctor modem has details"
)


_Fact = (
    session_events.HiLink
    | session_events.Watermark
    | session_events.Identified
    | session_events.MessageLost
    | session_events.KeptOnPhone
    | session_events.Ready
)
_Queued = session_events.StoredPart | _Fact
_Node = tuple[int, int, int] | None


def _node(path: str) -> _Node:
    """Return the identity and permissions of the device file at a path, None if there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_rdev, found.st_ctime_ns


def _send(link: Link, session: Session, outgoing: Outgoing) -> bool:
    """Hand an SMS to a session; return False if the port has closed meanwhile."""
    handed: list[float] = []

    def step(now: float) -> None:
        session.send(outgoing)
        handed.append(now)

    link.do(step)
    return bool(handed)


def _abandon(session: Session) -> list[session_events.Event]:
    session.abandon()
    return session.events()


_NAME: Final = re.compile(r"[+^*%$#][A-Z][A-Z0-9_]{1,15}(?=:|$)", re.ASCII)


def _shape(line: str) -> str:
    """Return the name of an unknown line, if it has the form of one; anything else may be the words of a message."""
    named = _NAME.match(line)
    return named[0] if named else f"{len(line)} characters"
