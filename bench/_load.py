"""Callers over loopback, in their own process: each sends its next request when the last one is answered.

    python bench/_load.py

Reads one JSON object a line: `{"address": "HOST:PORT", "callers": 8, "lasts_s": 1.5, "expect": 201, "requests":
[...]}`; the requests are whole HTTP messages, sent in turn. Answers `{"answers": n, "seconds": s, "bodies": [...]}`; an
unexpected status ends it with an error. `bodies` are the first few.
"""

import asyncio
import itertools
import json
import sys
import time
from typing import Any, cast

import uvloop

BODIES = 200


class Caller(asyncio.Protocol):
    """One connection. Answers must state their length, as momo's and Starlette's do."""

    def __init__(self, load: "Load") -> None:
        self._load = load
        self._unread = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._load.next())

    def data_received(self, data: bytes) -> None:
        """Take an answer, and send the next request."""
        data = self._unread = self._unread + data
        head = data.find(b"\r\n\r\n")
        if head < 0:
            return
        at = data.lower().find(b"\r\ncontent-length:", 0, head + 2)
        end = head + 4 + int(data[at + 17 : data.index(b"\r\n", at + 2)])
        if len(data) < end:
            return
        self._unread = b""
        if self._load.answered(data[9:12], data[head + 4 : end]):
            self._transport.write(self._load.next())
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end of this caller."""
        self._load.left(exc)


class Load:
    """One run."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._expect = str(asked["expect"]).encode()
        self._requests = itertools.cycle([text.encode() for text in asked["requests"]])
        self._callers = asked["callers"]
        self._end = time.perf_counter() + asked["lasts_s"]
        self.answers = 0
        self.bodies: list[str] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def next(self) -> bytes:
        """Return the next request."""
        return next(self._requests)

    def answered(self, status: bytes, body: bytes) -> bool:
        """Count an answer; return False when time is up."""
        if status != self._expect and not self.over.done():
            self.over.set_exception(RuntimeError(f"{status!r}: {body[:300]!r}"))
        self.answers += 1
        if len(self.bodies) < BODIES:
            self.bodies.append(body.decode())
        return bool(time.perf_counter() < self._end)

    def left(self, exc: Exception | None) -> None:
        """Count a finished caller."""
        self._callers -= 1
        if self.over.done():
            return
        if exc is not None or time.perf_counter() < self._end:
            self.over.set_exception(exc or RuntimeError("the server closed the connection"))
        elif not self._callers:
            self.over.set_result(None)


async def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Do one run."""
    load = Load(asked)
    host, _, port = asked["address"].rpartition(":")
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    for _ in range(asked["callers"]):
        await loop.create_connection(lambda: Caller(load), host, int(port))
    await load.over
    return {"answers": load.answers, "seconds": time.perf_counter() - began, "bodies": load.bodies}


def main() -> None:
    """Run each job from standard input until it ends."""
    uvloop.install()
    for line in sys.stdin:
        print(json.dumps(asyncio.run(run(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
