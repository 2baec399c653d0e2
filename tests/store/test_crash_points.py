"""A power cut at any byte of the write-ahead log: acknowledged writes survive whole, and no repair is needed."""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon.store.upkeep import ledger_check
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop
from tests.fakes.tiers import LONG, share

pytestmark = pytest.mark.file
HEADER_BYTES = 32
FRAME_BYTES = 24 + 4096
"""sqlite.org/fileformat2.html, section 4."""
COUNTS = "SELECT (SELECT COUNT(*) FROM transactions), (SELECT COUNT(*) FROM payments), (SELECT COUNT(*) FROM events)"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The acknowledged writes at a length of the log."""

    wal_bytes: int
    counts: tuple[int, ...]


async def sell(shop: FakeShop, sales: int) -> list[Acknowledged]:
    """Sell, and note the acknowledged writes after each step."""
    path = Path(shop.env.store.path)
    promised = []
    for number in range(sales):
        order = await shop.request()
        for paid in (False, True):
            if paid:
                code, telco_id = str(order.svc_code), f"9321450{number:04d}"
                await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), code, telco_id))
            counts = await shop.env.store.read(lambda reader: tuple(reader.all(COUNTS)[0]))
            promised.append(Acknowledged(Path(f"{path}-wal").stat().st_size, counts))
    return promised


def cuts(size: int, dice: random.Random) -> Iterator[int]:
    """Yield the ends of frames (all in the long tier), and bytes anywhere."""
    yield from range(HEADER_BYTES, size + 1, FRAME_BYTES if LONG else 5 * FRAME_BYTES)
    yield from (dice.randrange(size) for _ in range(share(200)))


@pytest.mark.slow
@pytest.mark.parametrize("torn", [False, True])
async def test_every_cut_of_the_log_keeps_what_was_acknowledged_and_nothing_half(torn: bool, tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path / "shop")
    await shop.env.store.write(lambda tx: tx.run("PRAGMA wal_autocheckpoint = 0"))
    with sqlite3.connect(shop.env.store.path) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    other.close()
    start = await shop.env.store.read(lambda reader: tuple(reader.all(COUNTS)[0]))
    promised = await sell(shop, 6)
    path, dice = Path(shop.env.store.path), random.Random(7)
    base, wal = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    shop.close()
    assert promised[-1].wal_bytes == len(wal)
    seen = 0
    for at in cuts(len(wal), dice):
        # A cut drops the rest of the log; a torn one has a sector of garbage in its place.
        left = wal[:at] + (dice.randbytes(512) if torn else b"")
        cut = tmp_path / "cut"
        shutil.rmtree(cut, ignore_errors=True)
        cut.mkdir()
        (cut / "momo.db").write_bytes(base)
        (cut / "momo.db-wal").write_bytes(left)
        opened = sqlite3.connect(cut / "momo.db")
        counts = opened.execute(COUNTS).fetchone()
        acknowledged = [one.counts for one in promised if one.wal_bytes <= at]
        assert counts >= (acknowledged[-1] if acknowledged else start), at
        assert ledger_check.violations(opened) == [], at
        assert opened.execute("PRAGMA quick_check").fetchall() == [("ok",)], at
        opened.close()
        seen += 1
    assert seen > share(200)
