"""Bytes of the database for each payment, and the processor time of a paid receipt.

    python bench/bytes_per_payment.py [--payments 2000]

Receipts of two parts pay waiting transactions through the intake. One endpoint gets both webhooks of each and answers 200.
Everything that this writes counts: messages and parts, payment, transaction, SMS to the payer, webhooks with attempts,
journal. The processor time is that of all threads from the read parts (`ingest`) to the commit.
"""

import argparse
import asyncio
import random
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from _figures import Row, median, report, spread

from daemon.core.webhooks.delivery import AttemptOutcome, LinkState, RetryPolicy
from tests.fakes import delivering
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import FIRST_MTN_ID, mtn
from tests.fakes.shop import FakeShop

BYTES_MAX = 6_500
BATCH = 100
ENDPOINT = "00000000-0000-4000-8000-00000000e001"
_NAMES = ("ABENA", "ADWOA", "KWABENA", "AFRIYIE", "SERWAA", "LAMPTEY", "MENSAH", "QUANSAH")
ANSWER = AttemptOutcome(status_code=200, response_body="ok", error_code=None, error_message=None, duration_us=1_000)
_SIZES = (
    "SELECT o.tbl_name, o.type, SUM(s.pgsize) FROM dbstat s "
    "JOIN sqlite_schema o ON o.name = s.name GROUP BY o.tbl_name, o.type"
)
"""Pages of each table, and of all its indexes."""


async def fill(folder: Path, payments: int) -> list[float]:
    """Make a shop with this many payments; return the median processor time of a receipt in each batch, in microseconds."""
    shop = await FakeShop.make(folder)
    await add_endpoint(shop, ENDPOINT, events='["transaction.forwarded","transaction.completed"]')
    rng = random.Random(1)  # noqa: S311 - the same shop in each run
    took: list[float] = []
    medians = []
    await shop.begin_chain()
    for number in range(payments):
        code = (await shop.request()).svc_code or ""
        shop.clock.advance(rng.randrange(20, 400))
        receipt = mtn(
            2500,
            " ".join(rng.choice(_NAMES) for _ in range(3)),
            shop.wallet(2500),
            code,
            str(FIRST_MTN_ID + 37 * number),
            sent_at=datetime.fromtimestamp(shop.clock.now_us() // 10**6, UTC),
            concatenation=number % 256,
        )
        before = time.process_time_ns()
        await shop.read(receipt)
        took.append((time.process_time_ns() - before) / 1_000)
        shop.clock.advance(1)
        for leased in (await delivering.lease(shop.env, limit=5, per_endpoint=5, running={})).leased:
            await delivering.record_outcome(
                shop.env, leased, ANSWER, link=LinkState(False, False), policy=RetryPolicy()
            )
        if len(took) == BATCH:
            medians.append(median(took))
            took = []
    (sent,) = await shop.values("SELECT COUNT(*) FROM deliveries WHERE status = 'delivered'")
    if sent != 2 * payments:
        raise RuntimeError(f"{sent} webhooks were delivered")
    shop.close()
    return medians


def sizes(path: Path) -> dict[tuple[str, str], int]:
    """Return the bytes of each table and of its indexes, by name and `table` or `index`."""
    with closing(sqlite3.connect(path)) as base:
        return {(name, kind): size for name, kind, size in base.execute(_SIZES)}


def main() -> int:
    """Measure, print the table, and return 0 if the goal was met."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--payments", type=int, default=2_000)
    payments = arguments.parse_args().payments
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "few"), Path(folder, "many")
        asyncio.run(fill(few, BATCH))
        took = asyncio.run(fill(many, payments))
        before, after = sizes(few / "momo.db"), sizes(many / "momo.db")
    more = {of: (size - before.get(of, 0)) / (payments - BATCH) for of, size in after.items()}
    total = sum(more.values())
    tables = sorted({name for name, _ in more}, key=lambda name: -_both(more, name))
    rows = [
        Row("bytes a payment", f"{total:.0f}", "", f"at most {BYTES_MAX}", total <= BYTES_MAX),
        Row("receipt, processor time", f"{median(took):.0f} us", spread(took, " us", 0)),
    ]
    rows += [
        Row(name, f"{_both(more, name):.0f}", f"{more.get((name, 'index'), 0):.0f} in indexes")
        for name in tables
        if _both(more, name) >= 1
    ]
    return report("bytes per payment", rows)


def _both(more: dict[tuple[str, str], float], name: str) -> float:
    return more.get((name, "table"), 0) + more.get((name, "index"), 0)


if __name__ == "__main__":
    raise SystemExit(main())
