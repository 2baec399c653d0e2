"""The event kinds that an endpoint subscribes to: the cause, the receivers and the id of each."""

import json
from typing import Any

from daemon.flows.lines import payment_methods
from daemon.flows.payments import cancel_expire
from daemon.store.webhooks import endpoints
from daemon.wire import EventKind
from tests.fakes import rows
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID, OWNER, FakeShop

DAY_S = 24 * 3600


async def endpoint(shop: FakeShop, name: str, *kinds: EventKind, **changes: Any) -> str:
    made = rows.endpoint(
        id=shop.env.new_id(),
        url=f"https://{name}.example/hook",
        url_normalised=f"https://{name}.example/hook",
        events=json.dumps([EventKind.FORWARDED, *kinds]),
        **changes,
    )
    await shop.env.store.write(lambda tx: endpoints.add(tx, made))
    return made.id


async def sent(shop: FakeShop, kind: EventKind) -> list[tuple[str, Any]]:
    """Return (endpoint, body) of each delivery of this kind."""
    among = f"event = '{kind}'"
    found = await shop.values(
        f"SELECT (SELECT id FROM endpoints WHERE seq = endpoint_seq) FROM deliveries WHERE {among} ORDER BY seq"
    )
    return [(endpoint_id, json.loads(body)) for endpoint_id, body in zip(found, await shop.bodies(among), strict=True)]


async def pay(shop: FakeShop, text: str, telco_id: str = "93214500001", amount: int = 2500) -> None:
    await shop.read(mtn(amount, "KOFI ANTWI BADU", shop.wallet(amount), text, telco_id))


async def test_an_expired_request_is_told_to_those_who_asked(shop: FakeShop) -> None:
    asked = await endpoint(shop, "asked", EventKind.EXPIRED)
    await endpoint(shop, "other")
    request = await shop.request()
    shop.clock.advance(DAY_S)
    await cancel_expire.expire(shop.env)
    await cancel_expire.expire(shop.env)
    [(target, body)] = await sent(shop, EventKind.EXPIRED)
    assert target == asked
    assert list(body) == ["webhook_id", "type", "timestamp", "api_version", "test", "livemode", "data"]
    assert (body["data"]["transaction_id"], body["data"]["status"]) == (request.id, "EXPIRED")


async def test_a_request_that_needs_a_person_is_told(shop: FakeShop) -> None:
    await endpoint(shop, "asked", EventKind.REVIEW_REQUIRED)
    request = await shop.request(expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code or "")
    [(_, body)] = await sent(shop, EventKind.REVIEW_REQUIRED)
    assert body["data"]["status"] == "MANUAL_REVIEW"
    assert body["data"]["actual_amount"] is None
    review = body["data"]["review"]
    assert (review["amount"], review["telco_transaction_id"]) == ("25.00", "93214500001")
    assert review["reason"] in ("payer_mismatch", "payer_unknown")


async def test_transaction_completed_goes_to_every_subscribed_endpoint_too(shop: FakeShop) -> None:
    both = [await endpoint(shop, name, EventKind.COMPLETED) for name in "ab"]
    request = await shop.request(webhook_url="https://own.example/hook")
    await pay(shop, request.svc_code or "")
    targets = [target for target, _ in await sent(shop, EventKind.COMPLETED)]
    assert len(targets) == 3
    assert set(both) < set(targets)


async def test_a_merged_holder_is_told_to_those_who_got_the_forward(shop: FakeShop) -> None:
    asked = await endpoint(shop, "asked", EventKind.UPDATED)
    await endpoint(shop, "other")
    await endpoint(shop, "claims_nothing", EventKind.UPDATED, catch_all=False)
    await pay(shop, "food")
    [(_, forwarded), _other] = await sent(shop, EventKind.FORWARDED)
    request = await shop.request()
    await shop.reconcile(request.reference, "93214500001")
    [(target, body)] = await sent(shop, EventKind.UPDATED)
    assert target == asked
    assert body["data"]["supersedes_reference"] == forwarded["data"]["reference"]
    assert body["data"]["reference"] == request.reference
    assert body["data"]["telco"] == forwarded["data"]["telco"]
    assert {"reference", "svc_code", "matched_by"} <= set(body["data"]["changed"])
    assert "amount" not in body["data"]["changed"]
    assert len(await sent(shop, EventKind.FORWARDED)) == 2  # it is not sent again


async def test_a_claimed_payment_is_told_where_it_went_out_as_unplaced(shop: FakeShop) -> None:
    asked = await endpoint(shop, "asked", EventKind.UPDATED)
    await endpoint(shop, "other")
    sim = "UPDATE payment_methods SET sim_seq = "
    await shop.env.store.write(lambda tx: tx.run(sim + "NULL"))
    await pay(shop, "food")
    await shop.env.store.write(lambda tx: tx.run(sim + "(SELECT MAX(seq) FROM sims)"))
    claimed = await payment_methods.claim_unplaced(shop.env, OWNER, METHOD_ID, dry_run=False)
    assert claimed.count == 1
    [(target, body)] = await sent(shop, EventKind.UPDATED)
    assert target == asked
    assert body["data"]["placed"] is True
    assert body["data"]["changed"] == ["payment_method", "placed"]
    assert [each["data"]["placed"] for _, each in await sent(shop, EventKind.FORWARDED)] == [False] * 2
    await payment_methods.claim_unplaced(shop.env, OWNER, METHOD_ID, dry_run=False)
    assert len(await sent(shop, EventKind.UPDATED)) == 1


async def test_each_update_of_one_payment_has_an_id_of_its_own(shop: FakeShop) -> None:
    first = await endpoint(shop, "same", EventKind.UPDATED)
    sim = "UPDATE payment_methods SET sim_seq = "
    await shop.env.store.write(lambda tx: tx.run(sim + "NULL"))
    await pay(shop, "food")
    await shop.env.store.write(lambda tx: tx.run(sim + "(SELECT MAX(seq) FROM sims)"))
    await payment_methods.claim_unplaced(shop.env, OWNER, METHOD_ID, dry_run=False)
    request = await shop.request()
    await shop.reconcile(request.reference, "93214500001")
    found = await sent(shop, EventKind.UPDATED)
    assert [target for target, _ in found] == [first, first]
    assert len({body["webhook_id"] for _, body in found}) == 2
    revisions = await shop.values(f"SELECT revision FROM deliveries WHERE event = '{EventKind.UPDATED}' ORDER BY seq")
    assert revisions == [0, 1]


async def test_every_body_is_at_most_20_kb_and_has_its_keys_in_order(shop: FakeShop) -> None:
    await endpoint(shop, "all", *(kind for kind in EventKind if kind is not EventKind.FORWARDED))
    long = "\u00e9" * 2_000
    request = await shop.request(meta=json.dumps({"m": long}, ensure_ascii=False), description="d" * 200)
    await shop.request(meta=json.dumps({"m": long}, ensure_ascii=False), customer_name="n" * 200)
    await pay(shop, "food")
    await shop.reconcile(request.reference, "93214500001")
    shop.clock.advance(DAY_S)
    await cancel_expire.expire(shop.env)
    bodies = await shop.bodies()
    assert {json.loads(body)["type"] for body in bodies} >= {"transaction.updated", "transaction.expired"}
    for body in bodies:
        assert len(body.encode()) <= 20_000
        assert list(json.loads(body)) == ["webhook_id", "type", "timestamp", "api_version", "test", "livemode", "data"]
