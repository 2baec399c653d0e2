"""The stored data of one payer: only the owner may show or erase them."""

import json

import pytest

from daemon.store.engine import Tx
from tests.api.test_export import filled
from tests.fakes.api import FakeApi

EXPORT, FORGET = "/local/v1/payer/export", "/local/v1/payer/forget"
NUMBER = "0241234567"
"""Of every order of the shop."""


async def test_all_that_is_kept_is_shown_and_the_journal_knows_it_without_the_number(api: FakeApi) -> None:
    await filled(api)
    answer = await api.local.post(EXPORT, json={"number": NUMBER})
    data = answer.json()["data"]
    assert data["payer"] == "+233241234567"
    assert [len(data[name]) for name in ("payments", "orders", "messages")] == [1, 2, 1]
    assert "KOFI ANTWI BADU" in data["messages"][0]["body"]
    assert data["payments"][0]["payer_name"] == "KOFI ANTWI BADU"
    assert {sent["url"] for sent in data["webhooks"]} == {"https://shop.example/hook"}
    assert [text["kind"] for text in data["sms"]] == ["code", "code", "receipt"]
    assert not data["cut_off"]
    ((told,),) = [[row] for row in await api.shop.values("SELECT data FROM events WHERE type = 'export.made'")]
    assert json.loads(told) == {"what": "payer", "payer": data["mark"]}
    nobody = (await api.local.post(EXPORT, json={"number": "0209000543"})).json()["data"]
    assert (nobody["payments"], nobody["orders"], nobody["sms"]) == ([], [], [])


async def test_a_payer_is_forgotten_when_all_is_over(api: FakeApi) -> None:
    await filled(api)
    look = await api.local.post(FORGET, json={"number": NUMBER, "dry_run": True})
    waits = look.json()["data"]["open"]
    assert set(waits) == {"orders", "webhooks", "sms"}
    refused = await api.local.post(FORGET, json={"number": NUMBER})
    assert (refused.status_code, refused.json()["error"]["open"]) == (409, waits)

    def over(tx: Tx) -> None:
        for what in (
            "transactions SET status = 'CANCELLED', cancelled_at = 1 WHERE status = 'PENDING'",
            "deliveries SET status = 'delivered', delivered_at = 1, next_attempt_at = NULL",
            "sms_outbox SET status = 'sent', ended_at = 1 WHERE ended_at IS NULL",
        ):
            tx.run(f"UPDATE {what}")

    await api.shop.env.store.write(over)
    done = (await api.local.post(FORGET, json={"number": NUMBER})).json()["data"]
    assert (done["counts"]["payments"], done["open"], done["dry_run"]) == (1, {}, False)
    # Lists and single pages still work afterwards, without the personal data.
    listed = (await api.live.get("/v1/transactions")).json()["data"]
    paid = next(row for row in listed if row["status"] == "SUCCESS")
    assert (paid["payer_name"], paid["payer_phone"]) == (None, None)
    one = (await api.live.get(f"/v1/transactions/{paid['reference']}")).json()["data"]
    assert (one["payer"], one["meta"]) == ({"phone_number": None, "name": None}, {})
    for path in ("deliveries", "lines"):
        assert (await api.live.get(f"/v1/open-collections/{path}")).status_code == 200
    assert (await api.local.get("/local/v1/messages")).status_code == 200


@pytest.mark.parametrize("path", [EXPORT, FORGET])
async def test_nobody_but_the_owner_and_only_a_number(api: FakeApi, path: str) -> None:
    assert (await api.live.post(path, json={"number": NUMBER})).status_code == 404
    headers = {"Authorization": api.live.headers["Authorization"]}
    assert (await api.local.post(path, json={"number": NUMBER}, headers=headers)).status_code == 403
    for body in ({}, {"number": "Kofi"}, {"number": NUMBER, "name": "x"}):
        assert (await api.local.post(path, json=body)).status_code == 422
