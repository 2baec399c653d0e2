"""The modem and its messages, in three areas of the doctor.

`modem`: from the USB plug to the modem's answer, in the order in which problems can occur. It reads /sys, /proc and udev's data,
and opens no device, so it never disturbs one. The modem's own state (PIN, signal, a full SIM) comes from the running daemon;
without a daemon those checks are skipped. `sim`: each SIM has a merchant number and gets messages. `parser`: messages and own
wordings can be read.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.core.limits import DAY_US
from daemon.core.lines.modem_health import Level
from daemon.doctor.checks import (
    Check,
    PortUser,
    Status,
    System,
    checks_or_default,
    failed,
    passed,
    skipped,
    warned,
    with_database,
)
from daemon.modem.discovery import (
    HUAWEI,
    MODEM_VENDORS,
    SERIAL_CHIPS,
    PortFinder,
    UsbDevice,
    device_number,
    usb_devices,
)
from daemon.runtime.locks import MODEM_MANAGER, holders, running
from daemon.runtime.own_wordings import FOLDER, OwnWordings
from daemon.store.engine import Reader
from daemon.store.upkeep import inspect

BRLTTY: Final = "brltty"
DIALOUT: Final = "dialout"
RULES: Final = "/etc/udev/rules.d/77-momo-modems.rules"
"""udev rules that give the ports to the group `dialout` and make ModemManager ignore them."""
_ADD: Final = "momo phones add modemmanager"
_REPLUG: Final = "then pull the modem out and plug it in again"
_IGNORED: Final = ("E:ID_MM_DEVICE_IGNORE=1", "E:ID_MM_PORT_IGNORE=1")


def checks(system: System) -> Iterator[Check]:
    """Check the modems."""
    devices = usb_devices(system.root / "sys")
    modems = [device for device in devices if device.vendor in MODEM_VENDORS]
    finder = PortFinder(str(system.root / "dev"), str(system.root / "sys"))
    ports = finder.find()
    places = [phone.port for phone in system.phones or ()]
    served = [place for place in places if place.startswith("/")]
    sticks = [place for place in places if place.startswith("http")]
    managed = any(place.startswith("modemmanager") for place in places)
    yield _plugged(modems, places)
    yield from _usb(modems, sticks, managed=managed)
    yield from _braille(system, devices)
    paths = list(dict.fromkeys([*ports, *served]))
    if paths:
        yield from checks_or_default(
            _permission(system, paths), passed("modem.permission", "this user may open the modems' ports")
        )
        held = _held(system, paths, managed=managed)
        yield from checks_or_default(held, passed("modem.busy", "no other program uses a modem's port"))
    if modems:
        reads = passed("modem.manager", f"{MODEM_MANAGER} reads the modems for momo")
        yield reads if managed else _manager(system, modems)
        if ports:
            ok = passed("modem.tty", f"commands go to {', '.join(ports)}")
            yield from checks_or_default(_wrong_ports(modems, ports, served), ok)
        elif any(device.ttys for device in modems):
            yield failed("modem.tty", "the modem's command port is missing; only its other ports are present",
                "pull the modem out, wait 5 seconds, plug it in again and wait 30 seconds")  # fmt: skip
    yield from _answers(system)


def _plugged(modems: list[UsbDevice], served: list[str]) -> Check:
    if not modems and not served:
        return failed("modem.usb", "no modem is plugged in, or the computer does not see it",
            "plug it in, or try another USB port and cable; `lsusb` lists the USB devices; a board with a "
            "serial chip, or on the pins of a Raspberry Pi (/dev/serial0), must be named: "
            "momo setup --modem /dev/ttyUSB0")  # fmt: skip
    names = [f"{_called(device)} ({device.usb_id})" for device in modems] or served
    return passed("modem.usb", ", ".join(names))


def _called(device: UsbDevice) -> str:
    return device.name or MODEM_VENDORS.get(device.vendor, device.usb_id)


def _usb(modems: list[UsbDevice], sticks: list[str], *, managed: bool) -> Iterator[Check]:
    """Report for each stick without a serial port the reason."""
    for device in modems:
        name = f"{_called(device)} ({device.usb_id})"
        if device.in_storage_mode:
            yield failed("modem.storage_mode", f"{name} appears as a CD-ROM, not as a modem",
                f"sudo apt install usb-modeswitch usb-modeswitch-data, {_REPLUG}")  # fmt: skip
        elif device.is_web_stick:
            yield _web_stick(device, name, sticks)
        elif device.is_managed_only:
            if not managed:
                yield failed("modem.port", f"{name} has no serial port; {MODEM_MANAGER} can read it", _ADD)
        elif module := device.missing_driver:
            load = f"sudo modprobe {module}"
            if module == "option":
                # The module may be loaded without knowing this product; `new_id` adds the product.
                load += (
                    f" && echo {device.vendor} {device.product} | sudo tee /sys/bus/usb-serial/drivers/option1/new_id"
                )
            yield failed("modem.driver", f"{name} has no serial port, because the kernel module {module} does not handle it", load)  # fmt: skip
        elif not device.ttys:
            yield failed("modem.port", f"{name} has no serial port in its present USB mode",
                f"sudo apt install usb-modeswitch usb-modeswitch-data, {_REPLUG}")  # fmt: skip


def _web_stick(device: UsbDevice, name: str, sticks: list[str]) -> Check:
    if device.vendor != HUAWEI:
        return failed("modem.web_stick", f"{name} has its messages only in a web page that momo cannot read: it is no HiLink stick of Huawei",
            "use a HiLink stick, a modem with a serial port, or an Android phone (docs/shop/sources.md)")  # fmt: skip
    if sticks:
        return passed("modem.hilink", f"{name} is a HiLink stick, read at {', '.join(sticks)}")
    return failed("modem.hilink", f"{name} is a HiLink stick: its messages are only in its own web page, and no source reads it "
        "(docs/shop/sources.md; a modem with a serial port is trusted further)",
        "momo setup --hilink http://192.168.8.1")  # fmt: skip


def _braille(system: System, devices: list[UsbDevice]) -> Iterator[Check]:
    """Report a serial chip of a modem board that brltty has taken (arduino-ide#1788)."""
    if running(BRLTTY, system.root / "proc") is None:
        return
    for device in devices:
        if device.vendor in SERIAL_CHIPS and not device.ttys:
            yield failed("modem.braille", f"the braille program {BRLTTY} has taken the {SERIAL_CHIPS[device.vendor]} chip of a modem board",
                f"sudo apt remove {BRLTTY}, {_REPLUG} (not if someone here uses a braille display)")  # fmt: skip


def _permission(system: System, paths: list[str]) -> Iterator[Check]:
    for path in paths:
        try:
            status = Path(path).stat()
        except OSError:
            continue  # unplugged meanwhile; another check reports it
        if not may_open(status, system.user):
            try:
                lines = (system.root / "etc" / "group").read_text("utf-8", "replace").splitlines()
            except OSError:
                lines = []
            fields = (line.split(":") for line in lines)
            group = next((f[0] for f in fields if len(f) > 2 and f[2] == str(status.st_gid)), DIALOUT)
            join = f"sudo usermod -aG {group} $USER, then log out and in again"
            yield failed("modem.permission", f"this user may not open {path}: it belongs to the group {group}",
                join if status.st_gid else f"momo phones udev-rule | sudo tee {RULES}, {_REPLUG}")  # fmt: skip


def may_open(status: os.stat_result, user: PortUser) -> bool:
    """Return whether a user may read and write a file, by its owner, group and mode."""
    if user.uid == 0:
        return True
    if status.st_uid == user.uid:
        wanted = stat.S_IRUSR | stat.S_IWUSR
    elif status.st_gid in user.groups:
        wanted = stat.S_IRGRP | stat.S_IWGRP
    else:
        wanted = stat.S_IROTH | stat.S_IWOTH
    return status.st_mode & wanted == wanted


def _held(system: System, paths: list[str], *, managed: bool) -> Iterator[Check]:
    for path in paths:
        if os.path.realpath(path).startswith("/dev/pts/"):
            continue  # an emulated modem holds both ends of its pseudo-terminal
        for holder in holders(path, system.root / "proc"):
            name = holder.name or "a program"
            if holder.pid == system.pid or (managed and name == MODEM_MANAGER):
                continue
            stop = f"{_ADD}; or: momo phones release {path}" if name == MODEM_MANAGER else f"kill {holder.pid}"
            yield failed("modem.busy", f"{name} (PID {holder.pid}) uses {path}", stop)


def _manager(system: System, modems: list[UsbDevice]) -> Check:
    """Check whether ModemManager would take the modems' ports."""
    pid = running(MODEM_MANAGER, system.root / "proc")
    if pid is None:
        return passed("modem.manager", f"{MODEM_MANAGER} does not run")
    taken = [tty for device in modems for tty in device.ttys if not _is_ignored(system, tty)]
    if not taken:
        return passed("modem.manager", f"{MODEM_MANAGER} runs and ignores the modems")
    return warned("modem.manager", f"{MODEM_MANAGER} (PID {pid}) may take {', '.join(taken)} at any time",
        f"to read them through it: {_ADD}; or: momo phones udev-rule | sudo tee {RULES}, then restart the computer; "
        f"or: sudo systemctl disable --now {MODEM_MANAGER}")  # fmt: skip


def _is_ignored(system: System, tty: str) -> bool:
    """Return whether udev makes ModemManager ignore a port (udev(7): /run/udev/data)."""
    number = device_number(system.root / "sys", tty)
    try:
        lines = (system.root / "run" / "udev" / "data" / f"c{number}").read_text("utf-8", "replace")
    except OSError:
        return False
    return any(line in _IGNORED for line in lines.splitlines())


def _wrong_ports(modems: list[UsbDevice], ports: list[str], served: list[str]) -> Iterator[Check]:
    chosen = {_tty(path): path for path in ports}
    for path in served:
        tty = _tty(path)
        siblings = next((device.ttys for device in modems if tty in device.ttys), ())
        better = next((chosen[name] for name in siblings if name in chosen), None)
        if tty not in chosen and better is not None:
            yield failed("modem.tty", f"{path} is not the command port of this modem",
                f"momo setup --modem {better}; or omit --modem and type "
                "momo config set modems.ports --default: then momo finds the port")  # fmt: skip


def _tty(path: str) -> str:
    return os.path.realpath(path).rpartition("/")[2]


def _answers(system: System) -> Iterator[Check]:
    if system.phones is None:
        yield skipped("modem.answers", "the daemon does not run, so PIN, signal and storage of the modems were not checked",
            "momo daemon start")  # fmt: skip
        return
    for phone in system.phones:
        for trouble in phone.troubles:
            status = Status.FAIL if trouble.level is Level.FAIL else Status.WARN
            # A text about a port begins with the port already.
            text = str(trouble.text)
            named = text if text.startswith(phone.name) else f"{phone.name}: {text}"
            yield Check(trouble.id, status, named, str(trouble.fix))
        if not phone.troubles:
            yield passed("modem.answers", f"{phone.name} is {phone.state}")


WINDOW_US: Final = 7 * DAY_US
_MANY: Final = 0.2
"""Share of unread messages that suggests a changed wording. Adverts count as read."""


def parser_checks(system: System) -> Iterator[Check]:
    """Check the last messages and the shop's own wordings."""

    def look(reader: Reader) -> Iterator[Check]:
        came, unread = inspect.unread_since(reader, system.now_us - WINDOW_US)
        text = f"{unread} of {came} messages of the last seven days could not be read"
        if unread and unread >= _MANY * came:
            yield warned("parser.unread", f"{text}: a network may have changed its wording", "momo messages list --state unparsed")  # fmt: skip
        else:
            yield passed("parser.unread", text)

    yield from with_database(system, "parser.unread", look)
    own = OwnWordings(Path(system.shop.home) / FOLDER)
    own.read_again()
    wrong = (
        warned("parser.templates", f"{file.name}:{problem.line}: {problem.why}", "momo messages templates list")
        for file in own.files
        for problem in file.loaded.problems
    )
    ok = f"own wordings of the shop: {len(own.wordings)}, all valid"
    yield from checks_or_default(wrong, passed("parser.templates", ok))


def sim_checks(system: System) -> Iterator[Check]:
    """Check the SIMs. The area `modem` checks PINs."""
    if system.running is None:
        yield skipped("sim.line", "the daemon does not run, so the SIMs are not known", "momo daemon start")
        return
    yield from with_database(system, "sim.line", _lines)


def _lines(reader: Reader) -> Iterator[Check]:
    found = inspect.sims(reader)
    if not found:
        yield skipped("sim.line", "no modem has a SIM", "momo doctor modem")
        return
    lacking = (
        failed(
            "sim.line", f"the SIM {one.device}:{one.slot_index} ({one.network or 'unknown network'}) has no merchant number: its "
            "payments wait until it has one",
            f"momo lines update NUMBER --sim {one.device}:{one.slot_index}",
        )
        for one in found
        if not one.has_line
    )  # fmt: skip
    yield from checks_or_default(lacking, passed("sim.line", "every SIM has its merchant number"))
    silent = (
        warned("sim.heard", f"{one.device}:{one.slot_index} has had no message for longer than usual at this hour", "momo phones status",
        )
        for one in found
        if one.silent
    )  # fmt: skip
    yield from checks_or_default(silent, passed("sim.heard", "messages arrive on every SIM as usual"))
