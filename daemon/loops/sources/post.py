"""An Android phone as a source: an app on it posts each SMS (`daemon/core/messages/post.py`), some also a ping every few minutes.

A post is answered 2xx only after its messages are durable; apps repeat every other one. After a gap in which nothing was
heard, or something was not stored, the app is asked to post the SMS of the gap again, if its address and password are
known. Repeated messages change nothing: the same message always gives the same parts.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.access.callers import Rates
from daemon.core.errors import Unavailable
from daemon.core.inputs import PhoneIdentity, ReadPart, Source
from daemon.core.json_values import timestamp
from daemon.core.limits import DAY_US, MINUTE_US, SECOND_US
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.messages.post import (
    WHY,
    AppMessage,
    AppPost,
    Arrived,
    PostFault,
    PostKind,
    PostVerdict,
    fault_of,
    read_post,
)
from daemon.env import Env
from daemon.flows.lines.sources import Sealed, note, sealed_key, source_password, unsealed
from daemon.loops.keep_running import note_failure, note_work, set_aside
from daemon.loops.sources.handover import NOT_STORING, Handover
from daemon.runtime.config import NO_SIM, SourceSettings
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked
from daemon.steps.store_parts import text_parts
from daemon.store import shop
from daemon.store.lines import sources
from daemon.wire import TrustLevel

LOOK_S: Final = 10.0
LOOK_S_MAX: Final = 120.0
"""A look may wait for the phone, which has a time limit of 30 s for each day of a gap."""
PINGS_MISSED: Final = 3
"""Pings that may be missing before the app counts as silent; Android delays them."""
BATCH_MAX: Final = 64
"""Messages stored in one commit: a payment of another phone waits for it."""
POSTS_PER_MIN: Final = 1200
POSTS_AT_ONCE: Final = 1200
"""After a gap the app posts everything at once; this is ten times the traffic of the busiest shop in an hour."""
MARGIN_US: Final = 10 * MINUTE_US
"""Before a gap: an SMS that came just before the last ping may not have been posted."""
GAP_US_MAX: Final = 31 * DAY_US
RETRY_US: Final = MINUTE_US
SETUP: Final = "momo phones sources; docs/shop/sources.md shows what to set in the app"
REFUSED_US: Final = DAY_US
"""How long refused posts are a warning."""


class _Refused(Struct):
    count: int = 0
    at_us: int | None = None


class PostSource:
    """One configured phone; each of its SIMs is a line of its own."""

    def __init__(self, env: Env, log: Log, settings: SourceSettings) -> None:
        self._env = env
        self._log = log
        self._settings = settings
        self._app = settings.app
        self.worker = f"source {settings.name}"
        self._slots = {
            slot: Handover(env, log, settings, self._port(slot))
            for slot, network in enumerate(settings.networks)
            if network != NO_SIM
        }
        self._sources = dict[int, Source]()
        self._key: tuple[Sealed, bytes] | None = None
        self._rates = Rates(POSTS_PER_MIN, POSTS_AT_ONCE)
        self._heard_us: int | None = None
        self._stored_us: int | None = None
        self._gap_us: int | None = None
        self._again_us = 0
        self._new = _Refused()
        self._last_refused_us: int | None = None
        self._unreadable_us: int | None = None
        self._away = False
        """The app's server said that it does not hear the phone."""
        self._why = ""
        """Why the last refused post was refused."""
        self._lacked = ""
        """What a post of the last 24 hours lacked."""
        self.last: dict[str, str] | None = None
        self._news: list[tuple[str, dict[str, Any]]] = []
        """What is to be noticed, until it is stored."""
        self._locked = ""
        """Why the signing key cannot be opened."""
        self._looking = asyncio.Lock()
        self._others = set[int]()
        """The slots that are not in the settings and have sent something."""
        self._failing = set[AppMessage]()
        self._trouble = ""
        self._wake = asyncio.Event()
        """Set when the app posts for the first time: a gap can only be computed from a stored time."""
        self._zone: tzinfo = ZoneInfo("UTC")

    @property
    def name(self) -> str:
        """The name in the settings, which the app posts to."""
        return self._settings.name

    def _port(self, slot: int) -> str:
        # A phone without an IMEI is known by its port: each SIM is shown as a phone with one SIM.
        return f"android:{self._settings.name}" + (f"/{slot + 1}" if slot else "")

    def conditions(self) -> list[ModemHealth]:
        """Return the state of each SIM."""
        return [each.condition for each in self._slots.values()]

    async def inspect(self, device_id: str) -> bool:
        """Return whether the app was heard lately; it cannot be asked."""
        if device_id not in {each.state.device_id for each in self._slots.values()}:
            return False
        self._show()
        return not self._is_silent()

    async def run(self) -> None:
        """Watch over the phone until cancelled; its posts come through `receive`."""
        try:
            self._env.heartbeat(self.worker, LOOK_S_MAX)
            while True:
                try:
                    known = await self._env.store.read(lambda tx: sources.get(tx, self.name))
                    owner = await self._env.store.read(shop.get)
                    break
                except Unavailable as error:
                    self._log.warning("source.unavailable", source=self.name, why=error.why)
                    await asyncio.sleep(error.retry_after_s)
            zone = self._settings.timezone or (owner.timezone if owner is not None else "UTC")
            self._zone = ZoneInfo(zone)
            if known is not None:
                self._heard_us, self._last_refused_us = known.heard_at, known.refused_at
                # The daemon was off meanwhile.
                self._gap_us = known.heard_at
            for slot, handover in self._slots.items():
                self._sources[slot] = await handover.identify(
                    PhoneIdentity(
                        self._port(slot), None, None, None, "android", self.name, network=self._settings.networks[slot]
                    )
                )
            self._show()
            while True:
                self._env.heartbeat(self.worker, LOOK_S_MAX)
                await self._look()
                await note_work(self._env, self._log, self.worker)
                self._env.heartbeat(self.worker, LOOK_S)
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._wake.wait()
        finally:
            self._sources.clear()
            self._env.heartbeats.rest(self.worker)
            for each in self._slots.values():
                await each.gone()

    async def key(self) -> bytes | None:
        """Return the key of its posts; None without one.

        Raises:
            Unavailable: The key cannot be read now.
        """
        sealed = await sealed_key(self._env, self.name)
        if sealed is None:
            return None
        if self._key is None or self._key[0] != sealed:
            try:
                self._key = (sealed, await unsealed(self._env, sealed))
            except Unavailable as error:
                self._locked = error.why
                self._new.count += 1
                self._new.at_us = self._env.clock.now_us()
                self._show()
                raise
            self._locked = ""
        return self._key[1]

    def check(self, key: bytes, post: Arrived) -> PostFault | None:
        """Return why a post is refused, None if the app signed it."""
        times = self._env.times()
        now = None if times.doubt is not None else self._env.clock.now_us()
        fault = fault_of(self._app, key, post, now)
        if fault is not None:
            self.note_refused(WHY[fault])
        return fault

    def note_refused(self, why: str) -> None:
        """Count a post that is refused."""
        self._new.count += 1
        self._new.at_us = self._last_refused_us = self._env.clock.now_us()
        self._why = why
        self._tell("refused", why)

    def _tell(self, result: str, detail: str) -> None:
        self.last = {"at": timestamp(self._env.clock.now_us()), "result": result, "detail": detail}

    async def receive(self, body: bytes, *, whole: bool) -> tuple[PostVerdict, str]:
        """Take a post that the app signed, or its beginning; return when its messages are durable, or will not be."""
        now = self._env.clock.now_us()
        taken = self._rates.take(self.name, now)
        if taken is not None and not taken.allowed:
            return PostVerdict.NOT_NOW, ""  # 429 would end the repeats of some apps
        post = read_post(self._app, body, self._zone, whole=whole)
        if post.missing:
            self._lacked, self._unreadable_us = post.missing, now
        if post.unreadable:
            self._note_unreadable(post.unreadable)
        if not whole and post.kind is PostKind.MESSAGES:
            self._note_gap()  # the app is asked for its SMS one by one
        ready = post.kind is not PostKind.MESSAGES or self._sources
        verdict = await self._store(post) if ready else PostVerdict.NOT_NOW
        self._tell(verdict.value, _told(post))
        if verdict is PostVerdict.NOT_NOW:
            self._note_gap()
        else:
            if self._heard_us is not None and self._is_silent():
                self._gap_us = min(self._gap_us or now, self._heard_us)
            self._heard_us, self._away = now, post.kind is PostKind.AWAY
            if self._stored_us is None:
                self._wake.set()
            self._show()
        return verdict, post.missing

    async def _store(self, post: AppPost) -> PostVerdict:
        if post.kind is not PostKind.MESSAGES:
            return PostVerdict.IGNORED if post.kind is PostKind.OTHER else PostVerdict.HEARD
        groups: dict[tuple[int, bool], list[AppMessage]] = {}
        for message in post.messages:
            slot = self._slot_of(message)
            if slot is None:
                self._log.info("source.other_sim", source=self.name)
                self._tell_other_sim(message.slot)
            else:
                groups.setdefault((slot, not message.pdus), []).append(message)
        late = False
        for (slot, _), found in groups.items():
            for start in range(0, len(found), BATCH_MAX):
                batch = found[start : start + BATCH_MAX]
                try:
                    late |= not await self._store_in(slot, batch)
                except Exception:  # noqa: BLE001 -- each is tried alone, and told if it is the cause
                    late |= not await self._store_singly(slot, batch)
        if late:
            return PostVerdict.NOT_NOW
        return PostVerdict.STORED if groups else PostVerdict.IGNORED

    async def _store_in(self, slot: int, messages: Sequence[AppMessage]) -> bool:
        """Store messages of one SIM, all with PDUs or none, in one commit; return whether they are durable."""
        source = self._sources[slot]
        if not messages[0].pdus:  # a text is no evidence of what its PDU would say
            source = replace(source, level=TrustLevel.REPORTED)
        return await self._slots[slot].store(source, [part for one in messages for part in _parts_of(one, slot)])

    async def _store_singly(self, slot: int, messages: Sequence[AppMessage]) -> bool:
        """Store messages one by one; return whether each is durable or set aside."""
        durable = True
        for one in messages:
            try:
                durable &= await self._store_in(slot, [one])
            except Exception as error:  # noqa: BLE001 -- told and counted; the others must be stored
                durable &= await self._set_aside(one, error)
        return durable

    async def _set_aside(self, message: AppMessage, error: Exception) -> bool:
        """Note a message on which storing fails by a bug; return whether it is set aside, at the second time.

        The message journal has it then, and the next start reads it again.
        """
        if message not in self._failing:
            self._failing.add(message)
            await note_failure(self._env, self._log, self.worker, error)
            return False
        self._failing.discard(message)
        await set_aside(self._env, self._log, self.worker, "an SMS of the app", error)
        return True

    def _note_unreadable(self, count: int) -> None:
        """Count what the app signed, and of which momo does not know the form."""
        self._new.count += count
        self._new.at_us = self._env.clock.now_us()
        self._news.append(("source.unreadable", {"source": self.name, "count": count}))
        self._wake.set()

    def _tell_other_sim(self, slot: int | None) -> None:
        """Count an SMS of a SIM that the settings do not name, and tell once of the SIM; `none` in the settings is no news."""
        if slot is None or slot < len(self._settings.networks):
            return
        self._new.count += 1
        if slot not in self._others:
            self._others.add(slot)
            self._news.append(("source.other_sim", {"source": self.name, "slot": slot + 1}))
        self._wake.set()

    def _slot_of(self, message: AppMessage) -> int | None:
        """Return the slot; the first one if the app does not know it; None for a SIM that is not in the settings."""
        slot = min(self._slots) if message.slot is None else message.slot
        return slot if slot in self._sources else None

    def _note_gap(self) -> None:
        now = self._env.clock.now_us()
        self._gap_us = min(self._gap_us or now, self._heard_us or now)

    def _is_silent(self) -> bool:
        if self._heard_us is None or self._away or not self._app.pings:
            return self._heard_us is None or self._away
        return self._env.clock.now_us() - self._heard_us > round(PINGS_MISSED * self._settings.ping_s * SECOND_US)

    async def _look(self) -> None:
        """Store the news, and request missed messages."""
        self._show()
        try:
            async with self._looking:
                while self._news:
                    await note(self._env, *self._news[0])
                    del self._news[0]
                await self._write()
                if self._gap_us is not None:
                    await self._close_gap(self._gap_us)
        except Unavailable as error:
            self._log.warning("source.unavailable", source=self.name, why=error.why)

    async def _write(self) -> None:
        new, self._new = self._new, _Refused()
        heard = self._heard_us
        old = self._stored_us
        is_old = heard is not None and (old is None or heard - old >= MINUTE_US)
        if not new.count and not is_old:
            return
        try:
            # A gap that is not closed yet must be found again after a restart.
            safe = None if self._gap_us is not None and self._can_ask else heard
            await self._env.store.write(
                lambda tx: sources.record(tx, self.name, heard_at=safe, refused=new.count, refused_at=new.at_us)
            )
        except Unavailable:
            self._new.count += new.count
            self._new.at_us = self._new.at_us or new.at_us
            raise
        self._stored_us = heard
        if new.count:
            self._log.warning("source.refused", source=self.name, count=new.count)

    @property
    def _can_ask(self) -> bool:
        return bool(self._settings.phone_url)

    async def _close_gap(self, since_us: int) -> None:
        """Let the app post the messages of a gap again, day by day."""
        now = self._env.clock.now_us()
        if not self._can_ask:
            self._gap_us = None  # the app itself repeats
            return
        if now < self._again_us:
            return
        self._again_us = now + RETRY_US
        from daemon.sender.http_client import InboxError, post_again  # noqa: PLC0415 -- only if configured

        begin = max(since_us - MARGIN_US, now - GAP_US_MAX)
        try:
            password = await source_password(self._env, self.name)
            while begin < now:
                end = min(begin + DAY_US, now)
                self._env.heartbeat(self.worker, LOOK_S_MAX)
                await post_again(self._settings.phone_url, self._settings.user, password, begin, end)
                begin = end
        except (InboxError, SecretsLocked) as error:
            if self._trouble != str(error):
                self._trouble = str(error)
                self._log.warning("source.gap", source=self.name, why=self._trouble)
            return
        self._trouble = ""
        self._stored_us = None
        if self._gap_us == since_us:
            self._gap_us = None
        self._log.info("source.gap_asked", source=self.name, minutes=(now - since_us) // MINUTE_US)

    def _show(self) -> None:
        """Set the state that lists and checks show."""
        now = self._env.clock.now_us()
        state, detail, fix = "ready", "", ""
        if self._locked:
            state, detail = "app_locked", f"its posts cannot be checked: {self._locked}"
            fix = f"momo doctor keyring; without a copy of the key: momo phones rotate-key {self.name}"
        elif self._is_silent():
            state, fix = "app_silent", f"open the app and see that it runs and reaches this computer; {SETUP}"
            detail = "the app was never heard"
            if self._away:
                detail = "the app's server says that it does not hear the phone"
            elif self._heard_us is not None:
                detail = f"the app was not heard for {(now - self._heard_us) // MINUTE_US} min"
        elif self._last_refused_us is not None and now - self._last_refused_us < REFUSED_US:
            state, fix = "app_refused", f"see whether the signing key in the app is right; {SETUP}"
            detail = f"posts were refused in the last 24 hours. {self._why}".strip()
        elif self._unreadable_us is not None and now - self._unreadable_us < REFUSED_US:
            state, fix = (
                "app_refused",
                "momo messages list --state unparsed; update momo, or name its place in `members`",
            )
            detail = f"posts of the last 24 hours lacked {self._lacked}, which preset {self._settings.preset} needs"
        for each in self._slots.values():
            if each.state.state in NOT_STORING:
                continue
            each.say(state, detail, fix)
            if self._heard_us is not None:
                each.state.health = ModemHealth(each.condition.port, state, health_at=self._heard_us, receives=True)


def _parts_of(message: AppMessage, slot: int) -> list[ReadPart]:
    if message.pdus:
        return [ReadPart("app", slot, len(one) // 2 - 1 - int(one[:2], 16), one.upper()) for one in message.pdus]
    return text_parts(message.sender, message.text, message.sent_at, storage="app", slot=slot)


def _told(post: AppPost) -> str:
    """Return what a post was, to show, without the number of a person."""
    if post.missing:
        return f"{post.missing} is missing"
    if not post.messages:
        return "a sign of life" if post.kind is PostKind.PING else "nothing about an SMS"
    sender = post.messages[0].sender
    return f"an SMS of {sender}" if any(map(str.isalpha, sender)) else "an SMS"
