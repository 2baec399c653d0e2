"""Notices about a failing receiver: the error, its begin, the next step, and the end."""

import pytest

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.core.webhooks.endpoint import EndpointChanges
from daemon.flows.webhooks import deliver, endpoints
from daemon.store.webhooks.attempts import EndedAttempt
from tests.fakes import delivering
from tests.fakes.outbox import LINK, POLICY, add_endpoint, lease_one, outcome, owe
from tests.fakes.owner_notices import add_event, listed, send_due
from tests.fakes.shop import OWNER, FakeShop

PAYMENTS = ("93214500001", "93214500002")


async def fails(shop: FakeShop, count: int) -> None:
    await add_event(shop, "endpoint.failing", endpoint_id="e1", consecutive_failures=count)


async def mails(shop: FakeShop) -> list[str]:
    return [send.body for send in await send_due(shop)]


async def test_what_it_answered_last_and_what_to_do_are_in_the_mail(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=9)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
    (body,) = await mails(shop)
    assert body == (
        "10 deliveries in a row failed at https://shop.example/hook. Its last answer was 503: it has an internal "
        "error. Look at the receiver's log. After 20 it is paused.\n\nmomo endpoints show e1"
    )


async def test_a_webhook_that_was_given_up_is_named_with_its_reason(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(404), link=LINK, policy=POLICY)
    (body,) = await mails(shop)
    assert body.startswith(
        "A webhook to https://shop.example/hook was given up: it is a dead letter now. Its last answer was 404: "
        "nothing accepts webhooks at this address. Correct the endpoint's address"
    )


async def test_a_streak_is_shown_as_long_as_it_is_now(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await fails(shop, 10)
    assert len(await mails(shop)) == 1
    await fails(shop, 14)
    assert await mails(shop) == []
    (row,) = await listed(shop)
    assert row.text.startswith("14 deliveries in a row failed")
    shop.clock.advance(3601)
    (digest,) = await mails(shop)
    assert digest.startswith("14 deliveries in a row failed")
    assert "(1 more time since " in digest


async def test_after_the_pause_nobody_is_told_any_more_that_it_will_be_paused(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for count in (10, 14, 18):
        await fails(shop, count)
    await add_event(shop, "endpoint.auto_paused", endpoint_id="e1", consecutive_failures=20)
    assert len(await mails(shop)) == 2
    shop.clock.advance(3601)
    assert await mails(shop) == []
    paused, failing = await listed(shop)
    assert (paused.recovered_at is None, failing.recovered_at is None) == (True, False)


async def test_the_end_of_an_automatic_pause_is_told_and_that_of_the_owners_own_is_not(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(is_active=False))
    await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(is_active=True))
    assert await mails(shop) == []
    await add_event(shop, "endpoint.auto_paused", endpoint_id="e1", consecutive_failures=20)
    await mails(shop)
    await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(is_active=False))
    await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(is_active=True))
    assert await mails(shop) == ["https://shop.example/hook was resumed: its waiting deliveries are sent."]
    (row,) = await listed(shop)
    assert row.recovered_at is not None


async def test_a_deletion_is_no_news_but_the_end_of_a_pause(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for telco_id in PAYMENTS:
        await owe(shop, telco_id)
    await fails(shop, 18)
    await add_event(shop, "endpoint.auto_paused", endpoint_id="e1", consecutive_failures=20)
    await mails(shop)
    await endpoints.delete(shop.env, OWNER, "e1")
    assert await mails(shop) == ["https://shop.example/hook was deleted."]
    assert {row.recovered_at is None for row in await listed(shop)} == {False}


async def test_the_address_of_orders_is_never_said_to_be_paused_and_is_shown_where_it_is_listed(shop: FakeShop) -> None:
    await add_endpoint(shop, kind="implicit")
    await fails(shop, 20)
    (body,) = await mails(shop)
    assert "never paused" in body
    assert body.endswith("\n\nmomo deliveries list --kind all --endpoint e1")


BLOCKED = AttemptOutcome(None, "", DeliveryError.BLOCKED_ADDRESS, "its address is not public", 1000)


async def is_blocked(shop: FakeShop) -> None:
    """Let its first webhook fail because of a blocked address, with a notice to the owner."""
    await add_endpoint(shop)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), BLOCKED, link=LINK, policy=POLICY)
    (body,) = await mails(shop)
    assert body.startswith("Nothing may be sent to https://shop.example/hook: its address is not")
    shop.clock.advance(60)


async def open_notices(shop: FakeShop) -> list[str]:
    return [row.kind for row in await listed(shop) if row.recovered_at is None]


@pytest.mark.parametrize("answer", [outcome(200), outcome(503), outcome(410)])
async def test_a_blocked_address_that_may_be_called_again_is_told_once(shop: FakeShop, answer: AttemptOutcome) -> None:
    await is_blocked(shop)
    assert await open_notices(shop) == ["endpoint.blocked"]
    await delivering.record_outcome(shop.env, await lease_one(shop), answer, link=LINK, policy=POLICY)
    told = await mails(shop)
    assert told[0] == ("https://shop.example/hook may be called again: its waiting deliveries are sent.")
    assert "endpoint.blocked" not in await open_notices(shop)


async def test_that_is_told_too_when_another_webhook_has_arrived_before(shop: FakeShop) -> None:
    await is_blocked(shop)
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET consecutive_failures = 0"))
    ended = EndedAttempt(await lease_one(shop), outcome(200), LINK, POLICY, now=shop.clock.now_us(), unit=0.5)
    await deliver.turn(shop.env, ended=[ended])
    assert len(await mails(shop)) == 1
    assert await open_notices(shop) == []


@pytest.mark.parametrize(
    "changes", [EndpointChanges(is_active=False), EndpointChanges(url="https://shop.example/other")]
)
async def test_a_pause_or_another_address_ends_a_block_without_a_word(shop: FakeShop, changes: EndpointChanges) -> None:
    await is_blocked(shop)
    await endpoints.update(shop.env, OWNER, "e1", changes)
    assert await mails(shop) == []
    assert await open_notices(shop) == []


async def test_a_change_of_something_else_does_not_end_it(shop: FakeShop) -> None:
    await is_blocked(shop)
    await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(description="the till"))
    assert await mails(shop) == []
    assert await open_notices(shop) == ["endpoint.blocked"]


async def test_an_automatic_pause_ends_it_too(shop: FakeShop) -> None:
    await is_blocked(shop)
    await add_event(shop, "endpoint.auto_paused", endpoint_id="e1", consecutive_failures=20)
    await mails(shop)
    assert await open_notices(shop) == ["endpoint.auto_paused"]


async def test_an_address_that_is_still_blocked_after_a_pause_or_a_change_is_told_again(shop: FakeShop) -> None:
    await is_blocked(shop)
    for changes in (
        (EndpointChanges(is_active=False), EndpointChanges(is_active=True)),
        (EndpointChanges(url="https://shop.example/x"),),
    ):
        for change in changes:
            await endpoints.update(shop.env, OWNER, "e1", change)
        assert await mails(shop) == []
        assert await open_notices(shop) == []
        for _ in range(2):
            shop.clock.advance(3600)
            await delivering.record_outcome(shop.env, await lease_one(shop), BLOCKED, link=LINK, policy=POLICY)
        assert [body.partition(":")[0] for body in await mails(shop)] == ["Nothing may be sent to https"]
        assert await open_notices(shop) == ["endpoint.blocked"]
        shop.clock.advance(60)


async def test_a_streak_is_over_for_the_owner_who_pauses_the_endpoint(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await fails(shop, 14)
    await mails(shop)
    await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(is_active=False))
    assert await mails(shop) == []
    assert await open_notices(shop) == []


async def test_a_subject_is_whole_sentences_and_fits_into_an_sms(shop: FakeShop) -> None:
    where = f"https://{'a-long-name.' * 3}example/hook"
    await add_endpoint(shop, url=where, consecutive_failures=19)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
    await mails(shop)
    (subject,) = await shop.values("SELECT subject FROM notice_sends")
    assert subject == f"momo: {where} was paused after 20 failures in a row."


async def test_a_sentence_that_is_too_long_for_a_subject_is_cut_at_a_word(shop: FakeShop) -> None:
    await add_endpoint(shop, url=f"https://shop.example/{'x' * 60}")
    await add_event(
        shop, "endpoint.blocked", endpoint_id="e1", why="its name leads to an address of this shop's own network"
    )
    await mails(shop)
    (subject,) = await shop.values("SELECT subject FROM notice_sends")
    assert subject.endswith(": its name...")
    assert subject.isascii()
    assert len(subject) <= 126


async def test_no_key_of_an_address_goes_by_mail_or_sms(shop: FakeShop) -> None:
    await add_endpoint(shop, url=f"https://shop.example/{'x' * 200}?key=secret")
    await fails(shop, 10)
    (body,) = await mails(shop)
    where = f"https://shop.example/{'x' * 56}..."
    assert body.startswith(f"10 deliveries in a row failed at {where}. After 20")
