"""Simulated phones of `--simulated-phone`: one for each network of the sandbox, emulated in this process on ptys.

The daemon reads them like any phone: port, AT commands, PDUs, parts, store before delete. Their messages are in test
mode, and the phones are not recorded, so that a start without the flag shows no trace of them.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.errors import Unavailable
from daemon.core.inputs import Source
from daemon.core.messages import sandbox

if TYPE_CHECKING:
    from daemon.emulator.port import PhonePort

STORED_S_MAX: Final = 20.0
"""Time limit until an SMS sent to the phone is stored; it takes milliseconds, unless the disk is full."""
_IDENTITIES: Final[Mapping[str, Mapping[str, str]]] = {
    "momo_mtn": {
        "imei": "004999010640000",
        "iccid": "8923301999999999911",
        "imsi": "620019999999991",
        "operator": "MTN (simulated)",
    },
    "momo_telecel": {
        "imei": "004999010640018",
        "iccid": "8923302999999999929",
        "imsi": "620029999999992",
        "operator": "Telecel (simulated)",
    },
}
"""IMEIs that begin with 00 are assigned to no manufacturer (GSMA TS.06)."""


class SimulatedPhone:
    """One simulated phone."""

    def __init__(self, provider: str, link: Path) -> None:
        self.provider = provider
        self.path = str(link)
        self.source = Source(sandbox.sim_key(provider), sandbox.device_id(provider), 0, test=True)
        self._link = link
        self._port: PhonePort | None = None
        self._waiting: dict[str, asyncio.Event] = {}
        """PDUs that were sent to the phone and are not stored yet."""

    def plug(self) -> None:
        """Plug the phone in.

        Raises:
            OSError: There is no pty, or the link cannot be made.
        """
        # A daemon without the flag does not need these modules.
        from daemon.emulator.phone import Identity, Phone  # noqa: PLC0415 -- loaded only when it is needed
        from daemon.emulator.port import PhonePort  # noqa: PLC0415 -- loaded only when it is needed

        self._link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            self._link.unlink()  # left behind by a killed predecessor
        identity = Identity(manufacturer="momo", model="simulated", **_IDENTITIES[self.provider])
        self._port = PhonePort(Phone(identity), self._link)

    def unplug(self) -> None:
        """Unplug the phone for good."""
        if self._port is not None:
            self._port.unplug()

    def taken(self, pdus: Sequence[str]) -> None:
        """Wake up the senders of these PDUs, which are durable now."""
        for pdu in pdus:
            if (event := self._waiting.pop(pdu.upper(), None)) is not None:
                event.set()

    async def deliver(self, pdus: Sequence[str]) -> None:
        """Deliver an SMS to the phone, and wait until all its parts are stored.

        Raises:
            Unavailable: They were not stored in time; the phone keeps them, and they are stored later.
        """
        assert self._port is not None, "plugged in before anybody can ask"
        events = [self._waiting.setdefault(pdu.upper(), asyncio.Event()) for pdu in pdus]
        await asyncio.to_thread(self._port.deliver, list(pdus))
        try:
            async with asyncio.timeout(STORED_S_MAX):
                for event in events:
                    await event.wait()
        except TimeoutError:
            raise Unavailable("the simulated phone has not handed over its SMS yet") from None


class SimulatedPhones:
    """All simulated phones."""

    def __init__(self, folder: Path) -> None:
        """Prepare one phone for each network of the sandbox, with ports in this folder."""
        self.by_provider = {
            provider: SimulatedPhone(
                provider, folder / f"simulated-{provider.removeprefix('momo_')}"
            )
            for provider in sandbox.PROVIDERS
        }

    @property
    def by_path(self) -> dict[str, SimulatedPhone]:
        """Return the phones by the paths of their ports."""
        return {phone.path: phone for phone in self.by_provider.values()}

    def plug(self) -> None:
        """Plug in all phones.

        Raises:
            OSError: A pty or link could not be made.
        """
        for phone in self.by_provider.values():
            phone.plug()

    def unplug(self) -> None:
        """Unplug all phones."""
        for phone in self.by_provider.values():
            phone.unplug()

    async def deliver(self, provider: str, pdus: Sequence[str]) -> Source:
        """Deliver an SMS to a network's phone, wait until it is stored, and return its source.

        Raises:
            Unavailable: It was not stored in time.
        """
        phone = self.by_provider[provider]
        await phone.deliver(pdus)
        return phone.source
