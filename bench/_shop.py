"""A real shop in a folder of its own, for the benchmarks: the daemon as a program, its API over the Unix socket.

The phone (`tests.fakes.phone`) and the receiver run in processes of their own, as they do in life.
"""

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import _figures  # noqa: F401 - finds the fakes

from daemon import wire
from tests.fakes.receiver import Receiver

ROOT = Path(__file__).resolve().parents[1]
START_S = 30.0
STOP_S = 20.0
NUMBER = "0244124567"


class Shop:
    """One shop; use it in a `with`. What was started is stopped by its process id."""

    def __init__(self, folder: Path, phone: Path, config: str = "") -> None:
        """Make the shop's home, with no rate limits and with what `config` adds."""
        self.home = folder / "shop"
        self.home.mkdir(mode=0o700)
        (self.home / "config.toml").write_text(
            f"[limits]\nlive_per_min = 0\n{config}", encoding="utf-8"
        )
        self._phone = phone
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MOMO_")},
            "MOMO_HOME": str(self.home),
        }
        self._places = wire.places(self.environ, os.getuid(), tempfile.gettempdir())
        self._daemon: subprocess.Popen[bytes] | None = None
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        (self.home / "password").write_text("correct horse battery\n", encoding="utf-8")
        self._python("daemon", "setup", "--no-input", "--shop", "Bench", "--password-file",
                     str(self.home / "password"))  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        assert self._daemon is not None
        return self._daemon.pid

    @property
    def database(self) -> str:
        """Where the database is."""
        return self._places.database

    def start(self) -> None:
        """Start the daemon; return when it says that it is ready."""
        with (self.home / "daemon.log").open("ab") as log:
            self._daemon = subprocess.Popen(  # noqa: S603 - our own programs
                [sys.executable, "-m", "daemon", "run", "--http", "127.0.0.1:0",
                 "--modem", str(self._phone)],
                cwd=ROOT, env=self.environ, stdout=log, stderr=log,
            )  # fmt: skip
        end = time.perf_counter() + START_S
        while True:
            try:
                if self.call("GET", wire.Path.HEALTH):
                    return
            except OSError:
                if time.perf_counter() > end or self._daemon.poll() is not None:
                    said = (self.home / "daemon.log").read_text(encoding="utf-8")[-2000:]
                    raise RuntimeError(f"the daemon did not start:\n{said}") from None
                select.select([], [], [], 0.02)

    def stop(self) -> None:
        """Stop the daemon politely."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        process, self._daemon = self._daemon, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Make one API call as the owner; the connection stays open.

        Raises:
            OSError: The daemon does not listen.
            RuntimeError: It refused.
        """
        if self._connection is None:
            transport = socket.socket(socket.AF_UNIX)
            transport.connect(self._places.socket)
            self._connection = http.client.HTTPConnection(wire.SOCKET_HOST)
            self._connection.sock = transport
        self._connection.request(
            method, path, None if body is None else json.dumps(body),
            {"Content-Type": "application/json", wire.PROTOCOL_HEADER: wire.PROTOCOL},
        )  # fmt: skip
        response = self._connection.getresponse()
        text = response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {text!r}")
        found: dict[str, Any] = json.loads(text)
        return found

    def take_number(self) -> None:
        """Wait for the phone's SIM and put the shop's MTN number on it."""
        end = time.perf_counter() + START_S
        while not (phones := self.call("GET", wire.Path.SIMS)["data"]) or not phones[0]["sims"]:
            if time.perf_counter() > end:
                raise TimeoutError("the phone did not come up")
            select.select([], [], [], 0.02)
        sim = {"device_id": phones[0]["device_id"],
               "slot_index": phones[0]["sims"][0]["slot_index"]}  # fmt: skip
        self.call("POST", wire.Path.PAYMENT_METHODS,
                  {"provider": "momo_mtn", "phone_number": NUMBER, "account_name": "Ama Mensah",
                   "sim": sim})  # fmt: skip

    def _python(self, *arguments: str) -> None:
        subprocess.run(  # noqa: S603 - our own programs
            [sys.executable, "-m", *arguments], cwd=ROOT, env=self.environ, check=True,
            stdout=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip


class ReceiverProcess:
    """`tests.fakes.receiver` as a program that knows one secret."""

    def __init__(self, folder: Path) -> None:
        """Choose a port and make the CA: both are wanted before the secret is known."""
        self._folder = folder
        Receiver(folder).context()
        self.ca_file = str(folder / "ca.pem")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: int = free.getsockname()[1]
        self.url = f"https://localhost:{self._port}/hook"
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._unread = b""

    def start(self, secret: str) -> None:
        """Start it; returns when the port is open."""
        self._process = subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, "-m", "tests.fakes.receiver", "--directory", str(self._folder),
             "--secret", secret, "--port", str(self._port)],
            cwd=ROOT, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._pipe = self._process.stdout.fileno()
        self.next(START_S)

    def next(self, timeout_s: float = 10.0) -> dict[str, Any]:
        """Return the next request that it records."""
        while b"\n" not in self._unread:
            if not select.select([self._pipe], [], [], timeout_s)[0]:
                raise TimeoutError(f"no webhook within {timeout_s:g} s")
            data = os.read(self._pipe, 1 << 16)
            if not data:
                raise EOFError("the receiver ended")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def verified(self, count: int) -> list[int]:
        """Return when each of the next requests came, in ns; every one must be well signed."""
        requests = [self.next() for _ in range(count)]
        wrong = [request for request in requests if request["verified"] is not True]
        if wrong:
            raise RuntimeError(f"a signature did not verify: {wrong}")
        return [request["at_ns"] for request in requests]

    def stop(self) -> None:
        """End it. A second call does nothing."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
