"""Make ModemManager release a modem, through its own program `mmcli`.

ModemManager releases it only while the requesting program runs (its InhibitDevice), so `mmcli` is left running in the
background. The permanent way is udev's ID_MM_DEVICE_IGNORE, which only root can set (docs/shop/modems.md).
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from daemon.wire import ErrorCode
from momo_cli.errors import Failure, usage
from momo_cli.text import at

PROGRAM: Final = "mmcli"
SYS: Final = "/sys"
_WAIT_S: Final = 0.05
_WAITS: Final = 200
_ANSWER_S: Final = 20.0
_FOR_GOOD: Final = ("sudo systemctl disable --now ModemManager",)


def usb_device(port: str) -> str | None:
    """Return the USB device of a tty as its sysfs folder; None if the tty is not on USB, or gone."""
    tty = os.path.basename(os.path.realpath(port))  # noqa: PTH119  # pathlib is not needed here
    here = os.path.realpath(f"{SYS}/class/tty/{tty}/device")
    while here.startswith(os.path.realpath(SYS) + "/"):
        if os.path.exists(f"{here}/idVendor"):  # noqa: PTH110  # the same
            return here
        here = os.path.dirname(here)  # noqa: PTH120  # the same
    return None


def managed_name(mmcli: str, device: str, port: str, environ: Mapping[str, str]) -> str | None:
    """Return ModemManager's name of the modem at that USB device or port, if it manages it; fail without an answer."""
    tty = os.path.basename(os.path.realpath(port))  # noqa: PTH119  # the same
    for path in _asked(mmcli, environ, "--list-modems").get("modem-list", ()):
        modem = _asked(mmcli, environ, f"--modem={path}")
        uid = str(at(modem, "modem.generic.device") or "")
        ports = at(modem, "modem.generic.ports")
        names = [str(name).partition(" ")[0] for name in ports] if isinstance(ports, list) else []
        if uid and (tty in names or os.path.realpath(uid) == device):
            return uid
    return None


def _asked(mmcli: str, environ: Mapping[str, str], *words: str) -> dict[str, Any]:
    try:
        done = subprocess.run(  # noqa: S603  # the machine's own program
            [mmcli, *words, "--output-json"],
            capture_output=True,
            text=True,
            env={**environ, "LC_ALL": "C"},
            timeout=_ANSWER_S,
            check=False,
        )
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        raise _refused(str(problem)) from None
    if not isinstance(found, dict):
        raise _refused(done.stderr)
    return found


def inhibit(mmcli: str, uid: str, environ: Mapping[str, str], pause: Callable[[float], None]) -> int:
    """Start mmcli to inhibit the device while it runs; return its process ID, or fail if ModemManager refuses."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        out = said.fileno()
        pid = os.posix_spawn(
            mmcli,
            [mmcli, f"--inhibit-device={uid}"],
            {**environ, "LC_ALL": "C"},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, out, 2),
            ],
            setsid=True,
        )
        for _ in range(_WAITS):
            ended, _status = os.waitpid(pid, os.WNOHANG)
            said.seek(0)
            text = said.read()
            if ended:
                raise _refused(text)
            if "successfully inhibited" in text:
                return pid
            pause(_WAIT_S)
    os.kill(pid, 15)
    os.waitpid(pid, 0)
    raise _refused("it did not answer within 10 seconds")


class Released(NamedTuple):
    """The result of a release; `uid` is ModemManager's name of the modem, None if it does not manage it.

    `manager` is whether this machine has ModemManager, `pid` the mmcli that keeps the modem released.
    """

    manager: bool
    uid: str | None = None
    pid: int | None = None


def release_modem(port: str, environ: Mapping[str, str], pause: Callable[[float], None]) -> Released:
    """Make ModemManager release the modem at a port; fail if it refuses, or the port is no USB modem."""
    mmcli = shutil.which(PROGRAM, path=environ.get("PATH"))
    if mmcli is None:
        return Released(manager=False)
    device = usb_device(port)
    if device is None:
        raise usage(f"{port} is not a USB modem of this machine", "momo phones status", "lsusb")
    uid = managed_name(mmcli, device, port, environ)
    return Released(True, uid, None if uid is None else inhibit(mmcli, uid, environ, pause))


def _refused(said: str) -> Failure:
    why = " ".join(said.split()).removeprefix("error: ") or "it gave no reason"
    barred = "nauthorized" in why or "denied" in why
    code = ErrorCode.NOT_PERMITTED if barred else ErrorCode.INTERNAL_ERROR
    return Failure(code, f"ModemManager does not release the modem: {why}", next=_FOR_GOOD)
