"""Listeners on the socket: active while connected; an abandoned one is removed later, a kept one stays."""

import asyncio
from pathlib import Path

import httpx
import pytest

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


async def test_one_whose_terminal_was_closed_is_removed_minutes_later_and_is_never_in_the_status(api: FakeApi) -> None:
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
    async with asyncio.timeout(10), api.local.stream("POST", wire.Path.LOCAL_LISTENER.format(id=made)):
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


PATH = "/v1/open-collections/endpoints"
SENTENCE = (
    "That address may not receive webhooks: a command or folder of this machine can only be added by the owner, "
    "on the machine itself: momo endpoints add exec:/path/command."
)


@pytest.fixture
def spool(tmp_path: Path) -> str:
    tmp_path.chmod(0o700)
    folder = tmp_path / "spool"
    folder.mkdir(mode=0o700)
    return f"spool:{folder}"


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["reason"]


@pytest.mark.parametrize("url", ["exec:/bin/true", "spool:/tmp", "listen:x", "exec:true"])
async def test_no_key_names_a_local_target(api: FakeApi, url: str) -> None:
    for client in (api.live, api.test):
        answer = await client.post(PATH, json={"url": url, "is_sandbox": client is api.test})
        reason = "malformed" if url == "exec:true" else "local_target"
        assert refused(answer) == (422, "URL_NOT_ALLOWED", reason)
    listed = await api.local.get(PATH)
    assert listed.json()["data"] == []


async def test_the_refusal_says_who_may(api: FakeApi) -> None:
    answer = await api.live.post(PATH, json={"url": "exec:/bin/true"})
    assert answer.json()["error"]["message"] == SENTENCE


async def test_no_key_turns_an_https_endpoint_into_one(api: FakeApi, spool: str) -> None:
    made = await api.live.post(PATH, json={"url": "https://shop.example/hook"})
    path = f"{PATH}/{made.json()['data']['id']}"
    assert refused(await api.live.put(path, json={"url": spool}))[2] == "local_target"
    assert (await api.local.put(path, json={"url": spool})).json()["data"]["url"] == spool


async def test_an_order_cannot_name_one_either(api: FakeApi) -> None:
    body = {"amount": "5.00", "phone_number": "0244124567", "webhook_url": "exec:/bin/true"}
    for client in (api.live, api.local):
        answer = await client.post("/v1/transactions/initialize", json=body)
        assert refused(answer) == (422, "URL_NOT_ALLOWED", "local_target")


async def test_the_owner_makes_one_on_the_socket_and_it_is_tested_like_any(api: FakeApi, spool: str) -> None:
    made = await api.local.post(PATH, json={"url": spool})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    assert made.json()["data"]["url"] == spool
    answer = (await api.local.post(f"{PATH}/{made.json()['data']['id']}/test")).json()
    assert (answer["success"], answer["status_code"]) == (True, 201)
    (file,) = Path(spool.removeprefix("spool:")).iterdir()
    assert file.name == answer["response_body"]
    assert '"test":true' in file.read_text()


async def test_what_others_could_change_is_refused_with_what_to_type(api: FakeApi, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    command = tmp_path / "command"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o777)
    answer = await api.local.post(PATH, json={"url": f"exec:{command}"})
    assert refused(answer) == (422, "URL_NOT_ALLOWED", "untrusted_target")
    assert f"chmod go-w {command}" in answer.json()["error"]["message"]


async def test_nobody_adds_a_listener_by_hand(api: FakeApi) -> None:
    answer = await api.local.post(PATH, json={"url": "listen:x"})
    assert refused(answer) == (422, "URL_NOT_ALLOWED", "local_target")
