"""The day sheet takes as long in a big shop as in a small one."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.store.books import day_sheet
from daemon.store.books.day_sheet import Period
from daemon.store.engine import Store, Tx
from daemon.store.payments import payment_list
from daemon.store.payments.payment_list import PaymentFilter

DAY = Period(1_760_000_000_000_000, 1_760_086_400_000_000)
QUESTIONS: dict[str, Callable[[Tx], object]] = {
    "sums": lambda tx: day_sheet.sums(tx, DAY),
    "sums_by_time": lambda tx: day_sheet.sums_by_time(tx, DAY, size=3_600_000_000, offset=0),
    "wallet": lambda tx: day_sheet.wallet(tx, DAY, "sim", "momo_mtn", 0),
    "lines": lambda tx: day_sheet.lines(tx, DAY),
    "by_time": lambda tx: day_sheet.by_time(tx, DAY, size=3_600_000_000, offset=0),
    "by_payer": lambda tx: day_sheet.by_group(tx, DAY, "payer", limit=10, offset=0),
    "by_network": lambda tx: day_sheet.by_group(tx, DAY, "network", limit=10, offset=0),
    "by_maker": lambda tx: day_sheet.by_group(tx, DAY, "maker", limit=10, offset=0),
    "recent": lambda tx: payment_list.listed(tx, PaymentFilter(), limit=10),
}
BY_TIME = ("line_balances_by_time", "payments_by_telco_time")


@pytest.mark.parametrize("name", QUESTIONS)
async def test_what_is_looked_at_is_found_by_its_time(name: str, tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    store = Store.open(str(path), now_us=DAY.since)
    seen: list[str] = []

    def job(tx: Tx) -> None:
        tx._connection.set_trace_callback(seen.append)
        QUESTIONS[name](tx)
        tx._connection.set_trace_callback(None)

    await store.write(job)
    store.close()
    with sqlite3.connect(path) as base:
        plans = [
            row[3]
            for statement in seen
            if statement.lstrip().startswith(("SELECT", "WITH"))
            for row in base.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    base.close()
    assert plans
    # All of a table is read only of the handful of SIMs.
    scans = [line for line in plans if line.startswith("SCAN") and line.split()[1] in ("p", "b", "m", "t")]
    assert scans == []
    assert name != "recent" or not any("TEMP B-TREE" in line for line in plans), plans
    for line in plans:
        if any(index in line for index in BY_TIME):
            assert "<?" in line, line
