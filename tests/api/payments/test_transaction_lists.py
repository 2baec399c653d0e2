"""The list of transactions over HTTP: order, filters, pages, and visibility by mode."""

from daemon.core.access.callers import KeyKind
from daemon.core.limits import HOUR_US
from daemon.flows.upkeep import machine
from daemon.wire import Mode, Scope
from tests.api.payments.test_transactions import ID, pay, references
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.validation_errors import wrong_fields

EMPTY_PAGE = {
    "page": 1,
    "per_page": 50,
    "total": 0,
    "total_pages": 0,
    "has_next": False,
    "has_prev": False,
}


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
    assert await references(api.live, phone_number="024 123 4567") == [
        late.reference,
        early.reference,
    ]
    assert await references(api.live, phone_number="+233201000456") == []


async def test_the_payers_number_of_the_receipt_counts_before_the_requests(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    assert request.svc_code is not None
    await pay(api.shop, request.svc_code)
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE payments SET payer_phone = '+233201000456'")
    )
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
    assert (data["difference"], data["difference_type"], data["actual_amount"]) == (
        None,
        None,
        "25.00",
    )
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
    made = await api.test.post(
        "/v1/transactions/initialize", json={"amount": "1.00", "phone_number": "0241234567"}
    )
    test = made.json()["data"]["reference"]
    assert await references(api.live) == [live.reference]
    assert await references(api.test) == [test]
    assert await references(api.local) == [test, live.reference]


async def test_a_caller_that_sees_both_modes_may_ask_for_one(api: FakeApi) -> None:
    live = await api.shop.request(2500)
    made = await api.test.post(
        "/v1/transactions/initialize", json={"amount": "1.00", "phone_number": "0241234567"}
    )
    test = made.json()["data"]["reference"]
    for mode, only in (("live", live.reference), ("test", test)):
        found = (await api.local.get(f"/v1/transactions?mode={mode}")).json()
        assert [item["reference"] for item in found["data"]] == [only]
        assert found["pagination"]["total"] == 1
    assert (await api.live.get("/v1/transactions?mode=live")).status_code == 200
    # A key cannot see the other mode with this query.
    for client, mode in ((api.live, "test"), (api.test, "live"), (api.local, "both")):
        assert wrong_fields(await client.get(f"/v1/transactions?mode={mode}")) == ["mode"]


async def test_reading_needs_its_scope(api: FakeApi) -> None:
    client = await api.client(await api.key(Mode.LIVE, Scope.TRANSACTIONS_WRITE))
    refused = await client.get("/v1/transactions")
    assert refused.json()["required_scopes"] == ["transactions:read"]
    publishable = await api.client(await api.key(kind=KeyKind.PUBLISHABLE))
    assert (await publishable.get("/v1/transactions")).status_code == 403


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
async def test_parameters_that_nobody_knows_are_named_in_the_warnings(
    api: FakeApi, path: str
) -> None:
    answer = await api.live.get(
        f"{path}?statuss=PENDING&limit=2&per_page=2&page=1&offset=0&colour="
    )
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
