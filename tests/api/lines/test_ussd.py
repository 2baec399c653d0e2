"""`POST /v1/payment-methods/{id}/ussd`: a USSD session of the owner."""

import asyncio
import os
from typing import Any

import httpx
import pytest

from daemon.core.lines.ussd import IDLE_S, UssdEnd, UssdMenu
from tests.fakes.api import FakeApi
from tests.fakes.shop import METHOD_ID
from tests.fakes.ussd_port import FakeUssdPort
from tests.fakes.waiting import until
from tests.phones import ussd

WHERE = f"/v1/payment-methods/{METHOD_ID}/ussd"
PIN = "4929123456781234"


@pytest.fixture
def port(api: FakeApi) -> FakeUssdPort:
    """The shop's phone."""
    made = FakeUssdPort()
    api.shop.env.ussd.port_of = {api.shop.source.device_id: made}.get
    return made


async def ask(api: FakeApi, session: str = "mine", **body: Any) -> dict[str, Any]:
    answer = await api.local.post(WHERE, json={"session": session, **body})
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    data: dict[str, Any] = answer.json()["data"]
    return data


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_session_shows_each_menu_and_the_balance_at_its_end(api: FakeApi, port: FakeUssdPort) -> None:
    assert await ask(api, code="*170#") == {
        "text": ussd.MENU, "ended": None, "sent": True, "sentence": None, "balance": None, "currency": None,
    }  # fmt: skip
    await ask(api, reply="6")
    await ask(api, reply="1")
    assert await ask(api, reply=PIN) == {
        "text": ussd.BALANCE,
        "ended": "answered",
        "sent": True,
        "sentence": "The network has answered, and the session is over.",
        "balance": "214.56",
        "currency": "GHS",
    }
    assert port.typed == ["*170#", "6", "1", PIN]
    opened = await api.shop.values("SELECT actor || data FROM events WHERE type = 'ussd.opened'")
    assert opened == [f'socket:{os.getuid()}{{"payment_method_id":"{METHOD_ID}"}}']
    assert (await ask(api, reply="6"))["ended"] == "idle", "the session is over"
    assert port.typed[-1] == PIN


async def test_a_second_person_is_told_who_has_a_session_open(api: FakeApi, port: FakeUssdPort) -> None:
    await ask(api, code="*170#")
    other = await api.local.post(WHERE, json={"session": "theirs", "code": "*170#"})
    assert code(other) == (409, "USSD_IN_USE")
    assert "has a USSD session open on that line" in other.json()["error"]["message"]
    assert (await ask(api, "theirs", reply="6"))["sent"] is False
    assert port.typed == ["*170#"]
    await ask(api, "theirs")
    assert (await ask(api, reply="6"))["text"] == ussd.WALLET


async def test_a_session_to_which_nobody_replies_is_over(api: FakeApi, port: FakeUssdPort) -> None:
    await ask(api, code="*170#")
    api.shop.clock.advance(IDLE_S + 1)
    late = await ask(api, reply=PIN)
    assert (late["ended"], late["sent"], port.cancelled) == ("idle", False, 1)
    assert port.typed == ["*170#"]
    assert (await ask(api, "next", code="*170#"))["ended"] is None


async def test_a_menu_that_changed_is_shown_and_the_reply_is_not_sent(api: FakeApi, port: FakeUssdPort) -> None:
    await ask(api, code="*170#")
    port.instead = UssdMenu(ussd.CHANGED, None, sent=False)
    changed = await ask(api, reply="1")
    assert (changed["text"], changed["sent"]) == (ussd.CHANGED, False)
    assert changed["sentence"] == "The menu has changed meanwhile: what was typed was not sent."
    port.instead = UssdMenu("", UssdEnd.NETWORK, sent=False)
    assert "has ended the session" in (await ask(api, reply="1"))["sentence"]
    assert port.typed == ["*170#"]


async def test_while_an_answer_is_awaited_only_the_end_is_accepted(api: FakeApi, port: FakeUssdPort) -> None:
    port.hangs = True
    waiting = asyncio.create_task(ask(api, code="*170#"))
    await until(lambda: port.typed != [])
    assert code(await api.local.post(WHERE, json={"session": "mine", "reply": "6"})) == (409, "USSD_IN_USE")
    assert (await ask(api))["ended"] == "cancelled"
    assert (await waiting)["ended"] == "cancelled"
    assert (port.typed, port.cancelled, api.shop.env.ussd.open) == (["*170#"], 1, {})


async def test_a_network_that_does_not_answer_ends_the_session(
    api: FakeApi, port: FakeUssdPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.flows.lines.ussd.ANSWER_S", 0.05)
    port.hangs = True
    silent = await ask(api, code="*170#")
    assert (silent["ended"], port.cancelled, api.shop.env.ussd.open) == ("silent", 1, {})


async def test_without_a_phone_that_can_do_it_the_person_is_told(api: FakeApi) -> None:
    assert (await ask(api, code="*170#"))["ended"] == "lost"


async def test_a_key_is_refused_and_a_body_is_checked(api: FakeApi, port: FakeUssdPort) -> None:
    assert code(await api.live.post(WHERE, json={"session": "mine", "code": "*170#"})) == (403, "SESSION_REQUIRED")
    nowhere = WHERE.replace(METHOD_ID, "00000000-0000-4000-8000-000000000000")
    found = await api.local.post(nowhere, json={"session": "mine", "code": "*170#"})
    assert code(found) == (404, "PAYMENT_METHOD_NOT_FOUND")
    await ask(api, code="*170#")
    for body in ({"code": "170"}, {"code": "1234"}, {"code": "*1#\rATD1;"}, {"reply": '1"'}, {"reply": "1\r"},
                 {"reply": "\x1a"}, {"reply": ""}, {"code": "*170#", "reply": "1"}, {"reply": "1" * 161}):  # fmt: skip
        refused = await api.local.post(WHERE, json={"session": "mine", **body})
        assert code(refused) == (422, "VALIDATION_ERROR"), body
    assert port.typed == ["*170#"]
