"""The area `modem`: from the USB plug to the phone's own answer, in the order in which things can go wrong.

Reads /sys, /proc and what udev wrote down; opens no device, so it never disturbs one. What only the phone itself can
say (PIN, signal, a full SIM) comes from the daemon that talks to it; without one those checks are skipped.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.phones import Level
from daemon.doctor.checks import Check, Patient, Status, User, first_of
from daemon.modem.discovery import MODEM_VENDORS, PortFinder
from daemon.modem.port_holders import MODEM_MANAGER, holders, running
from daemon.modem.usb import SERIAL_CHIPS, UsbDevice, device_number, usb_devices

BRLTTY: Final = "brltty"
DIALOUT: Final = "dialout"
RULES: Final = "packaging/udev/77-momo-modems.rules"
"""Gives the ports to the group `dialout`, and tells ModemManager to leave them alone."""
_REPLUG: Final = "then pull the modem out and plug it in again"
_IGNORED: Final = ("E:ID_MM_DEVICE_IGNORE=1", "E:ID_MM_PORT_IGNORE=1")


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the modems."""
    devices = usb_devices(patient.root / "sys")
    modems = [device for device in devices if device.vendor in MODEM_VENDORS]
    finder = PortFinder(str(patient.root / "dev"), str(patient.root / "sys"))
    ports = finder.find()
    served = [phone.port for phone in patient.phones or ()]
    yield _plugged(modems, served)
    yield from _usb(modems)
    yield from _braille(patient, devices)
    paths = list(dict.fromkeys([*ports, *served]))
    if paths:
        yield from first_of(
            _permission(patient, paths),
            Check("modem.permission", Status.OK, "this user may open the modems' ports"),
        )
        yield from first_of(
            _held(patient, paths),
            Check("modem.busy", Status.OK, "no other program holds a modem's port"),
        )
    if modems:
        yield _manager(patient, modems)
        yield from _choice(modems, ports, served)
    yield from _answers(patient)


def _plugged(modems: list[UsbDevice], served: list[str]) -> Check:
    if not modems and not served:
        return Check(
            "modem.usb",
            Status.FAIL,
            "no modem is plugged in, or the computer does not see it",
            "plug it in, or try another USB socket and cable; `lsusb` shows what the computer sees; a board behind a "
            "serial chip must be named: momo daemon run --modem /dev/ttyUSB0",
        )
    names = [f"{_called(device)} ({device.usb_id})" for device in modems] or served
    return Check("modem.usb", Status.OK, ", ".join(names))


def _called(device: UsbDevice) -> str:
    return device.name or MODEM_VENDORS.get(device.vendor, device.usb_id)


def _usb(modems: list[UsbDevice]) -> Iterator[Check]:
    """Say of each stick without a serial port why it has none."""
    for device in modems:
        name = f"{_called(device)} ({device.usb_id})"
        if device.in_storage_mode:
            yield Check(
                "modem.storage_mode",
                Status.FAIL,
                f"{name} shows itself as a CD-ROM, not as a modem",
                f"sudo apt install usb-modeswitch usb-modeswitch-data, {_REPLUG}",
            )
        elif device.is_hilink:
            yield Check(
                "modem.hilink",
                Status.FAIL,
                f"{name} is a HiLink stick: it keeps its messages in its own web page, where no program can read them",
                "use another modem, or have its firmware changed to one without HiLink",
            )
        elif module := device.missing_driver:
            yield Check(
                "modem.driver",
                Status.FAIL,
                f"{name} has no serial port, since the kernel module {module} did not take it",
                _load(module, device),
            )
        elif not device.ttys:
            yield Check(
                "modem.port",
                Status.FAIL,
                f"{name} has no serial port in the mode that it is in",
                f"sudo apt install usb-modeswitch usb-modeswitch-data, {_REPLUG}",
            )


def _load(module: str, device: UsbDevice) -> str:
    if module != "option":
        return f"sudo modprobe {module}"
    # The module may be there and not know this product; telling it does both.
    return (
        f"sudo modprobe option && echo {device.vendor} {device.product} | "
        "sudo tee /sys/bus/usb-serial/drivers/option1/new_id"
    )


def _braille(patient: Patient, devices: list[UsbDevice]) -> Iterator[Check]:
    """Notice that brltty has taken the chip of a modem board (arduino-ide#1788)."""
    if running(BRLTTY, patient.root / "proc") is None:
        return
    for device in devices:
        if device.vendor in SERIAL_CHIPS and not device.ttys:
            yield Check(
                "modem.braille",
                Status.FAIL,
                f"the braille program {BRLTTY} has taken the {SERIAL_CHIPS[device.vendor]} chip of a modem board",
                f"sudo apt remove {BRLTTY}, {_REPLUG} (not if somebody here reads braille)",
            )


def _permission(patient: Patient, paths: list[str]) -> Iterator[Check]:
    for path in paths:
        try:
            status = Path(path).stat()
        except OSError:
            continue  # gone meanwhile, and said elsewhere
        if not may_open(status, patient.user):
            group = _group(patient.root, status.st_gid)
            join = f"sudo usermod -aG {group} $USER, then log out and in again"
            yield Check(
                "modem.permission",
                Status.FAIL,
                f"this user may not open {path}: it belongs to the group {group}",
                # Who is in root's group may do far more than open a modem.
                join if status.st_gid else f"install {RULES} as docs/modems.md says, {_REPLUG}",
            )


def may_open(status: os.stat_result, user: User) -> bool:
    """Say whether a user may read and write a file, by its owner, group and mode."""
    if user.uid == 0:
        return True
    if status.st_uid == user.uid:
        wanted = stat.S_IRUSR | stat.S_IWUSR
    elif status.st_gid in user.groups:
        wanted = stat.S_IRGRP | stat.S_IWGRP
    else:
        wanted = stat.S_IROTH | stat.S_IWOTH
    return status.st_mode & wanted == wanted


def _group(root: Path, gid: int) -> str:
    """Return a group's name; the usual one when it has none."""
    try:
        lines = (root / "etc" / "group").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    fields = (line.split(":") for line in lines)
    return next((f[0] for f in fields if len(f) > 2 and f[2] == str(gid)), DIALOUT)


def _held(patient: Patient, paths: list[str]) -> Iterator[Check]:
    for path in paths:
        if os.path.realpath(path).startswith("/dev/pts/"):
            continue  # an emulated phone holds both ends of its line
        for holder in holders(path, patient.root / "proc"):
            if holder.pid == patient.pid:
                continue
            name = holder.name or "a program"
            stop = f"momo modems release {path}" if name == MODEM_MANAGER else f"kill {holder.pid}"
            yield Check("modem.busy", Status.FAIL, f"{name} (PID {holder.pid}) holds {path}", stop)


def _manager(patient: Patient, modems: list[UsbDevice]) -> Check:
    """Say whether ModemManager would take the ports of our modems."""
    pid = running(MODEM_MANAGER, patient.root / "proc")
    if pid is None:
        return Check("modem.manager", Status.OK, f"{MODEM_MANAGER} does not run")
    taken = [tty for device in modems for tty in device.ttys if not _is_ignored(patient, tty)]
    if not taken:
        return Check("modem.manager", Status.OK, f"{MODEM_MANAGER} runs and leaves them alone")
    return Check(
        "modem.manager",
        Status.WARN,
        f"{MODEM_MANAGER} (PID {pid}) may take {', '.join(taken)} at any time",
        f"install {RULES} as docs/modems.md says, or: sudo systemctl disable --now {MODEM_MANAGER}",
    )


def _is_ignored(patient: Patient, tty: str) -> bool:
    """Say whether udev has told ModemManager to leave a port alone (udev(7): /run/udev/data)."""
    number = device_number(patient.root / "sys", tty)
    try:
        lines = (patient.root / "run" / "udev" / "data" / f"c{number}").read_text(
            "utf-8", "replace"
        )
    except OSError:
        return False
    return any(line in _IGNORED for line in lines.splitlines())


def _choice(modems: list[UsbDevice], ports: list[str], served: list[str]) -> Iterator[Check]:
    """Say which port takes commands, and notice when momo was told to serve another one of a stick."""
    if ports:
        well = Check("modem.tty", Status.OK, f"commands go to {', '.join(ports)}")
        yield from first_of(_wrong_ports(modems, ports, served), well)
    elif any(device.ttys for device in modems):
        yield Check(
            "modem.tty",
            Status.FAIL,
            "the modem's port that takes commands is not there, only others",
            "pull the modem out, wait 5 seconds, plug it in again and wait 30 seconds",
        )


def _wrong_ports(modems: list[UsbDevice], ports: list[str], served: list[str]) -> Iterator[Check]:
    chosen = {_tty(path): path for path in ports}
    for path in served:
        tty = _tty(path)
        siblings = next((device.ttys for device in modems if tty in device.ttys), ())
        better = next((chosen[name] for name in siblings if name in chosen), None)
        if tty not in chosen and better is not None:
            yield Check(
                "modem.tty",
                Status.FAIL,
                f"{path} is not the port of this modem that takes commands",
                f"momo setup --modem {better}; or leave --modem out and type "
                "momo config set modems.ports --default: then momo finds it",
            )


def _tty(path: str) -> str:
    return os.path.realpath(path).rpartition("/")[2]


def _answers(patient: Patient) -> Iterator[Check]:
    """Say what the phones themselves say."""
    if patient.phones is None:
        yield Check(
            "modem.answers",
            Status.SKIP,
            "the daemon does not run, so no phone was asked about PIN, signal and storage",
            "momo daemon start",
        )
        return
    for phone in patient.phones:
        for trouble in phone.troubles:
            status = Status.FAIL if trouble.level is Level.FAIL else Status.WARN
            # A sentence about a port begins with the port.
            text = (
                trouble.text
                if trouble.text.startswith(phone.name)
                else f"{phone.name}: {trouble.text}"
            )
            yield Check(trouble.id, status, text, trouble.fix)
        if not phone.troubles:
            yield Check("modem.answers", Status.OK, f"{phone.name} is {phone.state}")
