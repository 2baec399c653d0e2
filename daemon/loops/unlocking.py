"""Opens the locked SIM of one port's phone with the PIN that is stored for it, once; else says what to type."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.requests import PhoneIdentity
from daemon.env import Env
from daemon.flows import unlock_sim
from daemon.flows.unlock_sim import LockedSim
from daemon.log import Log
from daemon.modem.session_pin import PIN_TRIES_MIN, SIM_PIN
from daemon.modem.session_values import PinNeeded
from daemon.secrets import SecretsLocked

LOOK_S: Final = 2.0
"""How soon a PIN is used that a person stores while its SIM is locked."""

Say = Callable[[str, str, str], None]
"""Takes a state, why it is so, and what to do."""
Offer = Callable[[str, str], None]
"""Takes the owner of a PIN and the PIN."""


class Unlocking:
    """What one port knows of its locked SIM. The session asks; this answers, at its own pace."""

    def __init__(self, env: Env, port: str, log: Log, say: Say) -> None:
        self._env = env
        self._port = port
        self._log = log
        self._say = say
        self.device_id: str | None = None
        """The phone, once it is known by its locked SIM."""
        self._wanted: PinNeeded | None = None
        self._sim: LockedSim | None = None
        self._tried = ""
        """Whose PIN was handed over and has neither opened the SIM nor been refused."""
        self._refused = self._opened = False
        self._news = asyncio.Event()

    def needed(self, event: PinNeeded) -> None:
        """Learn that the SIM is locked."""
        self._wanted, self._sim = event, None
        self._news.set()

    def refused(self) -> None:
        """Learn that the PIN was wrong; the session says next how many tries are left."""
        self._wanted = self._sim = None
        self._refused = True
        self._news.set()

    def opened(self, iccid: str | None, imei: str | None) -> None:
        """Learn that this SIM in this phone is open, by whatever hand."""
        self._wanted = self._sim = None
        self._opened = self._tried in {iccid, imei}
        self._news.set()

    async def run(self, offer: Offer) -> None:
        """Serve one opening of the port; ends only by cancellation."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self._wanted is None else LOOK_S):
                    await self._news.wait()
            self._news.clear()
            try:
                await self._record()
                if self._wanted is not None:
                    await self._serve(self._wanted, offer)
            except Unavailable as error:
                # Not written down, so not tried: the next look does both.
                self._log.error("sim.unavailable", port=self._port, why=error.why)
                await asyncio.sleep(LOOK_S)
                self._news.set()

    async def _record(self) -> None:
        """Write down how a try ended, before anything else is done."""
        if self._tried and self._refused and self.device_id is not None:
            await unlock_sim.refused(self._env, self.device_id, self._tried)
            self._log.warning("sim.pin_wrong", port=self._port)
            self._tried = ""
        elif self._tried and self._opened:
            await unlock_sim.opened(self._env, self._tried)
            self._log.info("sim.opened", port=self._port)
            self._tried = ""
        self._refused = self._opened = False

    async def _serve(self, wanted: PinNeeded, offer: Offer) -> None:
        sim = self._sim
        if sim is None:
            phone = PhoneIdentity(
                port=self._port,
                imei=wanted.imei,
                iccid=wanted.iccid,
                imsi=None,
                manufacturer=wanted.manufacturer,
                model=wanted.model,
            )
            sim = await unlock_sim.note_locked(self._env, phone, wanted.state)
            if self._wanted is not wanted:
                return  # it was opened, or changed, meanwhile
            self._sim, self.device_id = sim, sim.device_id
        if wanted.state != SIM_PIN:
            self._say("puk_needed", f"the SIM is blocked and asks for its {_word(wanted)}", _PUK)
        elif sim.owner is None:
            self._say("pin_needed", "the SIM asks for its PIN", _IN_A_PHONE)
        elif wanted.tries is not None and wanted.tries < PIN_TRIES_MIN:
            left = f"the SIM asks for its PIN and takes only {wanted.tries} wrong one more"
            self._say("pin_needed", left, _IN_A_PHONE)
        else:
            await self._try(sim.owner, sim.name, wanted, offer)

    async def _try(self, owner: str, name: str, wanted: PinNeeded, offer: Offer) -> None:
        try:
            pin = await unlock_sim.take_pin(self._env, owner)
        except SecretsLocked as error:
            if self._wanted is wanted:
                self._say("pin_needed", f"the SIM's PIN cannot be unsealed: {error}", "momo status")
            return
        if pin is not None:
            self._tried = owner
            offer(owner, pin)
            return
        known = await unlock_sim.state_of(self._env, owner)
        if self._wanted is not wanted:
            return
        command = f"momo sims pin {name}"
        if known is None:
            self._say("pin_needed", "the SIM asks for its PIN", command)
        elif known.outcome == "wrong":
            tries = "" if wanted.tries is None else f" ({wanted.tries} tries are left)"
            self._say("pin_wrong", f"the PIN that is stored for this SIM is wrong{tries}", command)
        elif not self._tried:
            unheard = "the SIM's PIN was tried, and the phone never said whether it is right"
            self._say("pin_needed", unheard, command)


_PUK: Final = (
    "put the SIM into a phone and type the PUK that came with it, or ask the network for it"
)
_IN_A_PHONE: Final = "put the SIM into a phone, type its PIN there, and switch the PIN off"


def _word(wanted: PinNeeded) -> str:
    return wanted.state.removeprefix("SIM ")
