"""Replay over HTTP: its window, its pages of 1000 payments, and its pace behind live traffic."""

from datetime import datetime, timedelta

import pytest

from daemon.core.webhooks import replay as core
from tests.api.webhooks.test_redeliver import answered, attempt, code, endpoint
from tests.api.webhooks.test_replay import LOG, counted, pay, replay
from tests.fakes import delivering
from tests.fakes.api import FakeApi
from tests.fakes.validation_errors import wrong_fields


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


async def test_more_than_1000_are_never_cut_off_silently(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_window_of_just_so_many_is_whole(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_replay_leaves_room_for_live_payments_at_its_endpoint_and_of_all_workers(
    api: FakeApi,
) -> None:
    for number in range(12):
        await pay(api, number)
    targets = [
        await endpoint(api.live, url=f"https://shop.example/{number}") for number in range(4)
    ]
    for target in targets:
        await replay(api.live, target)
    one = await delivering.lease(api.shop.env, limit=2, per_endpoint=2, running={})
    assert len(one.leased) == 1
    due = await delivering.lease(
        api.shop.env, limit=8, per_endpoint=4, running={(targets[0], True): 2}
    )
    # 2 of 10 workers send bulk already, and half of them may.
    assert len(due.leased) == 3
    assert targets[0] not in {leased.endpoint.id for leased in due.leased}


async def test_a_replayed_delivery_that_fails_waits_behind_live_ones_again(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    await replay(api.live, target)
    await attempt(api, answered(503))
    assert await api.shop.values("SELECT status, bulk FROM deliveries") == [("retrying", 1)]
