"""What is plugged in, as the kernel tells it in /sys: USB devices, their interfaces, drivers, ttys. Opens no device."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

STORAGE_CLASS: Final = "08"
VENDOR_CLASS: Final = "ff"
COMMUNICATIONS_CLASS: Final = "02"
ABSTRACT_CONTROL: Final = "02"
"""Subclass of a modem by the book (USB CDC PSTN 1.2): the driver is cdc_acm."""

STORAGE_MODES: Final = frozenset(
    {
        "12d1:1446", "12d1:14fe", "12d1:1520", "12d1:1521", "12d1:1505", "12d1:155b", "12d1:1f01",
        "19d2:2000", "1bbb:f000", "05c6:1000", "0af0:6971", "1199:0fff",
    }
)  # fmt: skip
"""A stick that shows only its CD-ROM until usb_modeswitch turns it over (file names of usb-modeswitch-data)."""
HILINK_MODES: Final = frozenset({"12d1:14db", "12d1:14dc"})
"""A network card with a web page: no tty, and no message ever leaves it (usb_modeswitch, balena-os#445)."""
NETWORK_CARDS: Final = frozenset({"cdc_ether", "cdc_ncm", "rndis_host"})
"""Drivers of sticks that pretend to be a network card; those of real modems (qmi_wwan, cdc_mbim) are not among them."""
SERIAL_CHIPS: Final = {
    "1a86": "CH340",
    "10c4": "CP210x",
    "067b": "PL2303",
    "0403": "FTDI",
}
"""Behind them may be a modem, or a printer: they are served only when their owner names the port."""


@dataclass(frozen=True, slots=True)
class UsbInterface:
    """One interface; `kind` is its class and subclass, `driver` is empty when none took it."""

    number: str
    kind: tuple[str, str]
    driver: str
    ttys: tuple[str, ...]
    networks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsbDevice:
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
        """Say whether it shows nothing but its CD-ROM."""
        if self.ttys:
            return False
        kinds = {interface.kind[0] for interface in self.interfaces}
        return self.usb_id in STORAGE_MODES or kinds == {STORAGE_CLASS}

    @property
    def is_hilink(self) -> bool:
        """Say whether it is a network card that keeps its messages to itself."""
        if self.ttys:
            return False
        cards = {i.driver for i in self.interfaces if i.networks}
        return self.usb_id in HILINK_MODES or bool(cards & NETWORK_CARDS)

    @property
    def missing_driver(self) -> str:
        """Return the kernel module that would make its serial ports, empty when none is missing."""
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
        vendor = _word(folder / "idVendor")
        if not vendor:
            continue  # an interface: it is found again below its device
        interfaces = [
            _interface(entry) for entry in _entries(folder) if (entry / "bInterfaceNumber").exists()
        ]
        name = " ".join(filter(None, (_text(folder / "manufacturer"), _text(folder / "product"))))
        product = _word(folder / "idProduct")
        found.append(UsbDevice(folder.name, vendor, product, name, tuple(interfaces)))
    return found


def device_number(sys: Path, tty: str) -> str:
    """Return `188:0`, under which udev keeps what it knows of a port; empty when there is no such port."""
    return _word(sys / "class" / "tty" / tty / "dev")


def _interface(folder: Path) -> UsbInterface:
    try:
        driver = (folder / "driver").readlink().name
    except OSError:
        driver = ""
    # ttyUSB0 lies in the interface itself, ttyACM0 in its folder `tty` (cdc_acm).
    ttys = [e.name for place in (folder, folder / "tty") for e in _entries(place)]
    return UsbInterface(
        _word(folder / "bInterfaceNumber"),
        (_word(folder / "bInterfaceClass"), _word(folder / "bInterfaceSubClass")),
        driver,
        tuple(name for name in ttys if name.startswith(("ttyUSB", "ttyACM"))),
        tuple(entry.name for entry in _entries(folder / "net")),
    )


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _word(file: Path) -> str:
    return _text(file).lower()


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
