"""Finds the command ports of plugged-in modems, by what the kernel says of their USB devices.

A probe may hurt: a blind `AT` disturbs printers and resets Arduinos. So nothing is opened here, and
only makers of modems count; a USB-to-serial chip (CH340, CP2102) has to be named by its owner. A
stick has several ports and one of them takes commands; which one is in the table below, from
ModemManager's udev rules and gammu's issues.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.modem.families import PortRole

MODEM_VENDORS: Final = {
    "12d1": "Huawei",
    "19d2": "ZTE",
    "1e0e": "SIMCom",
    "2c7c": "Quectel",
    "05c6": "Qualcomm",
    "1bbb": "Alcatel",
    "1bbc": "Alcatel",
    "0af0": "Option",
    "1199": "Sierra",
    "1546": "u-blox",
}
_TTYS: Final = ("ttyUSB", "ttyACM")
_BYTE: Final = re.compile(r"[0-9a-f]{2}", re.ASCII)
_PARENTS_MAX: Final = 5
"""From a tty's device to its USB device it is one step (ttyACM) or two (ttyUSB)."""

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
"""Class, subclasses and protocol of Huawei's command port, whatever its number."""
_HUAWEI_MODEM: Final = "01"
"""The protocol number of the port for dialling up."""
_NEVER: Final = {"12d1": frozenset({1}), "2c7c": frozenset({0, 1}), "1e0e": frozenset({0, 1})}
"""Diagnostics and GPS: they take what is written and never answer as a phone."""


@dataclass(frozen=True, slots=True)
class _Port:
    name: str
    device: str
    vendor: str
    product: str
    interface: int
    kind: tuple[str, str, str]


class PortFinder:
    """Looks again and again, cheaply: it asks about the devices only when the names changed."""

    def __init__(self, dev: str = "/dev", sys: str = "/sys", quiet_looks: int = 3) -> None:
        """Say where the device files and the kernel's tree are.

        Args:
            dev: The folder of device files.
            sys: The kernel's tree.
            quiet_looks: The names must have been the same for so many calls before a change
                counts, since the ports of a stick and their by-id names come one after another.
                What is there at the first call counts at once.
        """
        self._quiet_looks = quiet_looks
        self._quiet = quiet_looks + 1
        self._dev = Path(dev)
        self._sys = Path(sys)
        self._seen: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._found: list[str] = []
        self._incomplete = False
        self._passed_over: dict[str, int] = {}
        """By USB device, how many of its ports in a row did not answer."""
        self._device_of: dict[str, str] = {}

    def find(self) -> list[str]:
        """Return one path per modem, sorted; its by-id name if it has one that is its alone."""
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
        """Learn that a port which was found does not answer `AT`: the next look names another of that device.

        After the last of its ports comes the first again, since a modem that starts is silent too.
        """
        device = self._device_of.get(path)
        if device is not None:
            self._passed_over[device] = self._passed_over.get(device, 0) + 1
            self._incomplete = True

    def role(self, path: str) -> PortRole:
        """Say what a port of a Huawei stick is for; others do not tell theirs apart by numbers."""
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
        aliases = self._aliases(by_id)
        self._passed_over = {name: n for name, n in self._passed_over.items() if name in devices}
        self._device_of = {}
        for device, ports in devices.items():
            if ordered := _ordered(ports):
                port = ordered[self._passed_over.get(device, 0) % len(ordered)]
                path = aliases.get(port.name, str(self._dev / port.name))
                self._device_of[path] = device
        return sorted(self._device_of)

    def _aliases(self, by_id: tuple[str, ...]) -> dict[str, str]:
        folder = self._dev / "serial" / "by-id"
        aliases: dict[str, str] = {}
        for link in by_id:
            try:
                target = (folder / link).readlink()
            except OSError:
                continue
            aliases.setdefault(target.name, str(folder / link))
        return aliases

    def _port(self, name: str) -> _Port | None:
        """Walk from a tty up to its USB interface and its USB device."""
        try:
            folder = (self._sys / "class" / "tty" / name / "device").resolve(strict=True)
        except OSError:
            self._incomplete = True  # the name comes before the kernel has told all: look again
            return None
        interface, kind = -1, ("", "", "")
        for place in (folder, *folder.parents[:_PARENTS_MAX]):
            if interface < 0 and (number := _word(place, "bInterfaceNumber")):
                interface = int(number, 16) if _BYTE.fullmatch(number) else -1
                kind = (
                    _word(place, "bInterfaceClass"),
                    _word(place, "bInterfaceSubClass"),
                    _word(place, "bInterfaceProtocol"),
                )
            if vendor := _word(place, "idVendor"):
                return _Port(name, str(place), vendor, _word(place, "idProduct"), interface, kind)
        return None


def _ordered(ports: list[_Port]) -> list[_Port]:
    """Return the ports of one device that may take commands, the likeliest first."""
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


def _word(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text("latin-1").strip().lower()
    except OSError:
        return ""


_FINDERS: Final[dict[tuple[str, str], PortFinder]] = {}


def find_ports(dev: str = "/dev", sys: str = "/sys") -> list[str]:
    """Return the command port of each modem on this machine; call it as often as once a second.

    Sticks show up in steps: first a CD-ROM, after 5 to 30 s the ports, one after another; so a new
    one is named when nothing has changed for three calls.
    """
    return _FINDERS.setdefault((dev, sys), PortFinder(dev, sys)).find()


def reject_port(path: str, dev: str = "/dev", sys: str = "/sys") -> None:
    """Say that a port which `find_ports` named does not answer, so that it names another of that device."""
    _FINDERS.setdefault((dev, sys), PortFinder(dev, sys)).reject(path)


def role_of(path: str, dev: str = "/dev", sys: str = "/sys") -> PortRole:
    """Return what the port at a path is for, as the kernel knows it."""
    return PortFinder(dev, sys).role(path)
