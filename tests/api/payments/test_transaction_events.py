"""GET /v1/transactions/{reference}/events: the events of one transaction."""

from daemon.wire import Mode, Scope
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn

ID = "93214500001"


async def test_the_story_of_a_request_is_told_oldest_first(api: FakeApi) -> None:
    request = await api.shop.request(
        2500, expected_payer_phone="+233241234567", send_sms_to_payer=False
    )
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
        (
            f"GHS 25.00 from KOFI ANTWI BADU ({ID}) is held for review: "
            "payer's number not on the receipt."
        ),
        (
            f"GHS 25.00 from KOFI ANTWI BADU ({ID}) is no longer held for it: it waits for its "
            "payment again."
        ),
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


async def test_it_needs_the_read_scope_and_the_right_mode(api: FakeApi) -> None:
    path = f"/v1/transactions/{(await api.shop.request(send_sms_to_payer=False)).reference}/events"
    key = await api.key(Mode.LIVE, Scope.TRANSACTIONS_WRITE)
    refused = await (await api.client(key)).get(path)
    assert refused.json()["required_scopes"] == ["transactions:read"]
    for answer in (
        await api.test.get(path),
        await api.live.get("/v1/transactions/nonsense/events"),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (
            404,
            "TRANSACTION_NOT_FOUND",
        )
    assert (await api.local.get(path)).status_code == 200
