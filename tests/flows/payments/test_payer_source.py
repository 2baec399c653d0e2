"""`payer_source`: whether a member of `payer` comes from the receipt or from the request.

MTN's receipts of its own customers print no number: the transaction then shows the request's number beside the receipt's
name.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.flows.payments import cancel_expire
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import EventKind
from tests.fakes.outbox import ID, add_endpoint
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn, telecel
from tests.fakes.reviews import approve, only
from tests.fakes.shop import TELECEL_IMSI, FakeShop

ALL = json.dumps(list(EventKind))
NAME = "KOFI ANTWI BADU"
ASKED = "+233241234567"
"""The number of each request that `FakeShop` makes."""
TELECEL_ID = "0000012345678901"


async def data(shop: FakeShop, kind: EventKind) -> dict[str, Any]:
    [body] = await shop.bodies(f"event = '{kind}'")
    found: dict[str, Any] = json.loads(body)["data"]
    return found


def payer(of: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return (number, name) and their sources; the two members must be neighbours."""
    names = list(of)
    assert names.index("payer_source") == names.index("payer") + 1
    assert list(of["payer"]) == list(of["payer_source"]) == ["phone_number", "name"]
    return list(of["payer"].values()), list(of["payer_source"].values())


async def test_every_event_of_a_paid_transaction_says_where_its_number_comes_from(shop: FakeShop) -> None:
    await shop.begin_chain()
    await add_endpoint(shop, "e1", events=ALL)
    request = await shop.request(customer_name="Kofi")
    await shop.read(mtn(2500, NAME, shop.wallet(2500), "food", ID))
    assert payer(await data(shop, EventKind.FORWARDED)) == ([None, NAME], [None, "receipt"])
    await shop.reconcile(request.reference, ID)
    await shop.read_pdus(
        encode_deliver(
            MTN_SENDER,
            f"Transaction {ID} of GHS 25.00 from {NAME} has been reversed. Current Balance: GHS 900.00.",
            STARTED,
            smsc=MTN_SMSC,
            reference=200,
        )
    )
    await approve(shop, (await only(shop)).id, confirmed=True)
    for kind in (EventKind.COMPLETED, EventKind.UPDATED, EventKind.REVERSED):
        assert payer(await data(shop, kind)) == ([ASKED, NAME], ["request", "receipt"]), kind
    assert {"payer", "payer_source"} <= set((await data(shop, EventKind.UPDATED))["changed"])


async def test_a_matched_payment_is_forwarded_with_the_requests_number_marked_as_such(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    request = await shop.request(customer_name="Kofi")
    await shop.read(mtn(2500, NAME, shop.wallet(2500), request.svc_code or "", ID))
    assert payer(await data(shop, EventKind.FORWARDED)) == ([ASKED, NAME], ["request", "receipt"])


async def test_events_before_a_payment_name_the_requests_customer(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1", events=ALL)
    held = await shop.request(customer_name="Kofi", expected_payer_phone="+233200000001")
    await shop.read(mtn(2500, NAME, shop.wallet(2500), held.svc_code or "", ID))
    found = await data(shop, EventKind.REVIEW_REQUIRED)
    assert payer(found) == ([ASKED, "Kofi"], ["request", "request"])
    await shop.request()
    shop.clock.advance(25 * 3600)
    await cancel_expire.expire(shop.env)
    assert payer(await data(shop, EventKind.EXPIRED)) == ([ASKED, None], ["request", None])


@pytest.mark.parametrize(
    ("source", "number", "matches"),
    [
        ("receipt", "0209000543", True),  # the receipt's number
        ("receipt", ASKED, False),  # the request's, beside another on the receipt
    ],
)
async def test_rules_see_the_receipts_number_and_not_the_requests(
    tmp_path: Path, source: str, number: str, *, matches: bool
) -> None:
    shop = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    try:
        await add_rule(shop, {"payer.phone_number": number, "payer_source.phone_number": source})
        request = await shop.request()
        await shop.read(telecel(2500, NAME, shop.wallet(2500), request.svc_code or "", TELECEL_ID))
        assert await shop.values("SELECT COUNT(*) FROM deliveries") == [int(matches)]
    finally:
        shop.close()


async def test_rules_see_the_requests_number_where_the_receipt_has_none(shop: FakeShop) -> None:
    await add_rule(shop, {"payer.phone_number": ASKED, "payer_source.phone_number": {"$in": ["request"]}})
    request = await shop.request()
    await shop.read(mtn(2500, NAME, shop.wallet(2500), request.svc_code or "", ID))
    assert await shop.values("SELECT (SELECT id FROM endpoints WHERE seq = endpoint_seq) FROM deliveries") == ["e1"]


async def add_rule(shop: FakeShop, filter_: dict[str, Any]) -> None:
    """Add an endpoint that gets only the payments of one rule."""
    await add_endpoint(shop, "e1", catch_all=0)
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO rules (id, endpoint_id, name, position, enabled, filter, created_at, updated_at) "
            "VALUES ('r1', 'e1', 'r1', 1, 1, :filter, 1, 1)",
            {"filter": json.dumps(filter_)},
        )
    )
