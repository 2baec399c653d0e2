"""Doubtful payments and an operator's decisions on their reviews."""

import json
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.inputs import Idempotency
from daemon.core.model import Message, Review
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.steps.context import Context
from daemon.steps.pay import open_message_review
from daemon.store.engine import Tx
from daemon.wire import ReviewReason
from tests.fakes.answers import answered, decided
from tests.fakes.receipts import MTN_SMSC, STARTED, mtn, mtn_receipt
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"
PAYER = "+233241234567"
STRANGER = "MobileMony"


async def pay(shop: FakeShop, typed: str | None, telco_id: str = ID, **more: Any) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), typed or "", telco_id, **more))


async def forge(shop: FakeShop, typed: str = "food", telco_id: str = "93214500009") -> None:
    """Send a forged receipt under a name like the network's, and ask a person about it."""
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, typed, telco_id)
    await shop.read_pdus(encode_deliver(STRANGER, text, STARTED, smsc=MTN_SMSC, reference=9))
    await ask_about_newest(shop)


async def ask_about_newest(shop: FakeShop) -> None:
    """Open the review that the newest message would have if no sender of its network were known."""

    def job(tx: Tx) -> None:
        found = tx.every(Message, "SELECT * FROM messages ORDER BY seq DESC LIMIT 1")
        context = Context.for_message(shop.env, tx, found[0], shop.env.times())
        details = {"doubts": ["sender_not_of_network"]}
        open_message_review(context, found[0].id, ReviewReason.UNKNOWN_SENDER, details)

    await shop.env.store.write(job)


async def endpoint(shop: FakeShop) -> None:
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, "
            "is_active, consecutive_failures, created_at, updated_at) VALUES ('e', 'endpoint', 'live', "
            "'https://shop.example/hook', 'https://shop.example/hook', '', '[\"transaction.forwarded\"]', 1, 0, 1, 0, "
            "0, 0)"
        )
    )


async def only(shop: FakeShop) -> Review:
    [found] = await shop.rows(Review, "reviews", "state = 'open'")
    assert isinstance(found, Review)
    return found


async def approve(
    shop: FakeShop, review_id: str | None = None, *, claim: Idempotency | None = None, **said: Any
) -> dict[str, Any]:
    review_id = review_id or (await only(shop)).id
    approval = review.Approval(**said)
    answer = await answered(
        claim,
        lambda keep: review.approve(shop.env, OWNER, review_id, approval, keep=keep),
        lambda done: json.dumps(decided(done)),
    )
    return dict(json.loads(answer.body))


async def approve_row(shop: FakeShop) -> None:
    """Approve the first held receipt, and with it all of its row."""
    found = await shop.rows(Review, "reviews", "state = 'open'")
    await approve(shop, found[0].id, confirmed=True)


async def reject(shop: FakeShop, review_id: str | None = None) -> dict[str, Any]:
    review_id = review_id or (await only(shop)).id
    return decided(await review.reject(shop.env, OWNER, review_id, "not ours"))


async def refusal(shop: FakeShop, review_id: str | None = None, **said: Any) -> Refusal:
    before = await shop.values("SELECT COUNT(*) FROM events")
    with pytest.raises(Refusal) as caught:
        await approve(shop, review_id, **said)
    assert await shop.values("SELECT COUNT(*) FROM events") == before, "a refusal changes nothing"
    return caught.value
