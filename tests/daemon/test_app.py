"""Flags of `daemon run` and their effect on the settings."""

from dataclasses import replace
from pathlib import Path

import pytest

from daemon.app import RunOptions
from daemon.runtime.config import Config, Http
from tests.fakes.shop import FakeShop


@pytest.mark.parametrize(
    ("flag", "setting", "address"),
    [
        (None, "127.0.0.1:8420", "127.0.0.1:8420"),
        ("127.0.0.1:0", "127.0.0.1:8420", "127.0.0.1:0"),
        ("127.0.0.1:0", "off", "127.0.0.1:0"),
        ("off", "127.0.0.1:8420", ""),
        (None, "off", ""),
    ],
)
def test_flag_wins_over_the_setting_and_either_may_switch_http_off(
    flag: str | None, setting: str, address: str
) -> None:
    assert RunOptions(http=flag).listens_on(setting) == address


async def test_pages_of_a_shop_without_http_bear_the_address_that_it_would_have(
    tmp_path: Path,
) -> None:
    shop = await FakeShop.make(tmp_path, Config(http=Http(bind="off")), line=False)
    env = replace(shop.env, http_address="")
    assert env.public_base_url == "http://127.0.0.1:8420"
    shop.env.store.close()
