"""Settings of a running daemon change from outside, without a restart."""

import json
from typing import Any

from tests.fakes.real_shop import RealShop, wait_until

ENDPOINTS = "/v1/open-collections/endpoints"


def momo(shop: RealShop, *words: str) -> Any:
    done = shop.momo(*words, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["data"]


def disabled(shop: RealShop) -> bool:
    _, answer = shop.api("POST", ENDPOINTS, {})
    return bool(answer["error"]["code"] == "OPEN_COLLECTIONS_DISABLED")


def test_a_setting_acts_at_once_or_is_named_and_a_broken_file_changes_nothing(
    shop: RealShop,
) -> None:
    shop.start()
    key = "open_collections.enabled"
    assert not disabled(shop)
    assert momo(shop, "config", "set", key, "false")["restart"] is False
    wait_until(lambda: disabled(shop), 20, "the setting acts")

    assert momo(shop, "config", "set", "webhooks.workers", "3")["restart"] is True
    wait_until(
        lambda: momo(shop, "status")["settings"]["restart"] == ["webhooks.workers"],
        20,
        "it is named",
    )
    named = shop.momo("config", "show", "--changed")
    assert "webhooks.workers takes effect at the next start" in named.stdout + named.stderr
    named = shop.momo("status", "-o", "table")
    assert "webhooks.workers: takes effect at the next start" in named.stdout + named.stderr
    file = shop.home / "config.toml"
    good = file.read_text()
    file.write_text(f"{good}\n[open_collections\n")
    wait_until(lambda: momo(shop, "status")["settings"]["problem"], 20, "the problem")
    assert f"{file}, line " in momo(shop, "status")["settings"]["problem"]
    assert disabled(shop)
    file.write_text(good.replace("enabled = false", "enabled = true"))
    wait_until(lambda: not disabled(shop), 20, "the mended file acts")
    assert momo(shop, "status")["settings"]["problem"] is None
    shop.stop()
    shop.restart()
    assert momo(shop, "status")["settings"]["restart"] == []
