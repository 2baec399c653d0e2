"""Merchant numbers over HTTP: registered, placed on SIMs, moved and taken off."""

from typing import Any

import httpx
import pytest

from daemon.core.inputs import PhoneIdentity
from daemon.flows.lines import modems
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.shop import METHOD_ID, TELECEL_IMSI
from tests.fakes.validation_errors import wrong

PATH = "/v1/payment-methods"
CREATED = "2026-11-21T08:00:30.000Z"
NEW = {"provider": "momo_telecel", "phone_number": "0201000456", "account_name": "Ama Mensah"}
NOBODY = "0f3c0000-0000-4000-8000-000000000009"


async def second_phone(api: FakeApi, imsi: str = TELECEL_IMSI) -> str:
    """Plug in a phone, by default with a Telecel SIM, and return its device id."""
    source = await modems.identify(
        api.shop.env, PhoneIdentity("/dev/ttyUSB1", "356938035643817", "8923302000000000098", imsi, "zte", "MF823")
    )
    return source.device_id


async def holders(api: FakeApi) -> dict[str, str | None]:
    """Return the number on each phone's SIM, from the list of SIMs."""
    phones = (await api.live.get(f"{PATH}/sims")).json()["data"]
    return {phone["device_id"]: phone["sims"][0]["payment_method_id"] for phone in phones}


async def post(client: httpx.AsyncClient, body: Any, **headers: str) -> httpx.Response:
    return await client.post(PATH, json=body, headers=headers)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_number_without_a_sim_is_registered_with_every_field(api: FakeApi) -> None:
    answer = await post(api.live, {**NEW, "merchant_code": "441122"})
    record = {
        "id": answer.json()["data"]["id"],
        "provider": "momo_telecel",
        "provider_name": "Telecel Cash",
        "phone_number": "+233201000456",
        "account_name": "Ama Mensah",
        "merchant_code": "441122",
        "sim": None,
        "is_active": True,
        "last_payment_at": None,
        "created_at": CREATED,
        "updated_at": CREATED,
    }
    assert (answer.status_code, answer.json()) == (201, {"success": True, "data": record})
    one = await api.live.get(f"{PATH}/{record['id']}")
    assert (one.status_code, one.json()) == (200, {"success": True, "data": record})
    listed = (await api.live.get(PATH)).json()["data"]
    assert [method["id"] for method in listed] == [METHOD_ID, record["id"]]


async def test_a_number_on_a_sim_is_a_line(api: FakeApi) -> None:
    device_id = await second_phone(api)
    answer = await post(api.live, {**NEW, "sim": {"device_id": device_id, "slot_index": 0}})
    assert answer.status_code == 201
    sim = answer.json()["data"]["sim"]
    assert sim == {"device_id": device_id, "slot_index": 0, "device_name": sim["device_name"], "network": "Telecel"}
    created = await api.shop.values("SELECT line_created_at FROM payment_methods WHERE provider = 'momo_telecel'")
    assert created == [api.shop.clock.now_us()]


async def test_an_alias_is_stored_canonical(api: FakeApi) -> None:
    answer = await post(api.live, {**NEW, "provider": "momo_vodafone"})
    assert answer.json()["data"]["provider"] == "momo_telecel"


@each(
    ("body", "named"),
    [
        ({}, [("provider", "required"), ("phone_number", "required"), ("account_name", "required")]),
        ({**NEW, "provider": "mtn"}, [("provider", "invalid")]),
        ({**NEW, "phone_number": "020"}, [("phone_number", "invalid")]),
        ({**NEW, "phone_number": "+14155550100"}, [("phone_number", "invalid")]),
        ({**NEW, "account_name": "x" * 101}, [("account_name", "too_long")]),
        ({**NEW, "merchant_code": 44}, [("merchant_code", "wrong_type")]),
        ({**NEW, "sim": "0"}, [("sim", "wrong_type")]),
        ({**NEW, "sim": {}}, [("sim.device_id", "required"), ("sim.slot_index", "required")]),
        (
            {**NEW, "sim": {"device_id": "no", "slot_index": -1, "slot": 0}},
            [("sim.device_id", "invalid"), ("sim.slot_index", "out_of_range"), ("sim.slot", "unknown_field")],
        ),
    ],
)
async def test_each_wrong_field_is_refused_by_name(api: FakeApi, body: Any, named: list[tuple[str, str]]) -> None:
    answer = await post(api.live, body)
    assert wrong(answer) == named


async def test_an_unknown_field_is_named(api: FakeApi) -> None:
    body = (await post(api.live, {**NEW, "colour": "red"})).json()
    assert body["meta"] == {"warnings": ["Unknown field `colour` was ignored."]}


async def test_a_number_is_registered_once(api: FakeApi) -> None:
    body = {"provider": "momo_mtn", "phone_number": "+233244124567", "account_name": "Other"}
    answer = await post(api.live, body)
    assert code(answer) == (409, "PAYMENT_METHOD_EXISTS")
    assert answer.json()["payment_method_id"] == METHOD_ID


async def test_a_slot_that_holds_no_sim_is_refused(api: FakeApi) -> None:
    for device_id, slot in ((NOBODY, 0), (api.shop.source.device_id, 1)):
        sim = {"device_id": device_id, "slot_index": slot}
        assert code(await post(api.live, {**NEW, "sim": sim})) == (422, "SIM_NOT_FOUND")


async def test_a_sim_of_another_network_is_refused(api: FakeApi) -> None:
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0}
    answer = await post(api.live, {**NEW, "sim": sim})
    assert code(answer) == (422, "NETWORK_MISMATCH")
    assert (answer.json()["sim_network"], answer.json()["provider"]) == ("mtn", "momo_telecel")


async def test_a_sim_that_holds_another_number_is_refused(api: FakeApi) -> None:
    body = {
        "provider": "momo_mtn",
        "phone_number": "0554567890",
        "account_name": "Other",
        "sim": {"device_id": api.shop.source.device_id, "slot_index": 0},
    }
    answer = await post(api.live, body)
    assert code(answer) == (409, "SIM_ALREADY_ASSIGNED")
    assert answer.json()["payment_method_id"] == METHOD_ID
    assert answer.json()["error"]["phone_number"] == "+233244124567"
    assert len((await api.live.get(PATH)).json()["data"]) == 1


async def test_a_repeat_of_a_creation_makes_no_second_number(api: FakeApi) -> None:
    first = await post(api.live, NEW, **{"Idempotency-Key": "k1"})
    again = await post(api.live, NEW, **{"Idempotency-Key": "k1"})
    assert (first.status_code, again.content) == (201, first.content)
    assert code(await post(api.live, NEW)) == (409, "PAYMENT_METHOD_EXISTS")


# PATCH: the three meanings of `sim` -----------------------------------------------------------------------
async def patch(api: FakeApi, body: Any, method_id: str = METHOD_ID) -> httpx.Response:
    return await api.live.patch(f"{PATH}/{method_id}", json=body)


async def test_omitting_sim_leaves_it_alone(api: FakeApi) -> None:
    before = (await api.live.get(f"{PATH}/{METHOD_ID}")).json()
    answer = await patch(api, {"merchant_code": "441122"})
    assert answer.json() == {**before, "meta": {"warnings": ["Unknown field `merchant_code` was ignored."]}}


async def test_the_account_name_is_changed_and_the_sim_stays(api: FakeApi) -> None:
    before = (await api.live.get(f"{PATH}/{METHOD_ID}")).json()["data"]
    api.shop.clock.advance(60)
    changed = (await patch(api, {"account_name": " Ama Ventures "})).json()["data"]
    updated = changed["updated_at"]
    assert changed == {**before, "account_name": "Ama Ventures", "updated_at": updated}
    assert updated > before["updated_at"]
    assert (await patch(api, {"account_name": None})).json()["data"] == changed
    both = await patch(api, {"account_name": "Ama", "sim": None})
    assert (both.json()["data"]["account_name"], both.json()["data"]["sim"]) == ("Ama", None)


async def test_a_wrong_number_is_corrected_and_doubts_are_named(api: FakeApi) -> None:
    before = (await api.live.get(f"{PATH}/{METHOD_ID}")).json()["data"]
    answer = (await patch(api, {"phone_number": "020 456 7890"})).json()
    changed = answer["data"]
    assert changed == {**before, "phone_number": "+233204567890", "updated_at": changed["updated_at"]}
    assert "number range" in answer["meta"]["warnings"][0]
    for number in ("12", "+2348012345678", 7):
        assert code(await patch(api, {"phone_number": number})) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, 7])
async def test_an_account_name_that_is_none_is_refused(api: FakeApi, name: Any) -> None:
    assert code(await patch(api, {"account_name": name})) == (422, "VALIDATION_ERROR")


async def test_null_takes_the_number_off_its_sim(api: FakeApi) -> None:
    answer = await patch(api, {"sim": None})
    assert (answer.status_code, answer.json()["data"]["sim"]) == (200, None)
    assert await holders(api) == {api.shop.source.device_id: None}
    again = await patch(api, {"sim": None})
    assert again.json() == answer.json()


async def test_an_object_moves_the_number_and_clears_the_old_sim(api: FakeApi) -> None:
    old, new = api.shop.source.device_id, await second_phone(api, "620010000000055")
    assert await holders(api) == {old: METHOD_ID, new: None}
    moved = await patch(api, {"sim": {"device_id": new, "slot_index": 0}})
    assert moved.json()["data"]["sim"]["device_id"] == new
    assert await holders(api) == {old: None, new: METHOD_ID}


async def test_a_number_that_is_on_the_sim_already_stays_a_line_since_then(api: FakeApi) -> None:
    made = (await post(api.live, NEW)).json()["data"]["id"]
    first = await second_phone(api)
    moved = await patch(api, {"sim": {"device_id": first, "slot_index": 0}}, made)
    assert moved.json()["data"]["sim"]["device_id"] == first
    started = await api.shop.values("SELECT line_created_at FROM payment_methods WHERE provider = 'momo_telecel'")
    api.shop.clock.advance(60)
    same = await patch(api, {"sim": {"device_id": first, "slot_index": 0}}, made)
    assert same.json() == moved.json()
    assert started == await api.shop.values(
        "SELECT line_created_at FROM payment_methods WHERE provider = 'momo_telecel'"
    )


async def test_patch_with_the_same_slot_rebinds_to_the_sim_now_there(api: FakeApi) -> None:
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0}
    await modems.identify(
        api.shop.env,
        PhoneIdentity("/dev/ttyUSB0", "356938035643809", "8923301000000000777", "620010000000777", "huawei", "E3131"),
    )
    api.shop.clock.advance(60)
    answer = await patch(api, {"sim": sim})
    assert answer.json()["data"]["sim"]["slot_index"] == 0
    keys = await api.shop.values("SELECT s.sim_key FROM payment_methods p JOIN sims s ON s.seq = p.sim_seq")
    assert keys == ["8923301000000000777"]
    started = await api.shop.values("SELECT line_created_at FROM payment_methods")
    assert started == [api.shop.clock.now_us()]


async def test_moving_is_refused_as_creating_is(api: FakeApi) -> None:
    made = (await post(api.live, NEW)).json()["data"]["id"]
    mine = {"device_id": api.shop.source.device_id, "slot_index": 0}
    assert code(await patch(api, {"sim": mine}, made)) == (422, "NETWORK_MISMATCH")
    nowhere = {"device_id": NOBODY, "slot_index": 0}
    assert code(await patch(api, {"sim": nowhere}, made)) == (422, "SIM_NOT_FOUND")
    other = {"provider": "momo_mtn", "phone_number": "0554567890", "account_name": "Other"}
    second = (await post(api.live, other)).json()["data"]["id"]
    assert code(await patch(api, {"sim": mine}, second)) == (409, "SIM_ALREADY_ASSIGNED")
    assert code(await patch(api, {"sim": 1}, made)) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("name", ["nonsense", NOBODY])
async def test_an_unknown_number_is_404(api: FakeApi, name: str) -> None:
    for answer in (
        await api.live.get(f"{PATH}/{name}"),
        await patch(api, {"sim": None}, name),
        await patch(api, {}, name),
    ):
        assert code(answer) == (404, "PAYMENT_METHOD_NOT_FOUND")


async def test_a_test_key_neither_sees_nor_changes_a_live_number(api: FakeApi) -> None:
    path = f"{PATH}/{METHOD_ID}"
    for answer in (
        await api.test.get(path),
        await api.test.patch(path, json={"sim": None}),
        await api.test.delete(path),
    ):
        assert code(answer) == (404, "PAYMENT_METHOD_NOT_FOUND")
    assert (await api.test.get(PATH)).json()["data"] == []
    live = {"device_id": api.shop.source.device_id, "slot_index": 0}
    assert code(await post(api.test, {**NEW, "sim": live})) == (422, "SIM_NOT_FOUND")


async def test_a_number_of_the_sandbox_may_be_the_same_as_a_live_one(api: FakeApi) -> None:
    assert (await post(api.test, NEW)).status_code == 201
    assert code(await post(api.test, NEW)) == (409, "PAYMENT_METHOD_EXISTS")
    assert (await post(api.live, NEW)).status_code == 201
    assert len((await api.test.get(PATH)).json()["data"]) == 1
    assert len((await api.live.get(PATH)).json()["data"]) == 2
