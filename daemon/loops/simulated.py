"""The phones of `--simulated-phone`: one for each network of the sandbox, played by this program on ptys of its own.

The daemon reads them as it reads any phone: port, AT commands, PDUs, parts, store before delete. What they bring is test
mode, and nothing about them is written down, so that a start without the flag knows nothing of them.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core import sandbox
from daemon.core.errors import Unavailable
from daemon.core.requests import Source

if TYPE_CHECKING:
    from daemon.modem.emulated_pty import PhonePort

CONCLUDED_S: Final = 20.0
"""Until an SMS that was sent to the phone is taken in; it takes milliseconds, unless the disk is full."""
COMMAND_S: Final = 0.005
"""How long a command takes a quick modem."""
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
"""IMEIs that begin with 00 are of no maker (GSMA TS.06)."""


class SimulatedPhone:
    """One of them."""

    def __init__(self, provider: str, link: Path) -> None:
        """Prepare it; `link` is where its port will be."""
        self.provider = provider
        self.path = str(link)
        self.source = Source(sandbox.sim_key(provider), sandbox.device_id(provider), 0, test=True)
        self._link = link
        self._port: PhonePort | None = None
        self._waiting: dict[str, asyncio.Event] = {}
        """PDUs that were sent to it and are not stored yet."""

    def plug(self) -> None:
        """Plug it in.

        Raises:
            OSError: There is no pty, or the link cannot be made.
        """
        # Not needed by a daemon without the flag.
        from daemon.modem.emulated import Identity, Phone  # noqa: PLC0415 -- loaded only when it is needed
        from daemon.modem.emulated_pty import PhonePort  # noqa: PLC0415 -- loaded only when it is needed

        self._link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            self._link.unlink()  # of a predecessor that was killed
        identity = Identity(manufacturer="momo", model="simulated", **_IDENTITIES[self.provider])
        self._port = PhonePort(Phone(identity), link=self._link, latency_s=COMMAND_S).start()

    def unplug(self) -> None:
        """Pull it out, for good."""
        if self._port is not None:
            self._port.stop()

    def taken(self, pdus: Sequence[str]) -> None:
        """Learn that these were read and are durable."""
        for pdu in pdus:
            if (event := self._waiting.pop(pdu.upper(), None)) is not None:
                event.set()

    async def deliver(self, pdus: Sequence[str]) -> None:
        """Let the network deliver an SMS to it, and wait until all its parts are taken in.

        Raises:
            Unavailable: They were not in time; the phone keeps them, and they are taken in later.
        """
        assert self._port is not None, "plugged in before anybody can ask"
        events = [self._waiting.setdefault(pdu.upper(), asyncio.Event()) for pdu in pdus]
        await asyncio.to_thread(self._port.deliver, list(pdus))
        try:
            async with asyncio.timeout(CONCLUDED_S):
                for event in events:
                    await event.wait()
        except TimeoutError:
            raise Unavailable("the simulated phone has not handed over its SMS yet") from None


class SimulatedPhones:
    """All of them."""

    def __init__(self, folder: Path) -> None:
        """Prepare one for each network of the sandbox; their ports will be in this folder."""
        self.by_provider = {
            provider: SimulatedPhone(
                provider, folder / f"simulated-{provider.removeprefix('momo_')}"
            )
            for provider in sandbox.PROVIDERS
        }

    @property
    def by_path(self) -> dict[str, SimulatedPhone]:
        """Return them by the paths of their ports."""
        return {phone.path: phone for phone in self.by_provider.values()}

    def plug(self) -> None:
        """Plug all in.

        Raises:
            OSError: One could not be.
        """
        for phone in self.by_provider.values():
            phone.plug()

    def unplug(self) -> None:
        """Pull all out."""
        for phone in self.by_provider.values():
            phone.unplug()

    async def deliver(self, provider: str, pdus: Sequence[str]) -> Source:
        """Let a network deliver an SMS to its phone, wait until it is taken in, and return where it came from.

        Raises:
            Unavailable: It was not in time.
        """
        phone = self.by_provider[provider]
        await phone.deliver(pdus)
        return phone.source
