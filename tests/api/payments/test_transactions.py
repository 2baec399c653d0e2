"""GET of one transaction, by its reference, its code or the caller's own reference."""

import asyncio
import threading
from typing import Any

import httpx

from daemon.core.limits import HOUR_US
from daemon.flows.upkeep import machine
from daemon.store.engine import READERS
from tests.fakes.api import PAY_TO, FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop
from tests.fakes.validation_errors import wrong_fields

ID = "93214500001"


async def pay(shop: FakeShop, code: str, amount: int = 2500, telco_id: str = ID) -> None:
    await shop.read(mtn(amount, "KOFI ANTWI BADU", 90_000, code, telco_id))


async def references(client: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await client.get("/v1/transactions", params=query)
    assert answer.status_code == 200, answer.text
    return [item["reference"] for item in answer.json()["data"]]


async def test_a_waiting_request_by_its_reference(api: FakeApi) -> None:
    request = await api.shop.request(2500, customer_name="Kofi", client_reference="o-1", meta='{"a":1}')
    answer = await api.live.get(f"/v1/transactions/{request.reference}")
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "data": {
            "reference": request.reference,
            "svc_code": request.svc_code,
            "status": "PENDING",
            "expected_amount": "25.00",
            "actual_amount": None,
            "difference": None,
            "difference_type": None,
            "currency": "GHS",
            "client_reference": "o-1",
            "processing_time_ms": None,
            "payer": {"phone_number": "+233241234567", "name": "Kofi"},
            "payer_source": {"phone_number": "request", "name": "request"},
            "telco": {"provider": None, "transaction_id": None, "timestamp": None},
            "meta": {"a": 1},
            "timeline": {
                "created_at": "2026-11-21T08:00:30.000Z",
                "pending_at": "2026-11-21T08:00:30.000Z",
                "processing_at": None,
                "completed_at": None,
            },
            "origin": "request",
            "test": False,
            "matched_by": None,
            "late": False,
            "rejected": False,
            "cancelled_at": None,
            "reversed_at": None,
            "settled_at": None,
            "settled_by": None,
            "settlement": None,
            "settles": None,
            "held_review_id": None,
            "pay_to": [PAY_TO],
            "merged_into": None,
        },
    }


async def test_one_request_is_found_while_all_reading_threads_are_busy_with_lists(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    go_on = threading.Event()
    store = api.shop.env.store
    lists = [asyncio.ensure_future(store.read(lambda _: go_on.wait(20))) for _ in range(READERS)]
    await asyncio.sleep(0)
    try:
        for path in (request.reference, f"by-svc/{request.svc_code}"):
            answer = await api.live.get(f"/v1/transactions/{path}")
            assert answer.json()["data"]["reference"] == request.reference
        assert not any(one.done() for one in lists)
    finally:
        go_on.set()
        await asyncio.gather(*lists)


async def test_a_paid_request_by_reference_code_and_client_reference(api: FakeApi) -> None:
    request = await api.shop.request(2500, client_reference="a/b c")
    assert request.svc_code is not None
    await pay(api.shop, request.svc_code)
    by_reference = await api.live.get(f"/v1/transactions/{request.reference}")
    by_code = await api.live.get(f"/v1/transactions/by-svc/{request.svc_code.lower()}")
    by_client = await api.live.get("/v1/transactions/by-client-ref/a%2Fb%20c")
    data = by_reference.json()["data"]
    assert (data["status"], data["actual_amount"], data["difference_type"]) == ("SUCCESS", "25.00", "EXACT")
    assert data["telco"]["transaction_id"] == ID
    assert data["telco"]["provider"] == "mtn"
    assert data["payer"] == {"phone_number": "+233241234567", "name": "KOFI ANTWI BADU"}
    assert data["payer_source"] == {"phone_number": "request", "name": "receipt"}
    assert by_code.json() == by_reference.json()
    assert by_client.json() == {**by_reference.json(), "meta": {"matches": 1}}


@each("path", ["svc_trx_" + "0" * 32, "svc_trx_0", "by-svc/A7K2M9", "by-svc/way-too-long", "by-client-ref/nobody"])
async def test_what_is_not_there_is_404(api: FakeApi, path: str) -> None:
    answer = await api.live.get(f"/v1/transactions/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "TRANSACTION_NOT_FOUND")


async def test_by_client_reference_prefers_verified_then_open_then_newest(api: FakeApi) -> None:
    first = await api.shop.request(2500, client_reference="o", expires_in_hours=1)
    api.shop.clock.advance(3601)
    second = await api.shop.request(2500, client_reference="o")
    third = await api.shop.request(2500, client_reference="o")

    async def best() -> tuple[str, int]:
        body = (await api.live.get("/v1/transactions/by-client-ref/o")).json()
        return body["data"]["reference"], body["meta"]["matches"]

    assert await best() == (third.reference, 3)
    fourth = await api.shop.request(2500, client_reference="o")
    cancelled = await api.live.post(f"/v1/transactions/{fourth.reference}/cancel", json={})
    assert cancelled.status_code == 200
    assert await best() == (third.reference, 4)
    await pay(api.shop, "food")
    await api.shop.reconcile(first.reference, ID)
    assert await best() == (first.reference, 4)
    assert len({first.reference, second.reference, third.reference, fourth.reference}) == 4


async def test_a_publishable_keys_request_cannot_pose_under_a_client_reference(api: FakeApi) -> None:
    request = await api.shop.request(2500, client_reference="o")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET created_with = 'publishable'"))
    assert (await api.live.get("/v1/transactions/by-client-ref/o")).status_code == 404
    assert (await api.live.get(f"/v1/transactions/{request.reference}")).status_code == 200


async def test_a_request_is_expired_on_read_and_in_filters_before_any_sweep(api: FakeApi) -> None:
    request = await api.shop.request(2500, expires_in_hours=1)
    api.shop.clock.advance(3600)
    single = await api.live.get(f"/v1/transactions/{request.reference}")
    assert single.json()["data"]["status"] == "EXPIRED"
    assert await references(api.live, status="EXPIRED") == [request.reference]
    assert await references(api.live, status="PENDING") == []


async def test_the_open_review_of_a_held_message_that_names_it_is_shown(api: FakeApi) -> None:
    await api.shop.begin_chain()
    request = await api.shop.request(2500)
    api.shop.limit(0)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 192_500, request.svc_code or "", ID))
    path = f"/v1/transactions/{request.reference}"
    shown = (await api.live.get(path)).json()["data"]
    [review] = (await api.live.get("/v1/reviews")).json()["data"]
    assert (shown["status"], shown["held_review_id"]) == ("MANUAL_REVIEW", review["id"])
    await api.live.post(f"/v1/reviews/{review['id']}/reject", json={"notes": "forged"})
    assert (await api.live.get(path)).json()["data"]["held_review_id"] is None


async def test_the_story_of_a_request_is_told_oldest_first(api: FakeApi) -> None:
    request = await api.shop.request(2500, expected_payer_phone="+233241234567", send_sms_to_payer=False)
    other = await api.shop.request(2500, send_sms_to_payer=False)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", ID))
    await api.shop.reconcile(other.reference, ID)
    path = f"/v1/transactions/{request.reference}"
    await api.live.post(f"{path}/cancel", json={"reason": "sold out"})
    answer = (await api.live.get(f"{path}/events")).json()
    assert [entry["type"] for entry in answer["data"]] == [
        "transaction.created",
        "review.opened",
        "transaction.released",
        "transaction.cancelled",
    ]
    assert [entry["text"] for entry in answer["data"]] == [
        "Asked for GHS 25.00.",
        (f"GHS 25.00 from KOFI ANTWI BADU ({ID}) is held for review: payer's number not on the receipt."),
        (f"GHS 25.00 from KOFI ANTWI BADU ({ID}) is no longer held for it: it waits for its payment again."),
        "Cancelled: sold out",
    ]
    assert [entry["actor"] for entry in answer["data"]][:3] == ["socket:0", "momo", "socket:0"]
    assert answer["data"][3]["actor"].startswith("key:")
    assert answer["meta"] == {"limit": 100, "offset": 0, "total": 4}
    told = (await api.live.get(f"/v1/transactions/{other.reference}/events")).json()["data"]
    assert [entry["type"] for entry in told] == [
        "transaction.created",
        "transaction.verified",
        "transaction.reconciled",
    ]


async def test_pages_follow_each_other(api: FakeApi) -> None:
    request = await api.shop.request(send_sms_to_payer=False)
    path = f"/v1/transactions/{request.reference}"
    await api.live.post(f"{path}/cancel")
    first = (await api.live.get(f"{path}/events?limit=1")).json()
    second = (await api.live.get(f"{path}/events?limit=1&offset=1")).json()
    past = (await api.live.get(f"{path}/events?limit=1&offset=2")).json()
    assert [len(page["data"]) for page in (first, second, past)] == [1, 1, 0]
    assert first["data"][0]["type"] == "transaction.created"
    assert second["data"][0]["type"] == "transaction.cancelled"
    assert past["meta"]["total"] == 2
    large = (await api.live.get(f"{path}/events?limit=501")).json()
    assert large["meta"]["warnings"] == ["`limit` was lowered to 500."]
    assert (await api.live.get(f"{path}/events?limit=0")).status_code == 422


async def test_only_the_right_mode_sees_it(api: FakeApi) -> None:
    path = f"/v1/transactions/{(await api.shop.request(send_sms_to_payer=False)).reference}/events"
    for answer in (await api.test.get(path), await api.live.get("/v1/transactions/nonsense/events")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "TRANSACTION_NOT_FOUND")
    assert (await api.local.get(path)).status_code == 200


EMPTY_PAGE = {"page": 1, "per_page": 50, "total": 0, "total_pages": 0, "has_next": False, "has_prev": False}


async def test_a_list_of_nothing_is_empty(api: FakeApi) -> None:
    answer = await api.live.get("/v1/transactions")
    assert answer.json() == {"success": True, "data": [], "pagination": EMPTY_PAGE}


async def test_the_list_is_newest_first_with_pagination(api: FakeApi) -> None:
    made = [(await api.shop.request(2500)).reference for _ in range(5)]
    answer = await api.live.get("/v1/transactions", params={"page": 2, "per_page": 2})
    assert [item["reference"] for item in answer.json()["data"]] == [made[2], made[1]]
    assert answer.json()["pagination"] == {
        "page": 2,
        "per_page": 2,
        "total": 5,
        "total_pages": 3,
        "has_next": True,
        "has_prev": True,
    }
    past = (await api.live.get("/v1/transactions", params={"page": 9})).json()
    assert (past["data"], past["pagination"]["has_prev"]) == ([], True)
    assert past["pagination"]["per_page"] == 50


async def test_an_item_has_the_fields_of_the_specification(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    assert request.svc_code is not None
    await pay(api.shop, request.svc_code, 2400)
    item = (await api.live.get("/v1/transactions")).json()["data"][0]
    assert item == {
        "reference": request.reference,
        "svc_code": request.svc_code,
        "status": "PARTIAL",
        "expected_amount": "25.00",
        "actual_amount": "24.00",
        "difference": "-1.00",
        "difference_type": "UNDERPAID",
        "currency": "GHS",
        "payer_phone": "+233241234567",
        "payer_name": "KOFI ANTWI BADU",
        "payer_source": {"phone_number": "request", "name": "receipt"},
        "created_at": "2026-11-21T08:00:30.000Z",
        "completed_at": "2026-11-21T08:00:30.000Z",
        "origin": "request",
        "test": False,
        "reversed_at": None,
    }


async def test_each_filter_narrows_the_list(api: FakeApi) -> None:
    early = await api.shop.request(2500)
    api.shop.clock.advance(60)
    late = await api.shop.request(2500)
    assert late.svc_code is not None
    await pay(api.shop, late.svc_code)
    assert await references(api.live, status="SUCCESS") == [late.reference]
    assert await references(api.live, status="PROCESSING") == []
    assert await references(api.live, **{"from": "2026-11-21T08:01:30Z"}) == [late.reference]
    assert await references(api.live, to="2026-11-21T10:01:30.000+02:00") == [early.reference]
    assert await references(api.live, phone_number="024 123 4567") == [late.reference, early.reference]
    assert await references(api.live, phone_number="+233201000456") == []


async def test_the_payers_number_of_the_receipt_counts_before_the_requests(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    assert request.svc_code is not None
    await pay(api.shop, request.svc_code)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET payer_phone = '+233201000456'"))
    assert await references(api.live, phone_number="0201000456") == [request.reference]
    assert await references(api.live, phone_number="0241234567") == []


async def test_a_walk_in_is_listed_only_when_asked_for(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    await pay(api.shop, "food")
    holder = await references(api.live, origin="open")
    assert len(holder) == 1
    assert await references(api.live) == [request.reference]
    assert sorted(await references(api.live, origin="all")) == sorted([*holder, request.reference])
    data = (await api.live.get(f"/v1/transactions/{holder[0]}")).json()["data"]
    assert (data["origin"], data["status"], data["svc_code"], data["expected_amount"]) == (
        "open",
        "SUCCESS",
        None,
        None,
    )
    assert (data["difference"], data["difference_type"], data["actual_amount"]) == (None, None, "25.00")
    await api.shop.reconcile(request.reference, ID)
    assert await references(api.live, origin="all") == [request.reference]
    merged = (await api.live.get(f"/v1/transactions/{holder[0]}")).json()["data"]
    assert merged["merged_into"] == request.reference


@each(
    ("query", "named"),
    [
        ("page=0", "page"),
        ("page=x", "page"),
        ("page=1.5", "page"),
        ("per_page=0", "per_page"),
        ("per_page=-1", "per_page"),
        ("status=PAID", "status"),
        ("status=pending", "status"),
        ("from=2026-11-21", "from"),
        ("from=2026-11-21T08:00:00", "from"),
        ("to=yesterday", "to"),
        ("phone_number=12", "phone_number"),
        ("origin=both", "origin"),
    ],
)
async def test_wrong_queries_are_422(api: FakeApi, query: str, named: str) -> None:
    answer = await api.live.get(f"/v1/transactions?{query}")
    assert wrong_fields(answer) == [named]


async def test_all_wrong_members_of_a_query_are_named(api: FakeApi) -> None:
    answer = await api.live.get("/v1/transactions?page=0&per_page=no&status=no")
    assert wrong_fields(answer) == ["page", "per_page", "status"]


async def test_a_page_that_is_too_large_is_lowered_and_told(api: FakeApi) -> None:
    body = (await api.live.get("/v1/transactions?per_page=1000")).json()
    assert body["pagination"]["per_page"] == 100
    assert body["meta"] == {"warnings": ["`per_page` was lowered to 100."]}
    assert (await api.live.get("/v1/transactions?page=99999999999999999")).status_code == 200


async def test_each_mode_sees_its_own_and_the_socket_both(api: FakeApi) -> None:
    live = await api.shop.request(2500)
    made = await api.test.post("/v1/transactions/initialize", json={"amount": "1.00", "phone_number": "0241234567"})
    test = made.json()["data"]["reference"]
    assert await references(api.live) == [live.reference]
    assert await references(api.test) == [test]
    assert await references(api.local) == [test, live.reference]


async def test_a_caller_that_sees_both_modes_may_ask_for_one(api: FakeApi) -> None:
    live = await api.shop.request(2500)
    made = await api.test.post("/v1/transactions/initialize", json={"amount": "1.00", "phone_number": "0241234567"})
    test = made.json()["data"]["reference"]
    for mode, only in (("live", live.reference), ("test", test)):
        found = (await api.local.get(f"/v1/transactions?mode={mode}")).json()
        assert [item["reference"] for item in found["data"]] == [only]
        assert found["pagination"]["total"] == 1
    assert (await api.live.get("/v1/transactions?mode=live")).status_code == 200
    # A key cannot see the other mode with this query.
    for client, mode in ((api.live, "test"), (api.test, "live"), (api.local, "both")):
        assert wrong_fields(await client.get(f"/v1/transactions?mode={mode}")) == ["mode"]


@each(
    "path",
    [
        "/v1/transactions",
        "/v1/reviews",
        "/v1/approved-payers",
        "/v1/open-collections/deliveries",
        "/v1/webhooks/dead-letters",
    ],
)
async def test_parameters_that_nobody_knows_are_named_in_the_warnings(api: FakeApi, path: str) -> None:
    answer = await api.live.get(f"{path}?statuss=PENDING&limit=2&per_page=2&page=1&offset=0&colour=")
    told = answer.json()["meta"]["warnings"]
    assert "Unknown parameter `statuss` was ignored." in told
    assert "Unknown parameter `colour` was ignored." in told
    assert len(told) == 4, "and the two of the other way to page"
    many = "&".join(f"x{number}=1" for number in range(30))
    assert len((await api.live.get(f"{path}?{many}")).json()["meta"]["warnings"]) == 20


async def test_a_clock_known_to_be_wrong_shows_nothing_as_expired(api: FakeApi) -> None:
    """Nothing expires while the clock is in doubt, so no reader may say so either."""
    made = await api.shop.request(2500, expires_in_hours=24)
    api.shop.clock.advance(60)
    right = await machine.watch_clock(api.shop.env)
    api.shop.clock.jump(26 * 3600)
    env, now_us = api.shop.env, api.shop.clock.now_us() - 26 * HOUR_US
    for port in ("modem-1", "modem-2"):
        env.clock_check.note_phone_clock(port, now_us, api.shop.clock.boottime())
    assert (right, env.times().doubt is None) == (None, False)
    one = (await api.live.get(f"/v1/transactions/{made.reference}")).json()["data"]
    by_code = (await api.live.get(f"/v1/transactions/by-svc/{made.svc_code}")).json()["data"]
    assert (one["status"], by_code["status"]) == ("PENDING", "PENDING")
    for status, shown in (("PENDING", [made.reference]), ("EXPIRED", [])):
        answer = await api.live.get("/v1/transactions", params={"status": status})
        assert [item["reference"] for item in answer.json()["data"]] == shown


@each("more", [{"unsettled": "true"}, {"unsettled": "true", "branch": "kumasi"}, {"branch": "kumasi"}, {}])
async def test_a_search_goes_together_with_every_other_filter(api: FakeApi, more: dict[str, str]) -> None:
    await api.shop.request(2500, customer_name="Kofi")
    query = {
        "search": "kofi", "status": "SUCCESS", "mode": "live", "origin": "request", "phone_number": "0241234567",
        "from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z", "sort": "newest",
        "after": "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f", **more,
    }  # fmt: skip
    assert await references(api.live, **query) == []
