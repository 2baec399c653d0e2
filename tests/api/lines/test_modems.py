"""Modems on the Unix socket: their health, their names, and a test on request."""

from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.lines.modem_health import ModemHealth
from daemon.flows.payments import texts
from daemon.modem.session.send import SmsEnded, SmsResult
from daemon.store.lines import devices, sms_rhythms
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.shop import IMEI

NOBODY = "0f3c0000-0000-4000-8000-000000000009"


def ready(api: FakeApi, **changes: Any) -> ModemHealth:
    condition = ModemHealth(
        "/dev/ttyUSB0", "ready", device_id=api.shop.source.device_id,
        health_at=api.shop.clock.now_us(), signal=17, registration="home", receives=True,
        network="MTN GH", used=2, total=30,
    )  # fmt: skip
    return replace(condition, **changes)


async def listed(api: FakeApi) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.local.get("/local/v1/modems")).json()["data"]
    return found


async def test_a_phone_is_shown_with_its_sim_and_its_health(api: FakeApi) -> None:
    api.phones = [ready(api)]
    (phone,) = await listed(api)
    name = phone["name"]
    assert phone == {
        "port": "/dev/ttyUSB0",
        "source": {"name": "modem", "kind": "modem", "trust_level": "full"},
        "state": "ready",
        "detail": "",
        "next": "",
        "device_id": api.shop.source.device_id,
        "last_sms_at": None,
        "signal": {"csq": 17, "dbm": -79, "bars": 3},
        "registration": "home",
        "network_name": "MTN GH",
        "storage": {"used": 2, "total": 30},
        "storages": [],
        "heard_at": "2026-11-21T08:00:30.000Z",
        "troubles": [],
        "name": name,
        "manufacturer": "huawei",
        "model": "E3131",
        "imei": IMEI,
        "last_seen_at": "2026-11-21T08:00:30.000Z",
        "sims": [
            {
                "slot_index": 0,
                "network": "MTN",
                "iccid_last4": "0012",
                "phone_number": "+233244124567",
                "last_sms_at": None,
                "ignored": False,
                "silent_since": None,
            }
        ],
    }
    one = await api.local.get(f"/local/v1/modems/{phone['device_id']}")
    assert one.json() == {"success": True, "data": {**phone, "signal_hours": []}}


async def test_the_status_says_the_same_of_each_port(api: FakeApi) -> None:
    api.phones = [ready(api, used=30)]
    (phone,) = await listed(api)
    (port,) = (await api.local.get("/local/v1/status")).json()["data"]["phones"]
    assert port == {name: phone[name] for name in port}
    assert [trouble["id"] for trouble in port["troubles"]] == ["modem.full"]


async def test_a_phone_that_is_not_plugged_in_is_away(api: FakeApi) -> None:
    (phone,) = await listed(api)
    assert (phone["state"], phone["signal"], phone["troubles"]) == ("away", None, [])


async def test_a_port_on_which_nobody_answers_is_listed_too(api: FakeApi) -> None:
    api.phones = [ModemHealth("/dev/ttyUSB7", "unreachable", "in use", "stop it")]
    _, port = await listed(api)
    assert (port["device_id"], port["name"], port["sims"]) == (None, None, [])
    assert port["troubles"] == [{"id": "modem.port", "level": "fail", "text": "in use", "fix": "stop it"}]


async def test_a_phone_whose_sim_is_locked_is_one_phone_and_not_two(api: FakeApi) -> None:
    """The modem's IMEI is known and its SIM is not, so the loop of its port does not name the modem yet."""
    api.phones = [ModemHealth("/dev/ttyUSB0", "pin_needed", "the SIM asks for its PIN", "momo lines pin")]
    (phone,) = await listed(api)
    assert (phone["device_id"], phone["state"]) == (api.shop.source.device_id, "pin_needed")
    assert [trouble["id"] for trouble in phone["troubles"]] == ["modem.pin"]


async def test_a_silent_sim_is_a_trouble_of_its_phone(api: FakeApi) -> None:
    from daemon.flows.lines.receiving import watch_silence as watch

    api.phones = [ready(api)]
    await watch(api.shop.env)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    await watch(api.shop.env)
    known = (await api.shop.env.store.read(sms_rhythms.all_rhythms))[api.shop.source.sim_key]
    silent = replace(known, silent_since=api.shop.clock.now_us())
    await api.shop.env.store.write(lambda tx: sms_rhythms.put(tx, silent))
    api.shop.clock.advance(42 * 60)
    api.phones = [ready(api)]
    (phone,) = await listed(api)
    assert phone["last_sms_at"] == "2026-11-21T08:00:30.000Z"
    assert phone["sims"][0]["silent_since"] == "2026-11-21T08:00:30.000Z"
    assert [trouble["id"] for trouble in phone["troubles"]] == ["modem.silent"]
    assert "MTN SIM for 42 min" in phone["troubles"][0]["text"]


async def test_a_name_is_kept_and_told(api: FakeApi) -> None:
    path = f"/local/v1/modems/{api.shop.source.device_id}"
    answer = await api.local.patch(path, json={"name": " front desk "})
    assert (answer.status_code, answer.json()["data"]["name"]) == (200, "front desk")
    again = await api.local.patch(path, json={"name": "front desk"})
    assert again.status_code == 200
    told = await api.shop.values("SELECT actor FROM events WHERE type = 'modem.named'")
    assert len(told) == 1
    assert told[0].startswith("socket:")
    sims = (await api.local.get("/v1/payment-methods/sims")).json()["data"]
    assert sims[0]["name"] == "front desk"


@each("name", ["", " ", "front:0", "/dev/ttyUSB0", NOBODY, "x" * 41, 7, None, "a\nb"])
async def test_a_name_that_would_confuse_is_refused(api: FakeApi, name: object) -> None:
    path = f"/local/v1/modems/{api.shop.source.device_id}"
    answer = await api.local.patch(path, json={"name": name})
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (422, "name")


async def test_two_phones_have_two_names(api: FakeApi) -> None:
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO devices (device_id, name, present, first_seen_at, last_seen_at) "
            "VALUES (:id, 'front', 0, 1, 1)",
            {"id": NOBODY},
        )
    )
    path = f"/local/v1/modems/{api.shop.source.device_id}"
    answer = await api.local.patch(path, json={"name": "FRONT"})
    assert (answer.status_code, answer.json()["details"][0]["code"]) == (422, "taken")
    device = await api.shop.env.store.read(lambda r: devices.get(r, api.shop.source.device_id))
    assert device is not None
    assert device.name != "FRONT"


@each("method", ["GET", "PATCH", "POST"])
@each("name", [NOBODY, "front"])
async def test_an_unknown_phone_is_404(api: FakeApi, method: str, name: str) -> None:
    path = f"/local/v1/modems/{name}" + ("/test" if method == "POST" else "")
    answer = await api.local.request(method, path, json={"name": "x"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "DEVICE_NOT_FOUND")
    assert api.inspected == []


async def test_a_test_asks_the_phone_and_says_whether_it_answered(api: FakeApi) -> None:
    path = f"/local/v1/modems/{api.shop.source.device_id}/test"
    api.phones = [ready(api, signal=1)]
    data = (await api.local.post(path)).json()["data"]
    assert (data["answered"], data["took_ms"]) == (True, 0)
    assert [trouble["id"] for trouble in data["troubles"]] == ["modem.signal"]
    api.phones = []
    data = (await api.local.post(path)).json()["data"]
    assert (data["answered"], data["state"]) == (False, "away")
    assert api.inspected == [api.shop.source.device_id] * 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/local/v1/modems"),
        ("GET", f"/local/v1/modems/{NOBODY}"),
        ("PATCH", f"/local/v1/modems/{NOBODY}"),
        ("POST", f"/local/v1/modems/{NOBODY}/test"),
    ],
)
async def test_none_of_it_is_on_tcp(api: FakeApi, method: str, path: str) -> None:
    answer = await api.live.request(method, path, json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ROUTE_NOT_FOUND")


async def test_the_doctor_knows_what_the_phones_say(api: FakeApi) -> None:
    api.phones = [ready(api, used=30)]
    answer = await api.local.get("/local/v1/doctor", params={"area": "modem"})
    body = answer.json()
    (phone,) = await listed(api)
    full = [check for check in body["data"]["checks"] if check["id"] == "modem.full"]
    assert all(check.pop("ms") >= 0 for check in full)
    assert (answer.status_code, body["success"], body["data"]["ok"]) == (200, False, False)
    assert full == [
        {
            "id": "modem.full",
            "area": "modem",
            "status": "fail",
            "detail": f"{phone['name']}: the SIM is full (30 of 30 messages): the network holds new ones back",
            "fix": phone["troubles"][0]["fix"],
        }
    ]


async def test_the_doctor_knows_its_areas(api: FakeApi) -> None:
    answer = await api.local.get("/local/v1/doctor", params={"area": "weather"})
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (422, "area")


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
    assert after == {**made, "status": "failed", "why": "+CMS ERROR: 21", "ended_at": "2026-11-21T08:00:30.000Z"}


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


async def test_no_sms_is_sent_over_tcp(api: FakeApi) -> None:
    for method, there in (("POST", path(api)), ("GET", f"{path(api)}/{NOBODY}")):
        answer = await api.live.request(method, there, json={"number": "0244124567"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ROUTE_NOT_FOUND")
