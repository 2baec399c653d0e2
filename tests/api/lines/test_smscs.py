"""The SMSCs of a SIM on the socket: permissions to list and to decide, and the owner's test payment."""

from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SMSC, mtn

SMSCS, TRUST, TEST_PAYMENT = (f"/local/v1/sims/{word}" for word in ("smscs", "trust", "test-payment"))
PASSWORD = "correct horse"


def place(api: FakeApi, **more: Any) -> dict[str, Any]:
    return {"device_id": api.shop.source.device_id, "slot_index": 0, **more}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def first_message(api: FakeApi) -> str:
    """Set a password, and read a first message above the limit; returns the ID of the message."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed}))
    made = mtn(2_000_000_00, "KOFI ANTWI BADU", 3_000_000_00, "food", "93214500001")
    taken = await api.shop.read(made)
    return taken.concluded[0][0]


async def test_the_home_smscs_of_a_sim_are_shown_with_the_reason(api: FakeApi) -> None:
    data = (await api.local.post(SMSCS, json=place(api))).json()["data"]
    since = data["smscs"][0].pop("since")
    assert since.endswith("Z")
    assert data == {
        **place(api),
        "network": "mtn",
        "has_chain": False,
        "smscs": [{"smsc": MTN_SMSC, "home": True, "source": "sim", "message_id": None}],
        "test_payment": None,
    }


async def test_the_test_payment_is_named_and_shown_until_it_comes(api: FakeApi) -> None:
    asked = (await api.local.post(TEST_PAYMENT, json=place(api))).json()["data"]
    assert asked["currency"] == "GHS"
    shown = (await api.local.post(SMSCS, json=place(api))).json()["data"]
    assert shown["test_payment"] == asked
    minor = int(asked["amount"].replace(".", ""))
    await api.shop.read(mtn(minor, "AMA", 90_000, "", "93214500001"))
    shown = (await api.local.post(SMSCS, json=place(api))).json()["data"]
    assert (shown["test_payment"], shown["has_chain"]) == (None, True)


async def test_trust_needs_the_password_and_settles_the_message(api: FakeApi) -> None:
    message_id = await first_message(api)
    body = place(api, message_id=message_id)
    wrong = await api.local.post(TRUST, json={**body, "password": "wrong horse"})
    assert code(wrong) == (403, "INVALID_PASSWORD")
    assert code(await api.local.post(TRUST, json=body)) == (403, "INVALID_PASSWORD")
    assert await api.shop.values("SELECT state FROM messages") == ["held"]
    answer = await api.local.post(TRUST, json={**body, "password": PASSWORD})
    assert answer.json()["data"] == {"message_id": message_id, "settled": 0}
    assert await api.shop.values("SELECT state FROM messages") == ["payment"]
    again = await api.local.post(TRUST, json={**body, "password": PASSWORD})
    assert code(again) == (409, "REVIEW_ALREADY_DECIDED")


@pytest.mark.parametrize("path", [TRUST, TEST_PAYMENT])
async def test_only_the_owner_decides(api: FakeApi, path: str) -> None:
    headers = {"Authorization": api.live.headers["Authorization"]}
    refused = await api.local.post(path, json=place(api), headers=headers)
    assert code(refused) == (403, "SESSION_REQUIRED")
    assert code(await api.live.post(path, json=place(api))) == (404, "ROUTE_NOT_FOUND")


@each("path", [SMSCS, TRUST, TEST_PAYMENT])
@each("change", [{"device_id": "till"}, {"slot_index": True}, {"slot_index": -1}, {"force": True}])
async def test_wrong_bodies_are_refused(api: FakeApi, path: str, change: dict[str, Any]) -> None:
    more = {"message_id": api.shop.source.device_id, "password": "x"} if path == TRUST else {}
    answer = await api.local.post(path, json=place(api, **more) | change)
    assert code(answer) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("path", [SMSCS, TEST_PAYMENT])
async def test_a_slot_without_a_sim_is_refused(api: FakeApi, path: str) -> None:
    answer = await api.local.post(path, json=place(api, slot_index=7))
    assert code(answer) == (422, "SIM_NOT_FOUND")
