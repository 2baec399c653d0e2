"""The password of a HiLink stick's page, over the Unix socket."""

from daemon.flows.lines.sources import source_password
from daemon.runtime.config_file import parse_config
from tests.fakes.api import FakeApi

PATH = "/local/v1/source-password"
STICK = '[[sources]]\nname = "stick"\nkind = "hilink"\n'


async def test_password_of_a_stick_is_kept_sealed_and_forgotten(api: FakeApi) -> None:
    api.shop.env.config = parse_config(STICK)
    done = await api.local.post(PATH, json={"name": "stick", "password": "battery staple"})
    assert done.json()["data"] == {"name": "stick", "set": True}
    assert await source_password(api.shop.env, "stick") == "battery staple"
    (sealed,) = await api.shop.values("SELECT sealed FROM sealed_secrets")
    assert "battery" not in sealed
    done = await api.local.post(PATH, json={"name": "stick", "password": None})
    assert done.json()["data"] == {"name": "stick", "set": False}
    assert await source_password(api.shop.env, "stick") is None


async def test_only_a_configured_stick_has_a_password(api: FakeApi) -> None:
    wrong: object
    for wrong in (
        {"name": "stick", "password": "x"},
        {"name": 7, "password": "x"},
        {"name": "modem"},
    ):
        assert (await api.local.post(PATH, json=wrong)).status_code == 422
