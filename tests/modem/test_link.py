"""A session on a real tty with the emulated phone at its other end, in a thread of its own."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon.modem.port import Link, PortGone, open_port
from daemon.modem.session.events import Event, Freed, PartsRead, Ready, SessionSettings, StoredPart
from daemon.modem.session.session import Session
from daemon.runtime.system import SystemClock
from tests.phones.phone import Phone
from tests.phones.pty import PhonePort

CLOCK = SystemClock()
PATIENCE_S = 20.0


def pdu(number: int) -> str:
    """Return a PDU that is unlike all others; its content does not matter here."""
    tail = f"{number:04X}" * 20
    return f"0791332304000090040B913332445566F7000062101010101000{len(tail) // 2:02X}{tail}"


class Daemon:
    """A daemon that stores parts in a set, shortly after each event."""

    def __init__(self, path: Path, settings: SessionSettings, kept: set[str]) -> None:
        self.kept = kept
        self.freed: list[StoredPart] = []
        self.happened: list[Event] = []
        self.news = asyncio.Event()
        session = Session(settings, CLOCK.monotonic())
        self.link = Link(open_port(str(path)), session, clock=CLOCK.monotonic, on_events=self._on_events)
        self.link.start()

    def _on_events(self, events: list[Event]) -> None:
        self.happened += events
        for event in events:
            if isinstance(event, PartsRead):
                asyncio.get_running_loop().call_soon(self._store, event.parts)
            elif isinstance(event, Freed):
                self.freed.append(event.part)
        self.news.set()

    def _store(self, parts: tuple[StoredPart, ...]) -> None:
        self.kept.update(part.pdu for part in parts)
        self.link.stored(parts)

    def of(self, kind: type) -> list[Event]:
        return [event for event in self.happened if isinstance(event, kind)]

    async def until(self, ready: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not ready():
                self.news.clear()
                await self.news.wait()

    async def freed_at_least(self, count: int) -> None:
        await self.until(lambda: len(self.freed) >= count)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[PhonePort]:
    phone = Phone(storages={"SM": 300, "ME": 100})
    with PhonePort(phone, link=tmp_path / "phone") as port:
        yield port


def on(port: PhonePort, kept: set[str] | None = None, **settings: float) -> Daemon:
    kept = set() if kept is None else kept
    return Daemon(Path(port.link), SessionSettings(**settings), kept)  # type: ignore[arg-type]  # by name


async def test_message_crosses_the_tty_and_leaves_its_slot(port: PhonePort) -> None:
    daemon = on(port)
    await daemon.until(lambda: daemon.of(Ready))
    port.deliver([pdu(1)])
    await daemon.until(lambda: daemon.freed)
    assert daemon.kept == {pdu(1)}
    assert port.call(lambda phone: phone.stored()) == {}
    daemon.link.close()


async def test_backlog_crosses_in_pieces_of_any_size(port: PhonePort) -> None:
    port.preload([pdu(n) for n in range(250)])
    port.fault(chunk=7, noise="^RSSI:14", noise_inside=True)
    daemon = on(port)
    await daemon.freed_at_least(250)
    assert daemon.kept == {pdu(n) for n in range(250)}
    assert port.call(lambda phone: phone.stored()) == {}
    assert all(gone.flag == 0 for gone in port.call(lambda phone: [*phone.deleted]))
    daemon.link.close()


async def test_phone_unplugged_at_work_loses_nothing_and_is_found_again(port: PhonePort) -> None:
    everything = {pdu(n) for n in range(250)}
    port.preload(sorted(everything))
    kept: set[str] = set()
    for _ in range(3):
        daemon = on(port, kept)
        await daemon.freed_at_least(60)
        port.unplug()
        async with asyncio.timeout(PATIENCE_S):
            assert isinstance(await daemon.link.wait_closed(), PortGone)
        assert {gone.pdu for gone in port.call(lambda phone: [*phone.deleted])} <= kept
        port.plug(renumber=True)
    daemon = on(port, kept)
    await daemon.until(lambda: daemon.of(Ready))
    await daemon.until(lambda: not port.call(lambda phone: phone.stored()))
    daemon.link.close()
    assert kept == everything
    assert port.call(lambda phone: phone.stored()) == {}
    assert len(port.call(lambda phone: [*phone.deleted])) == 250
