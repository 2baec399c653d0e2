"""A made-up computer in a folder: /sys, /dev, /proc, /run and /etc as the kernel and udev lay them out."""

from pathlib import Path


class Machine:
    """A computer without devices."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "dev" / "serial" / "by-id").mkdir(parents=True)
        for folder in ("class/tty", "bus/usb/devices"):
            (root / "sys" / folder).mkdir(parents=True)
        for folder in ("proc", "run/udev/data", "etc"):
            (root / folder).mkdir(parents=True)
        self._minor = 0

    def plug(self, place: str, usb: str, maker: str = "", product: str = "") -> Path:
        """Add a device; add its interfaces with `interface`."""
        device = self.root / "sys" / "devices" / place
        device.mkdir(parents=True)
        vendor, number = usb.split(":")
        for name, text in (("idVendor", vendor), ("idProduct", number), ("manufacturer", maker), ("product", product)):
            if text:
                (device / name).write_text(f"{text}\n")
        (self.root / "sys" / "bus" / "usb" / "devices" / place).symlink_to(device)
        return device

    def interface(
        self, place: str, number: int, kind: str = "ff/ff/ff", *, driver: str = "", tty: str = "", network: str = ""
    ) -> str:
        """Add an interface to a device; return the path of its tty, if any."""
        folder = self.root / "sys" / "devices" / place / f"{place}:1.{number}"
        folder.mkdir()
        # The kernel also lists interfaces beside their devices.
        (self.root / "sys" / "bus" / "usb" / "devices" / folder.name).symlink_to(folder)
        (folder / "bInterfaceNumber").write_text(f"{number:02x}\n")
        for name, value in zip(("Class", "SubClass", "Protocol"), kind.split("/"), strict=True):
            (folder / f"bInterface{name}").write_text(f"{value}\n")
        if driver:
            target = self.root / "sys" / "bus" / "usb" / "drivers" / driver
            target.mkdir(parents=True, exist_ok=True)
            (folder / "driver").symlink_to(target)
        if network:
            (folder / "net" / network).mkdir(parents=True)
        return str(self._tty(folder, tty)) if tty else ""

    def _tty(self, folder: Path, name: str) -> Path:
        port = folder / name if name.startswith("ttyUSB") else folder / "tty" / name
        port.mkdir(parents=True)
        entry = self.root / "sys" / "class" / "tty" / name
        entry.mkdir()
        (entry / "device").symlink_to(port if name.startswith("ttyUSB") else folder)
        (entry / "dev").write_text(f"188:{self._minor}\n")
        self._minor += 1
        node = self.root / "dev" / name
        node.touch()
        node.chmod(0o660)
        return node

    def program(self, pid: int, name: str, *opened: str) -> None:
        """Add a running program with these files open."""
        folder = self.root / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
        for number, path in enumerate(opened):
            (folder / "fd" / str(number)).symlink_to(path)

    def udev(self, tty: str, *properties: str) -> None:
        """Add properties of a tty to udev's database."""
        number = (self.root / "sys" / "class" / "tty" / tty / "dev").read_text().strip()
        (self.root / "run" / "udev" / "data" / f"c{number}").write_text("".join(f"E:{line}\n" for line in properties))
