"""A receiver whose host is gone for ever: it is told, given up by the schedule, and does not pass for our own link."""

import asyncio
import io
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon.core.link import TOLD_AFTER_S
from daemon.core.model import Delivery, Endpoint
from daemon.log import Log
from daemon.loops.deliver import DeliverLoop
from daemon.webhooks.addresses import PUBLIC_ONLY
from daemon.webhooks.reach import Reach
from daemon.wire import DeliveryStatus
from tests.simulation.internet import Internet, Receivers
from tests.simulation.simulated_time import run
from tests.simulation.test_offline_day import Day

pytestmark = pytest.mark.slow  # four days, second by second

HOUR_S = 3600.0
GONE = "host1.test"


class OneNameLess(Internet):
    """The internet in which the name of the first receiver is nobody's any more."""

    async def look_up(self, host: str, port: int) -> Sequence[str]:
        if host == GONE:
            raise socket.gaierror(-2, "Name or service not known")
        return await super().look_up(host, port)


class Gone(Day):
    """A shop whose first receiver is gone."""

    def __init__(self, folder: Path, endpoints: int) -> None:
        super().__init__(folder, payments=1, endpoints=endpoints)
        self.internet = OneNameLess()
        self.receivers = Receivers(self.internet, self.clock)

    async def live(self, hours: float) -> None:
        """Be paid once and wait."""
        reach = Reach(PUBLIC_ONLY, resolver=self.internet.look_up, connector=self.internet.connect)
        loop = DeliverLoop(self.env, lambda: self.receivers, Log(io.StringIO()), reach)
        task = asyncio.create_task(loop.run())
        await asyncio.sleep(1)
        await self.pay(1)
        await asyncio.sleep(hours * HOUR_S)
        await loop.stop()
        await task

    def told(self) -> list[tuple[str, float]]:
        rows = self.store.look(
            lambda reader: reader.all("SELECT type, at FROM events ORDER BY seq")
        )
        (began,) = {row.created_at for row in self.rows(Delivery, "deliveries")}
        return [(kind, (at - began) / 1e6) for kind, at in rows]


def test_the_only_receiver_is_told_of_within_minutes_and_given_up_after_its_schedule(
    tmp_path: Path,
) -> None:
    day = Gone(tmp_path, endpoints=1)
    try:
        run(day.clock, opened(day, 92))
        (delivery,) = day.rows(Delivery, "deliveries")
        (endpoint,) = day.rows(Endpoint, "endpoints")
        told = day.told()
    finally:
        day.store.close()
    assert (delivery.status, delivery.attempt_count) == (DeliveryStatus.FAILED, 13)
    # With no other host known it may be our own link, so it never counts towards the pause.
    assert (endpoint.is_active, endpoint.consecutive_failures) == (True, 0)
    assert [kind for kind, _ in told] == ["link.lost", "delivery.failed"]
    assert TOLD_AFTER_S <= told[0][1] < TOLD_AFTER_S + 120


def test_one_of_two_is_its_own_fault_however_seldom_the_other_is_owed_something(
    tmp_path: Path,
) -> None:
    day = Gone(tmp_path, endpoints=2)
    try:
        run(day.clock, opened(day, 92))
        deliveries = day.rows(Delivery, "deliveries")
        gone, well = day.rows(Endpoint, "endpoints")
        told = day.told()
    finally:
        day.store.close()
    assert [(row.status, row.attempt_count) for row in deliveries] == [
        (DeliveryStatus.FAILED, 13),
        (DeliveryStatus.DELIVERED, 1),
    ]
    assert (gone.consecutive_failures, well.consecutive_failures) == (13, 0)
    assert [kind for kind, _ in told] == [
        "delivery.delivered",
        "endpoint.failing",
        "delivery.failed",
    ]


async def opened(day: Gone, hours: float) -> None:
    await day.open()
    await day.live(hours)
