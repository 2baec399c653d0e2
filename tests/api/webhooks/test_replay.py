"""Replay over HTTP: what is sent, what is skipped, and every refusal."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from daemon.core.webhooks import replay as core
from tests.api.webhooks.test_redeliver import NOBODY, answered, attempt, code, endpoint
from tests.fakes import delivering
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.validation_errors import wrong_fields

PATH = "/v1/open-collections/replay"
LOG = "/v1/open-collections/deliveries"
ENDPOINTS = "/v1/open-collections/endpoints"
DAY = {"from": "2026-11-21T00:00:00Z", "to": "2026-11-22T00:00:00Z"}
NOTHING = {
    "skipped_delivered": 0,
    "skipped_in_flight": 0,
    "skipped_failed": 0,
    "skipped_not_claimed": 0,
    "skipped_reversed": 0,
    "skipped_historical": 0,
    "already_delivered_elsewhere": 0,
}


async def pay(api: FakeApi, number: int, sent_at: datetime = STARTED) -> None:
    receipt = mtn(
        2500, "KOFI ANTWI BADU", 90_000 + number * 2500, "food", f"93214500{number:03}",
        concatenation=number % 256, sent_at=sent_at,
    )  # fmt: skip
    await api.shop.read(receipt)


async def replay(client: httpx.AsyncClient, target: str, **more: Any) -> httpx.Response:
    headers = more.pop("headers", None)
    return await client.post(PATH, json={"endpoint_id": target, **DAY, **more}, headers=headers)


async def counted(client: httpx.AsyncClient, target: str, **more: Any) -> dict[str, Any]:
    """Replay and return the members of the answer that differ from the usual ones."""
    answer = await replay(client, target, **more)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    usual: dict[str, Any] = {**NOTHING, "success": True, "has_more": False, "next_cursor": None, "dry_run": False}
    del body["meta"]["request_id"]
    usual["meta"] = {}
    return {name: value for name, value in body.items() if value != usual.get(name, "absent")}


async def log(api: FakeApi) -> list[tuple[str, str, int]]:
    entries = (await api.live.get(LOG)).json()["data"]
    return [(entry["endpoint_id"], entry["status"], entry["run"]) for entry in reversed(entries)]


async def test_a_new_endpoint_gets_what_it_never_had_in_payment_order(api: FakeApi) -> None:
    for number in range(3):
        await pay(api, number)
    target = await endpoint(api.live)
    assert await counted(api.live, target) == {"enqueued": 3}
    entries = (await api.live.get(LOG)).json()["data"]
    paid = await api.shop.values("SELECT t.id FROM transactions t ORDER BY t.seq")
    assert [entry["transaction_id"] for entry in reversed(entries)] == paid
    assert {entry["status"] for entry in entries} == {"pending"}


async def test_the_answer_has_every_field(api: FakeApi) -> None:
    await pay(api, 1)
    answer = await replay(api.live, await endpoint(api.live))
    body = answer.json()
    meta = body.pop("meta")
    assert (answer.status_code, body) == (
        200,
        {
            "success": True, "enqueued": 1, "skipped_delivered": 0, "skipped_in_flight": 0, "skipped_failed": 0,
            "skipped_not_claimed": 0, "skipped_reversed": 0, "skipped_historical": 0,
            "already_delivered_elsewhere": 0, "has_more": False, "next_cursor": None, "dry_run": False,
        },
    )  # fmt: skip
    assert meta == {"request_id": answer.headers["x-request-id"]}


async def test_it_skips_what_the_endpoint_has_or_is_getting(api: FakeApi) -> None:
    target = await endpoint(api.live)
    for number in range(2):
        await pay(api, number)
    await attempt(api, answered(200))
    assert await counted(api.live, target) == {"enqueued": 0, "skipped_delivered": 1, "skipped_in_flight": 1}
    assert [entry[1:] for entry in await log(api)] == [("delivered", 1), ("pending", 1)]


async def test_what_was_given_up_begins_a_new_run_under_its_id(api: FakeApi) -> None:
    target = await endpoint(api.live)
    await pay(api, 1)
    await attempt(api, answered(410))
    before = (await api.live.get(LOG)).json()["data"][0]
    assert await counted(api.live, target) == {"enqueued": 1}
    after = (await api.live.get(LOG)).json()["data"][0]
    assert (after["id"], after["webhook_id"]) == (before["id"], before["webhook_id"])
    assert (after["status"], after["run"], after["failed_at"]) == ("pending", 2, None)
    assert await api.shop.values("SELECT replay_count FROM dead_letters") == [1]


async def test_include_failed_false_leaves_them(api: FakeApi) -> None:
    target = await endpoint(api.live)
    await pay(api, 1)
    await attempt(api, answered(410))
    assert await counted(api.live, target, include_failed=False) == {"enqueued": 0, "skipped_failed": 1}
    assert [entry[1] for entry in await log(api)] == ["failed"]


async def test_a_dry_run_counts_and_queues_nothing(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    assert await counted(api.live, target, dry_run=True) == {"enqueued": 1, "dry_run": True}
    assert await log(api) == []
    assert await api.shop.values("SELECT 1 FROM events WHERE type = 'endpoint.replayed'") == []


async def test_a_dry_run_refuses_an_invalid_idempotency_key_too(api: FakeApi) -> None:
    target = await endpoint(api.live)
    refused = await replay(api.live, target, dry_run=True, headers={"Idempotency-Key": "k" * 256})
    assert refused.json()["error"]["code"] == "IDEMPOTENCY_KEY_INVALID"


async def test_a_second_replay_queues_nothing_twice(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await replay(api.live, target)
    assert await counted(api.live, target) == {"enqueued": 0, "skipped_in_flight": 1}
    told = await api.shop.values("SELECT data FROM events WHERE type = 'endpoint.replayed'")
    assert told[0] == ('{"from":"2026-11-21T00:00:00.000Z","to":"2026-11-22T00:00:00.000Z","enqueued":1}')


async def test_what_no_rule_of_the_endpoint_claims_is_not_sent(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live, catch_all=False)
    assert await counted(api.live, target) == {"enqueued": 0, "skipped_not_claimed": 1}


async def test_a_reversed_payment_is_not_sent(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET reversed_at = 1"))
    skipped = {"enqueued": 0, "skipped_reversed": 1}
    assert await counted(api.live, target, dry_run=True) == {**skipped, "dry_run": True}
    assert await counted(api.live, target) == skipped


async def test_a_rejected_payment_is_not_looked_at(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET rejected = 1"))
    assert await counted(api.live, target) == {"enqueued": 0}


async def test_history_is_sent_only_when_it_is_asked_for(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET historical = 1"))
    skipped = {"enqueued": 0, "skipped_historical": 1}
    assert await counted(api.live, target) == skipped
    assert await counted(api.live, target, include_historical=True) == skipped
    # Only once a person has reconciled it.
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET standing = 'used'"))
    assert await counted(api.live, target) == skipped
    assert await counted(api.live, target, include_historical=True) == {"enqueued": 1}


async def test_what_another_endpoint_has_had_is_counted(api: FakeApi) -> None:
    first = await endpoint(api.live)
    await pay(api, 1)
    await attempt(api, answered(200))
    await api.live.delete(f"{ENDPOINTS}/{first}")
    await pay(api, 2)
    again = await endpoint(api.live)
    had = (await api.live.get(LOG)).json()["data"][0]["webhook_id"]
    assert await counted(api.live, again) == {"enqueued": 2, "already_delivered_elsewhere": 1}
    entries = (await api.live.get(f"{LOG}?endpoint_id={again}")).json()["data"]
    # The same payment to the same address always has the same id, also after the endpoint was created again.
    assert entries[-1]["webhook_id"] == had


@each(
    ("changes", "named"),
    [
        ({"from": None}, "from"),
        ({"to": None}, "to"),
        ({"from": "2026-11-21T00:00:00"}, "from"),
        ({"to": "tomorrow"}, "to"),
        ({"to": DAY["from"]}, "to"),
        ({"from": DAY["to"], "to": DAY["from"]}, "to"),
        ({"endpoint_id": "1"}, "endpoint_id"),
        ({"endpoint_id": None}, "endpoint_id"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"include_failed": 1}, "include_failed"),
        ({"include_historical": "no"}, "include_historical"),
    ],
)
async def test_each_wrong_field_is_refused_by_name(api: FakeApi, changes: dict[str, Any], named: str) -> None:
    target = await endpoint(api.live)
    answer = await api.live.post(PATH, json={"endpoint_id": target, **DAY, **changes})
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong_fields(answer) == [named]


async def test_31_days_are_taken_and_a_moment_more_is_not(api: FakeApi) -> None:
    target = await endpoint(api.live)
    window = {"from": "2026-11-01T00:00:00Z", "to": "2026-12-02T00:00:00Z"}
    assert (await replay(api.live, target, **window)).status_code == 200
    longer = {**window, "to": "2026-12-02T00:00:00.001Z"}
    assert code(await replay(api.live, target, **longer)) == (422, "REPLAY_WINDOW_TOO_LARGE")


async def test_a_paused_endpoint_takes_it_and_it_waits(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await api.live.put(f"{ENDPOINTS}/{target}", json={"is_active": False})
    assert await counted(api.live, target) == {
        "enqueued": 1,
        "meta": {"warnings": ["The endpoint is paused: queued deliveries wait until it is resumed."]},
    }
    due = await delivering.lease(api.shop.env, limit=5, per_endpoint=5, running={})
    assert due.leased == ()


async def test_an_unknown_or_deleted_endpoint(api: FakeApi) -> None:
    target = await endpoint(api.live)
    await api.live.delete(f"{ENDPOINTS}/{target}")
    for wrong in (NOBODY, target):
        assert code(await replay(api.live, wrong)) == (404, "ENDPOINT_NOT_FOUND")


async def test_a_sandbox_endpoint_gets_no_live_payment_and_a_test_key_no_live_endpoint(api: FakeApi) -> None:
    await pay(api, 1)
    sandbox = await endpoint(api.test, is_sandbox=True)
    assert await counted(api.test, sandbox) == {"enqueued": 0}
    live = await endpoint(api.live)
    assert code(await replay(api.test, live)) == (403, "LIVE_KEY_REQUIRED")


async def test_the_same_key_answers_the_same(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    headers = {"Idempotency-Key": "k1"}
    first = await replay(api.live, target, headers=headers)
    second = await replay(api.live, target, headers=headers)
    assert first.json()["enqueued"] == 1
    assert (second.content, second.headers["Idempotency-Replayed"]) == (first.content, "true")
    other = await replay(api.live, target, headers=headers, include_failed=False)
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_replay_is_written_in_pieces_and_counted_as_one(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    from daemon.flows.webhooks import replay as replay_module

    monkeypatch.setattr(replay_module, "PAYMENTS_BATCH", 2)
    for number in range(5):
        await pay(api, number)
    target = await endpoint(api.live)
    headers = {"Idempotency-Key": "k1"}
    first = await replay(api.live, target, headers=headers)
    assert first.json()["enqueued"] == 5
    assert len(await log(api)) == 5
    assert (await replay(api.live, target, headers=headers)).content == first.content
    assert await counted(api.live, target) == {"enqueued": 0, "skipped_in_flight": 5}


async def test_the_window_is_by_storage_or_network_time_and_half_open(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    ((stored, telco),) = await api.shop.values("SELECT stored_at, telco_at FROM payments")
    assert stored > telco

    def moment(at_us: int) -> str:
        at = datetime.fromisoformat("1970-01-01T00:00:00+00:00") + timedelta(microseconds=at_us)
        return at.isoformat()

    async def found(since: int, until: int) -> int:
        window = {"from": moment(since), "to": moment(until)}
        body = (await replay(api.live, target, dry_run=True, **window)).json()
        return int(body["enqueued"])

    assert await found(stored, stored + 1) == 1
    assert await found(telco, telco + 1) == 1
    assert await found(stored - 1, stored) == 0
    assert await found(stored + 1, stored + 2) == 0


async def test_more_than_1000_are_never_cut_off_silently(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.flows.webhooks.replay.PAYMENTS_MAX", 2)
    monkeypatch.setattr("daemon.store.webhooks.replay.BATCH", 2)
    for number in range(5):
        await pay(api, number)
    target = await endpoint(api.live)
    total, cursor, calls = 0, None, 0
    while True:
        body = (await replay(api.live, target, cursor=cursor)).json()
        total, calls = total + body["enqueued"], calls + 1
        assert body["has_more"] is (body["next_cursor"] is not None)
        if not body["has_more"]:
            break
        assert body["enqueued"] == 2
        cursor = body["next_cursor"]
    assert (total, calls) == (5, 3)
    assert await counted(api.live, target) == {"enqueued": 0, "skipped_in_flight": 5}
    assert core.PAYMENTS_MAX == 1000


async def test_a_window_of_just_so_many_is_whole(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.flows.webhooks.replay.PAYMENTS_MAX", 3)
    monkeypatch.setattr("daemon.store.webhooks.replay.BATCH", 2)
    for number in range(3):
        await pay(api, number)
    assert await counted(api.live, await endpoint(api.live)) == {"enqueued": 3}


async def test_a_cursor_goes_on_in_its_own_window_only(api: FakeApi) -> None:
    target = await endpoint(api.live)
    other = core.Cursor(target, 1, 2, 3).write()
    for cursor in (other, "nonsense"):
        answer = await replay(api.live, target, cursor=cursor)
        assert code(answer) == (422, "VALIDATION_ERROR")
        assert wrong_fields(answer) == ["cursor"]


async def test_a_live_payment_overtakes_a_running_replay(api: FakeApi) -> None:
    for number in range(6):
        await pay(api, number)
    target = await endpoint(api.live)
    await replay(api.live, target)
    await pay(api, 6)
    live = (await api.live.get(LOG)).json()["data"][0]["id"]
    due = await delivering.lease(api.shop.env, limit=2, per_endpoint=2, running={})
    assert due.leased[0].delivery.id == live
    assert [leased.delivery.bulk for leased in due.leased] == [False, True]


async def test_a_replay_leaves_room_for_live_payments_at_its_endpoint_and_of_all_workers(api: FakeApi) -> None:
    for number in range(12):
        await pay(api, number)
    targets = [await endpoint(api.live, url=f"https://shop.example/{number}") for number in range(4)]
    for target in targets:
        await replay(api.live, target)
    one = await delivering.lease(api.shop.env, limit=2, per_endpoint=2, running={})
    assert len(one.leased) == 1
    due = await delivering.lease(api.shop.env, limit=8, per_endpoint=4, running={(targets[0], True): 2})
    # 2 of 10 workers send bulk already, and half of them may.
    assert len(due.leased) == 3
    assert targets[0] not in {leased.endpoint.id for leased in due.leased}


async def test_a_replayed_delivery_that_fails_waits_behind_live_ones_again(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await replay(api.live, target)
    await attempt(api, answered(503))
    assert await api.shop.values("SELECT status, bulk FROM deliveries") == [("retrying", 1)]
