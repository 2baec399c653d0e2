"""A day without a link: no failure is counted, and everything is delivered when the link is back.

The delivery loop, the flows, the database, the address guard and the dialler are the real ones; time, name look-up and
connections are simulated. A receiver answers 200 once it is connected.
"""

import asyncio
import io
import random
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.core.model import Delivery
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.signing import make_secret
from daemon.env import Env
from daemon.loops.deliveries import DeliverLoop
from daemon.runtime.config import Config
from daemon.runtime.log import Log
from daemon.runtime.secrets import Vault
from daemon.sender.address_guard import PUBLIC_ONLY
from daemon.sender.connect import HostProbe
from daemon.store.engine import Tx
from daemon.store.webhooks import endpoints as store_endpoints
from tests.fakes.entropy import FakeEntropy
from tests.fakes.tiers import share
from tests.simulation.inline_store import WakingStore
from tests.simulation.internet import Internet, Receivers
from tests.simulation.simulated_time import SimulatedClock, run

ENDPOINTS = 5
HOURS = 8
BACK_S = 180.0
"""Time limit for all deliveries after the link returned."""


class Day:
    """The shop on that day."""

    def __init__(self, folder: Path, payments: int, endpoints: int = ENDPOINTS) -> None:
        self.payments = payments
        self.endpoints = endpoints
        self.clock = SimulatedClock()
        self.internet = Internet()
        places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
        self.store = WakingStore.open(str(folder / "momo.db"), now_us=self.clock.now_us())
        entropy = FakeEntropy(1)
        self.store.rng = random.Random(5)
        self.env = Env(self.store, self.clock, entropy, Config(), Vault(places, "file"), account_key=b"k" * 32)
        self.receivers = Receivers(self.internet, self.clock)

    async def open(self) -> None:
        sealed = self.env.vault.seal(make_secret(bytes(32)).encode(), store_endpoints.SIGNING_PURPOSE)

        def job(tx: Tx) -> None:
            for number in range(1, self.endpoints + 1):
                tx.run(
                    "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, "
                    "include_raw, is_active, consecutive_failures, created_at, updated_at) VALUES (:id, 'endpoint', "
                    "'live', :url, :url, '', '[]', 1, 0, 1, 0, 1, 1)",
                    {"id": f"e{number}", "url": f"https://host{number}.test/hook"},
                )
                tx.run(
                    "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:id, :sealed, 1)",
                    {"id": f"e{number}", "sealed": sealed},
                )
            # The transaction of the webhooks does not matter here.
            tx.run(
                "INSERT INTO transactions (id, mode, origin, svc_code, status, currency, expected_minor, meta, "
                "send_sms_to_payer, created_with, created_at, expires_at, late, rejected) VALUES ('t', 'live', 'request', "
                "'A7K2M9', 'PENDING', 'GHS', 100, '{}', 0, 'secret', 1, 2, 0, 0)"
            )

        await self.store.write(job)

    async def pay(self, number: int) -> None:
        now = self.clock.now_us()

        def job(tx: Tx) -> None:
            for endpoint in range(1, self.endpoints + 1):
                tx.run(
                    "INSERT INTO deliveries (id, webhook_id, endpoint_seq, event, subject, revision, transaction_seq, "
                    "test, status, attempt_count, run, next_attempt_at, created_at) VALUES (:id, :id, "
                    "(SELECT seq FROM endpoints WHERE id = :endpoint), "
                    "'transaction.forwarded', :subject, 0, (SELECT seq FROM transactions WHERE id = 't'), 0, 'pending', 0, 1, :now, :now)",
                    {"id": f"d{number}-{endpoint}", "endpoint": f"e{endpoint}", "subject": number + 1, "now": now},
                )
                tx.run(
                    "INSERT INTO delivery_bodies (delivery_seq, deflated) SELECT seq, x'abae0500' FROM deliveries WHERE id = :id",
                    {"id": f"d{number}-{endpoint}"},
                )
            tx.wake("deliveries")

        await self.store.write(job)

    def rows(self, model: type, table: str) -> list[Any]:
        sql = f"SELECT * FROM {table} ORDER BY seq"
        return self.store.peek(lambda reader: reader.every(model, sql))


async def live(day: Day) -> float:
    """Run the day; return the seconds from the link's return to the last delivery."""
    await day.open()
    reach = HostProbe(PUBLIC_ONLY, resolver=day.internet.look_up, connector=day.internet.connect)
    loop = DeliverLoop(day.env, day.receivers, Log(io.StringIO()), reach)
    task = asyncio.create_task(loop.run())
    for number in range(3):  # the link works, until the middle of a payment
        await day.pay(number)
        await asyncio.sleep(7)
    day.internet.up = False
    for number in range(3, day.payments):
        await day.pay(number)
        await asyncio.sleep(HOURS * 3600 / day.payments)
    day.internet.up = True
    back = day.clock.monotonic()
    while any(row.delivered_at is None for row in day.rows(Delivery, "deliveries")):
        assert day.clock.monotonic() - back < 2 * BACK_S, "not all is delivered"
        await asyncio.sleep(1)
    took = day.clock.monotonic() - back
    await loop.stop()
    await task
    return took


@pytest.mark.parametrize("payments", [40, pytest.param(share(500, 100), marks=pytest.mark.slow)])
def test_eight_hours_without_a_link_count_as_no_failure(tmp_path: Path, payments: int) -> None:
    day = Day(tmp_path, payments)
    try:
        took = run(day.clock, live(day))
        deliveries = day.rows(Delivery, "deliveries")
        endpoints = day.rows(Endpoint, "endpoints")
        counted = day.store.peek(lambda reader: reader.value("SELECT COUNT(*) FROM attempts WHERE counted = 1"))
        paused = day.store.peek(lambda reader: reader.value("SELECT COUNT(*) FROM events WHERE type LIKE 'endpoint.%'"))
    finally:
        day.store.close()
    assert took <= BACK_S
    assert len(deliveries) == payments * ENDPOINTS
    # One attempt each counts on the schedule: the one that arrived.
    assert {row.attempt_count for row in deliveries} == {1}
    assert {(row.is_active, row.consecutive_failures) for row in endpoints} == {(True, 0)}
    assert (counted, paused) == (0, 0)
    for endpoint in endpoints:
        firsts: dict[str, None] = dict.fromkeys(
            sequence for _, url, sequence in day.receivers.came if url == endpoint.url
        )
        assert list(firsts) == sorted(firsts, key=int)
    # While no host was reachable, almost no attempts were made.
    assert len(day.receivers.came) < payments * ENDPOINTS + 50
