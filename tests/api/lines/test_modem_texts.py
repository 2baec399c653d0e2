"""A test SMS from one modem: queue it and show its state, on the Unix socket only."""

from typing import Any

import pytest

from daemon.flows.payments import texts
from daemon.modem.session.send import SmsEnded, SmsResult
from tests.fakes.api import FakeApi

NOBODY = "0f3c0000-0000-4000-8000-000000000009"


def path(api: FakeApi) -> str:
    return f"/local/v1/modems/{api.shop.source.device_id}/texts"


async def test_it_is_queued_and_then_says_what_came_of_it(api: FakeApi) -> None:
    answer = await api.local.post(path(api), json={"number": "0244 124 567"})
    made: dict[str, Any] = answer.json()["data"]
    assert answer.status_code == 201
    assert made == {
        "id": made["id"],
        "number": "+233244124567",
        "status": "queued",
        "why": "",
        "parts_sent": 0,
        "created_at": "2026-11-21T08:00:30.000Z",
        "ended_at": None,
    }
    env, sim = api.shop.env, api.shop.source.sim_key
    await texts.lease(env, sim)
    await texts.ended(env, SmsEnded(made["id"], SmsResult.FAILED, "+CMS ERROR: 21"))
    after = (await api.local.get(f"{path(api)}/{made['id']}")).json()["data"]
    assert after == {
        **made,
        "status": "failed",
        "why": "+CMS ERROR: 21",
        "ended_at": "2026-11-21T08:00:30.000Z",
    }


@pytest.mark.parametrize("body", [{}, {"number": "12"}, {"number": "0244124567", "text": "hi"}])
async def test_a_body_that_is_not_one_number_is_refused(api: FakeApi, body: dict[str, str]) -> None:
    answer = await api.local.post(path(api), json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    assert await api.shop.values("SELECT COUNT(*) FROM sms_outbox") == [0]


async def test_an_unknown_phone_is_404_and_so_is_an_sms_that_is_no_test(api: FakeApi) -> None:
    there = f"/local/v1/modems/{NOBODY}/texts"
    answer = await api.local.post(there, json={"number": "0244124567"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "DEVICE_NOT_FOUND")
    await api.shop.request()
    [code] = await api.shop.values("SELECT id FROM sms_outbox")
    for which in (code, "x"):
        answer = await api.local.get(f"{path(api)}/{which}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "MESSAGE_NOT_FOUND")


async def test_none_of_it_is_on_tcp(api: FakeApi) -> None:
    for method, there in (("POST", path(api)), ("GET", f"{path(api)}/{NOBODY}")):
        answer = await api.live.request(method, there, json={"number": "0244124567"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ROUTE_NOT_FOUND")
