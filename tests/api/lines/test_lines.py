"""SIMs to choose from and the lines over HTTP: what is ready, what no number was found for, what no message told of."""

from typing import Any

import pytest

from daemon.wire import Mode, Scope
from tests.api.lines.test_payment_methods import PATH, second_phone
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID


async def test_the_list_of_sims_says_which_are_free(api: FakeApi) -> None:
    device_id = await second_phone(api)
    answer = await api.live.get(f"{PATH}/sims")
    phones = answer.json()["data"]
    assert answer.json()["success"] is True
    assert phones == [
        {
            "device_id": api.shop.source.device_id,
            "name": phones[0]["name"],
            "reads_payments": False,
            "sims": [
                {
                    "slot_index": 0,
                    "network": "MTN",
                    "iccid_last4": "0012",
                    "payment_method_id": METHOD_ID,
                    "phone_number": "+233244124567",
                    "available": False,
                }
            ],
        },
        {
            "device_id": device_id,
            "name": phones[1]["name"],
            "reads_payments": False,
            "sims": [
                {
                    "slot_index": 0,
                    "network": "Telecel",
                    "iccid_last4": "0098",
                    "payment_method_id": None,
                    "phone_number": None,
                    "available": True,
                }
            ],
        },
    ]


async def test_lines_count_what_matched_no_number_for_30_days(api: FakeApi) -> None:
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    lines = (await api.live.get("/v1/open-collections/lines")).json()
    assert lines["data"] == {
        "ready": False,
        "unplaced_payments": 1,
        "phones": [
            {
                "device_id": api.shop.source.device_id,
                "name": lines["data"]["phones"][0]["name"],
                "reads_payments": True,
                "sims": [
                    {
                        "slot_index": 0,
                        "network": "MTN",
                        "unplaced_payments": 1,
                        "line": None,
                        "unaccounted": None,
                    }
                ],
            }
        ],
    }
    for wait_s, counted in ((30 * 86_400 - 60, 1), (120, 0)):
        api.shop.clock.advance(wait_s)
        later = (await api.live.get("/v1/open-collections/lines")).json()["data"]
        assert later["unplaced_payments"] == counted


async def test_a_placed_sim_shows_its_line(api: FakeApi) -> None:
    data = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert data["ready"] is True
    assert data["phones"][0]["sims"][0]["line"] == {
        "payment_method_id": METHOD_ID,
        "phone_number": "+233244124567",
        "provider": "MTN MoMo",
        "account_name": "Ama",
        "merchant_code": "",
    }


async def test_a_line_says_how_much_no_message_told_of_and_since_when(api: FakeApi) -> None:
    first = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001")
    # The receipt of GHS 7.00 in front of this one got lost; the next one goes on from it.
    second = mtn(100, "KOFI ANTWI BADU", 90_800, "food", "93214500003", concatenation=1)
    third = mtn(100, "KOFI ANTWI BADU", 90_900, "food", "93214500004", concatenation=2)
    await api.shop.read(first, second, third)
    data = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert data["phones"][0]["sims"][0]["unaccounted"] == {
        "came_in": "7.00",
        "went_out": "0.00",
        "currency": "GHS",
        "since": "2026-11-21T08:00:00.000Z",
    }


async def test_money_that_a_person_knows_of_is_told_no_more_until_more_is_missing(
    api: FakeApi,
) -> None:
    first = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001")
    second = mtn(100, "KOFI ANTWI BADU", 90_800, "food", "93214500003", concatenation=1)
    third = mtn(100, "KOFI ANTWI BADU", 90_900, "food", "93214500004", concatenation=2)
    await api.shop.read(first, second, third)
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0}
    path = "/local/v1/sims/untold"
    known = (await api.local.post(path, json={**sim, "notes": "interest"})).json()["data"]
    assert [(row["amount"], row["currency"]) for row in known] == [("7.00", "GHS")]
    assert (await api.local.post(path, json=sim)).json()["data"] == []

    async def untold() -> Any:
        data = (await api.live.get("/v1/open-collections/lines")).json()["data"]
        return data["phones"][0]["sims"][0]["unaccounted"]

    assert await untold() is None
    [told] = await api.shop.values(
        "SELECT actor || ' ' || data FROM events WHERE type = 'balance.gap_known'"
    )
    assert told.startswith("socket:")
    assert '"notes":"interest"' in told
    fourth = mtn(100, "KOFI ANTWI BADU", 91_500, "food", "93214500006", concatenation=3)
    fifth = mtn(100, "KOFI ANTWI BADU", 91_600, "food", "93214500007", concatenation=4)
    await api.shop.read(fourth, fifth)
    assert (await untold())["came_in"] == "5.00"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"slot_index": 7}, 422),
        ({"slot_index": "0"}, 422),
        ({"device_id": "x"}, 422),
        ({"device_id": METHOD_ID}, 422),
        ({"all": True}, 422),
    ],
)
async def test_untold_money_of_no_sim_is_refused(
    api: FakeApi, change: dict[str, Any], status: int
) -> None:
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0}
    answer = await api.local.post("/local/v1/sims/untold", json={**sim, **change})
    assert answer.status_code == status


async def test_lines_take_either_scope(api: FakeApi) -> None:
    for scope in (Scope.WEBHOOKS_MANAGE, Scope.PAYMENT_METHODS_READ):
        client = await api.client(await api.key(Mode.LIVE, scope))
        assert (await client.get("/v1/open-collections/lines")).status_code == 200
    client = await api.client(await api.key(Mode.LIVE, Scope.TRANSACTIONS_READ))
    refused = await client.get("/v1/open-collections/lines")
    assert refused.json()["required_scopes"] == ["webhooks:manage", "payment_methods:read"]
