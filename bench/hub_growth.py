"""A hub's store on PostgreSQL as it grows: the same work with 10,000, 100,000 and 1,000,000 payments, and its size on disk.

    python bench/hub_growth.py [--sizes 10000 100000 1000000]

The goals are for 100 million payments against one million, which do not fit here: the table gives the exponent between the
smallest and the largest size, and its consequence for another factor of 100. The shops are made by SQL
(`tests/fakes/big_shop.py`) and copied to the server; its cache is 512 MB. Wall times, because the server is another process.
"""

import argparse
import asyncio
import math
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import psycopg
from _figures import Row, median, progress, report, spread
from branches import ANY_ORDER

from daemon.store.books import day_sheet
from daemon.store.books.day_sheet import Period
from daemon.store.engine import Reader, Store
from daemon.store.open_store import new_store
from daemon.store.payments import transactions
from daemon.store.postgresql.server import copy_shop
from daemon.wire import Mode
from tests.fakes import big_shop, new_database, postgresql
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop
from tests.store.test_flat_lists import FLAT

SERVER: Final = "-c listen_addresses='' -c shared_buffers=512MB -c max_wal_size=4GB"
ROUNDS: Final = 40
DAY_US: Final = 86_400_000_000
GROWN: Final = 1.5
INGEST: Final = 0.8
GIGABYTES: Final = 150
MILLIONS: Final = 100
Work = Callable[[FakeShop, int], Awaitable[Any]]


def reading(job: Callable[[Reader], Any]) -> Work:
    """Return work that reads."""

    async def work(shop: FakeShop, _number: int) -> None:
        await shop.env.store.read(job)

    return work


async def _initialize(shop: FakeShop, _number: int) -> None:
    await shop.request(2_500)


async def _ingest(shop: FakeShop, number: int) -> None:
    telco_id = str(11_000_000_000 + number)
    await shop.read(mtn(2_500, "KOFI ANTWI BADU", 100_000, "food", telco_id, concatenation=number, width=16))


def _one(size: int) -> Callable[[Reader], Any]:
    wanted = f"{size // 2 + 2:08x}-0000-7000-8000-0003{size // 2 + 2:08x}"
    return lambda reader: transactions.get(reader, wanted, Mode.LIVE)


def _day(reader: Reader) -> Any:
    return day_sheet.sums(reader, Period(big_shop.NOW - DAY_US, big_shop.NOW, Mode.LIVE))


async def measured(store: Store, folder: Path, size: int) -> dict[str, list[float]]:
    """Return the milliseconds of each work."""
    new_database.open_store = lambda _path, now_us: (store.connect(now_us), store)[1]
    shop = await FakeShop.make(folder, ANY_ORDER, line=False)
    works: dict[str, Work] = {
        "initialize": _initialize,
        "a receipt of two parts": _ingest,
        "the newest page of transactions": reading(FLAT["transactions"]),
        "one transaction by its ID": reading(_one(size)),
        "the sheet of a day of 4,320 payments": reading(_day),
    }
    found: dict[str, list[float]] = {}
    for what, work in works.items():
        for number in range(ROUNDS + 10):
            began = time.perf_counter()
            await work(shop, number)
            if number >= 10:
                found.setdefault(what, []).append((time.perf_counter() - began) * 1e3)
    shop.close()
    return found


def main() -> int:
    """Measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    sizes = parser.parse_args().sizes
    postgresql.SETTINGS[:] = [SERVER]
    found, octets = [], []
    with tempfile.TemporaryDirectory(prefix="momo-") as name:
        for size in sizes:
            progress(f"{size:,} payments")
            file = Path(name) / f"{size}.db"
            big_shop.build(file, size).close()
            url = postgresql.cluster().new_database()
            copy_shop(str(file), url, big_shop.NOW)
            file.unlink()
            with psycopg.connect(url, autocommit=True) as base:
                base.execute("VACUUM ANALYZE")
                row = base.execute("SELECT pg_database_size(current_database())").fetchone()
                assert row is not None
                octets.append(int(row[0]) / size)
            store = new_store(str(file), url)
            found.append(asyncio.run(measured(store, Path(name) / str(size), size)))
    return report("A hub's store as it grows", rows_of(sizes, found, octets))


def rows_of(sizes: list[int], found: list[dict[str, list[float]]], octets: list[float]) -> list[Row]:
    """Compare with the goals, extrapolated."""
    rows = []
    for what in found[0]:
        middle = [median(one[what]) for one in found]
        exponent = math.log(middle[-1] / middle[0], sizes[-1] / sizes[0])
        grown = max(1.0, (MILLIONS * 1_000_000 / sizes[-1]) ** exponent)
        most = 1 / INGEST if what.startswith("a receipt") else GROWN
        rows.append(
            Row(what, " / ".join(f"{one:.1f}" for one in middle) + " ms", spread(found[-1][what], " ms"),
                f"at {MILLIONS} million at most {most:.2f} times; exponent {exponent:.2f}: {grown:.2f}",
                grown <= most)
        )  # fmt: skip
    size = octets[-1] * MILLIONS * 1e6 / 1e9
    rows.append(
        Row("bytes of the database for each payment", " / ".join(f"{one:,.0f}" for one in octets), "",
            f"at {MILLIONS} million at most {GIGABYTES} GB; so {size:,.0f}", size <= GIGABYTES)
    )  # fmt: skip
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
