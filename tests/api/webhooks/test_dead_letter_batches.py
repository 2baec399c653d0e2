"""Dead letters over HTTP: many at once, and every refusal."""

from pathlib import Path

import pytest
from msgspec import structs

from daemon.runtime.config import Config, OpenCollections
from daemon.wire import Mode, Scope
from tests.api.webhooks.test_dead_letters import PATH, again, buried, letters
from tests.api.webhooks.test_redeliver import NOBODY, code
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each
from tests.fakes.validation_errors import wrong

BATCH = f"{PATH}/replay-batch"


async def test_batch_replays_each_once_and_says_what_came_of_it(api: FakeApi) -> None:
    newest, middle, oldest = (letter["id"] for letter in await buried(api, 3))
    await again(api, oldest)
    asked = [newest, newest.upper(), NOBODY, "not-an-id", oldest, middle]
    answer = await api.live.post(BATCH, json={"dead_letter_ids": asked})
    body = answer.json()
    assert answer.status_code == 200
    assert body["replayed"] == 2
    assert body["data"]["replayed"] == [newest, middle]
    assert [(each["id"], each["code"]) for each in body["data"]["failed"]] == [
        (NOBODY, "DEAD_LETTER_NOT_FOUND"),
        ("not-an-id", "DEAD_LETTER_NOT_FOUND"),
        (oldest, "DEAD_LETTER_ALREADY_REPLAYED"),
    ]
    assert all(each["message"] for each in body["data"]["failed"])
    assert await letters(api) == []


@each(
    ("ids", "why"),
    [
        ([], "out_of_range"),
        ([NOBODY] * 101, "out_of_range"),
        (None, "required"),
        ("x", "wrong_type"),
        ([1], "wrong_type"),
    ],
)
async def test_batch_of_none_or_more_than_100_is_refused(
    api: FakeApi, ids: object, why: str
) -> None:
    answer = await api.live.post(BATCH, json={"dead_letter_ids": ids})
    assert code(answer) == (422, "VALIDATION_ERROR")
    named = wrong(answer)
    assert named == [("dead_letter_ids[0]" if ids == [1] else "dead_letter_ids", why)]


async def test_batch_of_100_is_taken(api: FakeApi) -> None:
    answer = await api.live.post(BATCH, json={"dead_letter_ids": [f"id-{n}" for n in range(100)]})
    assert len(answer.json()["data"]["failed"]) == 100


async def test_a_test_key_sees_and_replays_no_live_letter(api: FakeApi) -> None:
    (letter,) = await buried(api)
    assert (await api.test.get(PATH)).json()["data"] == []
    one, replay = f"{PATH}/{letter['id']}", f"{PATH}/{letter['id']}/replay"
    for answer in (await api.test.get(one), await api.test.post(replay)):
        assert code(answer) == (403, "LIVE_KEY_REQUIRED")
    body = (await api.test.post(BATCH, json={"dead_letter_ids": [letter["id"]]})).json()
    assert [each["code"] for each in body["data"]["failed"]] == ["LIVE_KEY_REQUIRED"]
    assert len(await letters(api)) == 1


async def test_the_same_key_replays_once(api: FakeApi) -> None:
    newest, oldest = (letter["id"] for letter in await buried(api, 2))
    headers = {"Idempotency-Key": "k1"}
    for path, body in (
        (f"{PATH}/{newest}/replay", {}),
        (BATCH, {"dead_letter_ids": [oldest]}),
    ):
        first = await api.live.post(path, json=body, headers=headers)
        second = await api.live.post(path, json=body, headers=headers)
        assert first.status_code == 200
        assert (second.content, second.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert await api.shop.values("SELECT run FROM deliveries") == [2, 2]


@pytest.mark.parametrize("wrong", [NOBODY, "1"])
async def test_an_unknown_letter_is_not_found(api: FakeApi, wrong: str) -> None:
    for answer in (await api.live.get(f"{PATH}/{wrong}"), await again(api, wrong)):
        assert code(answer) == (404, "DEAD_LETTER_NOT_FOUND")


async def test_all_four_need_their_scope(api: FakeApi) -> None:
    client = await api.client(await api.key(Mode.LIVE, Scope.TRANSACTIONS_WRITE))
    for answer in (
        await client.get(PATH),
        await client.get(f"{PATH}/{NOBODY}"),
        await client.post(f"{PATH}/{NOBODY}/replay"),
        await client.post(BATCH, json={"dead_letter_ids": [NOBODY]}),
    ):
        assert code(answer) == (403, "INSUFFICIENT_SCOPE")


async def test_replays_are_refused_while_open_collections_are_off(tmp_path: Path) -> None:
    config = structs.replace(Config(), open_collections=OpenCollections(enabled=False))
    async with running(tmp_path, config) as api:
        for answer in (
            await again(api, NOBODY),
            await api.live.post(BATCH, json={"dead_letter_ids": [NOBODY]}),
        ):
            assert code(answer) == (403, "OPEN_COLLECTIONS_DISABLED")
        assert (await api.live.get(PATH)).json()["data"] == []
