"""Low disk space: the owner gets a notice, new transactions stop before payments do, and the state recovers by itself."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.errors import Unavailable
from daemon.core.upkeep.self_check import BALLAST_BYTES, SpaceStep
from daemon.flows.upkeep import machine
from daemon.runtime.files import BALLAST
from tests.fakes.owner_notices import sent_bodies
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

MB = 1_000_000


class Disk:
    """A disk with the free space that the test sets."""

    def __init__(self, shop: FakeShop) -> None:
        self.free = 900 * MB
        shop.env = replace(shop.env, free_bytes=lambda _folder: self.free)


async def test_orders_are_refused_while_money_is_still_taken(shop: FakeShop) -> None:
    disk = Disk(shop)
    order = await shop.request()
    disk.free = 19 * MB
    await machine.watch_space(shop.env)
    with pytest.raises(Unavailable, match="the rest is reserved for payments") as refused:
        await shop.request()
    assert refused.value.retry_after_s == 60
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), str(order.svc_code), "93214500001"))
    assert (await shop.transaction(order.reference)).status == "SUCCESS"
    disk.free = 40 * MB
    await machine.watch_space(shop.env)
    await shop.request()


async def test_each_step_is_told_once_and_so_is_its_end(shop: FakeShop) -> None:
    disk = Disk(shop)
    assert await machine.watch_space(shop.env) is None
    disk.free = 400 * MB
    turn = await machine.watch_space(shop.env)
    assert (turn is not None, await machine.watch_space(shop.env)) == (True, None)
    (low,) = await sent_bodies(shop)
    assert low.startswith("The disk of the shop has 400 MB left, less than 500 MB.")
    disk.free = 19 * MB
    await machine.watch_space(shop.env)
    (full,) = await sent_bodies(shop)
    assert "No new transaction is accepted" in full
    disk.free = 900 * MB
    await machine.watch_space(shop.env)
    assert await sent_bodies(shop) == [
        "The shop's disk has enough free space again.",
        "The shop's disk has some free space again: new transactions are accepted.",
    ]


async def test_the_end_is_told_also_when_the_daemon_was_started_again_meanwhile(shop: FakeShop) -> None:
    disk = Disk(shop)
    disk.free = 90 * MB
    await machine.watch_space(shop.env)
    assert len(await sent_bodies(shop)) == 1
    shop.env.disk.told = []
    await machine.begin_space(shop.env)
    disk.free = 900 * MB
    await machine.watch_space(shop.env)
    assert await sent_bodies(shop) == ["The shop's disk has space for backups, exports and log files again."]


async def test_the_reserve_is_given_back_at_the_last_step_and_taken_again(shop: FakeShop) -> None:
    disk = Disk(shop)
    reserve = Path(shop.env.home) / BALLAST
    await machine.watch_space(shop.env)
    # Allocated space, not a sparse file.
    assert reserve.stat().st_size == BALLAST_BYTES
    assert reserve.stat().st_blocks * 512 >= BALLAST_BYTES
    disk.free = 19 * MB
    await machine.watch_space(shop.env)
    assert not reserve.exists()
    disk.free = 90 * MB
    await machine.watch_space(shop.env)
    assert not reserve.exists()
    disk.free = 200 * MB
    await machine.watch_space(shop.env)
    assert reserve.exists()


async def test_a_disk_that_nobody_can_ask_changes_nothing(shop: FakeShop) -> None:
    def gone(_folder: str) -> int:
        raise OSError("stale")

    shop.env = replace(shop.env, free_bytes=gone)
    assert await machine.watch_space(shop.env) is None
    assert shop.env.disk.room is SpaceStep.PLENTY
