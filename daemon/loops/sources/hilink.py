"""A HiLink stick as a source: list its messages, store them, and delete each by its index only after the commit.

A cycle lists the messages, stores those that are not known to be durable, lists again, and deletes those that the second
list still shows as they were stored: an index that has another message now is left alone. After a restart everything on
the stick is handed over again, which does not change the stored messages.
"""

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from daemon.core.errors import Unavailable
from daemon.core.inputs import PhoneIdentity, Source
from daemon.core.lines.modem_health import SET_ASIDE, ModemHealth
from daemon.core.lines.ussd import UssdPort
from daemon.core.text import Text
from daemon.core.upkeep.faults import REPORT
from daemon.env import Env
from daemon.flows.lines.modems import note_modem
from daemon.flows.lines.sources import source_password
from daemon.loops.keep_running import note_work
from daemon.loops.sources.handover import Handover, PolledSource
from daemon.modem.hilink import HiLinkError, Stick, StickFault, StickHealth, StickIdentity, StickMessage
from daemon.runtime.config import SourceSettings
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked
from daemon.steps.store_parts import text_parts
from daemon.store import shop
from parsers.times import to_us

BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Pauses after failures in a row."""
LOGIN_PAUSE_S: Final = 300.0
"""After a refused login: a stick locks its page after a few wrong passwords."""
LOOK_S: Final = 60.0
"""Between two looks at the SIM and the network."""
LOOKS_UNLISTED: Final = 2
DATE_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
INSTALL: Final = 'pip install "momo-shop[hilink]", then restart the daemon'
_STATES: Final = {
    StickFault.AWAY: ("unreachable", "plug the stick in, and see that its address opens in a browser on this computer"),
    StickFault.HUNG: ("hung", "pull the stick out, wait 5 seconds and plug it in again"),
    StickFault.SESSION: ("recovering", "wait a minute"),
    StickFault.REFUSED: ("recovering", "pull the stick out, wait 5 seconds and plug it in again"),
    StickFault.NOT_INSTALLED: ("unusable", INSTALL),
}


class HiLinkSource(PolledSource):
    """One configured stick."""

    def __init__(self, env: Env, log: Log, settings: SourceSettings) -> None:
        super().__init__(env, log, settings)
        self._handover = Handover(env, log, settings, settings.url)
        self._stick = Stick(
            settings.url, user=settings.user, timeout_s=settings.timeout_s, monotonic=env.clock.monotonic
        )
        self._zone: ZoneInfo | None = None
        self._source: Source | None = None
        self._identity: StickIdentity | None = None
        self._durable = set[StickMessage]()
        self._counted: int | None = None
        """Messages in the stick's inbox as it counts them, until they are compared with its list."""
        self._unlisted = 0
        """Looks in a row at which it counted more than it listed."""
        self._aside = set[StickMessage]()
        """Messages on which storing fails by a bug; they stay on the stick."""
        self._kept = set[StickMessage]()
        """Messages that the stick refuses to delete."""
        self._progress = False
        """A message was stored or deleted since the last failure, so that the stick is not the one that fails."""
        self._looked_at = 0.0

    def conditions(self) -> list[ModemHealth]:
        """Return the state of the stick."""
        return [self._handover.condition]

    async def inspect(self, device_id: str) -> bool:
        """Look at the stick now; False if it is another one's id, or does not answer in time."""
        if device_id != self._handover.state.device_id:
            return False
        self._looked_at = float("-inf")
        return await self._look_now()

    def ussd(self, device_id: str) -> UssdPort | None:
        """Return the stick; None if this is another one's id."""
        return self._stick if device_id == self._handover.state.device_id else None

    async def run(self) -> None:
        """Read the stick until cancelled; after a failure with back-off and a new session."""
        failures = 0
        try:
            while True:
                try:
                    await self._cycle()
                    await note_work(self._env, self._log, self.worker)
                    failures, self._progress = 0, False
                    await self._pause(self._settings.poll_s)
                except HiLinkError as error:
                    failures = 1 if self._progress else failures + 1
                    self._progress = False
                    await note_work(self._env, self._log, self.worker)
                    await self._failed(error, failures)
        except Exception:
            self._source = None
            self._handover.say("recovering", "an error in momo stopped its reader, which starts again")
            raise
        finally:
            self._env.heartbeats.rest(self.worker)
            await self._handover.gone()

    async def _cycle(self) -> None:
        """Store and delete the messages on the stick."""
        self._beat()
        if self._source is None:
            await self._identify(*await self._stick.connect(await self._password()))
        elif self._env.clock.monotonic() - self._looked_at >= LOOK_S:
            await self._identify(*await self._stick.look())
        self._beat()
        assert self._source is not None, "it was identified"
        listed = await self._stick.messages()
        counted, self._counted = self._counted, None
        if counted is not None:
            lacking = counted - sum(one.box == "local" for one in listed)
            self._unlisted = self._unlisted + 1 if lacking > 0 else 0
            if self._unlisted == LOOKS_UNLISTED:
                why = f"it counts {lacking} messages that it does not list"
                facts: dict[str, str | int | None] = {"port": self._settings.url, "why": why}
                with contextlib.suppress(Unavailable):  # the log has it
                    await note_modem(self._env, "kept", self._handover.state.device_id, facts)
                self._log.warning("source.unlisted", source=self._settings.name, why=why)
        known = self._durable | self._aside
        new = [one for one in listed if one not in known]
        store = partial(self._store_batch, self._source)
        await self._handover.store_all(new, store, self._aside, lambda one: f"message {one.index} on the stick")
        self._durable.intersection_update(listed)
        self._aside.intersection_update(listed)
        if self._env.config.modems.delete and self._durable:
            # A message stored just now is compared with the stick once more before it is deleted.
            await self._delete(await self._stick.messages() if new else listed)

    async def _store_batch(self, source: Source, batch: Sequence[StickMessage]) -> None:
        parts = [
            part
            for one in batch
            for part in text_parts(one.sender, one.text, self._sent_at(one.date), storage=one.box, slot=one.index or 0)
        ]
        while not await self._handover.store(source, parts):
            self._beat()
            if self._handover.state.state == "not_deleting":
                return  # the payments are booked; the next cycle writes the message journal
        self._durable.update(batch)
        self._progress = True
        self._beat()

    async def _delete(self, listed: list[StickMessage]) -> None:
        for one in listed:
            if one not in self._durable or one.index is None:
                continue
            self._beat()
            try:
                await self._stick.delete(one.index)
            except HiLinkError as error:
                if error.fault is not StickFault.REFUSED:
                    raise
                if one not in self._kept:
                    self._kept.add(one)
                    self._log.warning("source.kept", source=self._settings.name, why=str(error))
            else:
                self._durable.discard(one)
                self._progress = True
        self._kept.intersection_update(self._durable)

    def _beat(self) -> None:
        """Send a heartbeat before the next call, which may take its time limit."""
        self._env.heartbeat(self.worker, self._stick.limit_s)

    def _sent_at(self, date: str) -> int | None:
        """Return a time of the stick, which has no zone, in microseconds; None if it is none.

        It depends on the settings only, so the same message always gives the same parts.
        """
        assert self._zone is not None, "the zone is read with the identity"
        try:
            local = datetime.strptime(date, DATE_FORMAT).replace(tzinfo=self._zone)
            return to_us(local.astimezone(UTC))
        except (ValueError, OverflowError):
            return None

    async def _identify(self, identity: StickIdentity, health: StickHealth) -> None:
        """Record the stick's identity, if that is new, and its health."""
        clock = self._env.clock
        self._looked_at = clock.monotonic()
        if self._zone is None:
            owner = await self._env.store.read(shop.get)
            name = self._settings.timezone or ("UTC" if owner is None else owner.timezone)
            self._zone = ZoneInfo(name)
        if self._source is None or identity != self._identity:
            self._source = await self._handover.identify(
                PhoneIdentity(
                    self._settings.url, identity.imei, identity.iccid, identity.imsi, "huawei", identity.model
                )
            )
            self._identity = identity
        registration = "none" if not health.in_service else "roaming" if health.roaming else "home"
        local = next((one for one in health.used if one[0] == "local"), None)
        self._counted = None if local is None else local[1]
        self._handover.state.health = ModemHealth(
            self._settings.url, "ready", health_at=clock.now_us(),
            signal=(None if health.signal_dbm is None else max(0, min(31, (health.signal_dbm + 113) // 2))),
            registration=None if health.in_service is None else registration, receives=health.in_service is not False,
            network=health.network, used=None if local is None else local[1],
            total=None if local is None else local[2], storages=tuple(sorted(health.used)),
        )  # fmt: skip
        if health.sim == "ready" and self._aside:
            self._handover.say(SET_ASIDE, Text("fault.modem.set_aside"), REPORT)
        elif health.sim == "ready":
            self._handover.say("ready")
        else:
            self._handover.say(health.sim, *_SIM_FAULTS[health.sim])
        self._looked()

    async def _failed(self, error: HiLinkError, failures: int) -> None:
        """Drop the session, report the fault, and wait."""
        before = self._handover.state.state
        self._source = None
        # One lost session is not worth a message.
        if error.fault is StickFault.SESSION and failures == 1:
            return
        if error.fault is StickFault.LOGIN:
            name = self._settings.name
            self._handover.say("login_needed", str(error), f"momo phones password {name}")
        else:
            state, fix = _STATES[error.fault]
            self._handover.say(state, str(error), fix)
        if self._handover.state.state != before:
            self._log.warning("source.failed", source=self._settings.name, why=str(error))
        if self._handover.state.device_id is not None and error.fault in {StickFault.AWAY, StickFault.HUNG}:
            await self._handover.gone()
        pause = BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1]
        await self._pause(LOGIN_PAUSE_S if error.fault is StickFault.LOGIN else pause)

    async def _password(self) -> str | None:
        try:
            return await source_password(self._env, self._settings.name)
        except (SecretsLocked, Unavailable) as error:
            raise HiLinkError(StickFault.LOGIN, f"its password cannot be read: {error}") from error


_SIM_FAULTS: Final = {
    "no_sim": ("the stick finds no SIM", "put the SIM in and plug the stick in again"),
    "pin_needed": ("the SIM wants its PIN", "enter it on the stick's page, and switch the question off there"),
    "puk_needed": ("the SIM wants its PUK", "enter it on the stick's page"),
}
