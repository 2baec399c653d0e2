"""The running balance at work: what is held, what ends a hold by itself, what a person is told (decisions.md section 4)."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from daemon.core.inputs import Answer, CallMeta, PhoneIdentity, Source
from daemon.core.model import Event, Review
from daemon.flows.lines import modems
from daemon.flows.messages import ingest, overdue
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, parse_config
from daemon.store.journal import Notice
from daemon.wire import MessageState, Mode, TransactionStatus
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, Receipt, mtn
from tests.fakes.shop import ICCID, IMEI, MTN_IMSI, OWNER, FakeShop

NAME = "KOFI ANTWI BADU"
META = CallMeta("r")


def receipt(
    number: int,
    amount_minor: int,
    balance_minor: int,
    typed: str | None = None,
    *,
    after_s: int = 0,
) -> Receipt:
    """Make the receipt with this number in the order of the line's IDs."""
    return mtn(
        amount_minor,
        NAME,
        balance_minor,
        typed or "food",
        str(93_214_500_000 + number),
        concatenation=number,
        sent_at=STARTED + timedelta(seconds=after_s),
    )


async def states(shop: FakeShop, *receipts: Receipt) -> list[MessageState]:
    taken = await shop.read(*receipts)
    assert taken.faults == ()
    return [state for _id, state in taken.concluded]


async def notices(shop: FakeShop) -> list[tuple[str, Any]]:
    told = await shop.rows(Event, "events", "type LIKE 'notice.%'")
    return [(event.type.removeprefix("notice."), json.loads(event.data)) for event in told]


async def reviews(shop: FakeShop) -> list[tuple[str, str]]:
    return [(row.reason, row.state) for row in await shop.rows(Review, "reviews")]


async def the_open_one(shop: FakeShop) -> Review:
    [found] = await shop.rows(Review, "reviews", "state = 'open'")
    assert isinstance(found, Review)
    return found


async def approve(shop: FakeShop, row: Review, **said: Any) -> Answer:
    said = {"confirmed": True, **said}
    return await review.approve(shop.env, OWNER, row.id, review.Approval(**said), meta=META)


async def test_a_receipt_that_breaks_the_chain_is_held_and_its_order_waits(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000))
    assert await states(shop, receipt(2, 2500, 70_000, request.svc_code)) == [MessageState.HELD]
    assert len(await shop.payments()) == 1
    held = await the_open_one(shop)
    assert (held.reason, held.transaction_id, held.payment_id) == (
        "balance_break",
        request.id,
        None,
    )
    assert json.loads(held.details)["gaps"][0] | {"since_message_id": ""} == {
        "amount": "-225.00",
        "currency": "GHS",
        "since_message_id": "",
    }
    waiting = await shop.transaction(request.reference)
    assert (waiting.status, waiting.held_payment_id) == (TransactionStatus.MANUAL_REVIEW, None)


async def test_a_hold_ends_by_itself_when_the_next_receipt_goes_on_from_it(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000), receipt(3, 2500, 93_200, request.svc_code))
    assert (await shop.transaction(request.reference)).status is TransactionStatus.MANUAL_REVIEW
    assert await states(shop, receipt(4, 100, 93_300)) == [MessageState.PAYMENT]
    paid = await shop.transaction(request.reference)
    assert (paid.status, paid.matched_by) == (TransactionStatus.SUCCESS, "code")
    assert await reviews(shop) == [("balance_break", "superseded")]
    [(kind, told)] = await notices(shop)
    assert (kind, told["gap_minor"], told["currency"]) == (Notice.MONEY_MISSING, 700, "GHS")
    # When it was stored counts for being late, not when the hold ended.
    assert paid.processing_at is not None
    assert await shop.values("SELECT trusted FROM messages WHERE state <> 'payment'") == []


async def test_a_held_receipt_that_the_chain_goes_past_is_forged(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000), receipt(2, 2500, 70_000, request.svc_code))
    await shop.read(receipt(3, 100, 90_100))
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert [kind for kind, _ in await notices(shop)] == [Notice.RECEIPT_FORGED]
    # A person still has to look at it.
    assert await reviews(shop) == [("balance_break", "open")]
    # And the order can be paid.
    await shop.read(receipt(4, 2500, 92_600, request.svc_code))
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


async def test_a_clean_payment_of_an_order_that_waits_pays_it(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000), receipt(2, 2500, 70_000, request.svc_code))
    await shop.read(receipt(3, 2500, 92_500, request.svc_code))
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    # What was held is forged now, and approving it still needs the password.
    assert await reviews(shop) == [("balance_break", "open")]


async def test_an_approval_pays_the_order_and_those_behind_go_on_from_it(shop: FakeShop) -> None:
    request = await shop.request(2500)
    other = await shop.request(100)
    await shop.read(receipt(1, 1000, 90_000), receipt(3, 2500, 93_200, request.svc_code))
    # This one goes on from another lost one, so it settles nothing and is held too.
    await shop.read(receipt(5, 100, 94_000, other.svc_code))
    first, _second = await shop.rows(Review, "reviews", "state = 'open'")
    body = json.loads((await approve(shop, first)).body)
    assert body["transaction"]["reference"] == request.reference
    assert (await shop.transaction(request.reference)).matched_by == "review"
    assert await shop.values("SELECT standing, why FROM line_balances ORDER BY seq") == [
        ("accepted", "first"),
        ("accepted", "person"),
        ("held", "breaks"),
    ]
    # The next receipt joins the second held one.
    await shop.read(receipt(6, 100, 94_100))
    assert (await shop.transaction(other.reference)).status is TransactionStatus.SUCCESS


async def test_an_approval_for_another_order_lets_the_first_one_go(shop: FakeShop) -> None:
    request, other = await shop.request(2500), await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000), receipt(3, 2500, 93_200, request.svc_code))
    await approve(shop, await the_open_one(shop), reference=other.reference)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert (await shop.transaction(other.reference)).status is TransactionStatus.SUCCESS


async def test_a_rejection_lets_the_order_go_and_calls_the_receipt_forged(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000), receipt(2, 2500, 70_000, request.svc_code))
    row = await the_open_one(shop)
    await review.reject(shop.env, OWNER, row.id, "no such money", meta=META)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert await shop.values(
        "SELECT standing, why FROM line_balances WHERE standing <> 'accepted'"
    ) == [("forged", "person")]
    assert await states(shop, receipt(3, 100, 90_100)) == [MessageState.PAYMENT]


async def test_a_receipt_that_shows_an_earlier_one_to_be_false_flags_it(shop: FakeShop) -> None:
    request = await shop.request(2500)
    # The forger knew the balance.
    await shop.read(
        receipt(1, 1000, 90_000),
        receipt(2, 1000, 91_000),
        receipt(3, 2500, 93_500, request.svc_code),
    )
    assert await states(shop, receipt(4, 100, 91_100)) == [MessageState.PAYMENT]
    [(kind, _)] = await notices(shop)
    assert kind == Notice.RECEIPT_SUSPECT
    # A verified payment is never changed silently.
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    [about] = await shop.values(
        "SELECT transaction_id FROM events WHERE type = 'notice.receipt_suspect'"
    )
    assert about == request.id


async def test_the_modem_having_been_away_explains_a_break(shop: FakeShop) -> None:
    await shop.read(receipt(1, 1000, 90_000))
    shop.clock.advance(60)
    await modems.disconnect(shop.env, shop.source.device_id)
    shop.clock.advance(3600)
    await modems.identify(
        shop.env, PhoneIdentity("/dev/ttyUSB0", IMEI, ICCID, MTN_IMSI, "huawei", "E3131")
    )
    assert await states(shop, receipt(3, 100, 90_800, after_s=7200)) == [MessageState.PAYMENT]
    assert [(kind, told["gap_minor"]) for kind, told in await notices(shop)] == [
        (Notice.MONEY_MISSING, 700)
    ]


async def test_what_came_before_the_sim_did_is_no_break(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    shop.clock.advance(7 * 86_400)
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE sims SET first_seen_at = :now", {"now": shop.clock.now_us()})
    )
    assert await states(shop, receipt(1, 1000, 90_000), receipt(9, 300, 4_000)) == [
        MessageState.PAYMENT,
        MessageState.PAYMENT,
    ]
    shop.close()


async def test_a_debit_that_cannot_be_read_explains_a_break(shop: FakeShop) -> None:
    await shop.read(receipt(1, 1000, 90_000))
    unreadable = encode_deliver(
        MTN_SENDER, "Y'ello. Something new happened to your wallet.", receipt(2, 1, 1).sent_at,
        smsc=MTN_SMSC, reference=77,
    )  # fmt: skip
    await shop.read_pdus(unreadable)
    assert await states(shop, receipt(3, 100, 80_000)) == [MessageState.PAYMENT]
    assert [(kind, told["gap_minor"]) for kind, told in await notices(shop)] == [
        (Notice.MONEY_MISSING, -10_100)
    ]


@pytest.mark.parametrize(
    ("setting", "state", "told"),
    [
        ("review", MessageState.HELD, []),
        ("warn", MessageState.PAYMENT, [Notice.BALANCE_WARNING]),
        ("off", MessageState.PAYMENT, []),
    ],
)
async def test_the_setting_says_what_a_break_does(
    tmp_path: Path, setting: str, state: MessageState, told: list[Notice]
) -> None:
    shop = await FakeShop.make(tmp_path, parse_config(f'[trust]\nbalance_check = "{setting}"'))
    await shop.read(receipt(1, 1000, 90_000))
    assert await states(shop, receipt(2, 2500, 70_000)) == [state]
    assert [kind for kind, _ in await notices(shop)] == told
    shop.close()


async def test_a_new_service_centre_counts_only_with_another_doubt(shop: FakeShop) -> None:
    def foreign(made: Receipt) -> tuple[str, ...]:
        return encode_deliver(
            made.sender,
            made.text,
            made.sent_at,
            smsc="+447000000001",
            reference=int(made.telco_id) % 256,
        )

    await shop.read(receipt(1, 1000, 90_000))
    assert await shop.values("SELECT smsc FROM sim_smscs") == [MTN_SMSC]
    taken = await shop.read_pdus(foreign(receipt(2, 2500, 92_500)))
    assert [state for _, state in taken.concluded] == [MessageState.PAYMENT]
    # It was alone, so it is learned; a third one comes with a broken balance.
    await shop.env.store.write(
        lambda tx: tx.run("DELETE FROM sim_smscs WHERE smsc <> '+233240000099'")
    )
    taken = await shop.read_pdus(foreign(receipt(3, 2500, 70_000)))
    assert [state for _, state in taken.concluded] == [MessageState.HELD]
    row = await the_open_one(shop)
    assert (row.reason, json.loads(row.details)["doubts"]) == ("balance_break", ["smsc_new"])


async def test_a_reference_that_speaks_like_a_receipt_is_held_though_its_balance_fits(
    shop: FakeShop,
) -> None:
    request = await shop.request(100)
    await shop.read(receipt(1, 1000, 90_000))
    typed = f"{request.svc_code} Payment received for GHS 500"
    assert await states(shop, receipt(2, 100, 90_100, typed)) == [MessageState.HELD]
    row = await the_open_one(shop)
    assert (row.reason, json.loads(row.details)) == (
        "untrusted_sender",
        {"doubts": ["reference_like_a_receipt"]},
    )
    # Nothing untrusted moves a request.
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    # The money is there, so the chain goes on.
    assert await states(shop, receipt(3, 100, 90_200)) == [MessageState.PAYMENT]


async def test_a_receipt_that_is_held_for_half_an_hour_is_told_once(shop: FakeShop) -> None:
    await shop.read(receipt(1, 1000, 90_000), receipt(2, 2500, 70_000))
    shop.clock.advance(30 * 60 - 1)
    assert await overdue.notify_overdue(shop.env) == 0
    shop.clock.advance(1)
    assert await overdue.notify_overdue(shop.env) == 1
    assert await overdue.notify_overdue(shop.env) == 0
    row = await the_open_one(shop)
    assert await notices(shop) == [(Notice.RECEIPT_HELD, {"review_id": row.id})]


async def test_test_messages_touch_no_balance_and_no_service_centre(shop: FakeShop) -> None:
    source = Source(shop.source.sim_key, shop.source.device_id, 0, test=True)
    live, shop.source = shop.source, source
    breaking = [receipt(1, 1000, 90_000), receipt(2, 2500, 70_000)]
    assert await states(shop, *breaking) == [MessageState.PAYMENT, MessageState.PAYMENT]
    assert {payment.mode for payment in await shop.payments()} == {Mode.TEST}
    assert await shop.values("SELECT 1 FROM line_balances UNION ALL SELECT 1 FROM sim_smscs") == []
    shop.source = live


async def test_every_payment_keeps_its_evidence(shop: FakeShop) -> None:
    await shop.read(receipt(1, 1000, 90_000), receipt(2, 2500, 92_500))
    assert await shop.values(
        "SELECT b.why, b.standing, b.doubts, b.after_minor FROM payments p "
        "JOIN line_balances b ON b.message_id = p.message_id ORDER BY p.seq"
    ) == [("first", "accepted", "[]", 90_000), ("joins", "accepted", "[]", 92_500)]


async def test_a_fault_in_the_rules_loses_no_message(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr("daemon.steps.process_message.judge_message", broken)
    taken = await shop.read(receipt(1, 1000, 90_000))
    assert isinstance(taken, ingest.Ingested)
    assert await shop.values("SELECT COUNT(*) FROM sms_parts") == [2]
    assert await shop.values("SELECT state, reasons FROM messages ORDER BY seq DESC LIMIT 1") == [
        ("unparsed", '["internal_error"]')
    ]


def test_the_default_is_to_ask() -> None:
    assert Config().trust.balance_check == "review"
