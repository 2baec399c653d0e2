"""Processor time of one webhook POST, compared with the same POST by hand on the same kind of connection.

    python bench/post.py [--rounds 60] [--posts 100]

Both sides post the same signed body to the same receiver, a separate program, over one open TLS connection each, and take
turns. By hand means: join the head, write it with the body, and feed the answer to an httptools parser until it is
complete, without checks, limits or records. Only the processor time of this process counts.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httptools
import uvloop
from _figures import Row, median, report, spread
from _receiver import ReceiverProcess

from daemon.core.webhooks.signing import AttemptMetadata, headers, make_secret
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.connect import connect_socket
from daemon.sender.connection import SocketStream, open_stream
from daemon.sender.https import Sender, load_context

GOAL = 2.8
WARM_UP = 200
BODY = json.dumps({"event": "transaction.forwarded", "padding": "x" * 900}).encode()
Post = Callable[[], Awaitable[int]]
"""Makes one POST and returns the status."""


class ByHand:
    """A client of one connection that trusts the receiver."""

    def __init__(self, stream: SocketStream, host: str, path: str, fields: dict[str, str]) -> None:
        """Store the stream and the head of each request."""
        self._stream = stream
        self._fields = {"Host": host, **fields, "Content-Length": str(len(BODY))}
        self._path = path
        self._parser = httptools.HttpResponseParser(self)
        self._done = False
        self._body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore a field."""

    def on_body(self, part: bytes) -> None:
        """Store the body."""
        self._body = part

    def on_message_complete(self) -> None:
        """End the answer."""
        self._done = True

    async def post(self) -> int:
        """Make one POST; return the status."""
        lines = [f"POST {self._path} HTTP/1.1", *(f"{k}: {v}" for k, v in self._fields.items())]
        self._stream.write("\r\n".join(lines).encode() + b"\r\n\r\n" + BODY)
        self._done = False
        while not self._done:
            self._parser.feed_data(await self._stream.read())
        return int(self._parser.get_status_code())


async def cost_us(post: Post, count: int) -> float:
    """Return the processor time of one POST in microseconds."""
    started = time.process_time()
    for _ in range(count):
        status = await post()
        assert status == 200, status
    return (time.process_time() - started) / count * 1e6


async def measure(receiver: ReceiverProcess, secret: str, rounds: int, posts: int) -> tuple[list[float], list[float]]:
    """Return the costs of our POST and of one by hand, in microseconds, by round."""
    sent = AttemptMetadata("ocl_" + "0" * 24, "transaction.forwarded", "0" * 36, 1, 1, replay=False, test=False)
    fields = headers([secret], sent, timestamp=time.time_ns() // 10**9, body=BODY)
    authority, _, path = receiver.url.removeprefix("https://").partition("/")
    port = int(authority.rpartition(":")[2])
    connected = await connect_socket("127.0.0.1", port)
    stream = await open_stream(connected, load_context(receiver.ca_file), "localhost", 5.0)
    by_hand = ByHand(stream, authority, f"/{path}", fields)
    policy = AddressPolicy.from_settings(hosts=["localhost"])
    sender = Sender(policy, receiver.ca_file)

    async def ours() -> int:
        return (await sender.post(receiver.url, fields, BODY)).status_code or 0

    mine, hand = [], []
    await cost_us(ours, WARM_UP)
    await cost_us(by_hand.post, WARM_UP)
    for _ in range(rounds):
        mine.append(await cost_us(ours, posts))
        hand.append(await cost_us(by_hand.post, posts))
    await sender.aclose()
    stream.abort()
    await asyncio.sleep(0)
    return mine, hand


def main() -> int:
    """Measure both, in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--posts", type=int, default=100, help="of each side in a round")
    options = parser.parse_args()
    secret = make_secret(bytes(32))
    with (
        tempfile.TemporaryDirectory(prefix="momo-bench-") as name,
        ReceiverProcess(Path(name) / "receiver") as receiver,
    ):
        receiver.start(secret, output=Path(name) / "requests")
        mine, hand = uvloop.run(measure(receiver, secret, options.rounds, options.posts))
    ratios = [ours / theirs for ours, theirs in zip(mine, hand, strict=True)]
    rows = [
        Row("one webhook POST, processor time", f"{median(mine):.0f} us", spread(mine, " us", 0)),
        Row("  by hand over httptools", f"{median(hand):.0f} us", spread(hand, " us", 0)),
        Row("  against it", f"{median(ratios):.2f}", spread(ratios, "", 2), f"<= {GOAL:g}", median(ratios) <= GOAL),
    ]
    return report("Processor time of one webhook POST", rows)


if __name__ == "__main__":
    sys.exit(main())
