"""The webhook receiver in its own process, as in a real installation."""

import json
import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import _figures  # noqa: F401 - finds the fakes

from tests.fakes.real_shop import ROOT
from tests.fakes.receiver import Receiver

START_S = 30.0


class ReceiverProcess:
    """`tests.fakes.receiver` as a program."""

    def __init__(self, folder: Path) -> None:
        """Choose a port and make the CA; both are needed before the secret is known."""
        self._folder = folder
        Receiver(folder).context()
        self.ca_file = str(folder / "ca.pem")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: int = free.getsockname()[1]
        self.url = f"https://localhost:{self._port}/hook"
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._unread = b""

    def start(self, *secrets: str, output: Path | None = None, delay_s: float = 0.0) -> None:
        """Start it; return when the port is open. With `output` it records there, and `next` gets no requests."""
        arguments = [part for secret in secrets for part in ("--secret", secret)]
        arguments += [] if output is None else ["--output", str(output)]
        arguments += ["--delay-s", str(delay_s)]
        self._process = subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, "-m", "tests.fakes.receiver", "--directory", str(self._folder),
             "--port", str(self._port), *arguments],
            cwd=ROOT, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._pipe = self._process.stdout.fileno()
        self.next(START_S)

    def next(self, timeout_s: float = 10.0) -> dict[str, Any]:
        """Return the next recorded request."""
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
        """Return the arrival times of the next requests, in ns; every signature must be valid."""
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
