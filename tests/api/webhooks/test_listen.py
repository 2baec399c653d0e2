"""Listeners on the socket: active while connected; an abandoned one is removed later, a kept one stays."""

import asyncio

from daemon import wire
from daemon.core.limits import SECOND_US
from daemon.flows.webhooks.endpoints import ABANDONED_US, delete_abandoned_listeners
from tests.fakes.api import FakeApi
from tests.fakes.validation_errors import wrong_fields


async def listener(api: FakeApi, **body: object) -> str:
    answer = await api.local.post(wire.Path.LOCAL_LISTEN, json=body)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


async def listeners(api: FakeApi) -> list[str]:
    return [each["id"] for each in (await api.local.get(wire.Path.ENDPOINTS)).json()["data"]]


async def is_active(api: FakeApi, endpoint: str) -> bool:
    answer = await api.local.get(wire.Path.ENDPOINT.format(id=endpoint))
    found: bool = answer.json()["data"]["is_active"]
    return found


async def test_one_is_active_as_long_as_it_is_connected(api: FakeApi) -> None:
    made = await listener(api)
    # Payments now wait for the connection: an attempt without a listener would fail and be retried seconds later.
    assert not await is_active(api, made)
    path = wire.Path.LOCAL_LISTENER.format(id=made)
    async with asyncio.timeout(10):
        async with api.local.stream("POST", path):
            assert await is_active(api, made)
        while await is_active(api, made):
            pass


async def test_one_whose_terminal_was_closed_is_removed_minutes_later_and_is_never_in_the_status(
    api: FakeApi,
) -> None:
    first = await listener(api)
    assert await listeners(api) == [first]
    status = (await api.local.get(wire.Path.LOCAL_STATUS)).json()["data"]
    assert status["endpoints"] == []
    assert await delete_abandoned_listeners(api.shop.env) == 0
    api.shop.clock.advance(ABANDONED_US / SECOND_US + 1)
    second = await listener(api)
    assert await delete_abandoned_listeners(api.shop.env) == 1
    assert await listeners(api) == [second]


async def test_one_that_is_connected_is_not_removed(api: FakeApi) -> None:
    made = await listener(api)
    async with (
        asyncio.timeout(10),
        api.local.stream("POST", wire.Path.LOCAL_LISTENER.format(id=made)),
    ):
        api.shop.clock.advance(ABANDONED_US / SECOND_US + 1)
        assert await delete_abandoned_listeners(api.shop.env) == 0
    assert await listeners(api) == [made]


async def test_one_that_was_kept_stays(api: FakeApi) -> None:
    kept = await listener(api, keep=True)
    api.shop.clock.advance(30 * 24 * 3600)
    assert await delete_abandoned_listeners(api.shop.env) == 0
    assert await listeners(api) == [kept]


async def test_one_that_was_given_a_name_of_its_own_stays_too(api: FakeApi) -> None:
    named = await listener(api)
    path = wire.Path.ENDPOINT.format(id=named)
    assert (await api.local.put(path, json={"description": "the till"})).status_code == 200
    api.shop.clock.advance(ABANDONED_US / SECOND_US + 1)
    assert await delete_abandoned_listeners(api.shop.env) == 0
    assert named in await listeners(api)


async def test_keep_is_true_or_false(api: FakeApi) -> None:
    answer = await api.local.post(wire.Path.LOCAL_LISTEN, json={"keep": "yes"})
    assert wrong_fields(answer) == ["keep"]
