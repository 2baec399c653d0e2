"""One delivery over HTTP: show it, show its attempts, redeliver it. Every pair of the table of states."""

from typing import Any

import httpx
import pytest

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError, LinkState, RetryPolicy
from daemon.wire import DeliveryStatus
from tests.fakes import delivering
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong_fields

PATH = "/v1/open-collections/deliveries"
ENDPOINTS = "/v1/open-collections/endpoints"
NOBODY = "0f3c0000-0000-4000-8000-000000000009"
LINK = LinkState(other_host_answered=True, other_host_known=True)


def answered(status: int) -> AttemptOutcome:
    return AttemptOutcome(status, "said so", None, None, 12_345, connected=True)


async def endpoint(client: httpx.AsyncClient, **more: object) -> str:
    body = {"url": "https://shop.example/hook", **more}
    made: str = (await client.post(ENDPOINTS, json=body)).json()["data"]["id"]
    return made


async def owed(api: FakeApi) -> dict[str, Any]:
    """Make an endpoint and let one payment come in for it."""
    await endpoint(api.live)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    entry: dict[str, Any] = (await api.live.get(PATH)).json()["data"][0]
    return entry


async def attempt(api: FakeApi, *outcomes: AttemptOutcome) -> None:
    """Let the delivery loop make so many attempts, whenever they are due."""
    for outcome in outcomes:
        due = await delivering.lease(api.shop.env, limit=1, per_endpoint=1, running={})
        if not due.leased:
            assert due.next_at is not None
            api.shop.clock.advance((due.next_at - api.shop.clock.now_us()) / 1_000_000)
            due = await delivering.lease(api.shop.env, limit=1, per_endpoint=1, running={})
        (leased,) = due.leased
        await delivering.record_outcome(api.shop.env, leased, outcome, link=LINK, policy=RetryPolicy())


async def bring_to(api: FakeApi, status: DeliveryStatus) -> dict[str, Any]:
    """Return a delivery in this state."""
    entry = await owed(api)
    made: dict[DeliveryStatus, AttemptOutcome] = {
        DeliveryStatus.RETRYING: answered(503),
        DeliveryStatus.DELIVERED: answered(200),
        DeliveryStatus.FAILED: answered(410),
    }
    if status in made:
        await attempt(api, made[status])
    found: dict[str, Any] = (await api.live.get(f"{PATH}/{entry['id']}")).json()["data"]
    assert found["status"] == status
    return found


async def again(client: httpx.AsyncClient, delivery: str, **more: Any) -> httpx.Response:
    return await client.post(f"{PATH}/{delivery}/redeliver", **more)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_one_delivery_has_the_fields_of_the_list_and_what_was_sent(api: FakeApi) -> None:
    entry = await owed(api)
    answer = await api.live.get(f"{PATH}/{entry['id']}")
    data = answer.json()["data"]
    payload = data.pop("payload")
    assert data == {**entry, "url": "https://shop.example/hook"}
    assert payload["webhook_id"] == entry["webhook_id"]
    body = (await api.shop.bodies())[0]
    assert f'"payload":{body}' in answer.text


async def test_every_attempt_of_every_run_is_told_oldest_first(api: FakeApi) -> None:
    entry = await owed(api)
    refused = AttemptOutcome(None, "", DeliveryError.CONNECTION_REFUSED, "nobody there", 2_000)
    await attempt(api, refused, answered(410))
    await again(api.live, entry["id"])
    await attempt(api, answered(200))
    body = (await api.live.get(f"{PATH}/{entry['id']}/attempts")).json()
    assert body["meta"] == {"limit": 50, "offset": 0, "total": 3}
    told = [
        (row["run"], row["number"], row["response_status_code"], row["error"], row["counted"]) for row in body["data"]
    ]
    assert told == [
        (1, 1, None, {"code": "connection_refused", "message": "nobody there"}, True),
        (1, 2, 410, {"code": "http_error", "message": ""}, True),
        (2, 1, 200, None, False),
    ]
    assert [row["duration_ms"] for row in body["data"]] == [2, 12, 12]
    assert all(row["started_at"] <= row["finished_at"] for row in body["data"])


async def test_forward_of_a_payment_that_was_reversed_since_is_sent_again_with_a_warning(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.DELIVERED)
    before = (await again(api.live, entry["id"])).json()["meta"]
    await attempt(api, answered(200))
    now = api.shop.clock.now_us() + 1
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET reversed_at = ?", (now,)))
    after = (await again(api.live, entry["id"])).json()["meta"]
    assert "warnings" not in before
    assert "has taken this payment back since" in after["warnings"][0]


async def test_an_attempt_under_way_has_no_end_yet(api: FakeApi) -> None:
    entry = await owed(api)
    await delivering.lease(api.shop.env, limit=1, per_endpoint=1, running={})
    (row,) = (await api.live.get(f"{PATH}/{entry['id']}/attempts")).json()["data"]
    assert (row["finished_at"], row["duration_ms"], row["counted"]) == (None, None, None)


@pytest.mark.parametrize("status", [DeliveryStatus.DELIVERED, DeliveryStatus.FAILED])
async def test_delivered_or_failed_redeliver_is_pending_again(api: FakeApi, status: DeliveryStatus) -> None:
    before = await bring_to(api, status)
    answer = await again(api.live, before["id"])
    data = answer.json()["data"]
    assert answer.status_code == 200
    assert {key: data[key] for key in ("id", "webhook_id", "sequence", "transaction_id")} == {
        key: before[key] for key in ("id", "webhook_id", "sequence", "transaction_id")
    }
    assert (data["status"], data["attempt_count"], data["run"]) == ("pending", 0, 2)
    assert (data["failed_at"], data["delivered_at"]) == (None, before["delivered_at"])
    assert (data["waiting"], data["next_attempt_at"] is None) == (None, False)


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
async def test_a_type_without_a_body_is_no_body(api: FakeApi, kind: str) -> None:
    delivery = (await bring_to(api, DeliveryStatus.DELIVERED))["id"]
    typed = {"Content-Type": kind}
    answer = await again(api.live, delivery, content=b"", headers=typed)
    assert (answer.status_code, answer.json()["data"]["status"]) == (200, "pending")
    refused = await again(api.live, delivery, content=b"{", headers=typed)
    assert refused.status_code == (400 if kind == "application/json" else 415)


@pytest.mark.parametrize("status", [DeliveryStatus.PENDING, DeliveryStatus.RETRYING])
async def test_pending_or_retrying_redeliver_is_refused_and_changes_nothing(
    api: FakeApi, status: DeliveryStatus
) -> None:
    before = await bring_to(api, status)
    answer = await again(api.live, before["id"])
    assert code(answer) == (409, "DELIVERY_NOT_REDELIVERABLE")
    assert answer.json()["delivery_status"] == answer.json()["error"]["delivery_status"] == status
    assert (await api.live.get(f"{PATH}/{before['id']}")).json()["data"] == before


async def test_a_redelivery_closes_the_dead_letter_and_a_second_failure_opens_it(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.FAILED)
    open_ = "SELECT COUNT(*) FROM dead_letters WHERE replayed_at IS NULL"
    assert await api.shop.values(open_) == [1]
    await again(api.live, entry["id"])
    assert await api.shop.values("SELECT replay_count FROM dead_letters") == [1]
    assert await api.shop.values(open_) == [0]
    await attempt(api, answered(404))
    assert await api.shop.values(open_) == [1]
    assert await api.shop.values("SELECT COUNT(*) FROM dead_letters") == [1]


async def test_the_first_2xx_is_kept_when_it_is_sent_again(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.DELIVERED)
    assert entry["delivered_at"] is not None
    api.shop.clock.advance(60)
    await again(api.live, entry["id"])
    await attempt(api, answered(200))
    after = (await api.live.get(f"{PATH}/{entry['id']}")).json()["data"]
    assert (after["delivered_at"], after["status"]) == (entry["delivered_at"], "delivered")


async def test_it_counts_as_no_other_verified_transaction(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.DELIVERED)
    await again(api.live, entry["id"])
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [1]
    assert await api.shop.values("SELECT COUNT(*) FROM deliveries") == [1]
    noted = await api.shop.values("SELECT actor FROM events WHERE type = 'delivery.requeued'")
    assert len(noted) == 1


async def test_a_paused_endpoint_takes_it_and_it_waits(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.DELIVERED)
    await api.live.put(f"{ENDPOINTS}/{entry['endpoint_id']}", json={"is_active": False})
    body = (await again(api.live, entry["id"])).json()
    assert body["data"]["waiting"] == "endpoint_paused"
    assert body["meta"]["warnings"] == ["The endpoint is paused: the delivery waits until it is resumed."]
    due = await delivering.lease(api.shop.env, limit=1, per_endpoint=1, running={})
    assert due.leased == ()


async def test_the_delivery_of_a_deleted_endpoint_is_readable_and_not_sent_again(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.DELIVERED)
    await api.live.delete(f"{ENDPOINTS}/{entry['endpoint_id']}")
    assert (await api.live.get(f"{PATH}/{entry['id']}")).status_code == 200
    assert (await api.live.get(f"{PATH}/{entry['id']}/attempts")).json()["meta"]["total"] == 1
    assert code(await again(api.live, entry["id"])) == (409, "ENDPOINT_DELETED")


@pytest.mark.parametrize("wrong", [NOBODY, "1", "ocl_0123456789abcdefghijklmn"])
async def test_an_unknown_delivery_is_not_found(api: FakeApi, wrong: str) -> None:
    for answer in (
        await api.live.get(f"{PATH}/{wrong}"),
        await api.live.get(f"{PATH}/{wrong}/attempts"),
        await again(api.live, wrong),
    ):
        assert code(answer) == (404, "DELIVERY_NOT_FOUND")


async def test_a_test_key_touches_no_live_delivery(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.FAILED)
    for answer in (
        await api.test.get(f"{PATH}/{entry['id']}"),
        await api.test.get(f"{PATH}/{entry['id']}/attempts"),
        await again(api.test, entry["id"]),
    ):
        assert code(answer) == (403, "LIVE_KEY_REQUIRED")


async def test_the_same_key_queues_once_and_answers_the_same(api: FakeApi) -> None:
    entry = await bring_to(api, DeliveryStatus.FAILED)
    headers = {"Idempotency-Key": "again-1"}
    first = await again(api.live, entry["id"], headers=headers)
    await attempt(api, answered(200))
    second = await again(api.live, entry["id"], headers=headers)
    assert second.content == first.content
    assert second.headers["Idempotency-Replayed"] == "true"
    assert await api.shop.values("SELECT run FROM deliveries") == [2]
    other = await again(api.live, entry["id"], headers=headers, json={"note": "x"})
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")


@each(
    ("query", "found"),
    [
        ("event=transaction.forwarded", 1),
        ("event=transaction.completed", 0),
        ("webhook_id={webhook_id}", 1),
        ("webhook_id=ocl_000000000000000000000000", 0),
        ("transaction_id={transaction_id}", 1),
        ("transaction_id={reference}", 1),
        ("transaction_id=" + NOBODY, 0),
        ("from=2026-11-21T00:00:00Z&to=2026-11-22T00:00:00Z", 1),
        ("to=2026-11-21T00:00:00Z", 0),
        ("from=2026-11-22T00:00:00Z", 0),
    ],
)
async def test_the_log_is_narrowed(api: FakeApi, query: str, found: int) -> None:
    entry = await owed(api)
    reference = "svc_trx_" + entry["transaction_id"].replace("-", "")
    answer = await api.live.get(f"{PATH}?{query.format(**entry, reference=reference)}")
    assert len(answer.json()["data"]) == answer.json()["meta"]["total"] == found


@pytest.mark.parametrize("query", ["event=x", "transaction_id=x", "from=yesterday", "to=2026-11-21"])
async def test_a_filter_that_makes_no_sense_is_refused(api: FakeApi, query: str) -> None:
    answer = await api.live.get(f"{PATH}?{query}")
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong_fields(answer) == [query.partition("=")[0]]
