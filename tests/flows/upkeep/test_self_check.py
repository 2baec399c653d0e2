"""The daily check of the database: notices about findings and about their end."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.api.upkeep import status
from daemon.core.errors import Unavailable
from daemon.core.upkeep.self_check import EVERY_S, FIRST_CHECK_S, DatabaseState
from daemon.flows.payments import review
from daemon.flows.upkeep import erasure, machine
from daemon.runtime.config import StoreSettings
from daemon.store.engine import Reader
from daemon.store.upkeep import backup, inspect
from tests.fakes import new_database, postgresql
from tests.fakes.corrupt_index import corrupt
from tests.fakes.each import each
from tests.fakes.owner_notices import sent_bodies
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop


async def look_tomorrow(shop: FakeShop) -> DatabaseState | None:
    shop.clock.advance(EVERY_S)
    return await machine.watch_database(shop.env)


async def count_wrong(shop: FakeShop, by: int) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE transaction_counts SET count = count + :by", {"by": by}))


async def test_a_finding_is_told_once_and_so_is_its_end(shop: FakeShop) -> None:
    if new_database.on_postgresql():
        config = replace(shop.env.config, store=StoreSettings(postgresql.url_of(shop.env.store.path)))
        shop.env = replace(shop.env, config=config)
    await shop.request()
    await machine.begin_database(shop.env)
    assert await machine.watch_database(shop.env) is None
    assert await look_tomorrow(shop) is None
    await count_wrong(shop, 1)
    shop.clock.advance(EVERY_S - 1)
    assert await machine.watch_database(shop.env) is None
    shop.clock.advance(1)
    assert await machine.watch_database(shop.env) is DatabaseState.FINDINGS
    assert shop.env.self_check.found is DatabaseState.FINDINGS
    (first,) = await sent_bodies(shop)
    assert "found errors in the shop's data: counts.kept." in first
    assert "momo doctor ledger" in first
    assert await look_tomorrow(shop) is None
    await count_wrong(shop, -1)
    assert await look_tomorrow(shop) is DatabaseState.OK
    (last,) = await sent_bodies(shop)
    assert last.startswith("The shop's database is in order again.")


def tear(path: Path) -> None:
    """Overwrite two pages in the middle of the file, as a failing disk would."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 8192)


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_what_was_found_stands_in_the_status_and_so_does_the_newest_backup(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.request()
    await count_wrong(shop, 1)
    await machine.begin_database(shop.env)
    await look_tomorrow(shop)
    folder = Path(shop.env.home) / backup.FOLDER
    folder.mkdir(exist_ok=True)
    (folder / "momo-20261121T020000Z.db").touch()
    shown = status._database(shop.env, 21, 0)
    assert (shown["last_check"], shown["backed_up_at"]) == ("findings", "2026-11-21T02:00:00.000Z")
    shop.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_damage_on_the_disk_is_found_though_the_shop_still_runs(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    for number in range(40):
        text = f"9321450{number:04d}"
        await shop.read(mtn(100, "KOFI ANTWI BADU", shop.wallet(100), "food", text))
    await machine.begin_database(shop.env)
    tear(Path(shop.env.store.path))
    assert await look_tomorrow(shop) is DatabaseState.DAMAGED
    (text,) = await sent_bodies(shop)
    assert "momo restore" in text
    shop.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_the_first_look_and_then_one_each_week_goes_through_every_index(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.read(mtn(100, "KOFI ANTWI BADU", shop.wallet(100), "food", "93214500001"))
    looked = "SELECT COUNT(*) FROM events WHERE type = 'db.looked_through'"
    await machine.begin_database(shop.env)
    shop.clock.advance(FIRST_CHECK_S)
    assert await machine.watch_database(shop.env) is None
    assert await shop.values(looked) == [1]
    # The daily check and the check at the start do not find it: they compare no index.
    shop.close()
    change = "UPDATE payments SET stored_at = stored_at + 1"
    corrupt(tmp_path / "momo.db", "payments_by_line", change)
    again = await FakeShop.make(tmp_path, line=False)
    await machine.begin_database(again.env)
    again.clock.advance(FIRST_CHECK_S)  # the fake clock begins where the first one did
    assert await machine.watch_database(again.env) is None
    for _ in range(6):
        assert await look_tomorrow(again) is None
    assert await look_tomorrow(again) is DatabaseState.DAMAGED
    assert await again.values(looked) == [1]
    (text,) = await sent_bodies(again)
    assert "momo restore --stop" in text
    # The state stays until the whole file is sound, also after a start without findings.
    assert await look_tomorrow(again) is None
    assert again.env.self_check.found is DatabaseState.DAMAGED
    again.close()
    later = await FakeShop.make(tmp_path, line=False)
    await machine.begin_database(later.env)
    assert later.env.self_check.found is DatabaseState.DAMAGED
    later.close()
    mended = sqlite3.connect(tmp_path / "momo.db")
    mended.execute("REINDEX")
    mended.close()
    last = await FakeShop.make(tmp_path, line=False)
    await machine.begin_database(last.env)
    with pytest.raises(Unavailable):
        last.env.refuse_if_damaged()
    assert await look_tomorrow(last) is DatabaseState.OK
    last.env.refuse_if_damaged()
    last.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_damage_that_a_statement_meets_is_checked_at_once(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await machine.begin_database(shop.env)
    shop.env.store.distrust_file("database disk image is malformed")
    assert await machine.watch_database(shop.env) is None  # the check has no finding
    shop.env.refuse_if_damaged()
    shop.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_after_a_crash_every_index_is_checked_and_not_before_the_start(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.read(mtn(100, "KOFI ANTWI BADU", shop.wallet(100), "food", "93214500001"))
    await machine.begin_database(shop.env)
    await look_tomorrow(shop)
    shop.close()
    corrupt(tmp_path / "momo.db", "payments_by_line", "UPDATE payments SET stored_at = stored_at + 1")
    again = await FakeShop.make(tmp_path, line=False)
    again.env.store.was_left_open = True
    await machine.begin_database(again.env)
    assert await machine.watch_database(again.env) is None
    again.clock.advance(FIRST_CHECK_S)
    assert await machine.watch_database(again.env) is DatabaseState.DAMAGED
    again.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_a_row_that_the_schema_forbids_is_damage(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.request()
    base = sqlite3.connect(tmp_path / "momo.db")
    base.execute("PRAGMA ignore_check_constraints = ON")
    with base:
        base.execute("UPDATE transactions SET status = 'SUCCESS'")
    base.close()
    await machine.begin_database(shop.env)
    assert await look_tomorrow(shop) is DatabaseState.DAMAGED
    shop.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_a_file_that_cannot_be_opened_now_is_not_called_damaged_and_is_checked_again_soon(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    shop.env.store.was_left_open = True
    await machine.begin_database(shop.env)
    shop.clock.advance(FIRST_CHECK_S)
    # As without a free descriptor: SQLite cannot open it.
    aside = (tmp_path / "momo.db").rename(tmp_path / "aside")
    for wait in (60, 120, 240):
        with pytest.raises(Unavailable, match="unable to open database file"):
            await machine.watch_database(shop.env)
        shop.env.refuse_if_damaged()
        shop.clock.advance(wait - 1)
        assert await machine.watch_database(shop.env) is None
        shop.clock.advance(1)
    assert shop.env.self_check.found is DatabaseState.OK
    aside.rename(tmp_path / "momo.db")
    assert await machine.watch_database(shop.env) is None
    # Still the complete check, which the crash before the start asked for.
    assert await shop.values("SELECT COUNT(*) FROM events WHERE type = 'db.looked_through'") == [1]
    # The next one is tomorrow's.
    (tmp_path / "momo.db").rename(aside)
    shop.clock.advance(EVERY_S - 1)
    assert await machine.watch_database(shop.env) is None
    shop.clock.advance(1)
    with pytest.raises(Unavailable, match="unable to open database file"):
        await machine.watch_database(shop.env)
    shop.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_damage_that_a_statement_meets_stays_while_the_file_cannot_be_checked(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await machine.begin_database(shop.env)
    shop.env.store.distrust_file("database disk image is malformed")
    aside = (tmp_path / "momo.db").rename(tmp_path / "aside")
    with pytest.raises(Unavailable):
        await machine.watch_database(shop.env)
    assert await machine.watch_database(shop.env) is None  # not every five seconds
    with pytest.raises(Unavailable, match="database disk image is malformed"):
        shop.env.refuse_if_damaged()
    aside.rename(tmp_path / "momo.db")
    shop.clock.advance(60)
    await machine.watch_database(shop.env)
    shop.env.refuse_if_damaged()
    shop.close()


@pytest.mark.file  # damages the file or looks for its backups; a server checks its own pages
async def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await machine.begin_database(shop.env)
    path = tmp_path / "momo.db"
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(Unavailable):  # the notice cannot be written
        await look_tomorrow(shop)
    assert shop.env.self_check.found is DatabaseState.DAMAGED
    shop.close()


class Answers(Reader):
    """A reader of a disk that does not answer: SQLite reports it among the findings of its check."""

    def __init__(self, finding: str) -> None:
        self._finding = finding

    def all(self, sql: str, _params: object = None) -> list[tuple[Any, ...]]:
        return [(self._finding,)] if "check" in sql else []


@each(
    "finding",
    [
        "*** in database main ***\nTree 5 page 9: unable to get the page. error code=266\nRow 3 missing from index a",
        "*** in database main ***\nList of tree roots: failed to get page 9",
    ],
)
def test_a_page_that_the_disk_does_not_give_is_no_damage(finding: str) -> None:
    with pytest.raises(inspect.UnreadableShop) as raised:
        inspect.damage(Answers(finding))
    assert not raised.value.is_damage


@each("finding", ["Tree 5 page 9: unable to get the page. error code=11", "Tree 5 page 9: invalid page number 12"])
def test_a_page_that_makes_no_sense_is_damage(finding: str) -> None:
    assert inspect.damage(Answers(finding)) == finding


async def test_a_damaged_shop_takes_no_money_and_lets_nothing_go(shop: FakeShop) -> None:
    order = await shop.request()
    await shop.read(mtn(900, "KOFI ANTWI BADU", shop.wallet(900), "food", "93214500001"))
    receipt = mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), order.svc_code or "", "93214500002")
    shop.env.store.distrust_file("a bad page")
    said = review.Approval()
    for refused in (
        shop.read(receipt),
        shop.request(),
        shop.reconcile(order.reference, "93214500001"),
        review.approve(shop.env, OWNER, "rev_1", said),
        review.reject(shop.env, OWNER, "rev_1", ""),
    ):
        with pytest.raises(Unavailable, match=r"momo restore --stop.*wait on the SIM"):
            await refused
    assert len(await shop.payments()) == 1
    assert (await erasure.prune(shop.env)).doubt.startswith("the database is damaged")
    # When the file is sound again the message is still on the SIM, and pays.
    shop.env.store.trust_file()
    await shop.read(receipt)
    assert (await shop.transaction(order.reference)).status == "SUCCESS"


CHECK = """
import re, sys
from pathlib import Path
from daemon.store.upkeep import inspect, ledger_check

def kilobytes():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

before = kilobytes()
with inspect.open_readonly(sys.argv[1]) as reader:
    assert not inspect.damage(reader, whole=True, pause=lambda _seconds: None)
    assert not ledger_check.findings(reader.all)
print(kilobytes() - before)
"""


@pytest.mark.file
def test_a_check_takes_little_memory_because_the_daemon_keeps_what_it_took(tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    new_database.lay(path)
    done = subprocess.run([sys.executable, "-c", CHECK, str(path)], check=True, capture_output=True, text=True)
    # With the pages of the file and the programs of its statements it would be 2,200.
    assert int(done.stdout) < 1_400
