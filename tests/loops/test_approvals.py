"""The loop that carries out approvals of the dashboard when they can no longer be undone."""

import asyncio
import contextlib
from pathlib import Path

from daemon.core.model import User
from daemon.flows.payments import review
from daemon.loops.approvals import carry_out_approvals
from daemon.runtime.log import Log
from daemon.wire import Role, TransactionStatus
from tests.fakes.reviews import only, pay
from tests.fakes.shop import OWNER, FakeShop


async def test_it_carries_out_what_waits_and_is_woken_by_a_new_one(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.begin_chain()
    request = await shop.request(2500, expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code)
    held = await only(shop)
    loop = asyncio.create_task(carry_out_approvals(shop.env, Log(None)))
    await asyncio.sleep(0.05)
    ama = User(1, "u", "ama", Role.CASHIER, "", None, None, 0, 0, None)
    await review.approve_later(shop.env, OWNER, held.id, review.Approval(), ama, 0)
    for _ in range(200):
        if (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS:
            break
        await asyncio.sleep(0.02)
    loop.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await loop
    assert await shop.values("SELECT decided_by FROM reviews") == ["user:ama"]
    shop.close()
