"""Reviews of messages that made no payment: the owner's approvals and rejections."""

import json

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import ErrorCode
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn, mtn_receipt
from tests.fakes.reviews import ID, approve, endpoint, forge, only, pay, refusal, reject
from tests.fakes.shop import FakeShop


async def conflict(shop: FakeShop) -> None:
    """Let a second receipt carry the first one's ID with another amount."""
    await pay(shop, "food")
    await shop.read(mtn(9900, "KOFI ANTWI BADU", 90_000, "food", ID, concatenation=3))


async def test_an_untrusted_message_makes_its_payment_when_the_owner_vouches(shop: FakeShop) -> None:
    await endpoint(shop)
    await forge(shop)
    assert await shop.payments() == []
    answer = await approve(shop, confirmed=True)
    [payment] = await shop.payments()
    message = answer["data"]["message"]
    assert (payment.amount_minor, payment.currency, payment.provider) == (70_000, "GHS", "momo_mtn")
    assert (payment.telco_transaction_id, payment.payer_name, payment.reference_text) == (
        "93214500009",
        "KOFI ANTWI BADU",
        "food",
    )
    assert (payment.balance_minor, payment.fee_minor, payment.standing) == (90_000, 0, "open")
    assert (payment.message_id, payment.stored_at) == (message["id"], shop.clock.now_us())
    assert payment.telco_at == int(STARTED.timestamp()) * 1_000_000
    assert (message["state"], message["trusted"]) == ("payment", False)
    assert answer["data"]["payment"]["id"] == payment.id
    assert (answer["transaction"]["origin"], answer["transaction"]["actual_amount"]) == ("open", "700.00")
    assert await shop.values("SELECT event FROM deliveries") == ["transaction.forwarded"]


async def test_an_untrusted_message_pays_the_order_that_is_named(shop: FakeShop) -> None:
    request = await shop.request(70_000)
    await forge(shop, request.svc_code or "")
    answer = await approve(shop, reference=request.reference, confirmed=True)
    assert (answer["transaction"]["reference"], answer["transaction"]["status"]) == (request.reference, "SUCCESS")


async def test_without_the_password_an_untrusted_message_stays_what_it_is(shop: FakeShop) -> None:
    await forge(shop)
    assert (await refusal(shop)).code is ErrorCode.INVALID_PASSWORD
    assert await shop.payments() == []


async def test_a_vouched_message_makes_reconcile_find_its_id(shop: FakeShop) -> None:
    request = await shop.request(70_000)
    await forge(shop)
    await approve(shop, confirmed=True)
    assert (await shop.reconcile(request.reference, "93214500009")).reconciliation_id


async def test_an_untrusted_copy_of_a_real_payment_is_refused_by_its_id(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await forge(shop, telco_id=ID)
    refused = await refusal(shop, confirmed=True)
    assert refused.code is ErrorCode.TRANSACTION_ID_ALREADY_USED
    [payment] = await shop.payments()
    assert refused.extras == {"expected_amount": None, "used_by_reference": request.reference, "payment_id": payment.id}
    assert (await only(shop)).payment_id is None


async def test_of_two_messages_with_one_id_the_second_needs_the_password_or_is_rejected(shop: FakeShop) -> None:
    await conflict(shop)
    assert (await refusal(shop)).code is ErrorCode.INVALID_PASSWORD
    answer = await reject(shop)
    assert (answer["data"]["state"], answer["transaction"]) == ("rejected", None)
    assert len(await shop.payments()) == 1


async def test_a_receipt_without_an_id_is_known_by_its_message(shop: FakeShop) -> None:
    await forge(shop)
    waiting = await only(shop)
    (fields,) = await shop.values("SELECT fields FROM messages")
    without = json.dumps({**json.loads(fields), "transaction_id": None})
    await shop.env.store.write(
        lambda tx: (
            tx.run("UPDATE messages SET fields = :fields, trusted = 1", {"fields": without})
            + tx.run("UPDATE reviews SET reason = 'no_telco_id'")
        )
    )
    await approve(shop)
    [payment] = await shop.payments()
    assert payment.telco_id_as_read == f"sms:{waiting.message_id}"
    assert payment.telco_transaction_id == f"SMS:{waiting.message_id}".upper()
    request = await shop.request(70_000)
    assert (await shop.reconcile(request.reference, payment.telco_id_as_read)).reconciliation_id


async def test_a_message_on_a_sim_of_no_known_network_takes_the_lines_own(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE sims SET network = NULL"))
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, "food", ID)
    await shop.read_pdus(encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=9))
    assert await shop.values("SELECT provider FROM messages") == [None]
    await shop.env.store.write(lambda tx: tx.run("UPDATE messages SET payment_method_seq = NULL"))
    refused = await refusal(shop, confirmed=True)
    assert refused.code is ErrorCode.NETWORK_MISMATCH
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE messages SET payment_method_seq = (SELECT seq FROM payment_methods)")
    )
    await approve(shop, confirmed=True)
    assert [payment.provider for payment in await shop.payments()] == ["momo_mtn"]
