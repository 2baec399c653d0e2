"""The outbox: what is owed goes out once leased, and what came of it is written down."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from daemon.core.delivery import DeliveryError, Link, Outcome, RetryPolicy
from daemon.core.model import Delivery, Endpoint
from daemon.core.notice_rules import RULES
from daemon.flows import deliver
from daemon.store import attempt_record, deliveries, delivery_queue
from daemon.store.attempt_record import Ended, Leased
from daemon.store.engine import Tx
from daemon.store.leasing import Ahead, Due
from daemon.wire import DeliveryStatus, TransactionStatus
from tests.fakes.receipts import mtn
from tests.fakes.sender import FakeSender, answered
from tests.fakes.shop import FakeShop

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
LINK = Link(other_host_answered=True, other_host_known=True)
POLICY = RetryPolicy()
ID = "93214500001"
IDS = (ID, "93214500002", "93214500003")
WRITTEN = (
    """SELECT status, next_attempt_at, leased_until, attempt_count, response_status_code, response_body, error_code,
       error_message, delivered_at, failed_at, waiting, extra FROM deliveries WHERE endpoint_id = :id ORDER BY seq""",
    """SELECT a.number, a.finished_at, a.duration_us, a.status_code, a.error_code, a.error_message, a.counted
       FROM attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE d.endpoint_id = :id ORDER BY d.seq""",
    "SELECT type, mode, at, transaction_id FROM events WHERE endpoint_id = :id ORDER BY seq",
    """SELECT consecutive_failures, link_failures, last_success_at, last_failure_at FROM endpoints WHERE id = :id""",
    """SELECT reason, attempt_count FROM dead_letters
       WHERE delivery_id IN (SELECT id FROM deliveries WHERE endpoint_id = :id)""",
)
"""What an attempt leaves behind, of one endpoint."""


def outcome(status: int | None, error: DeliveryError | None = None, **more: Any) -> Outcome:
    return Outcome(
        status, "", error, None if error is None else "it failed", 1000, connected=True, **more
    )


async def add_endpoint(shop: FakeShop, endpoint_id: str = "e1", **changes: Any) -> None:
    values = {
        "id": endpoint_id, "kind": "endpoint", "mode": "live", "url": "https://shop.example/hook",
        "url_normalised": f"https://shop.example/{endpoint_id}", "description": "",
        "events": '["transaction.forwarded"]', "catch_all": 1, "include_raw": 0, "is_active": 1,
        "consecutive_failures": 0, "created_at": 1, "updated_at": 1, **changes,
    }  # fmt: skip
    sealed = shop.env.vault.seal(SECRET.encode(), "webhook-secret")

    def job(tx: Any) -> None:
        tx.run(
            f"INSERT INTO endpoints ({', '.join(values)}) VALUES ({', '.join(':' + name for name in values)})",
            values,
        )
        tx.run(
            "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:id, :sealed, 1)",
            {"id": endpoint_id, "sealed": sealed},
        )

    await shop.env.store.write(job)


async def owe(shop: FakeShop, telco_id: str = ID) -> None:
    await shop.read(
        mtn(
            2500,
            "KOFI ANTWI BADU",
            shop.wallet(2500),
            "food",
            telco_id,
            concatenation=int(telco_id) % 256,
        )
    )


async def lease_one(shop: FakeShop) -> Leased:
    (leased,) = await lease(shop, limit=1)
    return leased


async def lease(shop: FakeShop, limit: int = 5) -> list[Leased]:
    due = await deliver.lease(shop.env, limit=limit, per_endpoint=5, running={})
    return list(due.leased)


async def attempts(shop: FakeShop) -> list[tuple[Any, ...]]:
    return await shop.env.store.read(lambda reader: reader.all("SELECT * FROM attempts"))


async def only(shop: FakeShop) -> Delivery:
    (row,) = await shop.rows(Delivery, "deliveries")
    assert isinstance(row, Delivery)
    return row


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
    await add_endpoint(shop)
    request = await shop.request()
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), request.svc_code or "", ID))
    rows = await shop.rows(Delivery, "deliveries")
    assert [row.event for row in rows] == ["transaction.forwarded", "transaction.completed"]
    assert {row.subject for row in rows} == {(await shop.payments())[0].id}
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


@pytest.mark.parametrize(
    ("amount", "status"), [(2500, "SUCCESS"), (2400, "PARTIAL"), (2600, "OVERPAID")]
)
async def test_a_reconcile_completes_the_request_once(
    shop: FakeShop, amount: int, status: str
) -> None:
    await add_endpoint(shop, events='["transaction.completed"]', catch_all=0)
    request = await shop.request(2500)
    await shop.read(mtn(amount, "KOFI ANTWI BADU", shop.wallet(amount), "food", ID))
    assert await shop.rows(Delivery, "deliveries") == []
    await shop.reconcile(request.reference, ID)
    (row,) = await shop.rows(Delivery, "deliveries")
    told = json.loads(row.body)
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
    data = json.loads(rows[1].body)["data"]
    assert data["supersedes_reference"] == "svc_trx_" + holder.replace("-", "")
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
    await deliver.record(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
    due = await deliver.lease(shop.env, limit=5, per_endpoint=5, running={})
    assert due == Due((), (), (await only(shop)).next_attempt_at)


async def test_an_endpoint_gets_no_more_attempts_at_a_time_than_it_may_have(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    due = await deliver.lease(shop.env, limit=5, per_endpoint=3, running={("e1", False): 1})
    assert [item.delivery.seq for item in due.leased] == [1, 2]
    assert due.next_at is None


async def test_a_restart_gives_every_lease_back_at_once(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await lease_one(shop)
    assert await shop.env.store.write(deliveries.release_leases) == 1
    assert (await lease_one(shop)).number == 2


async def test_a_paused_endpoint_gets_nothing_and_loses_nothing(shop: FakeShop) -> None:
    await add_endpoint(shop, is_active=0)
    await owe(shop)
    assert await lease(shop) == []
    assert (await only(shop)).status is DeliveryStatus.PENDING


async def test_a_2xx_delivers(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await deliver.record(shop.env, await lease_one(shop), outcome(200), link=LINK, policy=POLICY)
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
    await deliver.record(shop.env, await lease_one(shop), outcome(410), link=LINK, policy=POLICY)
    row = await only(shop)
    assert (row.status, row.response_status_code, row.failed_at) == (
        DeliveryStatus.FAILED,
        410,
        shop.clock.now_us(),
    )
    assert await shop.values("SELECT reason FROM dead_letters") == ["permanent_4xx"]


async def test_a_5xx_is_tried_13_times_over_75_hours_and_then_buried(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    started = shop.clock.now_us()
    attempts = 0
    while (row := await only(shop)).status is not DeliveryStatus.FAILED:
        assert row.next_attempt_at is not None
        shop.clock.advance(max(0, row.next_attempt_at - shop.clock.now_us()) / 1_000_000)
        await deliver.record(
            shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY
        )
        attempts += 1
    hours = (shop.clock.now_us() - started) / 3.6e9
    assert attempts == 13
    assert 75.7 * 0.8 <= hours <= 75.7 * 1.2
    assert await shop.values("SELECT reason FROM dead_letters") == ["retries_exhausted"]
    assert await shop.values("SELECT consecutive_failures FROM endpoints") == [13]


async def fail(shop: FakeShop, leased: Leased, status: int = 500) -> None:
    await deliver.record(shop.env, leased, outcome(status), link=LINK, policy=POLICY)


async def in_outage(shop: FakeShop, waiting: int = 4, failed: int = 3) -> None:
    """Owe an endpoint so much, and let so many first attempts fail."""
    await add_endpoint(shop)
    for number in range(waiting):
        await owe(shop, f"9321450000{number}")
    for leased in await lease(shop, limit=failed):
        await fail(shop, leased)


async def test_from_three_failures_on_all_wait_behind_a_probe_after_5_15_and_30_s(
    shop: FakeShop,
) -> None:
    await in_outage(shop)
    # The fourth was due from the beginning; the others are due after 5 s, as their schedule has it.
    for wait_s, number in ((5, 4), (15, 1), (30, 2), (30, 3), (30, 4)):
        shop.clock.advance(wait_s - 0.1)
        assert await lease(shop) == []
        shop.clock.advance(0.1)
        (probe,) = await lease(shop)
        assert probe.delivery.seq == number
        busy = {("e1", False): 1}
        due = await deliver.lease(shop.env, limit=5, per_endpoint=5, running=busy)
        assert due.leased == ()
        await fail(shop, probe)


async def test_a_probe_keeps_to_its_own_schedule(shop: FakeShop) -> None:
    await in_outage(shop, waiting=3)
    for _ in range(3):
        shop.clock.advance(30)
        (probe,) = await lease(shop)
        await fail(shop, probe)
    # All three have been tried twice, and are due again after 30 s: the first of them was tried 60 s ago.
    assert [row.attempt_count for row in await shop.rows(Delivery, "deliveries")] == [2, 2, 2]
    shop.clock.advance(30)
    (probe,) = await lease(shop)
    assert probe.delivery.seq == 1


async def test_a_payment_that_comes_in_an_outage_is_the_next_probe(shop: FakeShop) -> None:
    await in_outage(shop, waiting=3)
    shop.clock.advance(5)
    await owe(shop, "93214500009")
    (probe,) = await lease(shop)
    assert (probe.delivery.seq, probe.number) == (4, 1)


async def test_an_endpoint_that_is_out_says_when_it_is_tried_next(shop: FakeShop) -> None:
    await in_outage(shop)
    due = await deliver.lease(shop.env, limit=5, per_endpoint=5, running={})
    assert due == Due((), (), shop.clock.now_us() + 5_000_000)


async def test_probes_take_half_of_the_workers_at_most(shop: FakeShop) -> None:
    for number in range(6):
        await add_endpoint(shop, f"e{number}", consecutive_failures=9)
    await add_endpoint(shop, "well")
    await owe(shop)
    due = await deliver.lease(shop.env, limit=4, per_endpoint=2, running={})
    assert [item.endpoint.id for item in due.leased] == ["e0", "e1", "well"]
    running = {("e0", False): 1, ("e1", False): 1}
    due = await deliver.lease(shop.env, limit=2, per_endpoint=2, running=running)
    assert due.leased == ()


async def test_the_2xx_that_ends_an_outage_makes_retries_due_five_a_second(shop: FakeShop) -> None:
    await in_outage(shop)
    shop.clock.advance(5)
    (probe,) = await lease(shop)
    assert probe.delivery.status is DeliveryStatus.PENDING
    await deliver.record(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    for number in (1, 2, 3):
        (retry,) = await lease(shop)
        assert retry.delivery.seq == number
        shop.clock.advance(0.19)
        assert await lease(shop) == []
        shop.clock.advance(0.01)


async def test_first_attempts_are_not_paced_after_an_outage(shop: FakeShop) -> None:
    await in_outage(shop, waiting=8)
    shop.clock.advance(5)
    (probe,) = await lease(shop)
    await deliver.record(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    due = await lease(shop, limit=10)
    assert [item.delivery.seq for item in due] == [5, 6, 7, 8, 1]


async def test_what_the_flush_brings_forward_uses_up_no_step(shop: FakeShop) -> None:
    await in_outage(shop)
    (before, *_) = await shop.rows(Delivery, "deliveries")
    assert before.next_attempt_at > shop.clock.now_us() + 3_000_000
    shop.clock.advance(3)
    await shop.env.store.write(lambda tx: delivery_queue.flush(tx, "e1", shop.clock.now_us()))
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE endpoints SET consecutive_failures = 0 WHERE id = 'e1'")
    )
    retry = next(item for item in await lease(shop) if item.delivery.seq == 1)
    await fail(shop, retry)
    (after, *_) = await shop.rows(Delivery, "deliveries")
    assert (after.attempt_count, after.extra) == (before.attempt_count, False)
    assert after.next_attempt_at > shop.clock.now_us() + 3_000_000
    # Its next failure is its own again.
    shop.clock.advance(6)
    retry = next(item for item in await lease(shop, limit=9) if item.delivery.seq == 1)
    await fail(shop, retry)
    assert (await shop.rows(Delivery, "deliveries"))[0].attempt_count == before.attempt_count + 1


async def test_the_owner_hears_of_a_streak_before_its_end(shop: FakeShop) -> None:
    await add_endpoint(shop)
    told = "SELECT type, json_extract(data, '$.consecutive_failures') FROM events WHERE type LIKE 'endpoint.%' ORDER BY seq"
    await owe(shop)
    for _ in range(20):
        await shop.env.store.write(_make_due)
        leased = await lease_one(shop)
        await fail(shop, leased)
        shop.clock.advance(30)
    assert await shop.values(told) == [
        ("endpoint.failing", 10),
        ("endpoint.failing", 14),
        ("endpoint.failing", 18),
        ("endpoint.auto_paused", 20),
    ]


async def test_an_implicit_endpoint_is_told_of_at_20_and_never_paused(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE endpoints SET kind = 'implicit', consecutive_failures = 19")
    )
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE webhook_secrets SET owner = 'account' WHERE owner = 'e1'")
    )
    await fail(shop, await lease_one(shop))
    assert await shop.values("SELECT is_active FROM endpoints") == [1]
    assert await shop.values("SELECT type FROM events WHERE type LIKE 'endpoint.%'") == [
        "endpoint.failing"
    ]


@pytest.mark.parametrize(("streak", "told"), [(9, []), (10, [("endpoint.recovered", 10)])])
async def test_the_end_of_a_long_streak_is_told(
    shop: FakeShop, streak: int, told: list[tuple[str, int]]
) -> None:
    await add_endpoint(shop, consecutive_failures=streak)
    await owe(shop)
    await deliver.record(shop.env, await lease_one(shop), outcome(200), link=LINK, policy=POLICY)
    assert (
        await shop.values(
            "SELECT type, json_extract(data, '$.consecutive_failures') FROM events WHERE type LIKE 'endpoint.%'"
        )
        == told
    )


def _make_due(tx: Any) -> None:
    tx.run("UPDATE deliveries SET next_attempt_at = 1, attempt_count = 1 WHERE next_attempt_at > 1")


async def test_our_own_link_down_counts_for_nothing(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    down = Outcome(None, "", DeliveryError.DNS_ERROR, "no DNS", 1000, connected=False)
    link = Link(other_host_answered=False, other_host_known=True)
    await deliver.record(shop.env, await lease_one(shop), down, link=link, policy=POLICY)
    row = await only(shop)
    assert (row.status, row.attempt_count) == (DeliveryStatus.PENDING, 0)
    assert await shop.values("SELECT consecutive_failures FROM endpoints") == [0]


async def test_when_our_link_is_back_all_that_it_held_up_is_due_oldest_first(
    shop: FakeShop,
) -> None:
    await add_endpoint(shop)
    for telco_id in IDS:
        await owe(shop, telco_id)
    down = Outcome(None, "", DeliveryError.NETWORK_UNREACHABLE, "no route", 1000, connected=False)
    link = Link(other_host_answered=False, other_host_known=True)
    for leased in await lease(shop):
        await deliver.record(shop.env, leased, down, link=link, policy=POLICY)
    shop.clock.advance(1)
    assert await lease(shop) == []
    assert await deliver.link_returned(shop.env) == 1
    assert [item.delivery.seq for item in await lease(shop)] == [1, 2, 3]
    assert await shop.values("SELECT link_failures FROM endpoints") == [0]


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


async def test_what_the_flush_brought_forward_is_brought_forward_once(shop: FakeShop) -> None:
    await in_outage(shop)
    later = "UPDATE deliveries SET next_attempt_at = next_attempt_at + 60000000 WHERE status = 'retrying'"
    await shop.env.store.write(lambda tx: tx.run(later))
    shop.clock.advance(5)
    (probe,) = await lease(shop)
    await deliver.record(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    (first,) = await lease(shop)
    await fail(shop, first)
    back = (await shop.rows(Delivery, "deliveries"))[0].next_attempt_at
    shop.clock.advance(0.2)
    (second,) = await lease(shop)
    await deliver.record(shop.env, second, outcome(200), link=LINK, policy=POLICY)
    assert (await shop.rows(Delivery, "deliveries"))[0].next_attempt_at == back
    assert back > shop.clock.now_us() + 3_000_000


async def test_an_address_that_may_not_be_called_is_told_to_the_owner_once(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    blocked = Outcome(None, "", DeliveryError.BLOCKED_ADDRESS, "shop.example: it is private", 1000)
    for _ in range(2):
        await deliver.record(shop.env, await lease_one(shop), blocked, link=LINK, policy=POLICY)
        shop.clock.advance(60)
    assert (await only(shop)).status is DeliveryStatus.RETRYING
    told = await shop.values("SELECT data FROM events WHERE type = 'endpoint.blocked'")
    assert told == ['{"why":"shop.example: it is private"}']
    rule = RULES["endpoint.blocked"]
    assert rule.urgent
    assert rule.sentence({"url": "https://shop.example/hook", **json.loads(told[0])}) == (
        "Nothing may be sent to https://shop.example/hook: shop.example: it is private. It is tried again, "
        "and what it is owed waits."
    )


async def test_locked_secrets_make_deliveries_wait(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from daemon.secrets import SecretsLocked, Vault
    from daemon.webhooks.sender import Sender

    await add_endpoint(shop)
    await owe(shop)

    def locked(self: Vault, sealed: str, purpose: str) -> bytes:
        raise SecretsLocked("the keyring is locked")

    monkeypatch.setattr(Vault, "unseal", locked)
    assert await deliver.attempt(shop.env, Sender(), await lease_one(shop)) is None
    row = await only(shop)
    assert (row.status, row.waiting, row.attempt_count) == (
        DeliveryStatus.PENDING,
        "secrets_locked",
        0,
    )


async def test_a_cut_off_attempt_is_given_back_uncounted(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await deliver.give_back(shop.env, await lease_one(shop))
    row = await only(shop)
    assert (row.status, row.attempt_count, row.leased_until) == (DeliveryStatus.PENDING, 0, None)
    assert await shop.values("SELECT consecutive_failures FROM endpoints") == [0]


async def test_what_is_on_record_is_not_given_back(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    leased = await lease_one(shop)
    await deliver.record(shop.env, leased, outcome(503), link=LINK, policy=POLICY)
    before = await only(shop), await attempts(shop)
    shop.clock.advance(1)
    await deliver.give_back(shop.env, leased)
    assert (await only(shop), await attempts(shop)) == before


async def test_what_is_leased_ahead_is_the_oldest_and_counted_one_by_one(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(5):
        await owe(shop, f"9321450000{number}")
    due = await deliver.lease(
        shop.env, limit=5, per_endpoint=1, running={}, ahead=Ahead(pace={"e1": 3})
    )
    assert due.places == (("e1", False),)
    assert [(one.delivery.seq, one.number) for one in due.leased] == [(1, 1), (2, 1), (3, 1)]
    more = await deliver.lease(
        shop.env,
        limit=0,
        per_endpoint=1,
        running={("e1", False): 1},
        ahead=Ahead(more={("e1", False): 9}),
    )
    assert more.places == ()
    assert [one.delivery.seq for one in more.leased] == [4, 5]


async def test_what_did_not_begin_is_due_again_and_leaves_no_attempt(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    before = await only(shop)
    leased = await lease_one(shop)
    await deliver.turn(shop.env, unsent=[leased])
    assert await only(shop) == before
    assert await attempts(shop) == []
    assert (await lease_one(shop)).number == 1


async def end(shop: FakeShop, status: int) -> None:
    """Let the next one be answered, as the delivery loop writes it down; what has ended is sent again a minute later."""
    leased = await lease_one(shop)
    ended = Ended(leased, outcome(status), LINK, POLICY, shop.clock.now_us(), 0.5)
    await deliver.turn(shop.env, ended=[ended])
    shop.clock.advance(60)
    again = await shop.env.store.read(lambda reader: deliveries.get(reader, leased.delivery.id))
    assert again is not None
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: deliveries.send_again(tx, again, now))


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
        Ended(one, answer, LINK, POLICY, now, 0.5)
        for one, answer in zip(
            [one for one in leased if one.endpoint.id == "e1"], answers, strict=True
        )
    ]
    decisions = (await deliver.turn(shop.env, ended=together)).decisions

    def singly(ended: Ended) -> Callable[[Tx], Any]:
        return lambda tx: attempt_record.write(tx, ended, shop.env.new_id)

    theirs = [one for one in leased if one.endpoint.id == "e2"]
    for one, answer in zip(theirs, answers, strict=True):
        await shop.env.store.write(singly(Ended(one, answer, LINK, POLICY, now, 0.5)))
    assert [one.status for one in decisions] == ["delivered", "retrying", "delivered", "failed"]

    def seen(endpoint_id: str) -> list[Any]:
        with sqlite3.connect(shop.env.store.path) as base:
            found = [base.execute(sql, {"id": endpoint_id}).fetchall() for sql in WRITTEN]
        base.close()
        return found

    assert seen("e1") == seen("e2")
