"""A stand-in for systemd that runs one unit file, for machines on which systemd does not run.

It reads the unit file itself, so that a test covers the file, and implements the settings that the units of momo use:
sd_notify(3) (READY, WATCHDOG, EXTEND_TIMEOUT_USEC, STOPPING, STATUS) from the main process only, and of
systemd.service(5) Type=notify, TimeoutStartSec=, TimeoutStopSec=, WatchdogSec=, Restart=on-failure, RestartSec=,
RestartPreventExitStatus=; of systemd.unit(5) StartLimitIntervalSec= and StartLimitBurst=. Other settings are ignored.

    with ServiceManager(unit, folder, dropin={"RestartSec": "100ms"}) as manager:
        manager.start()
        wait_until(lambda: manager.state == "active", 20, "ready")
"""

import contextlib
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_CLEAN: Final = (-signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE, 0)
"""Exit codes, as of subprocess, after which Restart=on-failure does not restart."""
_DEFAULTS: Final = {
    "StartLimitIntervalSec": "10s", "StartLimitBurst": "5", "RestartSec": "100ms",
    "TimeoutStartSec": "90s", "TimeoutStopSec": "90s", "WatchdogSec": "0", "Restart": "no",
    "RestartPreventExitStatus": "",
}  # fmt: skip
_CREDENTIALS: Final = struct.Struct("3i")
_LOOK_S: Final = 0.02


def seconds(text: str) -> float:
    """Parse a time span of systemd.time(7), such as `10min`, `1min 30s` or `90`."""
    parts = re.findall(r"([0-9.]+)\s*([a-z]*)", text)
    assert parts, text
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


class ServiceManager:
    """Runs one service until `stop` or the end of the block.

    Attributes:
        state: `inactive`, `activating`, `active`, `deactivating`, `auto-restart` or `failed`.
        result: Why the last run ended: `success`, `exit-code`, `signal`, `watchdog`, `timeout` or `start-limit-hit`.
        exits: The exit code of each run that ended, as of subprocess.
        starts: How often the service was started.
        pid: The main process.
        heard: Every line of every notification.
    """

    def __init__(
        self,
        unit: str,
        folder: Path,
        *,
        dropin: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Read a unit's text; `dropin` replaces settings, as a file in `NAME.service.d` does."""
        pairs = [line.partition("=")[::2] for line in unit.splitlines() if "=" in line and not line.startswith("#")]
        self.settings = {**_DEFAULTS, **dict(pairs), **(dropin or {})}
        given = [shlex.split(value)[0] for name, value in pairs if name == "Environment"]
        self._environ = {**(environ or {}), **dict(one.replace("%%", "%").split("=", 1) for one in given)}
        self._argv = [word.replace("$$", "$").replace("%%", "%") for word in shlex.split(self.settings["ExecStart"])]
        self.log = folder / "journal"
        self._address = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._address))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(_LOOK_S)
        self.state, self.result = "inactive", "success"
        self.exits: list[int] = []
        self.starts = self.pid = 0
        self.heard: list[str] = []
        self._begun: list[float] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()
        self._socket.close()

    def start(self) -> None:
        """Start the service and keep it running, without waiting for it."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the service (SIGTERM, after TimeoutStopSec= SIGKILL) and wait for it."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def said(self) -> str:
        """Return the output of the service in all its runs."""
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""

    def _span(self, name: str) -> float:
        return seconds(self.settings[name])

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self._limit_hit():
                self.state, self.result = "failed", "start-limit-hit"
                return
            code = self._run_once()
            if self._stopping.is_set() or not self._restarts(code):
                failed = self.result != "success"
                self.state = "failed" if failed else "inactive"
                return
            self.state = "auto-restart"
            self._stopping.wait(self._span("RestartSec"))

    def _limit_hit(self) -> bool:
        interval, now = self._span("StartLimitIntervalSec"), _now()
        recent = [begun for begun in self._begun if now - begun < interval]
        self._begun = [*recent, now]
        return interval > 0 and len(recent) >= int(self.settings["StartLimitBurst"])

    def _restarts(self, code: int) -> bool:
        prevented = self.settings["RestartPreventExitStatus"].split()
        if str(code) in prevented or (code < 0 and signal.Signals(-code).name in prevented):
            return False
        assert self.settings["Restart"] in ("no", "on-failure"), "the stand-in knows no other"
        return self.settings["Restart"] == "on-failure" and self.result != "success"

    def _run_once(self) -> int:
        process = self._spawn()
        until, why = _now() + self._span("TimeoutStartSec"), "timeout"
        ended_by = ""
        while process.poll() is None:
            if self._stopping.is_set() and self.state != "deactivating":
                process.send_signal(signal.SIGTERM)
                self.state, until, why = "deactivating", _now() + self._span("TimeoutStopSec"), "timeout"
            for name, value in self._notifications(process.pid):
                until, why = self._notified(name, value, until, why)
            if _now() >= until:
                # The second time, the first signal has not ended it.
                first = signal.SIGABRT if why == "watchdog" else signal.SIGTERM
                kills = ended_by or self.state == "deactivating"
                process.send_signal(signal.SIGKILL if kills else first)
                ended_by = ended_by or why
                until = _now() + self._span("TimeoutStopSec")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # KillMode=mixed: the rest of the group
        code = process.returncode
        self.exits.append(code)
        clean = "success" if code in _CLEAN else "exit-code" if code > 0 else "signal"
        self.result = ended_by or clean
        return code

    def _notified(self, name: str, value: str, until: float, why: str) -> tuple[float, str]:
        """Handle one assignment of a notification; return until when which limit holds."""
        watchdog = self._span("WatchdogSec")
        match name:
            case "READY" if self.state == "activating":
                self.state = "active"
                return (_now() + watchdog if watchdog else float("inf")), "watchdog"
            case "WATCHDOG" if self.state == "active" and watchdog:
                return _now() + watchdog, why
            case "EXTEND_TIMEOUT_USEC" if self.state != "active":
                return max(until, _now() + int(value) / 1e6), why
            case "STOPPING":
                self.state = "deactivating"
                return _now() + self._span("TimeoutStopSec"), "timeout"
        return until, why

    def _spawn(self) -> "subprocess.Popen[bytes]":
        watchdog = self._span("WatchdogSec")
        environ = {"PATH": os.environ["PATH"], **self._environ, "NOTIFY_SOCKET": str(self._address)}
        if watchdog:
            environ["WATCHDOG_USEC"] = str(round(watchdog * 1e6))
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                self._argv, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.pid, self.state, self.starts = process.pid, "activating", self.starts + 1
        return process

    def _notifications(self, main: int) -> list[tuple[str, str]]:
        """Return the assignments of one notification of the main process (NotifyAccess=main)."""
        try:
            data, ancillary, *_ = self._socket.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
        except TimeoutError:
            return []
        sender = next((_CREDENTIALS.unpack(raw[: _CREDENTIALS.size])[0] for _, _, raw in ancillary), 0)
        if sender != main:
            return []
        lines = data.decode().splitlines()
        self.heard += lines
        found = [line.partition("=") for line in lines]
        return [(name, value) for name, _, value in found]


def _now() -> float:
    return time.monotonic_ns() / 1e9
