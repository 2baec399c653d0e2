"""Endpoints that are a command or a folder of this machine: permission to create one, and its description in the API."""

from pathlib import Path

import httpx
import pytest

from tests.fakes.api import FakeApi

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


async def test_the_owner_makes_one_on_the_socket_and_it_is_tested_like_any(
    api: FakeApi, spool: str
) -> None:
    made = await api.local.post(PATH, json={"url": spool})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    assert made.json()["data"]["url"] == spool
    answer = (await api.local.post(f"{PATH}/{made.json()['data']['id']}/test")).json()
    assert (answer["success"], answer["status_code"]) == (True, 201)
    (file,) = Path(spool.removeprefix("spool:")).iterdir()
    assert file.name == answer["response_body"]
    assert '"test":true' in file.read_text()


async def test_what_others_could_change_is_refused_with_what_to_type(
    api: FakeApi, tmp_path: Path
) -> None:
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
