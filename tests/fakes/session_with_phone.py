"""A modem session connected to the emulated phone, byte by byte, with a stand-in for the daemon that handles the
events.
"""

from collections.abc import Callable, Iterable

from daemon.modem.session.events import Event, PartsRead, SessionSettings, StoredPart
from daemon.modem.session.session import Session, State
from tests.phones.phone import Phone

TURNS_MAX = 20_000


def pdu(number: int) -> str:
    """Return a unique PDU; its content does not matter."""
    tail = f"{number:04X}" * 20
    return f"0791332304000090040B913332445566F7000062101010101000{len(tail) // 2:02X}{tail}"


def part(number: int, index: int, storage: str = "SM", status: int = 0) -> StoredPart:
    text = pdu(number)
    return StoredPart(storage, index, status, len(text) // 2 - 8, text)


class Shop:
    """A phone, a session and a stand-in for the daemon, on their own clock."""

    def __init__(
        self,
        phone: Phone | None = None,
        *,
        store: bool = True,
        cut: Callable[[bytes], Iterable[bytes]] = lambda data: (data,),
        **settings: float,
    ) -> None:
        self.phone = phone or Phone()
        self.now = 1000.0
        self.cut = cut
        self.store = store
        self.happened: list[Event] = []
        self.session = Session(SessionSettings(**settings), self.now)  # type: ignore[arg-type]  # by name
        self.talk()

    def talk(self) -> None:
        """Exchange bytes until neither end sends anything."""
        for _ in range(TURNS_MAX):
            out = self.session.data_to_send()
            self.phone.receive_data(out)
            data = b"".join(iter(self.phone.data_to_send, b""))
            for piece in self.cut(data):
                self.session.receive_data(piece, self.now)
            if not (self.take() or out or data):
                return
        raise AssertionError("the exchange never ends")

    def take(self) -> bool:
        events = self.session.events()
        self.happened += events
        for event in events:
            if isinstance(event, PartsRead) and self.store:
                self.session.stored(event.parts)
                self.session.tick(self.now)
        return bool(events)

    def wait(self, seconds: float) -> None:
        """Advance the clock, with a tick at each deadline of the session."""
        end = self.now + seconds
        for _ in range(TURNS_MAX):
            self.talk()
            due = self.session.next_deadline()
            if due is None or due > end:
                self.now = end
                self.session.tick(end)
                self.talk()
                return
            self.now = max(self.now, due)
            self.session.tick(self.now)
        raise AssertionError("time does not pass")

    def say(self, data: bytes) -> None:
        """Put bytes on the line that the emulated phone never sends."""
        self.session.receive_data(data, self.now)
        self.talk()

    def of(self, *kinds: type) -> list[Event]:
        return [event for event in self.happened if isinstance(event, kinds)]

    def state(self) -> State:
        return self.session.state

    @property
    def read(self) -> list[StoredPart]:
        return [part for e in self.happened if isinstance(e, PartsRead) for part in e.parts]

    def commands_since(self, count: int) -> list[str]:
        new = self.phone.command_count - count
        return [*self.phone.commands][-new:] if new else []


def ready(phone: Phone | None = None, **options: object) -> Shop:
    shop = Shop(phone, **options)  # type: ignore[arg-type]  # by name
    shop.wait(1.0)
    assert shop.state() is State.READY
    return shop
