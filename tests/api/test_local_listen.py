"""Listeners as the socket makes them: one that was left behind goes, one that was kept stays."""

from daemon import wire
from daemon.api.local_listen import FORGOTTEN_US
from daemon.core.limits import SECOND_US
from tests.fakes.api import FakeApi


async def listener(api: FakeApi, **body: object) -> str:
    answer = await api.local.post(wire.Path.LOCAL_LISTEN, json=body)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


async def listeners(api: FakeApi) -> list[str]:
    return [each["id"] for each in (await api.local.get(wire.Path.ENDPOINTS)).json()["data"]]


async def test_one_that_was_left_behind_goes_when_the_next_one_starts_an_hour_later(
    api: FakeApi,
) -> None:
    first = await listener(api)
    second = await listener(api)
    assert await listeners(api) == [first, second]
    api.shop.clock.advance(FORGOTTEN_US / SECOND_US + 1)
    third = await listener(api)
    assert await listeners(api) == [third]


async def test_one_that_was_kept_stays_whoever_listens_later(api: FakeApi) -> None:
    kept = await listener(api, keep=True)
    api.shop.clock.advance(30 * 24 * 3600)
    later = await listener(api)
    assert await listeners(api) == [kept, later]


async def test_one_that_was_given_a_name_of_its_own_stays_too(api: FakeApi) -> None:
    named = await listener(api)
    path = wire.Path.ENDPOINT.format(id=named)
    assert (await api.local.put(path, json={"description": "the till"})).status_code == 200
    api.shop.clock.advance(FORGOTTEN_US / SECOND_US + 1)
    await listener(api)
    assert named in await listeners(api)


async def test_keep_is_true_or_false(api: FakeApi) -> None:
    answer = await api.local.post(wire.Path.LOCAL_LISTEN, json={"keep": "yes"})
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["details"]] == ["keep"]
