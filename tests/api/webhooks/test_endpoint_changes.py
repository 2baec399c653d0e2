"""Webhook endpoints over HTTP: change, pause, resume, delete."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

from daemon.runtime.config import Config, OpenCollections
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong

PATH = "/v1/open-collections/endpoints"
URL = "https://shop.example/hook"


async def made(api: FakeApi, **fields: Any) -> dict[str, Any]:
    answer = await api.live.post(PATH, json={"url": URL, **fields})
    data: dict[str, Any] = answer.json()["data"]
    return data


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    "body",
    [
        {"url": "https://shop.example/other"},
        {"description": "the new shop"},
        {"description": ""},
        {"is_active": False},
        {"catch_all": False, "include_raw": True},
        {"events": ["transaction.forwarded", "transaction.completed"]},
    ],
)
async def test_what_is_given_changes_and_the_rest_stays(api: FakeApi, body: dict[str, Any]) -> None:
    before = await made(api, description="the shop")
    answer = await api.live.put(f"{PATH}/{before['id']}", json=body)
    assert answer.json() == {"success": True, "data": {**before, **body}}
    assert (await api.live.get(f"{PATH}/{before['id']}")).json()["data"] == {**before, **body}


@each(
    ("body", "named"),
    [
        ({}, ("body", "required")),
        ({"is_sandbox": True, "url": URL}, ("is_sandbox", "invalid")),
        ({"is_active": "no"}, ("is_active", "wrong_type")),
        ({"url": ""}, ("url", "required")),
        ({"events": []}, ("events", "out_of_range")),
    ],
)
async def test_wrong_fields_change_nothing(
    api: FakeApi, body: dict[str, Any], named: tuple[str, str]
) -> None:
    before = await made(api)
    answer = await api.live.put(f"{PATH}/{before['id']}", json=body)
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong(answer) == [named]
    assert (await api.live.get(f"{PATH}/{before['id']}")).json()["data"] == before


async def test_a_private_address_is_refused(api: FakeApi) -> None:
    before = await made(api)
    answer = await api.live.put(f"{PATH}/{before['id']}", json={"url": "https://inside.example/"})
    assert code(answer) == (422, "URL_NOT_ALLOWED")


async def test_an_unknown_field_and_a_shared_address_are_warned_of(api: FakeApi) -> None:
    await made(api)
    other = await made(api, url="https://shop.example/b", catch_all=False)
    answer = await api.live.put(f"{PATH}/{other['id']}", json={"url": URL, "colour": "red"})
    assert answer.json()["meta"] == {
        "warnings": [
            "Unknown field `colour` was ignored.",
            "Another endpoint has the same address: it will get each payment twice.",
        ]
    }


async def test_a_resume_says_how_much_waits(api: FakeApi) -> None:
    endpoint = await made(api)
    await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": False})
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    answer = await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": True})
    assert answer.json()["meta"] == {"queued": 1}
    again = await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": True})
    assert "meta" not in again.json()


async def test_a_deletion_says_what_never_arrived_and_happens_once(api: FakeApi) -> None:
    endpoint = await made(api)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    answer = await api.live.delete(f"{PATH}/{endpoint['id']}")
    assert answer.json() == {
        "success": True,
        "deleted": True,
        "undelivered": 1,
        "hint": "They are dead letters now, and the payments are kept: replay that time to another endpoint.",
    }
    assert code(await api.live.delete(f"{PATH}/{endpoint['id']}")) == (404, "ENDPOINT_NOT_FOUND")
    put = await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": True})
    assert code(put) == (404, "ENDPOINT_NOT_FOUND")
    assert (await api.live.get(PATH)).json()["data"] == []
    log = (await api.live.get("/v1/open-collections/deliveries")).json()["data"]
    assert [(entry["status"], entry["next_attempt_at"]) for entry in log] == [("failed", None)]


async def test_a_test_key_changes_sandbox_endpoints_only(api: FakeApi) -> None:
    live, sandbox = await made(api), await made(api, is_sandbox=True)
    for answer in (
        await api.test.put(f"{PATH}/{live['id']}", json={"description": "x"}),
        await api.test.delete(f"{PATH}/{live['id']}"),
    ):
        assert code(answer) == (403, "LIVE_KEY_REQUIRED")
    assert (await api.test.delete(f"{PATH}/{sandbox['id']}")).json() == {
        "success": True,
        "deleted": True,
        "undelivered": 0,
    }


async def test_both_are_refused_while_open_collections_are_off(tmp_path: Path) -> None:
    config = structs.replace(Config(), open_collections=OpenCollections(enabled=False))
    async with running(tmp_path, config) as api:
        path = f"{PATH}/00000000-0000-4000-8000-000000000000"
        for answer in (await api.live.put(path, json={}), await api.live.delete(path)):
            assert code(answer) == (403, "OPEN_COLLECTIONS_DISABLED")
