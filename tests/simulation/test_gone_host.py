"""A receiver on a host that is gone for good: the owner gets a notice, its deliveries end by the schedule, and it does
not count as an outage of our connection.
"""

import asyncio
import io
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon.core.model import Delivery
from daemon.core.webhooks.connectivity import NOTICE_AFTER_S
from daemon.core.webhooks.endpoint import Endpoint
from daemon.loops.deliveries import DeliverLoop
from daemon.runtime.log import Log
from daemon.sender.address_guard import PUBLIC_ONLY
from daemon.sender.connect import HostProbe
from daemon.wire import DeliveryStatus
from tests.simulation.internet import Internet, Receivers
from tests.simulation.simulated_time import run
from tests.simulation.test_offline_day import Day

pytestmark = pytest.mark.slow  # four days, second by second

HOUR_S = 3600.0
GONE = "host1.test"


class OneNameLess(Internet):
    """The internet in which the name of the first receiver no longer resolves."""

    async def look_up(self, host: str, port: int) -> Sequence[str]:
        if host == GONE:
            raise socket.gaierror(-2, "Name or service not known")
        return await super().look_up(host, port)


class Gone(Day):
    """A shop with a first receiver that is gone."""

    def __init__(self, folder: Path, endpoints: int) -> None:
        super().__init__(folder, payments=1, endpoints=endpoints)
        self.internet = OneNameLess()
        self.receivers = Receivers(self.internet, self.clock)

    async def live(self, hours: float) -> None:
        """Receive one payment and wait."""
        reach = HostProbe(PUBLIC_ONLY, resolver=self.internet.look_up, connector=self.internet.connect)
        loop = DeliverLoop(self.env, self.receivers, Log(io.StringIO()), reach)
        task = asyncio.create_task(loop.run())
        await asyncio.sleep(1)
        await self.pay(1)
        await asyncio.sleep(hours * HOUR_S)
        await loop.stop()
        await task

    def notices(self) -> list[tuple[str, float]]:
        rows = self.store.peek(lambda reader: reader.all("SELECT type, at FROM events ORDER BY seq"))
        (began,) = {row.created_at for row in self.rows(Delivery, "deliveries")}
        return [(kind, (at - began) / 1e6) for kind, at in rows]


def test_the_only_receiver_gets_a_notice_within_minutes_and_is_given_up_after_its_schedule(tmp_path: Path) -> None:
    day = Gone(tmp_path, endpoints=1)
    try:
        run(day.clock, opened(day, 92))
        (delivery,) = day.rows(Delivery, "deliveries")
        (endpoint,) = day.rows(Endpoint, "endpoints")
        notices = day.notices()
    finally:
        day.store.close()
    assert (delivery.status, delivery.attempt_count) == (DeliveryStatus.FAILED, 13)
    # Without another known host it may be our own link, so it never counts towards the pause.
    assert (endpoint.is_active, endpoint.consecutive_failures) == (True, 0)
    assert [kind for kind, _ in notices] == ["link.lost", "delivery.failed"]
    assert NOTICE_AFTER_S <= notices[0][1] < NOTICE_AFTER_S + 120


def test_with_a_second_receiver_the_failing_one_counts_its_failures(tmp_path: Path) -> None:
    day = Gone(tmp_path, endpoints=2)
    try:
        run(day.clock, opened(day, 92))
        deliveries = day.rows(Delivery, "deliveries")
        gone, well = day.rows(Endpoint, "endpoints")
        notices = day.notices()
    finally:
        day.store.close()
    assert [(row.status, row.attempt_count) for row in deliveries] == [
        (DeliveryStatus.FAILED, 13),
        (DeliveryStatus.DELIVERED, 1),
    ]
    assert (gone.consecutive_failures, well.consecutive_failures) == (13, 0)
    assert [kind for kind, _ in notices] == ["delivery.delivered", "endpoint.failing", "delivery.failed"]


async def opened(day: Gone, hours: float) -> None:
    await day.open()
    await day.live(hours)
