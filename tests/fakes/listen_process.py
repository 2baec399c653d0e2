"""A real `momo listen` process with its output, and the local program that it forwards to."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.real_shop import ROOT, SOON_S, RealShop


class LocalReceiver(ThreadingHTTPServer):
    """A receiver on this machine that records each webhook."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[dict[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?x=1"


class _Handler(BaseHTTPRequestHandler):
    server: LocalReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append({"path": self.path, "headers": dict(self.headers), "body": body.decode()})
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"thanks")

    def log_message(self, *_args: object) -> None:
        pass


class Listening:
    """A `momo listen` process; its output is read line by line."""

    def __init__(self, shop: RealShop, *flags: str) -> None:
        self._errors = shop.home / "listen.err"
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "momo_cli", "listen", "--json", *flags],
                cwd=ROOT, env=shop.environ, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def attempts(self, count: int) -> list[dict[str, Any]]:
        """Wait for `count` reported attempts and return them."""
        return [json.loads(self._lines.get(timeout=SOON_S)) for _ in range(count)]

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """Send Ctrl-C or another signal; check that no further line was printed and return stderr."""
        self.process.send_signal(number)
        code = self.process.wait(SOON_S)
        self._reader.join()
        said = self._errors.read_text()
        assert code == 128 + number, said
        assert self._lines.empty()
        return said

    def close(self) -> None:
        """Kill the process if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def listening(shop: RealShop, *flags: str) -> Iterator[Listening]:
    made = Listening(shop, *flags)
    try:
        yield made
    finally:
        made.close()
