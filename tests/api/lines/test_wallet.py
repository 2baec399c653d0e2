"""`POST /v1/payment-methods/{id}/wallet`: the owner says what the wallet shows."""

from datetime import timedelta
from typing import Any

import httpx
from argon2 import PasswordHasher

from parsers.times import from_us
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn

PASSWORD = "correct horse"


async def path(api: FakeApi) -> str:
    """Set a password; return the path of the shop's number."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed}))
    [found] = await api.shop.values("SELECT id FROM payment_methods LIMIT 1")
    return f"/v1/payment-methods/{found}/wallet"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_number_settles_what_waits_and_tells_each_message(api: FakeApi) -> None:
    where = await path(api)
    [(message_id, _)] = (await api.shop.read(mtn(2_000_000_00, "KOFI", 3_000_000_00, "food", "93214500001"))).concluded
    answer = await api.local.post(where, json={"balance": "3000000.00", "password": PASSWORD})
    assert answer.status_code == 200
    assert answer.json()["data"] == {
        "settled": True,
        "question": None,
        "sentence": "The wallet shows GHS 3000000.00, as the messages say.",
        "balance": "3000000.00",
        "untold": "0.00",
        "currency": "GHS",
        "messages": [
            {"message_id": message_id, "outcome": "paid", "sentence": "GHS 2000000.00 (93214500001) pays now."}
        ],
    }
    assert await api.shop.values("SELECT state FROM messages") == ["payment"]


async def test_a_question_is_answered_with_its_name(api: FakeApi) -> None:
    where = await path(api)
    await api.shop.begin_chain(90_000)
    body: dict[str, Any] = {"balance": "800.00", "password": PASSWORD}
    asked = (await api.local.post(where, json=body)).json()["data"]
    assert (asked["settled"], asked["question"]) == (False, "untold")
    said = (await api.local.post(where, json={**body, "answer": "untold"})).json()["data"]
    assert (said["settled"], said["question"], said["untold"]) == (True, None, "-100.00")


async def test_the_password_is_needed_and_a_key_is_refused(api: FakeApi) -> None:
    where = await path(api)
    assert code(await api.local.post(where, json={"balance": "1.00"})) == (403, "INVALID_PASSWORD")
    wrong = await api.local.post(where, json={"balance": "1.00", "password": "wrong horse"})
    assert code(wrong) == (403, "INVALID_PASSWORD")
    keyed = await api.live.post(where, json={"balance": "1.00", "password": PASSWORD})
    assert code(keyed) == (403, "SESSION_REQUIRED")


@each("change", [{"balance": "much"}, {"balance": None}, {"answer": "perhaps"}, {"at": "2020-01-01T00:00:00Z"}])
async def test_wrong_bodies_are_refused(api: FakeApi, change: dict[str, Any]) -> None:
    where = await path(api)
    body = {"balance": "1.00", "password": PASSWORD} | change
    assert code(await api.local.post(where, json=body)) == (422, "VALIDATION_ERROR")


async def test_a_statement_may_be_older_and_names_its_first_and_last_row(api: FakeApi) -> None:
    where = await path(api)
    await api.shop.begin_chain()
    at = from_us(api.shop.clock.now_us())
    await api.shop.read(mtn(100, "KOFI", api.shop.wallet(100), "food", "93214500001", sent_at=at))
    api.shop.clock.advance(3 * 3600)
    balance = f"{api.shop.wallet(0) / 100:.2f}"
    last = (at + timedelta(seconds=30)).isoformat()
    body = {"balance": balance, "password": PASSWORD, "at": last}
    assert (await api.local.post(where, json=body)).status_code == 422
    first = (at - timedelta(days=1)).isoformat()
    dated = {**body, "statement_from": first}
    answer = (await api.local.post(where, json=dated)).json()["data"]
    assert (answer["settled"], answer["question"]) == (True, None)
    other = (await api.local.post(where, json={**dated, "balance": "1.99"})).json()["data"]
    assert (other["settled"], other["question"]) == (False, None)
    del dated["at"]
    assert (await api.local.post(where, json=dated)).status_code == 422
