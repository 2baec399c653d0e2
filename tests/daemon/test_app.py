"""Flags of `daemon run` and their effect on the settings."""

import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon import wire
from daemon.api.http.listeners import Listeners
from daemon.app import Daemon, RunOptions
from daemon.core.branches.place import ALONE
from daemon.core.errors import Unavailable
from daemon.runtime.config import Config, Http
from daemon.runtime.log import Log
from daemon.store.engine import Store
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


async def test_pages_of_a_shop_without_http_bear_the_address_that_it_would_have(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(http=Http(bind="off")), line=False)
    env = replace(shop.env, http_address="")
    assert env.public_base_url == "http://127.0.0.1:8420"
    shop.env.store.close()


async def test_no_call_is_answered_before_the_daemon_knows_what_the_shop_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that has just opened its database must not give out a code of a branch."""
    shop = await FakeShop.make(tmp_path, line=False)
    now = shop.clock.now_us()
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO shop (id, name, timezone, account_key, role, created_at) "
            "VALUES (1, 'Head office', 'Africa/Accra', 'ab', 'hub', :now)",
            {"now": now},
        )
    )
    shop.env.store.close()
    store = Store(shop.env.store.path)
    env = replace(shop.env, store=store, account_key=b"", place=ALONE)
    places = wire.places({"MOMO_HOME": str(tmp_path)}, 0, "/tmp")
    listeners = Listeners(socket_path=places.socket, http=None)
    daemon = Daemon(env, RunOptions(), places, listeners, Log(io.StringIO()))
    known = []

    async def first_call(_job: object) -> None:
        known.append((env.place.role, env.account_key))
        raise Unavailable("that is all")

    monkeypatch.setattr(store, "read", first_call)
    with pytest.raises(Unavailable, match="that is all"):
        await daemon._prepare()
    assert known == [(wire.ShopRole.HUB, b"\xab")]
    store.close()
