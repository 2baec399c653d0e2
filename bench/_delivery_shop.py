"""A shop with payments, a receiver and endpoints, for the benchmarks of deliveries; and a bare loop for comparison."""

import asyncio
import itertools
import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvloop
from _figures import pause, until
from _receiver import ReceiverProcess

from daemon import wire
from daemon.core.webhooks.signing import AttemptMetadata, headers
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.https import Sender
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receipts import mtn_receipts

TIMEOUT_S = 180.0
NUMBER = "0244124567"
NO_LIMIT = {"limits": {"live_per_min": 0}}
LIVE_MAX = 1_000
"""Number of payments that may come in later."""
APART_S = 0.15


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of one replay, or of one bare loop.

    Attributes:
        rate: Deliveries a second.
        connections: Number of connections used.
    """

    rate: float
    connections: int


class Shop:
    """A shop with payments, a receiver, and endpoints for it."""

    def __init__(self, folder: Path, payments: int, settings: dict[str, Any] | None = None) -> None:
        """Receive the payments; no endpoint is registered yet."""
        self._stack = ExitStack()
        self.payments = payments
        self.receiver = ReceiverProcess(folder / "receiver")
        self.phone = self._stack.enter_context(PhoneProcess(folder / "phone", storages={"SM": 3_000, "ME": 100}))
        self.shop = self._stack.enter_context(
            RealShop(
                folder / "shop",
                phone=folder / "phone",
                ca_file=self.receiver.ca_file,
                settings={**NO_LIMIT, **(settings or {})},
            )
        )
        self._output = folder / "requests"
        self.secrets: list[str] = []
        self.endpoints: list[str] = []
        self._live = 0
        self.shop.begin_chain(50_000)
        self.shop.start()
        self.shop.assign(NUMBER)
        # An older payment would be historical.
        now = datetime.now(UTC)  # noqa: TID251 - the network's clock
        total = payments + LIVE_MAX
        self._receipts = mtn_receipts(total, started=now, references=["food"] * total)
        for receipt in itertools.islice(self._receipts, payments):
            self.phone.deliver(receipt.pdus)
        until(lambda: self.count("payments") == payments, TIMEOUT_S, "the payments", 0.1)
        # The daemon reads each part again and deletes it; that is not part of the measurement.
        until(lambda: not self.phone.state(1 << 30, 0)["stored"], TIMEOUT_S, "an empty phone", 0.2)

    def add_endpoints(self, count: int) -> None:
        """Register endpoints for the receiver and start it."""
        for number in range(count):
            status, answer = self.shop.api("POST", wire.Path.ENDPOINTS, {"url": f"{self.receiver.url}/{number}"})
            assert status == 201, answer
            self.endpoints.append(answer["data"]["id"])
            self.secrets.append(answer["secret"])
        self.receiver.start(*self.secrets, output=self._output)

    def live(self, count: int) -> list[float]:
        """Deliver payments, `APART_S` apart; return the milliseconds from SMS to webhook at the first endpoint."""
        before = self.count("payments")
        given = []
        for receipt in itertools.islice(self._receipts, count):
            self.phone.deliver(receipt.pdus)
            given.append(time.monotonic_ns())
            pause(APART_S)
        until(lambda: self.count("payments") == before + count, TIMEOUT_S, "the payments", 0.1)
        query = (
            "SELECT d.id FROM deliveries d JOIN payments p ON p.seq = d.subject "
            "WHERE d.endpoint_seq = (SELECT seq FROM endpoints WHERE id = ?) AND d.bulk = 0 {0} ORDER BY p.seq LIMIT ? OFFSET ?"
        )
        which = (self.endpoints[0], count, self._live)
        done = query.format("AND d.status = 'delivered'")
        until(lambda: len(self.shop.rows(done, which)) == count, TIMEOUT_S, "the webhooks", 0.1)
        self._live += count
        came = {request["delivery"]: request["at_ns"] for request in reversed(self.requests())}
        ids = [row[0] for row in self.shop.rows(query.format(""), which)]
        return [(came[each] - at) / 1e6 for each, at in zip(ids, given, strict=True)]

    def is_replaying(self) -> bool:
        """Return whether a replayed delivery is pending."""
        return self.count("deliveries WHERE bulk = 1 AND next_attempt_at IS NOT NULL") > 0

    def replay(self, endpoints: list[str]) -> Speed:
        """Replay all payments to some endpoints at once and wait until all attempts are recorded."""
        self._output.write_bytes(b"")
        before = self.count("attempts WHERE status_code IS NOT NULL")
        for endpoint in endpoints:
            self.ask_replay(endpoint)
        wanted = before + self.payments * len(endpoints)
        until(lambda: self.count("attempts WHERE status_code IS NOT NULL") >= wanted, TIMEOUT_S, "the replay", 0.5)
        ((end_us,),) = self.shop.rows("SELECT MAX(finished_at) FROM attempts")
        end_ns = end_us * 1000 - (time.time_ns() - time.monotonic_ns())
        requests = self.requests()
        if len(requests) != self.payments * len(endpoints):
            raise RuntimeError(f"{len(requests)} requests came")
        if not all(request["verified"] for request in requests):
            raise RuntimeError("a signature did not verify")
        used = {request["connection"] for request in requests}
        return Speed(len(requests) / ((end_ns - requests[0]["at_ns"]) / 1e9), len(used))

    def ask_replay(self, endpoint: str) -> None:
        """Queue all payments of the last days for an endpoint."""
        now = datetime.now(UTC)  # noqa: TID251 - the daemon's clock
        window = {"from": now - timedelta(days=2), "to": now + timedelta(hours=1)}
        body = {name: at.isoformat().replace("+00:00", "Z") for name, at in window.items()}
        queued, cursor = 0, None
        while True:
            page = {"cursor": cursor} if cursor else {}
            status, answer = self.shop.api(
                "POST", wire.Path.REPLAY, {"endpoint_id": endpoint, **body, "include_historical": True, **page}
            )
            if status != 200:
                raise RuntimeError(f"{status}: {answer}")
            queued, cursor = queued + answer["enqueued"], answer["next_cursor"]
            if not answer["has_more"]:
                break
        if queued < self.payments:
            raise RuntimeError(f"{queued} deliveries were queued")

    def requests(self) -> list[dict[str, Any]]:
        """Return the receiver's recorded requests."""
        return [json.loads(line) for line in self._output.read_text().splitlines()]

    def bare(self, count: int, connections: int) -> Speed:
        """Post `count` bodies to the same receiver, in a loop without other work."""
        return uvloop.run(_bare(self.receiver, self.secrets, count, connections))

    def count(self, what: str) -> int:
        ((found,),) = self.shop.rows(f"SELECT COUNT(*) FROM {what}")  # noqa: S608 - our own words
        return int(found)

    def close(self) -> None:
        """End every program."""
        self.receiver.stop()
        self._stack.close()


async def _bare(receiver: ReceiverProcess, secrets: list[str], count: int, connections: int) -> Speed:
    body = json.dumps({"event": "transaction.forwarded", "padding": "x" * 900}).encode()
    policy = AddressPolicy.from_settings(hosts=["localhost"], cidrs=[])
    senders = [Sender(policy, receiver.ca_file) for _ in range(connections)]
    sent = AttemptMetadata("ocl_" + "0" * 24, "transaction.forwarded", "0" * 36, 1, 1, replay=True, test=False)
    stamp = time.time_ns() // 10**9

    async def work(number: int, share: int) -> None:
        # The same headers and the same work for the receiver as with the daemon.
        secret = secrets[number % len(secrets)]
        signed = headers([secret], sent, timestamp=stamp, body=body)
        for _ in range(share):
            outcome = await senders[number].post(f"{receiver.url}/{number}", signed, body)
            assert outcome.status_code == 200, outcome

    await asyncio.gather(*(work(number, 1) for number in range(connections)))
    started = time.perf_counter()
    share = count // connections
    await asyncio.gather(*(work(number, share) for number in range(connections)))
    took_s = time.perf_counter() - started
    for sender in senders:
        await sender.aclose()
    return Speed(share * connections / took_s, connections)
