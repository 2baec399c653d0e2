"""Discovery of the command ports of plugged-in modems, from the kernel's data about USB devices in /sys.

Probing may do harm: a blind `AT` disturbs printers and resets Arduinos. So no device is opened, and only vendors of modems
count; a USB-to-serial chip (CH340, CP2102) must be named by the owner. A stick has several ports and one of them accepts
commands; a table names it, from ModemManager's udev rules and gammu's issues.
"""

import os
import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from daemon.modem.quirks import PortRole

HUAWEI: Final = "12d1"
MODEM_VENDORS: Final = {
    HUAWEI: "Huawei", "19d2": "ZTE", "1e0e": "SIMCom", "2c7c": "Quectel", "05c6": "Qualcomm", "1bbb": "Alcatel",
    "1bbc": "Alcatel", "0af0": "Option", "1199": "Sierra", "1546": "u-blox",
}  # fmt: skip
SERIAL_CHIPS: Final = {"1a86": "CH340", "10c4": "CP210x", "067b": "PL2303", "0403": "FTDI"}
"""The device behind them may be a modem or a printer: they are used only when the owner names the port."""
STORAGE_MODES: Final = frozenset(
    {
        "12d1:1446", "12d1:14fe", "12d1:1520", "12d1:1521", "12d1:1505", "12d1:155b", "12d1:1f01",
        "19d2:2000", "1bbb:f000", "05c6:1000", "0af0:6971", "1199:0fff",
    }
)  # fmt: skip
"""Sticks that show only a CD-ROM until usb_modeswitch switches them (file names of usb-modeswitch-data)."""
HILINK_MODES: Final = frozenset({"12d1:14db", "12d1:14dc"})
"""Network cards with a web page: no tty, and no messages over AT (usb_modeswitch, balena-os#445)."""
NETWORK_CARDS: Final = frozenset({"cdc_ether", "cdc_ncm", "rndis_host"})
"""Drivers of sticks that act as a network card; those of real modems (qmi_wwan, cdc_mbim) are not included."""
MANAGED_DRIVERS: Final = frozenset({"qmi_wwan", "cdc_mbim"})
STORAGE_CLASS: Final = "08"
VENDOR_CLASS: Final = "ff"
COMMUNICATIONS_CLASS: Final = "02"
ABSTRACT_CONTROL: Final = "02"
"""Subclass of a standard modem (USB CDC PSTN 1.2): the driver is cdc_acm."""
_INTERFACES: Final[dict[str, tuple[int, ...]]] = {
    "12d1": (2, 4, 0),  # old sticks without protocol numbers: PCUI is 2; E173 has it on 4
    "19d2": (1,),
    "19d2:0117": (2,),
    "19d2:0017": (2,),
    "19d2:0031": (3,),
    "19d2:0063": (3,),
    "19d2:0104": (3,),
    "19d2:0108": (3,),
    "19d2:2002": (3,),
    "19d2:1007": (3,),
    "19d2:0124": (4,),
    "1e0e": (2,),
    "2c7c": (2,),
    "05c6": (2,),
    "1546": (0,),
}
"""Interface numbers of the command port in order of preference, by vendor or vendor:product."""
_HUAWEI: Final = "12d1"
_HUAWEI_PCUI: Final = ("ff", frozenset({"01", "02"}), "02")
"""Class, subclasses and protocol of Huawei's command port, for any interface number."""
_HUAWEI_MODEM: Final = "01"
"""The protocol number of the port for dialling up."""
_NEVER: Final = {"12d1": frozenset({1}), "2c7c": frozenset({0, 1}), "1e0e": frozenset({0, 1})}
"""Interfaces for diagnostics and GPS: they accept data and never answer AT commands."""
_TTYS: Final = ("ttyUSB", "ttyACM")
_BYTE: Final = re.compile(r"[0-9a-f]{2}", re.ASCII)
_PARENTS_MAX: Final = 5
"""From a tty's device to its USB device it is one step (ttyACM) or two (ttyUSB)."""


class _Port(Struct, frozen=True):
    name: str
    device: str
    vendor: str
    product: str
    interface: int
    kind: tuple[str, str, str]


class PortFinder:
    """Repeated, cheap search: reads the device data only when the names changed."""

    def __init__(self, dev: str = "/dev", sys: str = "/sys", quiet_looks: int = 3) -> None:
        """Set the folders of the device files and of the kernel's tree.

        Args:
            dev: The folder of device files.
            sys: The kernel's tree.
            quiet_looks: Number of calls without a change of names before a change counts (debounce),
                since the ports of a stick and their by-id names appear one after another.
                Ports present at the first call count at once.
        """
        self._quiet_looks = quiet_looks
        self._quiet = quiet_looks + 1
        self._dev = Path(dev)
        self._sys = Path(sys)
        self._seen: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._found: list[str] = []
        self._incomplete = False
        self._passed_over: dict[str, int] = {}
        """Number of consecutive ports that did not answer, by USB device."""
        self._device_of: dict[str, str] = {}

    def find(self) -> list[str]:
        """Return one path per modem, sorted; the by-id name if it is unique."""
        names = tuple(sorted(n for n in _listed(self._dev) if n.startswith(_TTYS)))
        by_id = tuple(sorted(_listed(self._dev / "serial" / "by-id"))) if names else ()
        if self._seen is not None:
            self._quiet = self._quiet + 1 if self._seen == (names, by_id) else 0
        stale = self._seen is None or self._incomplete or self._quiet == self._quiet_looks
        self._seen = (names, by_id)
        if stale:
            self._found = self._look(names, by_id)
        elif self._quiet < self._quiet_looks:
            self._found = [path for path in self._found if Path(path).exists()]
        return [*self._found]

    def reject(self, path: str) -> None:
        """Mark a found port as not answering `AT`: the next search returns another port of that device.

        After the last port comes the first again, since a starting modem is silent too.
        """
        device = self._device_of.get(path)
        if device is not None:
            self._passed_over[device] = self._passed_over.get(device, 0) + 1
            self._incomplete = True

    def role(self, path: str) -> PortRole:
        """Return the role of a port of a Huawei stick; other makes do not number their roles."""
        port = self._port(os.path.realpath(path).rpartition("/")[2])
        if port is None or port.vendor != _HUAWEI or port.kind[0] != _HUAWEI_PCUI[0]:
            return PortRole.UNKNOWN
        roles = {_HUAWEI_PCUI[2]: PortRole.COMMAND, _HUAWEI_MODEM: PortRole.MODEM}
        return roles.get(port.kind[2], PortRole.UNKNOWN)

    def _look(self, names: tuple[str, ...], by_id: tuple[str, ...]) -> list[str]:
        devices: dict[str, list[_Port]] = {}
        self._incomplete = False
        for name in names:
            port = self._port(name)
            if port is not None and port.vendor in MODEM_VENDORS:
                devices.setdefault(port.device, []).append(port)
        folder = self._dev / "serial" / "by-id"
        aliases: dict[str, str] = {}
        for link in by_id:
            try:
                target = (folder / link).readlink()
            except OSError:
                continue
            aliases.setdefault(target.name, str(folder / link))
        self._passed_over = {name: n for name, n in self._passed_over.items() if name in devices}
        self._device_of = {}
        for device, ports in devices.items():
            if ordered := _ordered(ports):
                port = ordered[self._passed_over.get(device, 0) % len(ordered)]
                path = aliases.get(port.name, str(self._dev / port.name))
                self._device_of[path] = device
        return sorted(self._device_of)

    def _port(self, name: str) -> _Port | None:
        """Walk from a tty up to its USB interface and its USB device."""
        try:
            folder = (self._sys / "class" / "tty" / name / "device").resolve(strict=True)
        except OSError:
            self._incomplete = True  # the name appears before the device data is complete: look again
            return None
        interface, kind = -1, ("", "", "")
        for place in (folder, *folder.parents[:_PARENTS_MAX]):
            if interface < 0 and (number := _attribute(place / "bInterfaceNumber")):
                interface = int(number, 16) if _BYTE.fullmatch(number) else -1
                kind = (
                    _attribute(place / "bInterfaceClass"),
                    _attribute(place / "bInterfaceSubClass"),
                    _attribute(place / "bInterfaceProtocol"),
                )
            if vendor := _attribute(place / "idVendor"):
                return _Port(name, str(place), vendor, _attribute(place / "idProduct"), interface, kind)
        return None


def _ordered(ports: list[_Port]) -> list[_Port]:
    ports = sorted(ports, key=lambda port: (port.interface, port.name))
    first = ports[0]
    never = _NEVER.get(first.vendor, frozenset[int]())
    wanted = _INTERFACES.get(f"{first.vendor}:{first.product}") or _INTERFACES.get(first.vendor, ())
    named = [port for port in ports if first.vendor == _HUAWEI and _is_pcui(port)]
    known = [port for number in wanted for port in ports if port.interface == number]
    others = [port for port in ports if port.interface not in never]
    return list(dict.fromkeys((*named, *known, *others)))


def _is_pcui(port: _Port) -> bool:
    cls, subclass, protocol = port.kind
    return (cls, protocol) == _HUAWEI_PCUI[::2] and subclass in _HUAWEI_PCUI[1]


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - once a second, and a Path for each is not free
    except OSError:
        return []


_FINDER: Final = PortFinder()


def find_ports() -> list[str]:
    """Return the command port of each modem on this machine; call it as often as once a second.

    Sticks appear in steps: first a CD-ROM, after 5 to 30 s the ports, one after another; so a new
    port is returned when nothing has changed for three calls.
    """
    return _FINDER.find()


def reject_port(path: str) -> None:
    """Mark a port from `find_ports` as not answering, so that the next call returns another of that device."""
    _FINDER.reject(path)


def role_of(path: str) -> PortRole:
    """Return the role of the port at a path, as far as the kernel knows it."""
    return PortFinder().role(path)


class UsbInterface(Struct, frozen=True):
    """One interface; `kind` is its class and subclass, `driver` is empty when none is bound."""

    number: str
    kind: tuple[str, str]
    driver: str
    ttys: tuple[str, ...]
    networks: tuple[str, ...]


class UsbDevice(Struct, frozen=True):
    """One device; `place` is its bus and port, such as `1-1.4`."""

    place: str
    vendor: str
    product: str
    name: str
    interfaces: tuple[UsbInterface, ...]

    @property
    def usb_id(self) -> str:
        """Return `vendor:product`."""
        return f"{self.vendor}:{self.product}"

    @property
    def ttys(self) -> tuple[str, ...]:
        """Return the names of all its serial ports."""
        return tuple(tty for interface in self.interfaces for tty in interface.ttys)

    @property
    def in_storage_mode(self) -> bool:
        """Return whether the device shows only its CD-ROM."""
        if self.ttys:
            return False
        kinds = {interface.kind[0] for interface in self.interfaces}
        return self.usb_id in STORAGE_MODES or kinds == {STORAGE_CLASS}

    @property
    def is_web_stick(self) -> bool:
        """Return whether it is a network card that does not give out messages over AT."""
        cards = {i.driver for i in self.interfaces if i.networks}
        return not self.ttys and (self.usb_id in HILINK_MODES or bool(cards & NETWORK_CARDS))

    @property
    def is_managed_only(self) -> bool:
        """Return whether it has no serial port and speaks a language of ModemManager (QMI, MBIM)."""
        return not self.ttys and bool({i.driver for i in self.interfaces} & MANAGED_DRIVERS)

    @property
    def missing_driver(self) -> str:
        """Return the missing kernel module for its serial ports, empty when none is missing."""
        if self.ttys:
            return ""
        bare = [interface.kind for interface in self.interfaces if not interface.driver]
        if (COMMUNICATIONS_CLASS, ABSTRACT_CONTROL) in bare:
            return "cdc_acm"
        return "option" if any(kind[0] == VENDOR_CLASS for kind in bare) else ""


def usb_devices(sys: Path) -> list[UsbDevice]:
    """Return the USB devices of this machine, in the order of their places; none where there is no USB."""
    found = []
    for folder in _entries(sys / "bus" / "usb" / "devices"):
        vendor = _attribute(folder / "idVendor")
        if not vendor:
            continue  # an interface: it is read below its device
        interfaces = [_interface(entry) for entry in _entries(folder) if (entry / "bInterfaceNumber").exists()]
        name = " ".join(filter(None, (_text(folder / "manufacturer"), _text(folder / "product"))))
        product = _attribute(folder / "idProduct")
        found.append(UsbDevice(folder.name, vendor, product, name, tuple(interfaces)))
    return found


def device_number(sys: Path, tty: str) -> str:
    """Return the device number, such as `188:0`, that udev uses as key; empty when there is no such port."""
    return _attribute(sys / "class" / "tty" / tty / "dev")


def _interface(folder: Path) -> UsbInterface:
    try:
        driver = (folder / "driver").readlink().name
    except OSError:
        driver = ""
    # ttyUSB0 is in the interface's folder, ttyACM0 in the folder `tty` below it (cdc_acm).
    ttys = [e.name for place in (folder, folder / "tty") for e in _entries(place)]
    return UsbInterface(
        _attribute(folder / "bInterfaceNumber"),
        (_attribute(folder / "bInterfaceClass"), _attribute(folder / "bInterfaceSubClass")),
        driver,
        tuple(name for name in ttys if name.startswith(("ttyUSB", "ttyACM"))),
        tuple(entry.name for entry in _entries(folder / "net")),
    )


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _attribute(file: Path) -> str:
    return _text(file).lower()


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
