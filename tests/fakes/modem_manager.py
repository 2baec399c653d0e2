"""ModemManager on a private bus: the objects, calls and signals that momo uses, and its misbehaviour.

`PrivateBus` runs a `dbus-daemon` of its own. `FakeManager` is on it from `start` to `cut`, which is a process that is killed:
its modems and their messages survive, all object paths begin again. `Faults` are switched while it runs.
"""

import contextlib
import os
import selectors
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection, open_dbus_connection

PROGRAM: Final = "dbus-daemon"
MISSING: Final = shutil.which(PROGRAM) is None
SERVICE: Final = "org.freedesktop.ModemManager1"
ROOT: Final = "/org/freedesktop/ModemManager1"
FAILED, INITIALIZING, LOCKED, DISABLED, REGISTERED = -1, 1, 2, 3, 8
RECEIVING, RECEIVED, SENT = 2, 3, 5
_CONFIG: Final = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>custom</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class PrivateBus:
    """A bus in a folder; a context manager. The environment names it as the system bus."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = f"unix:path={folder / 'bus'}"
        self.environ = {"DBUS_SYSTEM_BUS_ADDRESS": self.address}
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.cut()

    def start(self) -> None:
        """Start the bus; it listens when this returns."""
        config = self._folder / "bus.conf"
        config.write_text(_CONFIG.format(socket=self._folder / "bus"))
        words = (PROGRAM, f"--config-file={config}", "--nofork", "--print-address")
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "it says its address when it listens"

    def cut(self) -> None:
        """Kill the bus."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            (self._folder / "bus").unlink(missing_ok=True)
        self.process = None

    def freeze(self) -> None:
        """Stop it, so that it accepts connections and answers nothing."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)


@dataclass(slots=True)
class Sms:
    """A message of a modem; `parts` false: not all of them have come."""

    number: str
    text: str
    sent_at: datetime | None
    smsc: str = "+233240000000"
    state: int = RECEIVED
    kind: int = 1
    path: str = ""
    odd: Mapping[str, tuple[str, Any]] = field(default_factory=dict)

    @property
    def properties(self) -> dict[str, tuple[str, Any]]:
        """The properties as ModemManager gives them."""
        at = "" if self.sent_at is None else self.sent_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.state == RECEIVING:
            return {"State": ("u", RECEIVING), "Number": ("s", self.number), "Text": ("s", ""), **self.odd}
        return {
            "State": ("u", self.state), "PduType": ("u", self.kind), "Number": ("s", self.number), "Text": ("s", self.text),
            "Data": ("ay", b""), "SMSC": ("s", self.smsc), "Timestamp": ("s", at), "Class": ("i", -1), "Storage": ("u", 2),
            "DeliveryReportRequest": ("b", False), "Validity": ("(uv)", (0, ("b", False))), **self.odd,
        }  # fmt: skip


@dataclass(slots=True)
class Modem:
    """A modem, with its SIM and the messages that are stored in it."""

    place: str = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2"
    imei: str = "004999010640042"
    iccid: str = "8923301000000000017"
    imsi: str = "620010000000017"
    state: int = REGISTERED
    failed: int = 0
    pin: str = ""
    """It is locked until this is typed."""
    tries: int = 3
    registration: int = 1
    signal: tuple[Any, bool] = (61, True)
    messages: list[Sms] = field(default_factory=list)
    path: str = ""
    odd: Mapping[str, tuple[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Faults:
    """What it does wrong.

    Attributes:
        silent: Methods that never answer.
        refused: Methods, and the name of the error that they answer with.
        keeps: It says that it deleted, and did not.
    """

    silent: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    keeps: bool = False


class FakeManager:
    """ModemManager; a context manager."""

    def __init__(self, bus: PrivateBus, *modems: Modem, faults: Faults | None = None) -> None:
        self._bus = bus
        self.modems = list(modems)
        self.faults = faults or Faults()
        self.calls: list[str] = []
        self.deleted: list[Sms] = []
        self.sent: list[tuple[str, str]] = []
        self.typed: list[str] = []
        self.asks = False
        self.menu = {"*170#": "MoMo\n1) Balance", "1": "Your balance is GHS 214.56"}
        self._lock = threading.RLock()
        self._counters = {"Modem": 0, "SMS": 0}
        self._connection: DBusConnection | None = None
        self._thread: threading.Thread | None = None
        self._stop, self._stopped = socket.socketpair()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.cut()
        self._stop.close()
        self._stopped.close()

    def start(self) -> None:
        """Come onto the bus, with new object paths."""
        with self._lock:
            self._counters = {"Modem": 0, "SMS": 0}
            for modem in self.modems:
                self._name(modem)
            connection = self._connection = open_dbus_connection(self._bus.address)
            connection.send_and_get_reply(message_bus.RequestName(SERVICE))
        self._thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Vanish from the bus, as a killed process does."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None and self._thread is not None:
            self._stop.send(b"x")
            self._thread.join()
            self._stopped.recv(1)
            connection.close()

    def receive(self, modem: Modem, sms: Sms) -> Sms:
        """Let a message come."""
        with self._lock:
            sms.path = self._next("SMS")
            modem.messages.insert(0, sms)  # as ModemManager, the newest first
            self._signal(modem.path, f"{SERVICE}.Modem.Messaging", "Added", "ob", (sms.path, True))
        return sms

    def complete(self, sms: Sms, **changes: Any) -> None:
        """Change a message, for example because its last part has come, and tell it."""
        with self._lock:
            for name, value in changes.items():
                setattr(sms, name, value)
            changed: tuple[Any, ...] = (f"{SERVICE}.Sms", sms.properties, [])
            self._signal(sms.path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", changed)

    def plug(self, modem: Modem) -> None:
        """Plug a modem in."""
        with self._lock:
            self.modems.append(modem)
            self._name(modem)
            added = (modem.path, self._interfaces(modem))
            self._signal(ROOT, "org.freedesktop.DBus.ObjectManager", "InterfacesAdded", "oa{sa{sv}}", added)

    def unplug(self, modem: Modem) -> None:
        """Pull a modem out."""
        with self._lock:
            self.modems.remove(modem)
            gone = (modem.path, [f"{SERVICE}.Modem"])
            self._signal(ROOT, "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved", "oas", gone)

    def _next(self, kind: str) -> str:
        number = self._counters[kind]
        self._counters[kind] += 1
        return f"{ROOT}/{kind}/{number}"

    def _name(self, modem: Modem) -> None:
        modem.path = self._next("Modem")
        for sms in modem.messages:
            sms.path = self._next("SMS")

    def _signal(self, path: str, interface: str, name: str, form: str, body: tuple[Any, ...]) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.send(new_signal(DBusAddress(path, interface=interface), name, form, body))

    def _serve(self, connection: DBusConnection) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(connection.sock, selectors.EVENT_READ)
            waiting.register(self._stopped, selectors.EVENT_READ)
            while self._connection is connection:
                waiting.select()
                if self._connection is not connection:
                    return
                try:
                    while True:
                        self._answer(connection, connection.receive(timeout=0))
                except TimeoutError:
                    continue
                except OSError:
                    return  # the bus was killed

    def _answer(self, connection: Any, message: Message) -> None:
        if message.header.message_type is not MessageType.method_call:
            return
        fields: Mapping[HeaderFields, Any] = message.header.fields
        method, path = fields[HeaderFields.member], fields[HeaderFields.path]
        with self._lock:
            self.calls.append(method)
            cut = connection is not self._connection
            if method in self.faults.silent or cut:
                return
            if (error := self.faults.refused.get(method)) is not None:
                connection.send(new_error(message, error, "s", ("no",)))
                return
            try:
                form, body = self._do(method, path, message.body)
            except KeyError as problem:
                connection.send(new_error(message, str(problem.args[0]), "s", ("no",)))
            else:
                connection.send(new_method_return(message, form, body))

    def _do(self, method: str, path: str, body: tuple[Any, ...]) -> tuple[str | None, tuple[Any, ...]]:  # noqa: C901 -- a case for each method
        match method:
            case "GetManagedObjects":
                return "a{oa{sa{sv}}}", ({one.path: self._interfaces(one) for one in self.modems},)
            case "GetAll":
                return "a{sv}", (self._properties(path, body[0]),)
            case "Enable":
                self._modem(path).state = REGISTERED
            case "SendPin":
                modem = next(one for one in self.modems if self._sim_path(one) == path)
                self.typed.append(body[0])
                if body[0] != modem.pin:
                    modem.tries -= 1
                    raise KeyError(f"{SERVICE}.Error.MobileEquipment.IncorrectPassword")
                modem.pin, modem.state = "", REGISTERED
            case "Delete":
                self._delete(self._modem(path), body[0])
            case "Create":
                sms = Sms(body[0]["number"][1], body[0]["text"][1], None, state=0, kind=2, path=self._next("SMS"))
                self._modem(path).messages.insert(0, sms)
                return "o", (sms.path,)
            case "Send":
                sms = self._sms(path)
                sms.state = SENT
                self.sent.append((sms.number, sms.text))
            case "Initiate" | "Respond":
                self.asks = method == "Initiate"
                return "s", (self.menu[body[0]],)
            case "Cancel":
                self.asks = False
            case _:
                raise KeyError("org.freedesktop.DBus.Error.UnknownMethod")
        return None, ()

    def _modem(self, path: str) -> Modem:
        for one in self.modems:
            if one.path == path:
                return one
        raise KeyError("org.freedesktop.DBus.Error.UnknownMethod")

    def _sms(self, path: str) -> Sms:
        for modem in self.modems:
            for one in modem.messages:
                if one.path == path:
                    return one
        raise KeyError("org.freedesktop.DBus.Error.UnknownMethod")

    def _delete(self, modem: Modem, path: str) -> None:
        sms = self._sms(path)
        if not self.faults.keeps:
            modem.messages.remove(sms)
            self.deleted.append(sms)

    @staticmethod
    def _sim_path(modem: Modem) -> str:
        return modem.path.replace("/Modem/", "/SIM/") if modem.iccid else "/"

    def _properties(self, path: str, interface: str) -> dict[str, tuple[str, Any]]:
        if interface == f"{SERVICE}.Modem.Modem3gpp.Ussd":
            return {"State": ("u", 3 if self.asks else 1)}
        if interface == f"{SERVICE}.Sms":
            return self._sms(path).properties
        for one in self.modems:
            if interface == f"{SERVICE}.Sim" and self._sim_path(one) == path:
                imsi = "" if one.pin else one.imsi
                return {"SimIdentifier": ("s", one.iccid), "Imsi": ("s", imsi), "Active": ("b", True)}
        raise KeyError("org.freedesktop.DBus.Error.UnknownMethod")

    def _interfaces(self, modem: Modem) -> dict[str, dict[str, tuple[str, Any]]]:
        state = LOCKED if modem.pin else modem.state
        return {
            f"{SERVICE}.Modem": {
                "Sim": ("o", self._sim_path(modem)), "State": ("i", state), "StateFailedReason": ("u", modem.failed),
                "Manufacturer": ("s", "QUALCOMM"), "Model": ("s", "MF79"), "Device": ("s", modem.place),
                "EquipmentIdentifier": ("s", modem.imei), "SignalQuality": ("(ub)", modem.signal),
                "UnlockRequired": ("u", (4 if modem.tries == 0 else 2) if modem.pin else 1),
                "UnlockRetries": ("a{uu}", {2: modem.tries, 4: 10}), "OwnNumbers": ("as", ["+233244123456"]),
                "Ports": ("a(su)", [("cdc-wdm0", 6), ("wwan0", 2)]), **modem.odd,
            },
            f"{SERVICE}.Modem.Modem3gpp": {
                "Imei": ("s", modem.imei), "RegistrationState": ("u", modem.registration),
                "OperatorCode": ("s", "62001"), "OperatorName": ("s", "MTN"),
            },
            f"{SERVICE}.Modem.Messaging": {
                "Messages": ("ao", [one.path for one in modem.messages]), "SupportedStorages": ("au", [1, 2]),
            },
            "org.freedesktop.DBus.Properties": {},
        }  # fmt: skip
