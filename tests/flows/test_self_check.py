"""A shop that runs for months is looked through once a day, and its owner hears of what was found, and of its end."""

import sqlite3
from pathlib import Path

from daemon.api import local_status
from daemon.core.self_check import EVERY_S, Soundness
from daemon.flows import notices, self_check
from daemon.store import backup, notice_outbox
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop


async def told(shop: FakeShop) -> list[str]:
    after = await shop.env.store.read(notice_outbox.cursor)
    await notices.gather(shop.env, after, ["email"])
    sends = await notices.due(shop.env)
    for send in sends:
        await notices.tried(shop.env, send, None)
    return [send.body for send in sends]


async def look_tomorrow(shop: FakeShop) -> Soundness | None:
    shop.clock.advance(EVERY_S)
    return await self_check.watch(shop.env)


def count_wrong(shop: FakeShop, by: int) -> None:
    base = sqlite3.connect(shop.env.store.path)
    with base:
        base.execute("UPDATE transaction_counts SET count = count + ?", (by,))
    base.close()


async def test_a_finding_is_told_once_and_so_is_its_end(shop: FakeShop) -> None:
    await shop.request()
    assert await self_check.watch(shop.env) is None  # the start has looked already
    assert await look_tomorrow(shop) is None
    count_wrong(shop, 1)
    shop.clock.advance(EVERY_S - 1)
    assert await self_check.watch(shop.env) is None
    shop.clock.advance(1)
    assert await self_check.watch(shop.env) is Soundness.FINDINGS
    assert shop.env.self_check.found is Soundness.FINDINGS
    (first,) = await told(shop)
    assert "does not hold that always should: counts.kept." in first
    assert "momo doctor ledger" in first
    assert await look_tomorrow(shop) is None
    count_wrong(shop, -1)
    assert await look_tomorrow(shop) is Soundness.OK
    (last,) = await told(shop)
    assert last.startswith("The database of the shop is in order again.")


def tear(path: Path) -> None:
    """Overwrite two pages in the middle of the file, as a failing disk would."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 8192)


async def test_what_was_found_stands_in_the_status_and_so_does_the_newest_backup(
    tmp_path: Path,
) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.request()
    count_wrong(shop, 1)
    await self_check.watch(shop.env)
    await look_tomorrow(shop)
    folder = Path(shop.env.home) / backup.FOLDER
    folder.mkdir(exist_ok=True)
    (folder / "momo-20261121T020000Z.db").touch()
    told = local_status._on_disk(shop.env, 21)
    assert (told["last_check"], told["backed_up_at"]) == ("findings", "2026-11-21T02:00:00.000Z")
    shop.close()


async def test_damage_on_the_disk_is_found_though_the_shop_still_runs(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    for number in range(40):
        text = f"9321450{number:04d}"
        await shop.read(mtn(100, "KOFI ANTWI BADU", shop.wallet(100), "food", text))
    assert await self_check.watch(shop.env) is None
    tear(Path(shop.env.store.path))
    assert await look_tomorrow(shop) is Soundness.DAMAGED
    (text,) = await told(shop)
    assert "momo restore" in text
    shop.close()
