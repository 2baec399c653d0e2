"""From a read SMS to a payment: store the parts, read the message, and pay only if it is trusted."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.core.model import Message
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store import journal
from daemon.wire import MessageState, TransactionStatus
from tests.fakes.new_database import writer
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import MTN_SMSC, STARTED, Receipt, mtn, mtn_receipts, telecel
from tests.fakes.shop import METHOD_ID, FakeShop

ID = "93214500001"


def paid(
    reference: str, amount_minor: int = 2500, telco_id: str = ID, balance_minor: int = 50_000, **more: int
) -> Receipt:
    return mtn(amount_minor, "KOFI ANTWI BADU", balance_minor, reference, telco_id, **more)  # type: ignore[arg-type]  # by name


async def messages(shop: FakeShop) -> list[Message]:
    return await shop.rows(Message, "messages")


async def test_a_receipt_with_a_code_pays_its_request(shop: FakeShop) -> None:
    request = await shop.request(2500)
    taken = await shop.read(paid(request.svc_code or ""))
    assert [state for _id, state in taken.concluded] == [MessageState.PAYMENT]
    verified = await shop.transaction(request.reference)
    payment = (await shop.payments())[0]
    assert verified.status is TransactionStatus.SUCCESS
    assert verified.payment_id == payment.id
    assert verified.matched_by == "code"
    assert verified.processing_at == payment.stored_at
    assert (payment.standing, payment.amount_minor, payment.payment_method_id) == ("used", 2500, METHOD_ID)
    journal = await shop.values("SELECT data FROM events WHERE type = 'transaction.verified'")
    assert [json.loads(data) for data in journal] == [
        {"status": "SUCCESS", "matched_by": "code", "late": False, "difference_minor": 0}
    ]


@pytest.mark.parametrize(
    ("amount_minor", "status"), [(2400, TransactionStatus.PARTIAL), (2600, TransactionStatus.OVERPAID)]
)
async def test_short_and_over_payments_are_verified_as_such(
    shop: FakeShop, amount_minor: int, status: TransactionStatus
) -> None:
    request = await shop.request(2500)
    await shop.read(paid(request.svc_code or "", amount_minor))
    assert (await shop.transaction(request.reference)).status is status


async def test_a_part_alone_is_kept_and_is_not_money(shop: FakeShop) -> None:
    request = await shop.request()
    receipt = paid(request.svc_code or "")
    await shop.read_pdus(receipt.pdus[:1])
    (message,) = await messages(shop)
    assert (message.state, message.body, message.parts_seen) == (MessageState.INCOMPLETE, None, 1)
    assert await shop.payments() == []
    await shop.read_pdus(receipt.pdus[1:])
    (message,) = await messages(shop)
    assert (message.state, message.body) == (MessageState.PAYMENT, receipt.text)


async def test_parts_in_any_order_make_the_same_message(shop: FakeShop) -> None:
    receipt = paid("x")
    await shop.read_pdus(receipt.pdus[::-1])
    assert [message.body for message in await messages(shop)] == [receipt.text]


async def test_the_same_parts_again_change_nothing(shop: FakeShop) -> None:
    receipt = paid("x")
    await shop.read(receipt)
    again = await shop.read(receipt)
    assert (again.new_parts, again.concluded) == (0, ())
    assert len(await shop.payments()) == 1


async def test_two_equal_looking_payments_are_two_payments(shop: FakeShop) -> None:
    second = paid("food", telco_id="93214500002", balance_minor=52_500, concatenation=1)
    await shop.read(paid("food"), second)
    assert len(await shop.payments()) == 2


async def test_two_messages_with_one_reference_number_keep_apart(shop: FakeShop) -> None:
    first, second = paid("a", concatenation=7), paid("b", telco_id="93214500002", concatenation=7)
    await shop.read_pdus([first.pdus[0], first.pdus[1], second.pdus[0], second.pdus[1]])
    assert [message.body for message in await messages(shop)] == [first.text, second.text]


async def test_the_same_id_with_the_same_amount_is_a_duplicate(shop: FakeShop) -> None:
    await shop.read(paid("a"))
    taken = await shop.read(paid("a", concatenation=9))
    assert [state for _id, state in taken.concluded] == [MessageState.DUPLICATE]
    payment = (await shop.payments())[0]
    assert (await messages(shop))[1].reasons == f'["duplicate_of:{payment.id}"]'


async def test_the_same_id_with_another_amount_is_for_a_person(shop: FakeShop) -> None:
    await shop.read(paid("a"))
    taken = await shop.read(paid("a", amount_minor=9900, concatenation=9))
    assert [state for _id, state in taken.concluded] == [MessageState.HELD]
    assert await shop.values("SELECT reason FROM reviews") == ["id_conflict"]
    assert len(await shop.payments()) == 1


@pytest.mark.parametrize(
    "sender", ["+233591000567", "0244000811", "Mobile.Mony", "MobiIeMoney", "mobilemoney", "T-CASH"]
)
async def test_a_receipt_from_any_other_sender_is_held_and_never_money(shop: FakeShop, sender: str) -> None:
    request = await shop.request()
    text = paid(request.svc_code or "").text
    taken = await shop.read_pdus(encode_deliver(sender, text, STARTED, smsc=MTN_SMSC, reference=1))
    assert [state for _id, state in taken.concluded] == [MessageState.HELD]
    assert await shop.payments() == []
    assert await shop.values("SELECT reason FROM reviews") == [], "it is only listed"
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING


async def test_a_forged_text_does_not_occupy_the_real_id(shop: FakeShop) -> None:
    real = paid("a")
    await shop.read_pdus(encode_deliver("+233591000567", real.text, STARTED, reference=1))
    await shop.read(real)
    assert [payment.telco_transaction_id for payment in await shop.payments()] == [ID]


async def test_money_without_a_request_gets_a_holder(shop: FakeShop) -> None:
    await shop.read(paid("food"))
    rows = await shop.values("SELECT origin, status, matched_by FROM transactions")
    assert rows == [("open", "SUCCESS", "none")]
    assert (await shop.payments())[0].standing == "open"


async def test_a_message_older_than_its_line_is_history(shop: FakeShop) -> None:
    request = await shop.request()
    old = mtn(2500, "KOFI ANTWI BADU", 50_000, request.svc_code or "", ID, sent_at=STARTED - timedelta(minutes=11))
    taken = await shop.read(old)
    assert [state for _id, state in taken.concluded] == [MessageState.HISTORICAL]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert (await shop.payments())[0].historical
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]


async def test_history_can_still_be_reconciled_by_a_person(shop: FakeShop) -> None:
    request = await shop.request()
    old = mtn(2500, "KOFI ANTWI BADU", 50_000, "x", ID, sent_at=STARTED - timedelta(minutes=11))
    await shop.read(old)
    answer = await shop.reconcile(request.reference, ID, confirmed=True)
    assert answer.reconciliation_id
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


async def test_an_unknown_payer_holds_a_request_that_expects_one(shop: FakeShop) -> None:
    request = await shop.request(expected_payer_phone="+233241234567")
    await shop.read(paid(request.svc_code or ""))
    held = await shop.transaction(request.reference)
    payment = (await shop.payments())[0]
    assert (held.status, held.held_payment_id) == (TransactionStatus.MANUAL_REVIEW, payment.id)
    assert payment.standing == "review"
    assert await shop.values("SELECT reason, state FROM reviews") == [("payer_unknown", "open")]


async def test_garbage_is_stored_raw_and_stops_nothing(shop: FakeShop) -> None:
    good = paid("x")
    garbage = ["00FFFF", good.pdus[0][:40]]
    parts = [*garbage, *good.pdus]
    shop_parts = await shop.read_pdus(parts)
    states = [state for _id, state in shop_parts.concluded]
    assert states == [MessageState.UNPARSED, MessageState.UNPARSED, MessageState.PAYMENT]
    assert await shop.values("SELECT COUNT(*) FROM sms_parts") == [4]


async def test_a_fault_of_ours_loses_no_message(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = paid("bad"), paid("good", telco_id="93214500002", concatenation=1)
    from daemon.steps import process_message as steps_process_message
    from parsers.read import read as real

    def fail(sender: str | None, body: str, *, network: str | None = None, own: object = ()) -> object:
        if "Reference: bad" in body:
            raise LookupError("a fault")
        assert own == ()
        return real(sender, body, network=network)

    monkeypatch.setattr(steps_process_message, "read", fail)
    taken = await shop.read(bad, good)
    assert taken.faults
    assert await shop.values("SELECT COUNT(*) FROM sms_parts") == [4]
    assert [payment.telco_transaction_id for payment in await shop.payments()] == ["93214500002"]


async def test_a_telecel_receipt_on_a_telecel_sim_pays(tmp_path: Path) -> None:
    from tests.fakes.shop import TELECEL_IMSI

    shop = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    request = await shop.request()
    await shop.read(telecel(2500, "KOJO ANSAH", 50_000, request.svc_code or "", "0000015214500001"))
    payment = (await shop.payments())[0]
    assert (payment.provider, payment.telco_transaction_id, payment.payer_phone) == (
        "momo_telecel",
        "0000015214500001",
        "+233209000543",
    )
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    shop.close()


async def test_an_mtn_receipt_on_a_telecel_sim_is_not_trusted(tmp_path: Path) -> None:
    from tests.fakes.shop import TELECEL_IMSI

    shop = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    await shop.read(paid("x"))
    assert await shop.payments() == []
    shop.close()


async def test_a_sim_without_a_number_collects_unplaced_payments(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, line=False)
    await shop.read(paid("x"))
    assert [payment.payment_method_id for payment in await shop.payments()] == [None]
    shop.close()


async def test_every_receipt_of_a_batch_is_one_payment(shop: FakeShop) -> None:
    receipts = list(mtn_receipts(60, seed=3))
    await shop.read(*receipts)
    found = await shop.payments()
    assert [(p.telco_transaction_id, p.amount_minor, p.balance_minor) for p in found] == [
        (r.telco_id, r.amount_minor, r.balance_minor) for r in receipts
    ]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
async def test_parts_in_any_order_and_repeated_give_each_receipt_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    shop = await FakeShop.make(tmp_path_factory.mktemp("shop"))
    receipts = list(mtn_receipts(6, seed=5))
    pdus = [pdu for receipt in receipts for pdu in receipt.pdus]
    order = data.draw(st.permutations(pdus))
    cuts = data.draw(st.lists(st.integers(0, len(pdus)), max_size=4))
    repeats = data.draw(st.lists(st.sampled_from(pdus), max_size=6))
    stream = [*order, *repeats]
    start = 0
    for cut in [*sorted(cuts), len(stream)]:
        await shop.read_pdus(stream[start:cut])
        start = max(start, cut)
    found = await shop.payments()
    assert sorted(p.telco_transaction_id for p in found) == sorted(r.telco_id for r in receipts)
    shop.close()


async def test_a_receipt_of_a_replaced_request_goes_to_no_other(shop: FakeShop) -> None:
    first = await shop.request()
    other = await shop.request()
    await shop.read(paid(f"{first.svc_code} {other.svc_code}"))
    assert await shop.values("SELECT reason FROM reviews") == ["ambiguous_code"]
    for request in (first, other):
        assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING


async def test_telco_ids_are_compared_without_case_and_kept_as_read(shop: FakeShop) -> None:
    await shop.read(paid("x"))
    payment = (await shop.payments())[0]
    assert (payment.telco_transaction_id, payment.telco_id_as_read) == (ID, ID)


async def test_a_payers_number_that_could_be_typed_proves_nothing(shop: FakeShop) -> None:
    from tests.fakes.receipts import mtn_receipt_from_telecel

    request = await shop.request(expected_payer_phone="+233201000456")
    text = mtn_receipt_from_telecel(
        2500, "KOFI ANTWI BADU", 50_000, request.svc_code or "", ID, payer_phone="233201000456"
    )
    await shop.read_pdus(encode_deliver("MobileMoney", text, STARTED, smsc=MTN_SMSC, reference=3))
    assert (await shop.payments())[0].payer_phone == "+233201000456"
    assert await shop.values("SELECT reason FROM reviews") == ["payer_unknown"]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.MANUAL_REVIEW


async def test_nor_when_an_order_names_the_payment_afterwards(shop: FakeShop) -> None:
    from tests.fakes.receipts import mtn_receipt_from_telecel

    text = mtn_receipt_from_telecel(2500, "KOFI ANTWI BADU", 50_000, "food", ID, payer_phone="233201000456")
    await shop.read_pdus(encode_deliver("MobileMoney", text, STARTED, smsc=MTN_SMSC, reference=3))
    request = await shop.request(expected_telco_transaction_id=ID, expected_payer_phone="+233201000456")
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING


async def test_a_wording_that_no_genuine_message_confirmed_never_pays(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from daemon.steps import process_message as steps_process_message
    from parsers.read import read as real

    def unverified(sender: str | None, body: str, *, network: str | None = None, own: object = ()) -> object:
        assert own == ()
        return replace(real(sender, body, network=network), unverified=True)  # type: ignore[arg-type]  # a receipt is read here

    monkeypatch.setattr(steps_process_message, "read", unverified)
    await shop.begin_chain(47_500)
    await shop.read(paid("x"))
    assert await shop.payments() == []
    [(reason, details)] = await shop.values("SELECT reason, details FROM reviews")
    assert reason == "doubtful_message"
    assert json.loads(details)["doubts"] == ["wording_unverified"]


async def test_time_of_a_message_is_known_before_its_webhook_is_woken(shop: FakeShop) -> None:
    seen = []

    def woken() -> None:
        seen.append(len(shop.env.clock_check._witnesses))

    shop.env.store.subscribe(journal.TOPIC, woken)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    assert seen[0] == 1


@pytest.mark.parametrize(("days", "told"), [(0, 0), (2, 1)])
async def test_receipt_with_an_old_date_long_after_its_line_was_set_up_is_told(
    shop: FakeShop, days: int, told: int
) -> None:
    shop.clock.advance(days * 86_400)
    old = mtn(2500, "KOFI", 50_000, "food", ID, sent_at=STARTED - timedelta(days=30))
    await shop.read(old)
    assert (await shop.payments())[0].historical
    said = await shop.values("SELECT data FROM events WHERE type = 'notice.receipt_old'")
    assert len(said) == told
    assert all(ID in one for one in said)


STATEMENTS = 33
"""For a receipt of two parts with one endpoint and an SMS to the payer, from the first part to the commit with the webhooks."""


@pytest.mark.file  # counts the statements of SQLite; PostgreSQL runs the same
async def test_a_paid_receipt_of_two_parts_takes_33_statements(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.begin_chain()
    await add_endpoint(shop)
    both = '["transaction.forwarded","transaction.completed"]'
    await shop.env.store.write(lambda tx: tx.run(f"UPDATE endpoints SET events = '{both}'"))
    order = await shop.request()
    receipt = mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), order.svc_code or "", "93214500001")
    traced: list[str] = []
    writer(shop.env.store).set_trace_callback(traced.append)
    for part in receipt.pdus:
        await shop.read_pdus([part])
    writer(shop.env.store).set_trace_callback(None)
    assert len(receipt.pdus) == 2
    assert await shop.values("SELECT event, status FROM deliveries ORDER BY seq") == [
        ("transaction.forwarded", "pending"),
        ("transaction.completed", "pending"),
    ]
    assert await shop.values("SELECT kind FROM sms_outbox ORDER BY seq") == ["code", "receipt"]
    shop.close()
    # SQLite reports a statement again for each trigger that it runs.
    asked = [one for one, before in zip(traced, ["", *traced], strict=False) if one != before]
    assert len([one for one in asked if one not in ("BEGIN IMMEDIATE", "COMMIT")]) == STATEMENTS
