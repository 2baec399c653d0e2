"""The outbox: lease due deliveries, send them, and record the results."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.model import Delivery, Event
from daemon.core.upkeep.notice_rules import notice_for
from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.core.webhooks.endpoint import Endpoint
from daemon.flows.webhooks import deliver
from daemon.store.engine import Tx
from daemon.store.webhooks import attempts, deliveries
from daemon.store.webhooks import attempts as store_attempts
from daemon.store.webhooks.attempts import DueDeliveries, EndedAttempt
from daemon.wire import DeliveryStatus, TransactionStatus
from tests.fakes import delivering
from tests.fakes.outbox import ID, IDS, LINK, POLICY, add_endpoint, fail, lease, lease_one, only, outcome, owe
from tests.fakes.outbox import attempts as outbox_attempts
from tests.fakes.receipts import mtn
from tests.fakes.sender import FakeSender, answered
from tests.fakes.shop import FakeShop


async def test_a_walk_in_is_forwarded_to_every_catch_all(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    await add_endpoint(shop, "e2")
    await add_endpoint(shop, "e3", catch_all=0)
    await add_endpoint(shop, "e4", mode="test")
    await owe(shop)
    rows = await shop.rows(Delivery, "deliveries")
    assert [(row.endpoint_id, row.event, row.status) for row in rows] == [
        ("e1", "transaction.forwarded", "pending"),
        ("e2", "transaction.forwarded", "pending"),
    ]
    assert rows[0].webhook_id != rows[1].webhook_id


async def test_a_matched_payment_is_forwarded_and_completed(shop: FakeShop) -> None:
    await add_endpoint(shop, events='["transaction.forwarded", "transaction.completed"]')
    request = await shop.request()
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), request.svc_code or "", ID))
    rows = await shop.rows(Delivery, "deliveries")
    assert [row.event for row in rows] == ["transaction.forwarded", "transaction.completed"]
    assert {row.subject for row in rows} == {(await shop.payments())[0].seq}
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


@pytest.mark.parametrize(("amount", "status"), [(2500, "SUCCESS"), (2400, "PARTIAL"), (2600, "OVERPAID")])
async def test_a_reconcile_completes_the_request_once(shop: FakeShop, amount: int, status: str) -> None:
    await add_endpoint(shop, events='["transaction.completed"]', catch_all=0)
    request = await shop.request(2500)
    await shop.read(mtn(amount, "KOFI ANTWI BADU", shop.wallet(amount), "food", ID))
    assert await shop.rows(Delivery, "deliveries") == []
    await shop.reconcile(request.reference, ID)
    (row,) = await shop.rows(Delivery, "deliveries")
    (told,) = map(json.loads, await shop.bodies())
    assert (row.event, told["type"]) == ("transaction.completed", "transaction.completed")
    assert (told["data"]["reference"], told["data"]["status"]) == (request.reference, status)


async def test_a_requests_own_webhook_hears_of_completion_instead(shop: FakeShop) -> None:
    await add_endpoint(shop)
    request = await shop.request(webhook_url="https://other.example/paid")
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), request.svc_code or "", ID))
    rows = await shop.rows(Delivery, "deliveries")
    targets = {row.id: row for row in await shop.rows(Endpoint, "endpoints")}
    assert [(targets[row.endpoint_id].kind, row.event) for row in rows] == [
        ("endpoint", "transaction.forwarded"),
        ("implicit", "transaction.completed"),
    ]


async def test_what_went_out_under_the_holder_is_not_forwarded_again(shop: FakeShop) -> None:
    await add_endpoint(shop)
    request = await shop.request()
    await owe(shop)
    (holder,) = await shop.values("SELECT id FROM transactions WHERE origin = 'open'")
    await shop.reconcile(request.reference, ID)
    rows = await shop.rows(Delivery, "deliveries")
    assert [row.event for row in rows] == ["transaction.forwarded", "transaction.completed"]
    first, data = (json.loads(body)["data"] for body in await shop.bodies())
    assert data["supersedes_reference"] == "svc_trx_" + holder.replace("-", "")
    assert data["transaction_id"] != first["transaction_id"] == holder
    for name in ("provider", "transaction_id"):  # by these a receiver books the money once
        assert data["telco"][name] == first["telco"][name] is not None
    assert data["match"]["matched_by"] == "reconcile"


async def test_a_lease_is_exclusive_until_it_ends(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    assert len(await lease(shop)) == 1
    assert await lease(shop) == []
    shop.clock.advance(59.9)
    assert await lease(shop) == []
    shop.clock.advance(0.1)
    again = await lease_one(shop)
    assert again.number == 2
    assert again.delivery.webhook_id == (await only(shop)).webhook_id


async def test_a_lease_says_when_the_next_delivery_is_due(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
    due = await delivering.lease(shop.env, limit=5, per_endpoint=5, running={})
    assert due == DueDeliveries((), (), (await only(shop)).next_attempt_at)


async def test_an_endpoint_gets_no_more_attempts_at_a_time_than_it_may_have(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    due = await delivering.lease(shop.env, limit=5, per_endpoint=3, running={("e1", False): 1})
    assert [item.delivery.seq for item in due.leased] == [1, 2]
    assert due.next_at is None


async def test_a_restart_gives_every_lease_back_at_once(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await lease_one(shop)
    assert await shop.env.store.write(store_attempts.release_all) == 1
    assert (await lease_one(shop)).number == 2


async def test_a_paused_endpoint_gets_nothing_and_loses_nothing(shop: FakeShop) -> None:
    await add_endpoint(shop, is_active=0)
    await owe(shop)
    assert await lease(shop) == []
    assert (await only(shop)).status is DeliveryStatus.PENDING


async def test_a_2xx_ends_a_delivery_for_good(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(200), link=LINK, policy=POLICY)
    row = await only(shop)
    assert (row.status, row.attempt_count, row.delivered_at, row.next_attempt_at) == (
        DeliveryStatus.DELIVERED,
        1,
        shop.clock.now_us(),
        None,
    )
    assert await lease(shop) == []


async def test_a_4xx_is_a_dead_letter_at_once(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(410), link=LINK, policy=POLICY)
    row = await only(shop)
    assert (row.status, row.response_status_code, row.failed_at) == (DeliveryStatus.FAILED, 410, shop.clock.now_us())
    assert await shop.values("SELECT reason FROM dead_letters") == ["permanent_4xx"]


async def test_a_5xx_is_tried_13_times_over_75_hours_and_then_buried(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    started = shop.clock.now_us()
    attempts = 0
    while (row := await only(shop)).status is not DeliveryStatus.FAILED:
        assert row.next_attempt_at is not None
        shop.clock.advance(max(0, row.next_attempt_at - shop.clock.now_us()) / 1_000_000)
        await delivering.record_outcome(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
        attempts += 1
    hours = (shop.clock.now_us() - started) / 3.6e9
    assert attempts == 13
    assert 75.7 * 0.8 <= hours <= 75.7 * 1.2
    assert await shop.values("SELECT reason FROM dead_letters") == ["retries_exhausted"]
    assert await shop.values("SELECT consecutive_failures FROM endpoints") == [13]


async def test_first_attempts_begin_oldest_first_with_a_rising_sequence(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for telco_id in IDS:
        await owe(shop, telco_id)
    sender: Any = FakeSender(lambda _url: answered(200), [])
    sequences = []
    for leased in await lease(shop):
        await deliver.attempt(shop.env, sender, leased)
        sequences.append(int(sender.headers["X-Svc-Sequence"]))
    assert sequences == [row.seq for row in await shop.rows(Delivery, "deliveries")] == [1, 2, 3]


async def test_a_failed_one_does_not_block_the_next(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop, IDS[0])
    await owe(shop, IDS[1])
    await fail(shop, await lease_one(shop), 503)
    assert (await lease_one(shop)).delivery.seq == 2


async def test_an_address_that_may_not_be_called_is_told_to_the_owner_once(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    blocked = AttemptOutcome(None, "", DeliveryError.BLOCKED_ADDRESS, "shop.example: it is private", 1000)
    for _ in range(2):
        await delivering.record_outcome(shop.env, await lease_one(shop), blocked, link=LINK, policy=POLICY)
        shop.clock.advance(60)
    assert (await only(shop)).status is DeliveryStatus.RETRYING
    [told] = await shop.rows(Event, "events", "type = 'endpoint.blocked'")
    assert told.data == '{"why":"shop.example: it is private"}'
    notice = notice_for(told, {"url": "https://shop.example/hook", **json.loads(told.data)})
    assert notice is not None
    assert notice.urgent
    assert str(notice.text) == (
        "Nothing may be sent to https://shop.example/hook: shop.example: it is private. It is tried again, "
        "and its deliveries wait."
    )


WRITTEN = (
    """SELECT status, next_attempt_at, leased_until, attempt_count, response_status_code, response_body, error_code,
       error_message, delivered_at, failed_at, waiting, extra FROM deliveries
       WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) ORDER BY seq""",
    """SELECT a.number, a.finished_at, a.duration_us, a.status_code, a.error_code, a.error_message, a.counted
       FROM attempts a JOIN deliveries d ON d.seq = a.delivery_seq JOIN endpoints e ON e.seq = d.endpoint_seq
       WHERE e.id = :id ORDER BY d.seq""",
    "SELECT type, mode, at, transaction_seq FROM events WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) ORDER BY seq",
    """SELECT consecutive_failures, link_failures, last_success_at, last_failure_at FROM endpoints WHERE id = :id""",
    """SELECT reason, attempt_count FROM dead_letters
       WHERE delivery_id IN (SELECT d.id FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq WHERE e.id = :id)""",
)
"""Queries of all rows that the attempts of one endpoint write."""


async def test_locked_secrets_make_deliveries_wait(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    from daemon.runtime.secrets import SecretsLocked, Vault
    from daemon.sender.https import Sender

    await add_endpoint(shop)
    await owe(shop)

    def locked(self: Vault, sealed: str, purpose: str) -> bytes:
        raise SecretsLocked("the keyring is locked")

    monkeypatch.setattr(Vault, "unseal", locked)
    assert await deliver.attempt(shop.env, Sender(), await lease_one(shop)) is None
    row = await only(shop)
    assert (row.status, row.waiting, row.attempt_count) == (DeliveryStatus.PENDING, "secrets_locked", 0)


async def test_a_cut_off_attempt_is_given_back_uncounted(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await deliver.release_interrupted(shop.env, await lease_one(shop))
    row = await only(shop)
    assert (row.status, row.attempt_count, row.leased_until) == (DeliveryStatus.PENDING, 0, None)
    assert await shop.values("SELECT consecutive_failures FROM endpoints") == [0]


async def test_what_is_on_record_is_not_given_back(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    leased = await lease_one(shop)
    await delivering.record_outcome(shop.env, leased, outcome(503), link=LINK, policy=POLICY)
    before = await only(shop), await outbox_attempts(shop)
    shop.clock.advance(1)
    await deliver.release_interrupted(shop.env, leased)
    assert (await only(shop), await outbox_attempts(shop)) == before


async def test_what_is_leased_ahead_is_the_oldest_and_counted_one_by_one(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(5):
        await owe(shop, f"9321450000{number}")
    due = await delivering.lease(shop.env, limit=5, per_endpoint=1, running={}, ahead={("e1", False): 2})
    assert due.places == (("e1", False),)
    assert [(one.delivery.seq, one.number) for one in due.leased] == [(1, 1), (2, 1), (3, 1)]
    more = await delivering.lease(
        shop.env, limit=0, per_endpoint=1, running={("e1", False): 1}, ahead={("e1", False): 9}
    )
    assert more.places == ()
    assert [one.delivery.seq for one in more.leased] == [4, 5]


async def test_free_places_get_a_delivery_before_any_is_leased_ahead(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    key = ("e1", False)
    due = await delivering.lease(shop.env, limit=5, per_endpoint=2, running={key: 1}, ahead={key: 2})
    assert due.places == (key,)
    assert [one.delivery.seq for one in due.leased] == [1, 2, 3]


async def test_what_did_not_begin_is_due_again_and_leaves_no_attempt(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    before = await only(shop)
    leased = await lease_one(shop)
    await deliver.turn(shop.env, unsent=[leased])
    assert await only(shop) == before
    assert await outbox_attempts(shop) == []
    assert (await lease_one(shop)).number == 1


async def end(shop: FakeShop, status: int) -> None:
    """Record an answer to the next delivery as the delivery loop does, and redeliver the ended ones a minute later."""
    leased = await lease_one(shop)
    ended = EndedAttempt(leased, outcome(status), LINK, POLICY, shop.clock.now_us(), 0.5)
    await deliver.turn(shop.env, ended=[ended])
    shop.clock.advance(60)
    again = await shop.env.store.read(lambda reader: deliveries.get(reader, leased.delivery.id))
    assert again is not None
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: deliveries.requeue(tx, again, now))


async def test_what_arrives_again_keeps_its_first_2xx(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    first = shop.clock.now_us()
    for _ in range(2):
        await end(shop, 200)
        assert (await only(shop)).delivered_at == first


async def test_what_arrives_at_last_resolves_its_dead_letter(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await end(shop, 410)
    assert await shop.values("SELECT resolved_at FROM dead_letters") == [None]
    # Another one has arrived meanwhile: the endpoint has no streak.
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET consecutive_failures = 0"))
    now = shop.clock.now_us()
    await end(shop, 200)
    assert await shop.values("SELECT resolved_at FROM dead_letters") == [now]


async def test_what_is_written_together_is_what_is_written_one_by_one(shop: FakeShop) -> None:
    for endpoint in ("e1", "e2"):
        await add_endpoint(shop, endpoint)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    leased = await lease(shop, limit=8)
    assert len(leased) == 8
    # Of each endpoint the same four in the same order: together at one, one after the other at the other.
    answers = [outcome(200), outcome(503, DeliveryError.HTTP_ERROR), outcome(204), outcome(410)]
    now = shop.clock.now_us()
    together = [
        EndedAttempt(one, answer, LINK, POLICY, now, 0.5)
        for one, answer in zip([one for one in leased if one.endpoint.id == "e1"], answers, strict=True)
    ]
    decisions = (await deliver.turn(shop.env, ended=together)).decisions

    def singly(ended: EndedAttempt) -> Callable[[Tx], Any]:
        return lambda tx: attempts.record(tx, ended, shop.env.new_id)

    theirs = [one for one in leased if one.endpoint.id == "e2"]
    for one, answer in zip(theirs, answers, strict=True):
        await shop.env.store.write(singly(EndedAttempt(one, answer, LINK, POLICY, now, 0.5)))
    assert [one.status for one in decisions] == ["delivered", "retrying", "delivered", "failed"]

    async def seen(endpoint_id: str) -> list[Any]:
        return [
            await shop.env.store.read(lambda reader, q=sql: reader.all(q, {"id": endpoint_id}))  # type: ignore[misc]
            for sql in WRITTEN
        ]

    assert await seen("e1") == await seen("e2")


@given(st.binary(max_size=20_000) | st.text().map(str.encode))
def test_any_body_comes_back_as_it_was(body: bytes) -> None:
    assert deliveries.inflate(deliveries.deflate(body)) == body


@given(st.integers(1, 20_000), st.randoms(use_true_random=False))
def test_a_body_of_any_length_comes_back_as_it_was(length: int, random: "st.DataObject") -> None:
    body = random.randbytes(length)  # type: ignore[attr-defined]
    assert deliveries.inflate(deliveries.deflate(body)) == body


def test_a_body_that_was_cut_off_is_refused() -> None:
    deflated = deliveries.deflate(b'{"type":"transaction.forwarded"}')
    with pytest.raises(zlib.error):
        deliveries.inflate(deflated[:-1])


async def test_what_is_sent_is_what_was_made_with_the_payment(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    (body,) = await shop.bodies()
    leased = await lease_one(shop)
    assert leased.body.decode() == body
    assert leased.delivery.webhook_id in body
    (stored,) = await shop.values("SELECT deflated FROM delivery_bodies")
    assert 3 * len(stored) < 2 * len(leased.body)
