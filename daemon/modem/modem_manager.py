"""ModemManager over D-Bus: one connection, calls with a time limit, and what its objects say as values.

Its object paths are numbers that begin again when it restarts. So every call goes to the process that named the path, and
fails once that one has ended: otherwise a message that was never read could be deleted.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, Final, Self, TypeVar

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_method_call
from jeepney.auth import BEGIN, Authenticator
from jeepney.bus import find_system_bus
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusConnection
from msgspec import Struct

from daemon.core.lines.ussd import ANSWER_S, UssdEnd, UssdMenu
from daemon.modem.session.events import Registration
from daemon.modem.session.ussd import decode
from parsers.times import to_us

_SERVICE: Final = "org.freedesktop.ModemManager1"
MODEM: Final = f"{_SERVICE}.Modem"
MESSAGING: Final = f"{MODEM}.Messaging"
USSD: Final = f"{MODEM}.Modem3gpp.Ussd"
SIM: Final = f"{_SERVICE}.Sim"
SMS: Final = f"{_SERVICE}.Sms"
_BUS: Final = "org.freedesktop.DBus"
_SIGNALS: Final = (
    f"type='signal',sender='{_SERVICE}',interface='{MESSAGING}',member='Added'",
    f"type='signal',sender='{_SERVICE}',interface='{MODEM}',member='StateChanged'",
    f"type='signal',sender='{_SERVICE}',interface='{_BUS}.ObjectManager'",
    f"type='signal',sender='{_SERVICE}',interface='{_BUS}.Properties',arg0='{SMS}'",
    f"type='signal',sender='{_BUS}',member='NameOwnerChanged',arg0='{_SERVICE}'",
)
"""Signals that make a look worth while. What they carry is not used: the look asks again."""
SLOW_S: Final = 60.0
"""Time limit of what a modem or the network may take long for."""
_WAITS: Final = 3
"""MMModem3gppUssdSessionState: the network waits for a reply."""
_SMSC_DIGITS_MAX: Final = 20
_RECEIVED: Final = 3
"""MMSmsState of a message with all its parts."""
_OWN: Final = frozenset({2, 3})
"""MMSmsPduType of what this SIM sends, and of reports on it."""
_REGISTRATIONS: Final = {
    0: Registration.NONE, 1: Registration.HOME, 2: Registration.SEARCHING, 3: Registration.DENIED, 5: Registration.ROAMING,
    6: Registration.HOME, 7: Registration.ROAMING, 8: Registration.EMERGENCY_ONLY, 9: Registration.HOME,
    10: Registration.ROAMING,
}  # fmt: skip
"""By MMModem3gppRegistrationState."""
T = TypeVar("T")


class State(IntEnum):
    """MMModemState, as far as it matters; from ENABLED on a modem gets messages."""

    FAILED = -1
    LOCKED = 2
    DISABLED = 3
    ENABLED = 6


class Lock(IntEnum):
    """MMModemLock, as far as a person can open it."""

    SIM_PIN = 2
    SIM_PUK = 4


class BusFault(StrEnum):
    """How a call failed: each has words, `fault.manager.<fault>`."""

    AWAY = "away"
    """There is no D-Bus, or it has closed the connection."""
    ABSENT = "absent"
    """ModemManager does not run, or is another process now."""
    HUNG = "hung"
    BARRED = "barred"
    """It does not allow this user the call."""
    GONE = "gone"
    """The object is not there any more."""
    REFUSED = "refused"
    """It answers with another error."""


_FAULTS: Final = {
    f"{_BUS}.Error.ServiceUnknown": BusFault.ABSENT,
    f"{_BUS}.Error.NameHasNoOwner": BusFault.ABSENT,
    f"{_BUS}.Error.NoReply": BusFault.ABSENT,
    f"{_BUS}.Error.AccessDenied": BusFault.BARRED,
    f"{_SERVICE}.Error.Core.Unauthorized": BusFault.BARRED,
    f"{_SERVICE}.Error.Core.NotFound": BusFault.GONE,
    f"{_BUS}.Error.UnknownObject": BusFault.GONE,
    f"{_BUS}.Error.UnknownMethod": BusFault.GONE,
}


class BusError(Exception):
    """A call failed; the text is the name of the error, or its kind."""

    def __init__(self, fault: BusFault, why: str) -> None:
        super().__init__(why)
        self.fault = fault


class ModemSeen(Struct, frozen=True):
    """A modem as ModemManager shows it; None for what it does not tell.

    Attributes:
        path: Its object path, another one after each plug.
        place: The device in /sys that it is.
        sim: The object path of its SIM; empty without one.
        failed: MMModemStateFailedReason.
        tries: Tries of the code that `lock` asks for.
        signal: As of `AT+CSQ`.
        messages: The object paths of its messages, in no order.
    """

    path: str
    place: str
    sim: str
    state: int
    failed: int
    lock: int
    tries: int | None
    imei: str | None
    manufacturer: str | None
    model: str | None
    signal: int | None
    registration: Registration | None
    network: str | None
    messages: tuple[str, ...]


class MessageSeen(Struct, frozen=True):
    """A whole received message."""

    path: str
    sender: str
    text: str
    smsc: str | None
    sent_at: int | None


def modem_of(path: str, interfaces: Mapping[str, Any]) -> ModemSeen:
    """Return a modem from the properties of its object."""
    modem, network = interfaces.get(MODEM), interfaces.get(f"{MODEM}.Modem3gpp")
    percent = (_read(modem, "SignalQuality", tuple) or (0,))[0]
    lock = _read(modem, "UnlockRequired", int) or 0
    tries = (_read(modem, "UnlockRetries", dict) or {}).get(lock)
    return ModemSeen(
        path, _read(modem, "Device", str) or path, (_read(modem, "Sim", str) or "").removesuffix("/"),
        _read(modem, "State", int) or 0, _read(modem, "StateFailedReason", int) or 0,
        lock, tries if isinstance(tries, int) else None, _digits(_read(modem, "EquipmentIdentifier", str)),
        _read(modem, "Manufacturer", str) or None, _read(modem, "Model", str) or None,
        round(min(percent, 100) * 31 / 100) if isinstance(percent, int) and percent > 0 else None,
        _REGISTRATIONS.get(_read(network, "RegistrationState", int) or 0), _read(network, "OperatorName", str) or None,
        tuple(one for one in _read(interfaces.get(MESSAGING), "Messages", list) or () if isinstance(one, str)),
    )  # fmt: skip


def is_own(properties: Any) -> bool:
    """Return whether a message is one that this SIM sends, or a report on one."""
    return _read(properties, "PduType", int) in _OWN


def message_of(path: str, properties: Any) -> MessageSeen | None:
    """Return a received message from its properties; None if it is another one, lacks parts, or cannot be read."""
    text, data = _read(properties, "Text", str), _read(properties, "Data", bytes)
    number, smsc = _read(properties, "Number", str), _read(properties, "SMSC", str) or ""
    if (
        _read(properties, "State", int) != _RECEIVED
        or is_own(properties)
        or number is None
        or (text is None and data is None)
    ):
        return None
    try:
        at = datetime.fromisoformat(_read(properties, "Timestamp", str) or "")
        sent_at = None if at.tzinfo is None else to_us(at)
    except (ValueError, OverflowError):
        sent_at = None
    told = len(smsc) <= _SMSC_DIGITS_MAX and _digits(smsc.removeprefix("+"))
    return MessageSeen(path, number, text or (data or b"").hex(), smsc if told else None, sent_at)


def _digits(text: str | None) -> str | None:
    return text if text and text.isascii() and text.isdigit() else None


def _read(properties: Any, name: str, kind: type[T]) -> T | None:
    """Return a property; None if it is missing or has another type than ModemManager documents."""
    found = properties.get(name) if isinstance(properties, Mapping) else None
    value = found[1] if isinstance(found, tuple) and len(found) == 2 else None  # its signature and its value
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


class ManagerBus:
    """A connection to the system bus, and the process of ModemManager that it had when it was opened."""

    def __init__(self, connection: DBusConnection, heard: Callable[[], None], timeout_s: float) -> None:
        """Prepare; use `open`."""
        self._connection, self._heard, self._timeout_s = connection, heard, timeout_s
        self._owner = ""
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._receiving: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, heard: Callable[[], None], timeout_s: float) -> Self:
        """Connect, and find ModemManager; `heard` is called at each signal that makes a look worth while.

        The bus is the system's, or that of DBUS_SYSTEM_BUS_ADDRESS.

        Raises:
            BusError: There is no bus, or ModemManager does not run.
        """
        bus = None
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_unix_connection(find_system_bus())
                bus = cls(DBusConnection(reader, writer), heard, timeout_s)
                speaker = Authenticator()
                for said in speaker:
                    writer.write(said)
                    speaker.feed(await reader.readuntil(b"\r\n"))
                writer.write(BEGIN)
            await bus._greet()
        except BaseException as error:
            if bus is not None:
                await bus.close()
            if isinstance(error, BusError) or not isinstance(error, Exception):
                raise
            raise BusError(BusFault.AWAY, type(error).__name__) from error  # the address may have any form
        return bus

    async def _greet(self) -> None:
        self._receiving = asyncio.create_task(self._receive())
        await self._call(message_bus.Hello())
        for rule in _SIGNALS:
            await self._call(message_bus.AddMatch(rule))
        # After the rules, so that no restart of ModemManager goes unheard.
        self._owner = (await self._call(message_bus.GetNameOwner(_SERVICE)))[0]

    async def close(self) -> None:
        """Close the connection."""
        # Before the first wait: the socket is closed also if this call is cancelled.
        self._connection.writer.close()
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.gather(self._receiving, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._connection.writer.wait_closed()

    async def modems(self) -> list[ModemSeen]:
        """Return the modems of ModemManager."""
        [found] = await self.call("/org/freedesktop/ModemManager1", f"{_BUS}.ObjectManager", "GetManagedObjects")
        return [modem_of(path, interfaces) for path, interfaces in found.items() if MODEM in interfaces]

    async def properties(self, path: str, interface: str) -> dict[str, Any]:
        """Return the properties of an object."""
        [found] = await self.call(path, f"{_BUS}.Properties", "GetAll", "s", (interface,))
        return dict(found)

    async def sim(self, path: str) -> tuple[str | None, str | None]:
        """Return the ICCID and IMSI of a SIM, or of no SIM; None for what ModemManager does not know."""
        known = await self.properties(path, SIM) if path else {}
        return _digits(_read(known, "SimIdentifier", str)), _digits(_read(known, "Imsi", str))

    async def call(
        self,
        path: str,
        interface: str,
        method: str,
        form: str | None = None,
        body: tuple[Any, ...] = (),
        limit_s: float = 0,
    ) -> tuple[Any, ...]:
        """Call a method of an object; return what it returns. A limit of 0 is that of the settings.

        Raises:
            BusError: It failed, or gave no answer in time.
        """
        return await self._call(new_method_call(DBusAddress(path, self._owner, interface), method, form, body), limit_s)

    async def _call(self, message: Message, limit_s: float = 0) -> tuple[Any, ...]:
        serial = next(self._connection.outgoing_serial)
        self._waiting[serial] = waiting = asyncio.get_running_loop().create_future()
        if self._receiving is None or self._receiving.done():
            waiting.set_exception(OSError())
        try:
            async with asyncio.timeout(limit_s or self._timeout_s):
                await self._connection.send(message, serial=serial)
                answer = await waiting
        except TimeoutError:
            raise BusError(BusFault.HUNG, f"{limit_s or self._timeout_s:.0f}") from None
        except OSError as error:
            raise BusError(BusFault.AWAY, "closed") from error
        finally:
            self._waiting.pop(serial, None)
        if answer.header.message_type is MessageType.error:
            name = str(answer.header.fields.get(HeaderFields.error_name))
            raise BusError(_FAULTS.get(name, BusFault.REFUSED), name)
        body: tuple[Any, ...] = answer.body
        return body

    async def _receive(self) -> None:
        """Hand out answers, and tell signals, until the connection ends."""
        try:
            while True:
                message = await self._connection.receive()
                waiting = self._waiting.get(message.header.fields.get(HeaderFields.reply_serial, 0))
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
                elif message.header.message_type is MessageType.signal:
                    self._heard()
        except Exception:  # noqa: BLE001 -- it ends, also by octets that are no message
            self._heard()
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(OSError())


_USSD_ENDS: Final = {BusFault.REFUSED: UssdEnd.REFUSED, BusFault.BARRED: UssdEnd.REFUSED, BusFault.HUNG: UssdEnd.SILENT}


class ManagerUssd:
    """USSD of the modem at an object path."""

    def __init__(self, bus: ManagerBus, path: str) -> None:
        self._bus, self._path = bus, path

    async def send(self, text: str, *, opens: bool) -> UssdMenu:
        """Send a code or a reply; return the network's answer."""
        try:
            if opens:
                await self.cancel()  # one that was left open refuses the code
            method = "Initiate" if opens else "Respond"
            [said] = await self._bus.call(self._path, USSD, method, "s", (text,), ANSWER_S)
            state = _read(await self._bus.properties(self._path, USSD), "State", int)
        except BusError as error:
            end = _USSD_ENDS.get(error.fault, UssdEnd.LOST)
            return UssdMenu("", UssdEnd.UNSUPPORTED if str(error).endswith(".Unsupported") else end)
        return UssdMenu(decode(str(said), None), None if state == _WAITS else UssdEnd.ANSWERED)

    async def cancel(self) -> None:
        """End the session, if there is one."""
        with contextlib.suppress(BusError):
            await self._bus.call(self._path, USSD, "Cancel")
