"""Notices to the owner: one at once, none for the same cause within the hour, and one at the end."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.model import Shop
from daemon.core.text import Text
from daemon.core.upkeep.notice_rules import RULES, notice_for
from daemon.flows.upkeep import notices
from daemon.flows.upkeep.notices import OwnerSms
from daemon.runtime.config import Notices
from daemon.runtime.words import LANGUAGES, sentences
from daemon.sender.owner_notices import NotSent
from daemon.store import shop as shops
from daemon.store.lines import devices
from daemon.store.upkeep import notices as store_notices
from daemon.wire import Mode
from parsers.times import from_us
from tests.fakes import delivering, rows
from tests.fakes.outbox import LINK, POLICY, add_endpoint, lease_one, outcome, owe
from tests.fakes.owner_notices import EMAIL, add_event, listed, send_due
from tests.fakes.shop import OWNER, FakeShop

ENDPOINT = "6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11"


async def told(shop: FakeShop) -> list[str]:
    return [send.subject for send in await send_due(shop)]


async def test_a_cause_is_told_at_once_and_the_rest_of_its_hour_in_one_digest(shop: FakeShop) -> None:
    await add_event(shop, "modem.hung", device_id="a")
    (first,) = await told(shop)
    assert "does not answer" in first
    for _ in range(3):
        shop.clock.advance(600)
        await add_event(shop, "modem.hung", device_id="a")
        assert await told(shop) == []
    shop.clock.advance(1801)
    assert await told(shop) == ["momo: 3 more notices"]
    shop.clock.advance(60)
    assert await told(shop) == []
    await add_event(shop, "modem.hung", device_id="a")
    assert len(await told(shop)) == 1


async def test_an_outage_of_our_own_link_is_open_until_its_end_is_told(shop: FakeShop) -> None:
    await notices.record_outage_end(shop.env)
    assert await told(shop) == []
    assert not await notices.is_outage_open(shop.env)
    await notices.record_outage(shop.env)
    (lost,) = await told(shop)
    assert "no webhook receiver could be reached" in lost
    assert await notices.is_outage_open(shop.env)
    await notices.record_outage_end(shop.env)
    (over,) = await told(shop)
    assert "reached again" in over
    assert not await notices.is_outage_open(shop.env)


async def test_phone_is_named_as_people_know_it(shop: FakeShop) -> None:
    device_id = (await shop.env.store.read(devices.known))[0].device_id
    await shop.env.store.write(lambda tx: devices.rename(tx, device_id, "Counter"))
    await add_event(shop, "modem.hung", device_id=device_id)
    (said,) = await told(shop)
    assert "The modem Counter does not answer" in said


async def test_two_phones_are_two_causes(shop: FakeShop) -> None:
    await add_event(shop, "modem.hung", device_id="a")
    await add_event(shop, "modem.hung", device_id="b")
    assert len(await told(shop)) == 2


async def test_the_end_of_a_cause_is_told_once_and_only_if_the_cause_was(shop: FakeShop) -> None:
    await add_event(shop, "sim.heard_again", device_id="a", slot_index=0)
    assert await told(shop) == []
    await add_event(shop, "sim.silent", device_id="a", slot_index=0)
    assert len(await told(shop)) == 1
    await add_event(shop, "sim.heard_again", device_id="a", slot_index=0)
    assert await told(shop) == ["momo: The SIM gets messages again."]
    await add_event(shop, "sim.heard_again", device_id="a", slot_index=0)
    assert await told(shop) == []
    (row,) = await listed(shop)
    assert row.recovered_at is not None
    # It begins again: that is a new cause, with a notice at once.
    await add_event(shop, "sim.silent", device_id="a", slot_index=0)
    assert len(await told(shop)) == 1


async def test_what_is_no_news_costs_no_write_and_the_sandbox_wakes_nobody(shop: FakeShop) -> None:
    await add_event(shop, "transaction.verified")
    await add_event(shop, "modem.hung", Mode.TEST, device_id="a")
    await add_event(shop, "transaction.verified")
    assert await told(shop) == []
    assert await listed(shop) == []


async def test_nothing_is_told_twice_after_a_restart(shop: FakeShop) -> None:
    await add_event(shop, "modem.hung", device_id="a")
    await add_event(shop, "review.opened", reason="late")
    assert len(await told(shop)) == 2
    # A new process begins with the cursor on the disk.
    assert await told(shop) == []
    assert [row.count for row in await listed(shop)] == [1, 1]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (
            {"reason": "doubtful_message", "doubts": ["printed_time"]},
            "The message comes from the network's own sender, but the time in its text differs from the time at",
        ),
        ({"reason": "unknown_sender"}, "The message did not come from the network's own sender, so it may be forged."),
    ],
)
async def test_a_held_payment_is_told_with_the_reason_of_its_review(
    facts: dict[str, Any], why: str, shop: FakeShop
) -> None:
    await add_event(shop, "review.opened", **facts)
    await told(shop)
    [row] = await listed(shop)
    assert row.text.startswith(f"A payment waits for you: {why}")


async def test_without_a_channel_it_is_kept_to_be_seen(shop: FakeShop) -> None:
    await add_event(shop, "password.changed")
    await notices.gather(shop.env, 0, [])
    assert await notices.due(shop.env) == []
    assert await shop.env.store.read(store_notices.unseen) == (1, 0)
    now = shop.clock.now_us()
    assert await shop.env.store.write(lambda tx: store_notices.mark_seen(tx, None, now)) == 1
    assert await shop.env.store.read(store_notices.unseen) == (0, 0)


async def test_a_seen_notice_is_new_again_when_it_happens_again(shop: FakeShop) -> None:
    await add_event(shop, "modem.hung", device_id="a")
    await told(shop)
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: store_notices.mark_seen(tx, None, now))
    shop.clock.advance(60)
    await add_event(shop, "modem.hung", device_id="a")
    await told(shop)
    assert await shop.env.store.read(store_notices.unseen) == (1, 1)


async def test_a_message_that_does_not_go_out_is_tried_for_17_hours_and_then_given_up(shop: FakeShop) -> None:
    await add_event(shop, "password.changed")
    await notices.gather(shop.env, 0, EMAIL)
    tries = 0
    while True:
        sends = await notices.due(shop.env)
        for send in sends:
            tries += 1
            await notices.record_try(shop.env, send, "no route")
        due_at = await shop.env.store.read(store_notices.next_due)
        if due_at is None:
            break
        shop.clock.advance((due_at - shop.clock.now_us()) / 1_000_000)
    assert tries == 7
    failed = await shop.env.store.read(store_notices.last_failed)
    assert failed is not None
    assert failed.error == "no route"
    assert len(await listed(shop)) == 1


async def test_the_twentieth_failure_writes_to_the_owner(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=18)
    await owe(shop, "93214500001")
    await owe(shop, "93214500002")
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
    assert await told(shop) == []
    shop.clock.advance(30)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(503), link=LINK, policy=POLICY)
    (subject,) = await told(shop)
    assert "https://shop.example/hook" in subject
    assert await shop.values("SELECT channel FROM notice_sends") == EMAIL


async def test_a_paused_endpoint_is_named_with_what_to_type(shop: FakeShop) -> None:
    await add_endpoint(shop, ENDPOINT)
    await add_event(shop, "endpoint.auto_paused", endpoint_id=ENDPOINT, consecutive_failures=20)
    await told(shop)
    (row,) = await listed(shop)
    assert row.urgent
    assert row.next == f"momo endpoints resume {ENDPOINT}"
    (body,) = await shop.values("SELECT body FROM notice_sends")
    assert row.next in body


async def test_money_that_no_message_told_of_is_named_with_its_amount(shop: FakeShop) -> None:
    await add_event(shop, "notice.money_missing", gap_minor=3000, currency="GHS")
    (subject,) = await told(shop)
    assert "GHS 30.00" in subject


async def test_the_owner_can_be_told_by_sms_from_the_shops_own_line(shop: FakeShop) -> None:
    sms = OwnerSms(shop.env, "+233244000999")
    await sms.send("6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f77", "momo: The SIM is silent.", "x\n\nmomo lines")
    # The same message again is the same SMS.
    await sms.send("6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f77", "momo: The SIM is silent.", "x\n\nmomo lines")
    assert await shop.values("SELECT number || '|' || body FROM sms_outbox") == [
        "+233244000999|momo: The SIM is silent.\nmomo lines"
    ]
    for number in range(2):
        await sms.send(f"6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f8{number}", "momo: x", "y")
    with pytest.raises(NotSent, match="limits are reached"):
        await sms.send("6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f99", "momo: x", "y")


async def test_without_a_phone_no_sms_is_promised(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE devices SET present = 0"))
    with pytest.raises(NotSent, match="no line can send"):
        await OwnerSms(shop.env, "+233244000999").send("a", "momo: x", "y")


async def of_lagos(shop: FakeShop) -> None:
    """Give the shop an owner, in a zone an hour ahead of UTC."""
    owner = Shop("Ama Provisions", "Africa/Lagos", None, "6b" * 32, 0)
    await shop.env.store.write(lambda tx: shops.add(tx, owner))


async def test_a_mail_says_of_which_shop_and_when_by_its_own_clock(shop: FakeShop) -> None:
    await of_lagos(shop)
    await add_event(shop, "modem.hung", device_id="a")
    happened = shop.clock.now_us()
    shop.clock.advance(300)
    (mail,) = await send_due(shop)
    (row,) = await listed(shop)
    assert mail.subject == f"momo, Ama Provisions: {row.text}"
    local = from_us(happened) + timedelta(hours=1)
    assert mail.body == f"{local:%a %d %b %Y %H:%M} · Ama Provisions\n\n{row.text}\n\n{row.next}"


async def test_a_digest_counts_since_a_time_of_the_shops_clock(shop: FakeShop) -> None:
    await of_lagos(shop)
    await add_event(shop, "modem.hung", device_id="a")
    first = from_us(shop.clock.now_us()) + timedelta(hours=1)
    await send_due(shop)
    shop.clock.advance(60)
    await add_event(shop, "modem.hung", device_id="a")
    shop.clock.advance(3600)
    (mail,) = await send_due(shop)
    assert mail.subject == "momo, Ama Provisions: 1 more notice"
    assert f"(1 more time since {first:%H:%M})" in mail.body


async def test_an_sms_has_no_room_for_the_shops_name(shop: FakeShop) -> None:
    await of_lagos(shop)
    await notices.queue_test(shop.env, OWNER, ["sms", "desktop"])
    for send in await notices.due(shop.env):
        assert (send.subject, send.body) == ("momo: a test", "This arrived, so notices from your shop will too.")


HOSTILE = ("no transaction ID", "{name} {0} {", "<b>a</b>\nSubject: b")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_name_stays_as_it_was_typed_in_the_owners_language(name: str, language: str, shop: FakeShop) -> None:
    shop.env.config = replace(shop.env.config, notices=Notices(language=language))
    why = Text("fault.modem.away")
    await add_event(shop, "line.not_receiving", sim=1, network="MTN", name=name, why=why, fix=why)
    (mail,) = await send_due(shop)
    typed = " ".join(name.split())
    assert typed in mail.subject
    assert "\n" not in mail.subject
    assert why.render(sentences(language)) in mail.body
    (row,) = await listed(shop)
    assert row.text.startswith("For two minutes no message can come to the MTN SIM in ")
    said = store_notices.text_of(row)
    assert isinstance(said, Text)
    assert name in said.render(sentences(language))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", [kind for kind, rule in RULES.items() if not rule.quiet])
def test_each_notice_has_words_in_each_language(kind: str, language: str) -> None:
    facts = {"room": "low", "reason": "late"}
    notice = notice_for(rows.event(type=kind, mode="live"), facts)
    assert notice is not None
    assert notice.text.has_words(sentences(language))
    assert notice.text.render(sentences(language))
