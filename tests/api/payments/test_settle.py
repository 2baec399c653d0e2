"""POST and DELETE /v1/transactions/{reference}/settle: what a short or too large payment leaves open, ended by a person."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from daemon.core.access.callers import CallerKind
from daemon.core.errors import Refusal
from daemon.core.model import Event, Review, Transaction
from daemon.flows.payments import review as review_flow
from daemon.flows.payments import settlement
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Access, Config
from daemon.wire import Role, SettlementKind
from tests.fakes import outbox
from tests.fakes.api import FakeApi, running
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn
from tests.fakes.shop import OWNER

FIRST, SECOND = "93214500001", "93214500002"


async def paid(api: FakeApi, minor: int, asked: int = 2500) -> Transaction:
    """Return a transaction of which `minor` was paid."""
    order = await api.shop.request(asked)
    await api.shop.read(mtn(minor, "KOFI ANTWI BADU", 90_000, order.svc_code or "", FIRST))
    return order


async def rest(api: FakeApi, order: Transaction, minor: int = 500, text: str | None = None) -> None:
    """Let a second payment come, with the order's code or another text."""
    code = order.svc_code or "" if text is None else text
    await api.shop.read(mtn(minor, "KOFI ANTWI BADU", 90_000 + minor, code, SECOND))


async def settle(client: httpx.AsyncClient, order: Transaction, **body: Any) -> httpx.Response:
    return await client.post(f"/v1/transactions/{order.reference}/settle", json=body)


async def shown(api: FakeApi, order: Transaction) -> dict[str, Any]:
    answer = await api.live.get(f"/v1/transactions/{order.reference}")
    found: dict[str, Any] = answer.json()["data"]
    return found


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def owed(api: FakeApi) -> tuple[str, str]:
    """Return what the day sheet says is owed and to give back."""
    (sheet,) = (await api.local.get("/local/v1/report")).json()["data"]["sheets"]
    return sheet["all"]["short"]["owed"], sheet["all"]["over"]["to_give_back"]


@pytest.mark.parametrize(
    ("minor", "body", "kind"),
    [
        (2000, {"kind": "rest_received", "notes": "cash"}, "rest_received"),
        (2000, {"kind": "waived"}, "waived"),
        (3000, {"kind": "change_given", "notes": None}, "change_given"),
    ],
)
async def test_a_settled_transaction_keeps_status_and_amounts_and_says_how(
    api: FakeApi, minor: int, body: dict[str, Any], kind: str
) -> None:
    order = await paid(api, minor)
    before = await shown(api, order)
    answer = await settle(api.live, order, **body)
    assert answer.status_code == 200, answer.text
    after = await shown(api, order)
    assert answer.json()["data"] == after
    assert after["settlement"] == {
        "kind": kind,
        "amount": "5.00",
        "payment_reference": None,
        "notes": body.get("notes"),
    }
    assert after["settled_by"].startswith("key:")
    assert after["settled_at"] is not None
    settled = ("settled_at", "settled_by", "settlement")
    assert {**after, **{name: before[name] for name in settled}} == before
    [event] = await api.shop.rows(Event, "events", "type = 'transaction.settled'")
    assert event.transaction_id == order.id


async def test_the_rest_that_came_is_used_once_and_is_no_sale_of_its_own(api: FakeApi) -> None:
    order = await paid(api, 2000)
    await rest(api, order)
    [review] = (await api.live.get("/v1/reviews")).json()["data"]
    assert review["reason"] == "extra_payment"

    answer = await settle(api.live, order, kind="rest_received", payment=SECOND)
    assert answer.status_code == 200, answer.text
    settlement = answer.json()["data"]["settlement"]
    assert (settlement["kind"], settlement["amount"]) == ("rest_received", "5.00")
    review = (await api.live.get(f"/v1/reviews/{review['id']}")).json()["data"]
    assert review["state"] == "used_for_settlement"
    holder = (await api.live.get(f"/v1/transactions/{settlement['payment_reference']}")).json()
    assert holder["data"]["settles"] == order.reference
    assert holder["data"]["origin"] == "open"

    other = await api.shop.request(500)
    used = await api.live.post(f"/v1/transactions/{other.reference}/reconcile", json={"transaction_id": SECOND})
    assert code(used) == (409, "TRANSACTION_ID_ALREADY_USED")
    third = await paid_again(api, order)
    assert code(await settle(api.live, third, kind="rest_received", payment=SECOND)) == (
        409,
        "TRANSACTION_ID_ALREADY_USED",
    )


async def paid_again(api: FakeApi, order: Transaction) -> Transaction:
    """Return another short order."""
    other = await api.shop.request(2500)
    await api.shop.read(mtn(2000, "AMA OWUSU", 92_500, other.svc_code or "", "93214500003"))
    return other


async def test_a_rest_that_was_a_sale_of_its_own_names_the_order_from_then_on(api: FakeApi) -> None:
    order = await paid(api, 2000)
    await rest(api, order, text="thank you")
    (sale,) = (await api.live.get("/v1/transactions?origin=open")).json()["data"]
    answer = await settle(api.live, order, kind="rest_received", payment=sale["reference"])
    assert answer.json()["data"]["settlement"]["payment_reference"] == sale["reference"]


async def test_what_is_settled_is_no_longer_owed_or_to_give_back(api: FakeApi) -> None:
    short, over = await paid(api, 2000), await api.shop.request(2500)
    await api.shop.read(mtn(2700, "AMA OWUSU", 92_700, over.svc_code or "", SECOND))
    assert await owed(api) == ("5.00", "2.00")
    assert (await settle(api.live, short, kind="waived")).status_code == 200
    assert await owed(api) == ("0.00", "2.00")
    assert (await settle(api.live, over, kind="change_given")).status_code == 200
    assert await owed(api) == ("0.00", "0.00")


@pytest.mark.parametrize(
    ("minor", "body"),
    [
        (2000, {"kind": "change_given"}),
        (3000, {"kind": "waived"}),
        (3000, {"kind": "rest_received"}),
        (3000, {"kind": "change_given", "payment": SECOND}),
        (2000, {"kind": "forgotten"}),
        (2000, {}),
    ],
)
async def test_a_kind_that_does_not_fit_is_a_wrong_field(api: FakeApi, minor: int, body: dict[str, Any]) -> None:
    order = await paid(api, minor)
    assert code(await settle(api.live, order, **body)) == (422, "VALIDATION_ERROR")
    assert (await shown(api, order))["settlement"] is None


async def test_only_what_is_short_or_too_much_can_be_settled_and_only_once(api: FakeApi) -> None:
    waiting = await api.shop.request(2500)
    assert code(await settle(api.live, waiting, kind="waived")) == (409, "NOT_SETTLEABLE")
    exact = await paid(api, 2500)
    assert code(await settle(api.live, exact, kind="waived")) == (409, "NOT_SETTLEABLE")
    short = await paid_again(api, exact)
    assert (await settle(api.live, short, kind="waived")).status_code == 200
    again = await settle(api.live, short, kind="rest_received")
    assert code(again) == (409, "ALREADY_SETTLED")
    assert again.json()["error"]["settled_by"].startswith("key:")


async def test_a_payment_that_is_not_there_is_told_as_reconcile_tells_it(api: FakeApi) -> None:
    order = await paid(api, 2000)
    answer = await settle(api.live, order, kind="rest_received", payment="93219999999")
    assert code(answer) == (404, "NO_MATCHING_TRANSACTION")
    own = await settle(api.live, order, kind="rest_received", payment=FIRST)
    assert code(own) == (409, "TRANSACTION_ID_ALREADY_USED")
    assert (await shown(api, order))["settlement"] is None


async def test_a_settlement_that_is_taken_back_frees_its_payment(api: FakeApi) -> None:
    order = await paid(api, 2000)
    await rest(api, order)
    await settle(api.live, order, kind="rest_received", payment=SECOND)
    path = f"/v1/transactions/{order.reference}/settle"
    answer = await api.live.delete(path)
    assert answer.status_code == 200, answer.text
    after = answer.json()["data"]
    assert (after["settled_at"], after["settlement"]) == (None, None)
    assert code(await api.live.delete(path)) == (409, "NOT_SETTLEABLE")
    assert await owed(api) == ("5.00", "0.00")

    other = await api.shop.request(500)
    reconcile = f"/v1/transactions/{other.reference}/reconcile"
    used = await api.live.post(reconcile, json={"transaction_id": SECOND})
    assert used.status_code == 200, used.text
    assert (await settle(api.live, order, kind="waived")).status_code == 200


async def test_the_same_call_again_is_answered_the_same(api: FakeApi) -> None:
    order = await paid(api, 2000)
    path, key = f"/v1/transactions/{order.reference}/settle", {"Idempotency-Key": "s-1"}
    first = await api.live.post(path, json={"kind": "waived"}, headers=key)
    again = await api.live.post(path, json={"kind": "waived"}, headers=key)
    assert first.content == again.content
    assert again.headers["idempotency-replayed"] == "true"


async def test_only_the_right_mode_settles_it(api: FakeApi) -> None:
    order = await paid(api, 2000)
    assert code(await settle(api.test, order, kind="waived")) == (404, "TRANSACTION_NOT_FOUND")


async def test_the_answer_is_that_of_reading_it_also_while_another_payment_waits(api: FakeApi) -> None:
    order = await paid(api, 2000)
    await rest(api, order)
    answer = await settle(api.live, order, kind="waived")
    assert answer.json()["data"] == await shown(api, order)


async def test_two_at_once_settle_it_once(api: FakeApi) -> None:
    order = await paid(api, 2000)
    answers = await asyncio.gather(
        settle(api.live, order, kind="waived"), settle(api.live, order, kind="rest_received")
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert len(await api.shop.rows(Event, "events", "type = 'transaction.settled'")) == 1


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_cashier_settles_with_a_payment_and_by_hand_only_where_the_shop_says_so(
    tmp_path: Any, allowed: bool
) -> None:
    config = Config(access=Access(cashiers_settle=allowed))
    async with running(tmp_path, config) as api:
        order = await paid(api, 2000)
        await rest(api, order)
        cashier = replace(OWNER, kind=CallerKind.BROWSER, role=Role.CASHIER)
        by_hand = settlement.SettlementRequest(SettlementKind.WAIVED)
        if allowed:
            await settlement.settle(api.shop.env, cashier, order.reference, by_hand)
            return
        with pytest.raises(Refusal, match="ROLE_REQUIRED"):
            await settlement.settle(api.shop.env, cashier, order.reference, by_hand)
        with_payment = settlement.SettlementRequest(SettlementKind.REST_RECEIVED, SECOND)
        done = await settlement.settle(api.shop.env, cashier, order.reference, with_payment)
        assert done.transaction.settled_by == cashier.name


async def test_a_rest_that_the_network_takes_back_leaves_the_order_short_again_and_is_told(api: FakeApi) -> None:
    await api.shop.begin_chain(85_000)
    order = await paid_in_chain(api)
    holder = (await shown(api, order))["settlement"]["payment_reference"]
    text = f"Transaction {SECOND} of GHS 5.00 from KOFI ANTWI BADU has been reversed. Current Balance: GHS 870.00."
    await api.shop.read_pdus(encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=200))
    [held] = await api.shop.rows(Review, "reviews", "state = 'open' AND details LIKE '%unverified%'")
    await review_flow.approve(api.shop.env, OWNER, held.id, review_flow.Approval(confirmed=True))
    after = await shown(api, order)
    assert (after["settled_at"], after["settlement"], after["reversed_at"]) == (None, None, None)
    rest = (await api.live.get(f"/v1/transactions/{holder}")).json()["data"]
    assert rest["settles"] is None
    assert rest["reversed_at"] is not None
    assert await owed(api) == ("5.00", "0.00")
    path = f"/v1/transactions/{order.reference}/events"
    said = [event["text"] for event in (await api.live.get(path)).json()["data"]]
    assert "The network took the payment back that settled it, so it is short again." in said
    [notice] = await api.shop.values("SELECT data FROM events WHERE type = 'notice.payment_reversed'")
    assert json.loads(notice)["settled"] == order.svc_code
    assert code(await settle(api.live, order, kind="rest_received", payment=SECOND)) == (404, "NO_MATCHING_TRANSACTION")
    assert (await settle(api.live, order, kind="waived")).status_code == 200


async def paid_in_chain(api: FakeApi) -> Transaction:
    """Return a short order that is settled by a second payment; the wallet's balances lead to GHS 875.00."""
    order = await api.shop.request(2500)
    for minor, balance, telco_id in ((2000, 87_000, FIRST), (500, 87_500, SECOND)):
        await api.shop.read(mtn(minor, "KOFI ANTWI BADU", balance, order.svc_code or "", telco_id))
    answer = await settle(api.live, order, kind="rest_received", payment=SECOND)
    assert answer.status_code == 200, answer.text
    return order


async def test_a_rejected_payment_that_settles_an_order_counts_and_is_forwarded_once(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, "22222222-2222-4222-8222-222222222222", url="https://shop.example/hook")
    order = await paid(api, 2000)
    await rest(api, order)
    [review] = (await api.live.get("/v1/reviews")).json()["data"]
    rejected = await api.live.post(f"/v1/reviews/{review['id']}/reject", json={"notes": "not ours"})
    holder = rejected.json()["transaction"]["reference"]
    assert rejected.json()["transaction"]["rejected"] is True
    answer = await settle(api.live, order, kind="rest_received", payment=SECOND)
    assert answer.json()["data"]["settlement"]["payment_reference"] == holder
    sent = "event = 'transaction.forwarded'"
    bodies = [json.loads(body)["data"] for body in await api.shop.bodies(sent)]
    assert [(one["reference"], one.get("settles")) for one in bodies] == [
        (order.reference, None),
        (holder, order.reference),
    ]
    path = f"/v1/transactions/{order.reference}/settle"
    assert (await api.live.delete(path)).status_code == 200
    free = (await api.live.get(f"/v1/transactions/{holder}")).json()["data"]
    assert (free["settles"], free["rejected"]) == (None, False)
    assert (await settle(api.live, order, kind="rest_received", payment=SECOND)).status_code == 200
    assert len(await api.shop.bodies(sent)) == 2


async def post(api: FakeApi, reference: str, client: httpx.AsyncClient | None = None, **call: Any) -> httpx.Response:
    return await (client or api.live).post(f"/v1/transactions/{reference}/cancel", **call)


async def test_the_body_may_be_left_out(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    answer = await post(api, reference)
    assert (answer.status_code, answer.json()["data"]["status"]) == (200, "CANCELLED")
    shown = (await api.live.get(f"/v1/transactions/{reference}")).json()["data"]
    names = ("pay_to", "settled_at", "settled_by", "settlement", "settles")
    found = {"held_review_id": None, **{name: shown[name] for name in names}}
    assert shown == {**answer.json()["data"], **found}


async def test_a_reason_is_kept_and_unknown_fields_are_named(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    answer = await post(api, reference, json={"reason": "sold out\nsorry", "note": 1})
    assert answer.json()["meta"]["warnings"] == ["Unknown field `note` was ignored."]
    shown = (await api.live.get(f"/v1/transactions/{reference}/events")).json()["data"]
    [details] = [one["details"] for one in shown if one["type"] == "transaction.cancelled"]
    assert details == {"reason": "sold out\nsorry"}


async def test_wrong_bodies_change_nothing(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    for call, status, code in (
        ({"json": {"reason": 1}}, 422, "VALIDATION_ERROR"),
        ({"json": {"reason": "x" * 2001}}, 422, "VALIDATION_ERROR"),
        ({"json": []}, 400, "INVALID_JSON"),
        ({"content": b"{}"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"json": {}, "headers": {"Idempotency-Key": ""}}, 422, "IDEMPOTENCY_KEY_INVALID"),
    ):
        answer = await post(api, reference, **call)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert (await api.shop.transaction(reference)).status == "PENDING"


async def test_a_paid_one_is_409_with_its_status(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", "93214500001"))
    answer = await post(api, request.reference)
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (409, "TRANSACTION_NOT_CANCELLABLE")
    assert body["transaction_status"] == body["error"]["transaction_status"] == "SUCCESS"


async def test_the_idempotency_header_replays(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    headers = {"Idempotency-Key": "k1"}
    first = await post(api, reference, headers=headers)
    again = await post(api, reference, headers=headers)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    other = await post(api, reference, headers=headers, json={"reason": "x"})
    assert other.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_only_the_right_mode_cancels_it(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    other = await post(api, reference, api.test)
    assert other.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"
    assert (await post(api, reference, api.local)).status_code == 200
    assert (await api.live.get(f"/v1/transactions/{reference}/cancel")).status_code == 405
