"""Unlocks the SIM of one phone with its stored PIN, once; otherwise shows the next step to the operator."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.inputs import PhoneIdentity
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.flows.lines.modems import LockedSim
from daemon.modem.session.events import PinNeeded
from daemon.modem.session.sim import PIN_TRIES_MIN, SIM_PIN
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked

RECHECK_S: Final = 2.0
"""Delay after which a PIN stored while the SIM is locked is used."""

ShowState = Callable[[str, str, str], None]
"""Called with the state, its reason, and the next step."""
OfferPin = Callable[[str, str], None]
"""Called with the ICCID or IMEI that a PIN is for, and the PIN."""


class SimUnlocker:
    """State of the locked SIM at one port. Answers the session's requests asynchronously."""

    def __init__(self, env: Env, port: str, log: Log, say: ShowState) -> None:
        self._env = env
        self._port = port
        self._log = log
        self._say = say
        self.device_id: str | None = None
        """The phone, once it is identified."""
        self._wanted: PinNeeded | None = None
        self._sim: LockedSim | None = None
        self._tried = ""
        """ICCID or IMEI of the PIN that was offered and has neither unlocked the SIM nor been refused."""
        self._refused = self._opened = False
        self._news = asyncio.Event()

    def needed(self, event: PinNeeded) -> None:
        """Handle that the SIM is locked."""
        self._wanted, self._sim = event, None
        self._news.set()

    def refused(self) -> None:
        """Handle that the PIN was wrong; the session reports the tries left next."""
        self._wanted = self._sim = None
        self._refused = True
        self._news.set()

    def opened(self, iccid: str | None, imei: str | None) -> None:
        """Handle that this SIM in this phone is unlocked, by us or otherwise."""
        self._wanted = self._sim = None
        self._opened = self._tried in {iccid, imei}
        self._news.set()

    async def run(self, offer: OfferPin) -> None:
        """Serve the port while it is open; ends only by cancellation."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self._wanted is None else RECHECK_S):
                    await self._news.wait()
            self._news.clear()
            try:
                # Record the result of a try before any other step.
                if self._tried and self._refused and self.device_id is not None:
                    await modems.record_pin_refused(self._env, self.device_id, self._tried)
                    self._log.warning("sim.pin_wrong", port=self._port)
                    self._tried = ""
                elif self._tried and self._opened:
                    await modems.record_unlocked(self._env, self._tried)
                    self._log.info("sim.opened", port=self._port)
                    self._tried = ""
                self._refused = self._opened = False
                if self._wanted is not None:
                    await self._serve(self._wanted, offer)
            except Unavailable as error:
                # Not recorded, so not tried: the next pass does both.
                self._log.error("sim.unavailable", port=self._port, why=error.why)
                await asyncio.sleep(RECHECK_S)
                self._news.set()

    async def _serve(self, wanted: PinNeeded, offer: OfferPin) -> None:
        sim = self._sim
        if sim is None:
            phone = PhoneIdentity(
                port=self._port, imei=wanted.imei, iccid=wanted.iccid, imsi=None, manufacturer=wanted.manufacturer,
                model=wanted.model,
            )  # fmt: skip
            sim = await modems.record_locked(self._env, phone, wanted.state)
            if self._wanted is not wanted:
                return  # the SIM was unlocked or changed meanwhile
            self._sim, self.device_id = sim, sim.device_id
        if wanted.state != SIM_PIN:
            puk = wanted.state.removeprefix("SIM ")
            self._say("puk_needed", f"the SIM is blocked and asks for its {puk}", _PUK)
        elif sim.owner is None:
            self._say("pin_needed", "the SIM asks for its PIN", _IN_A_PHONE)
        elif wanted.tries is not None and wanted.tries < PIN_TRIES_MIN:
            left = f"the SIM asks for its PIN and accepts only {wanted.tries} more try"
            self._say("pin_needed", left, _IN_A_PHONE)
        else:
            await self._try(sim.owner, sim.name, wanted, offer)

    async def _try(self, owner: str, name: str, wanted: PinNeeded, offer: OfferPin) -> None:
        try:
            pin = await modems.take_pin(self._env, owner)
        except SecretsLocked as error:
            if self._wanted is wanted:
                self._say("pin_needed", f"the SIM's PIN cannot be decrypted: {error}", "momo status")
            return
        if pin is not None:
            self._tried = owner
            offer(owner, pin)
            return
        known = await modems.pin_state(self._env, owner)
        if self._wanted is not wanted:
            return
        command = f"momo lines pin {name}"
        if known is None:
            self._say("pin_needed", "the SIM asks for its PIN", command)
        elif known.outcome == "wrong":
            tries = "" if wanted.tries is None else f" ({wanted.tries} tries are left)"
            self._say("pin_wrong", f"the PIN that is stored for this SIM is wrong{tries}", command)
        elif not self._tried:
            unconfirmed = "the SIM's PIN was tried, but the phone did not report whether it is right"
            self._say("pin_needed", unconfirmed, command)


_PUK: Final = "put the SIM into a phone and type the PUK that came with it, or ask the network for it"
_IN_A_PHONE: Final = "put the SIM into a phone, type its PIN there, and switch the PIN off"
