"""POST /local/v1/sims/pin, and phones that show no message in the line status."""

from typing import Any

from msgspec.structs import replace

from daemon.core.lines.modem_health import ModemHealth
from daemon.flows.lines.sources import source_password
from daemon.runtime.config_file import parse_config
from tests.fakes.api import FakeApi
from tests.fakes.each import each

PATH = "/local/v1/sims/pin"


async def test_a_pin_is_kept_sealed_for_the_sim_in_a_slot(api: FakeApi) -> None:
    device = api.shop.source.device_id
    answer = await api.local.post(PATH, json={"device": device, "slot_index": 0, "pin": "4321"})
    assert answer.status_code == 200
    assert answer.json()["data"]["wants"] is None
    assert "4321" not in answer.text
    assert await api.shop.values("SELECT COUNT(*) FROM sim_pins") == [1]


@each(
    "body",
    [
        {"device": "x", "pin": "123"},
        {"device": "x", "pin": 4321},
        {"device": "x", "pin": "\uff14\uff13\uff12\uff11"},
        {"device": "x", "pin": "4321", "slot_index": -1},
        {"device": "x", "pin": "4321", "slot_index": True},
        {"device": "x", "pin": "4321", "force": True},
        {"pin": "4321"},
    ],
)
async def test_what_is_no_pin_is_refused(api: FakeApi, body: dict[str, Any]) -> None:
    answer = await api.local.post(PATH, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")


async def test_a_stick_that_keeps_its_messages_makes_the_lines_not_ready(api: FakeApi) -> None:
    well = ModemHealth("/dev/ttyUSB0", "ready", device_id=api.shop.source.device_id)
    api.phones = [well]
    path = "/v1/open-collections/lines"
    data = (await api.local.get(path)).json()["data"]
    assert data["ready"] is True
    assert "trouble" not in data["phones"][0]
    api.phones = [replace(well, state="hilink", detail="it keeps them", next_step="use another")]
    data = (await api.local.get(path)).json()["data"]
    assert data["ready"] is False
    assert data["phones"][0]["trouble"] == {"state": "hilink", "text": "it keeps them", "next": "use another"}


PATH_password = "/local/v1/source-password"
STICK = '[[sources]]\nname = "stick"\nkind = "hilink"\n'


async def test_password_of_a_stick_is_kept_sealed_and_forgotten(api: FakeApi) -> None:
    api.shop.env.config = parse_config(STICK)
    done = await api.local.post(PATH_password, json={"name": "stick", "password": "battery staple"})
    assert done.json()["data"] == {"name": "stick", "set": True}
    assert await source_password(api.shop.env, "stick") == "battery staple"
    (sealed,) = await api.shop.values("SELECT sealed FROM sealed_secrets")
    assert "battery" not in sealed
    done = await api.local.post(PATH_password, json={"name": "stick", "password": None})
    assert done.json()["data"] == {"name": "stick", "set": False}
    assert await source_password(api.shop.env, "stick") is None


async def test_only_a_configured_stick_has_a_password(api: FakeApi) -> None:
    wrong: object
    for wrong in ({"name": "stick", "password": "x"}, {"name": 7, "password": "x"}, {"name": "modem"}):
        assert (await api.local.post(PATH_password, json=wrong)).status_code == 422
