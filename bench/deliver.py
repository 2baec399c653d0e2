"""How fast what is owed goes out, against a bare loop of the same HTTP client.

    python bench/deliver.py [--rounds 3] [--payments 1000]

A shop has taken in 1,000 payments before it had an endpoint; then they are replayed to one local HTTPS
endpoint, and to ten at once. The clock starts with the first request at the receiver and stops when the last attempt
is on record as delivered: every attempt is durable before it is sent, and every outcome after it. The bare loop posts
as many bodies of the same size, on as many connections as the daemon used, with the daemon's own client, and stores
nothing; the two take turns. The receiver is a program of its own that verifies both signatures of each.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvloop
from _figures import Row, median, progress, report, spread, until
from _receiver import ReceiverProcess

from daemon import wire
from daemon.core import signing
from daemon.webhooks.addresses import AddressPolicy
from daemon.webhooks.sender import Sender
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receipts import mtn_receipts

GOAL_RATIO = 0.6
TIMEOUT_S = 180.0
NUMBER = "0244124567"
NO_LIMIT = {"limits": {"live_per_min": 0}}


@dataclass(frozen=True, slots=True)
class Speed:
    """One replay, or one bare loop.

    Attributes:
        rate: Deliveries a second.
        connections: How many were used.
    """

    rate: float
    connections: int


class Shop:
    """A shop with payments, a receiver, and endpoints at it."""

    def __init__(self, folder: Path, payments: int, settings: dict[str, Any] | None = None) -> None:
        """Take the payments in; no endpoint is registered yet."""
        self._stack = ExitStack()
        self.payments = payments
        self.receiver = ReceiverProcess(folder / "receiver")
        self.phone = self._stack.enter_context(
            PhoneProcess(folder / "phone", storages={"SM": 3_000, "ME": 100})
        )
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
        self.shop.start()
        self.shop.assign(NUMBER)
        # What is older than the line would be history.
        now = datetime.now(UTC)  # noqa: TID251 - the network's clock
        for receipt in mtn_receipts(payments, started=now, references=["food"] * payments):
            self.phone.deliver(receipt.pdus)
        until(lambda: self._count("payments") == payments, TIMEOUT_S, "the payments", 0.1)

    def add_endpoints(self, count: int) -> None:
        """Register endpoints at the receiver and start it."""
        for number in range(count):
            status, answer = self.shop.api(
                "POST", wire.Path.ENDPOINTS, {"url": f"{self.receiver.url}/{number}"}
            )
            assert status == 201, answer
            self.endpoints.append(answer["data"]["id"])
            self.secrets.append(answer["secret"])
        self.receiver.start(*self.secrets, output=self._output)

    def replay(self, endpoints: list[str]) -> Speed:
        """Replay everything to some endpoints at once and wait until all is on record."""
        self._output.write_bytes(b"")
        before = self._count("attempts WHERE finished_at IS NOT NULL")
        for endpoint in endpoints:
            self.ask_replay(endpoint)
        wanted = before + self.payments * len(endpoints)
        until(
            lambda: self._count("attempts WHERE finished_at IS NOT NULL") >= wanted,
            TIMEOUT_S, "the replay", 0.25,
        )  # fmt: skip
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
        """Queue everything of the last days for an endpoint."""
        now = datetime.now(UTC)  # noqa: TID251 - the daemon's clock
        window = {"from": now - timedelta(days=2), "to": now + timedelta(hours=1)}
        body = {name: at.isoformat().replace("+00:00", "Z") for name, at in window.items()}
        status, answer = self.shop.api(
            "POST", wire.Path.REPLAY, {"endpoint_id": endpoint, **body, "include_historical": True}
        )
        if (status, answer.get("enqueued")) != (200, self.payments):
            raise RuntimeError(f"{status}: {answer}")

    def requests(self) -> list[dict[str, Any]]:
        """Return what the receiver has recorded."""
        return [json.loads(line) for line in self._output.read_text().splitlines()]

    def bare(self, count: int, connections: int) -> Speed:
        """Post as many bodies to the same receiver, in a loop that does nothing else."""
        return uvloop.run(_bare(self.receiver, self.secrets[0], count, connections))

    def _count(self, what: str) -> int:
        ((found,),) = self.shop.rows(f"SELECT COUNT(*) FROM {what}")  # noqa: S608 - our own words
        return int(found)

    def close(self) -> None:
        """End every program."""
        self.receiver.stop()
        self._stack.close()


async def _bare(receiver: ReceiverProcess, secret: str, count: int, connections: int) -> Speed:
    body = json.dumps({"event": "transaction.forwarded", "padding": "x" * 900}).encode()
    policy = AddressPolicy.from_settings(hosts=["localhost"], cidrs=[])
    senders = [Sender(policy, receiver.ca_file) for _ in range(connections)]
    headers = signing.sign(
        [secret], webhook_id="ocl_" + "0" * 24, timestamp=time.time_ns() // 10**9, body=body
    )
    headers["Content-Type"] = "application/json"

    async def work(sender: Sender, share: int) -> None:
        for _ in range(share):
            outcome = await sender.post(receiver.url, headers, body)
            assert outcome.status_code == 200, outcome

    await asyncio.gather(*(work(sender, 1) for sender in senders))
    started = time.perf_counter()
    share = count // connections
    await asyncio.gather(*(work(sender, share) for sender in senders))
    took_s = time.perf_counter() - started
    for sender in senders:
        await sender.aclose()
    return Speed(share * connections / took_s, connections)


def replay(rounds: int, payments: int, endpoints: int) -> list[Row]:
    """Measure one of the replays, a fresh shop for each round."""
    rates, ratios, bare_rates, connections = [], [], [], 0
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
            shop = Shop(Path(name), payments)
            try:
                shop.add_endpoints(endpoints)
                mine = shop.replay(shop.endpoints)
                bare = shop.bare(payments, mine.connections)
            finally:
                shop.close()
        progress(f"replay to {endpoints}, round {number + 1} of {rounds}: {mine} against {bare}")
        rates.append(mine.rate)
        bare_rates.append(bare.rate)
        ratios.append(mine.rate / bare.rate)
        connections = max(connections, mine.connections)
    what = f"{payments:,} payments to {endpoints}"
    return [
        Row(f"{what}, on record", f"{median(rates):.0f}/s", spread(rates, "/s", 0)),
        Row(f"  bare loop, {connections} connections", f"{median(bare_rates):.0f}/s",
            spread(bare_rates, "/s", 0)),
        Row("  against it", f"{median(ratios):.2f}", spread(ratios, "", 2),
            f">= {GOAL_RATIO:g}", median(ratios) >= GOAL_RATIO),
    ]  # fmt: skip


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--payments", type=int, default=1_000)
    options = parser.parse_args()
    rows = [
        *replay(options.rounds, options.payments, 1),
        *replay(options.rounds, options.payments, 10),
    ]
    return report("What is owed goes out", rows)


if __name__ == "__main__":
    sys.exit(main())
