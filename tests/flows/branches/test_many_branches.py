"""Fifty branches that were a day without a line come back at once, while orders of head office are paid."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.store.branches import restored
from daemon.wire import TransactionStatus
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.tiers import share

BRANCHES = 50
DAY = share(200)
HANDED_UP = 5
"""One of so many payments is for an order of head office."""


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_all_are_there_afterwards_and_each_order_is_paid_once(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path)
    shops = [await chain.add(f"branch{number}", number) for number in range(BRANCHES)]
    orders = []
    for number, branch in enumerate(shops):
        await branch.settle()
        codes = []
        for _order in range(DAY // HANDED_UP):
            order = await chain.hub.request(2500)
            orders.append(order.reference)
            codes.append(str(order.svc_code))
        await day_without_a_line(branch, number, codes)
    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [0]

    await asyncio.gather(*(branch.settle(turns=200) for branch in shops))

    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [BRANCHES * DAY]
    assert await chain.hub.values("SELECT why FROM facts_refused") == []
    statuses = [(await chain.hub_transaction(each)).status for each in orders]
    assert set(statuses) == {TransactionStatus.SUCCESS}
    for branch in shops:
        theirs = await chain.hub.env.store.read(lambda r, i=branch.id: restored.sums(r, i))  # type: ignore[misc]
        assert theirs == await branch.shop.env.store.read(restored.sums)
    told = await shops[0].shop.values("SELECT COUNT(*) FROM hub_commands WHERE kind = 'decided'")
    assert told == [DAY // HANDED_UP]
    chain.close()


async def day_without_a_line(branch: FakeBranch, number: int, codes: list[str]) -> None:
    receipts = []
    for at in range(DAY):
        typed = codes[at // HANDED_UP] if at % HANDED_UP == 0 else "food"
        receipts.append(
            mtn(
                2500, "KOFI ANTWI BADU BEKOE", branch.shop.wallet(2500), typed,
                str(93_214_500_000 + number * 1_000 + at), concatenation=at % 256,
                sent_at=STARTED + timedelta(seconds=at),
            )
        )  # fmt: skip
    for begin in range(0, DAY, 10):
        await branch.shop.read(*receipts[begin : begin + 10])
