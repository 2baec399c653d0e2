"""The idempotency key is on the disk before the call, so that an interrupted call can be repeated."""

import json
import os
from pathlib import Path
from typing import Any

from daemon import wire
from momo_cli.commands.payments.transactions import FILE, KEPT
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import Asked, FakeApi, Says

INIT = ("init", "12.50", "--phone", "0244124567")
MADE = Says({"success": True, "data": samples.CREATED, "meta": {}}, 201)


def kept(shop: Shop) -> list[Any]:
    path = shop.home / "state" / FILE
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_key_is_kept_before_the_call_is_made(api: FakeApi, shop: Shop, momo: Momo) -> None:
    seen: list[Any] = []

    def answer(asked: Asked) -> Says:
        seen.append((kept(shop)[-1], asked.headers["idempotency-key"]))
        return MADE

    api.on("POST", wire.Path.INITIALIZE, answer)
    assert momo(*INIT).code == 0
    row, sent = seen[0]
    assert row == {"at": "2026-11-20T09:18:00Z", "command": "init", "key": sent}
    assert (shop.home / "state" / FILE).stat().st_mode & 0o777 == 0o600


def test_a_key_that_was_given_is_the_callers_to_keep(api: FakeApi, shop: Shop, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, MADE)
    assert momo(*INIT, "--idempotency-key", "mine").code == 0
    assert not (shop.home / "state" / FILE).exists()


def test_only_the_last_keys_are_kept(api: FakeApi, shop: Shop, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, MADE)
    (shop.home / "state").mkdir()
    old = "".join(f'{{"key": "{i}"}}\n' for i in range(2 * KEPT - 1))
    (shop.home / "state" / FILE).write_text(old)
    assert momo(*INIT).code == 0
    rows = kept(shop)
    assert len(rows) == KEPT
    assert rows[0] == {"key": str(KEPT)}
    assert rows[-1]["command"] == "init"


def test_a_place_that_cannot_be_written_stops_no_payment(api: FakeApi, shop: Shop, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, MADE)
    (shop.home / "state").write_text("")
    ran = momo(*INIT, "-o", "id")
    assert (ran.code, ran.out) == (0, f"{samples.REF}\n")
    assert ran.err.startswith("! The key of this call could not be kept: ")


def test_a_link_in_place_of_the_file_of_keys_is_not_followed(api: FakeApi, shop: Shop, momo: Momo) -> None:
    precious, file = shop.home / "precious", shop.home / "state" / FILE
    precious.write_text("precious")
    file.parent.mkdir(exist_ok=True)
    file.symlink_to(precious)
    api.on("POST", wire.Path.INITIALIZE, MADE)
    ran = momo(*INIT)
    assert (ran.code, precious.read_text()) == (0, "precious")
    assert "could not be kept: it is a symbolic link" in ran.err


def test_a_lock_of_a_bulk_command_that_is_a_link_is_refused(shop: Shop, momo: Momo) -> None:
    precious, folder = shop.home / "precious", shop.home / "state" / "lock"
    precious.write_text("precious")
    folder.mkdir(parents=True)
    (folder / "backup-create").symlink_to(precious)
    ran = momo("backup", "create")
    assert (ran.code, precious.read_text()) == (4, "precious")
    assert "it is a symbolic link" in ran.err


def test_a_call_before_the_setup_leaves_a_folder_that_only_its_owner_may_open(tmp_path: Path, momo: Momo) -> None:
    home = tmp_path / "new" / "shop"
    mask = os.umask(0o022)
    try:
        ran = momo(*INIT, MOMO_HOME=str(home))
    finally:
        os.umask(mask)
    assert ran.code == 11
    modes = [path.stat().st_mode & 0o777 for path in (home.parent, home, home / "state")]
    assert modes == [0o700, 0o700, 0o700]
