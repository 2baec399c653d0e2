"""Overdue pending transactions expire, in batches; others do not."""

import pytest

from daemon.core.limits import IDEMPOTENCY_US, PRUNE_BATCH, SECOND_US
from daemon.flows.payments import cancel_expire
from daemon.store.engine import Tx
from daemon.wire import TransactionStatus
from tests.fakes.shop import FakeShop


async def test_only_overdue_pending_requests_expire(shop: FakeShop) -> None:
    soon = await shop.request(expires_in_hours=1)
    later = await shop.request(expires_in_hours=2)
    shop.clock.advance(3600)
    assert await cancel_expire.expire(shop.env) == 1
    assert (await shop.transaction(soon.reference)).status is TransactionStatus.EXPIRED
    assert (await shop.transaction(later.reference)).status is TransactionStatus.PENDING
    assert await shop.values("SELECT type FROM events WHERE type = 'transaction.expired'") == [
        "transaction.expired"
    ]


@pytest.mark.tampers
async def test_a_held_request_does_not_expire(shop: FakeShop) -> None:
    request = await shop.request(expires_in_hours=1)
    await shop.env.store.write(
        lambda tx: tx.run(
            f"UPDATE transactions SET status = 'MANUAL_REVIEW' WHERE id = '{request.id}'"
        )
    )
    shop.clock.advance(7200)
    assert await cancel_expire.expire(shop.env) == 0


async def test_more_than_one_batch_expires_in_one_call(shop: FakeShop) -> None:
    for _number in range(520):
        await shop.request(expires_in_hours=1)
    shop.clock.advance(3600)
    assert await cancel_expire.expire(shop.env) == 520


async def test_all_old_answers_are_pruned_in_one_call(shop: FakeShop) -> None:
    now = shop.clock.now_us()

    def answer(tx: Tx) -> None:
        for number in range(2 * PRUNE_BATCH + 1):
            tx.run(
                "INSERT INTO idempotency_keys (scope, key, fingerprint, status, body, sealed, created_at) "
                "VALUES ('live', :key, 'f', 201, '{}', 0, :now)",
                {"key": str(number), "now": now},
            )

    await shop.env.store.write(answer)
    shop.clock.advance(IDEMPOTENCY_US // SECOND_US)
    await cancel_expire.expire(shop.env)
    assert await shop.values("SELECT COUNT(*) FROM idempotency_keys") == [0]
