"""Ends of a lease: interrupted, given back, reported twice, and recorded together or one by one."""

from collections.abc import Callable
from typing import Any

import pytest

from daemon.core.webhooks.delivery import DeliveryError
from daemon.flows.webhooks import deliver
from daemon.store.engine import Tx
from daemon.store.webhooks import attempts, deliveries
from daemon.store.webhooks.attempts import EndedAttempt
from daemon.wire import DeliveryStatus
from tests.fakes import delivering
from tests.fakes.outbox import LINK, POLICY, add_endpoint, lease, lease_one, only, outcome, owe
from tests.fakes.outbox import attempts as outbox_attempts
from tests.fakes.shop import FakeShop

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


async def test_locked_secrets_make_deliveries_wait(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from daemon.runtime.secrets import SecretsLocked, Vault
    from daemon.sender.https import Sender

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
    due = await delivering.lease(
        shop.env, limit=5, per_endpoint=1, running={}, ahead={("e1", False): 2}
    )
    assert due.places == (("e1", False),)
    assert [(one.delivery.seq, one.number) for one in due.leased] == [(1, 1), (2, 1), (3, 1)]
    more = await delivering.lease(
        shop.env,
        limit=0,
        per_endpoint=1,
        running={("e1", False): 1},
        ahead={("e1", False): 9},
    )
    assert more.places == ()
    assert [one.delivery.seq for one in more.leased] == [4, 5]


async def test_free_places_get_a_delivery_before_any_is_leased_ahead(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    key = ("e1", False)
    due = await delivering.lease(
        shop.env,
        limit=5,
        per_endpoint=2,
        running={key: 1},
        ahead={key: 2},
    )
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
        for one, answer in zip(
            [one for one in leased if one.endpoint.id == "e1"], answers, strict=True
        )
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
