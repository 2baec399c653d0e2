"""Receivers of `transaction.completed`: after an automatic match, a reconcile and an approval."""

from pathlib import Path

import pytest

from daemon.core.webhooks.endpoint import Endpoint
from daemon.runtime.config import Config, Webhooks
from tests.fakes.outbox import ID, add_endpoint, owe
from tests.fakes.receipts import mtn
from tests.fakes.reviews import approve
from tests.fakes.shop import FakeShop

BOTH = '["transaction.forwarded", "transaction.completed"]'
FORWARDED = "transaction.forwarded"
COMPLETED = "transaction.completed"
DEFAULT_URL = "https://default.example/paid"
OWN_URL = "https://own.example/paid"
EXPECTED = "+233200000001"


async def pay(shop: FakeShop, typed: str | None, telco_id: str = ID) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), typed or "", telco_id))


async def sent(shop: FakeShop) -> list[tuple[str, str]]:
    """Return (event, receiver) of all deliveries; an implicit endpoint by its URL, another by its ID."""
    found = await shop.values(
        "SELECT event, (SELECT id FROM endpoints WHERE seq = endpoint_seq) FROM deliveries ORDER BY event DESC, seq"
    )
    rows: list[Endpoint] = await shop.rows(Endpoint, "endpoints")
    names = {row.id: row.url if row.kind == "implicit" else row.id for row in rows}
    return [(event, names[endpoint_id]) for event, endpoint_id in found]


async def test_an_automatic_match_is_completed_to_the_subscribers_only(shop: FakeShop) -> None:
    await add_endpoint(shop, "claims")
    await add_endpoint(shop, "asked", events=BOTH)
    await add_endpoint(shop, "no_catch_all", events=BOTH, catch_all=0)
    await pay(shop, (await shop.request()).svc_code)
    assert await sent(shop) == [
        (FORWARDED, "claims"),
        (FORWARDED, "asked"),
        (COMPLETED, "asked"),
        (COMPLETED, "no_catch_all"),
    ]


async def test_an_automatic_match_without_subscribers_is_completed_to_nobody(shop: FakeShop) -> None:
    await add_endpoint(shop, "claims")
    await pay(shop, (await shop.request()).svc_code)
    assert await sent(shop) == [(FORWARDED, "claims")]


async def test_a_match_by_the_expected_network_id_is_automatic_too(shop: FakeShop) -> None:
    await add_endpoint(shop, "claims")
    await shop.request(expected_telco_transaction_id=ID)
    await owe(shop)
    assert await sent(shop) == [(FORWARDED, "claims")]


async def test_an_endpoint_of_a_transactions_own_webhook_is_no_subscriber_of_others(shop: FakeShop) -> None:
    await pay(shop, (await shop.request(webhook_url=OWN_URL)).svc_code)
    await pay(shop, (await shop.request()).svc_code, "93214500002")
    assert await sent(shop) == [(COMPLETED, OWN_URL)]


async def test_the_default_webhook_hears_of_live_transactions_without_one_of_their_own(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(webhooks=Webhooks(default_url=DEFAULT_URL)))
    try:
        await add_endpoint(shop, "claims")
        await pay(shop, (await shop.request()).svc_code)
        await pay(shop, (await shop.request(webhook_url=OWN_URL)).svc_code, "93214500002")
        assert await sent(shop) == [
            (FORWARDED, "claims"),
            (FORWARDED, "claims"),
            (COMPLETED, DEFAULT_URL),
            (COMPLETED, OWN_URL),
        ]
    finally:
        shop.close()


async def test_a_reconcile_without_other_receivers_is_completed_to_those_who_claim(shop: FakeShop) -> None:
    await add_endpoint(shop, "claims")
    await add_endpoint(shop, "claims_not", catch_all=0)
    request = await shop.request()
    await owe(shop)
    await shop.reconcile(request.reference, ID)
    assert await sent(shop) == [(FORWARDED, "claims"), (COMPLETED, "claims")]


@pytest.mark.parametrize("own", [None, OWN_URL])
async def test_a_reconcile_with_other_receivers_is_completed_to_them_only(shop: FakeShop, own: str | None) -> None:
    await add_endpoint(shop, "claims")
    if own is None:
        await add_endpoint(shop, "asked", events=f'["{COMPLETED}"]')
    request = await shop.request(webhook_url=own)
    await owe(shop)
    await shop.reconcile(request.reference, ID)
    assert await sent(shop) == [(FORWARDED, "claims"), (COMPLETED, own or "asked")]


@pytest.mark.parametrize("named", [False, True])
async def test_an_approval_is_completed_like_a_reconcile(shop: FakeShop, *, named: bool) -> None:
    await add_endpoint(shop, "claims")
    request = await shop.request(expected_payer_phone=EXPECTED)
    await pay(shop, request.svc_code)
    await approve(shop, reference=request.reference if named else None)
    assert await sent(shop) == [(FORWARDED, "claims"), (COMPLETED, "claims")]


async def test_an_approved_payment_without_a_transaction_is_only_forwarded(shop: FakeShop) -> None:
    await add_endpoint(shop, "claims")
    request = await shop.request()
    await pay(shop, request.svc_code)
    await shop.read(mtn(2500, "AMA", shop.wallet(2500), request.svc_code or "", "93214500002", concatenation=1))
    await approve(shop)
    assert await sent(shop) == [(FORWARDED, "claims"), (FORWARDED, "claims")]
