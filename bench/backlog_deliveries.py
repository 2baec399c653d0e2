"""The cost of a dead endpoint with 100,000 pending deliveries: processor time, and the speed of other deliveries.

    python bench/backlog_deliveries.py [--backlog 100000] [--payments 1000] [--rounds 3] [--seconds 30]

A shop with an endpoint at a closed port, and a receiver that answers. Without the backlog and then with it, the idle
daemon's processor time is measured, and payments are replayed to one new endpoint after the other. The backlog is
written into the stopped shop's database, so creating it is not part of the measurement. The dead endpoint is failing
and retried, as in its first minutes, not paused.
"""

import argparse
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from _delivery_shop import TIMEOUT_S, Shop
from _figures import Row, median, progress, report, spread, until
from idle import idle

from daemon import wire

GOAL_CPU = 1.0
GOAL_SLOWER = 0.9
DEAD_URL = "https://localhost:9/hook"


def owe(database: str, endpoint_id: str, count: int) -> None:
    """Copy one delivery `count` times, as pending first attempts of a failing endpoint."""
    now = time.time_ns() // 1_000
    with sqlite3.connect(database) as base:
        names = [row[1] for row in base.execute("PRAGMA table_info(deliveries)") if row[1] != "seq"]
        changed = {
            "id": "d.id || '-' || n.number",
            "webhook_id": "d.webhook_id || n.number",
            "endpoint_seq": "(SELECT seq FROM endpoints WHERE id = :endpoint)",
            "subject": "d.subject + 1000000 * n.number",
            "status": "'pending'",
            "attempt_count": "0",
            "next_attempt_at": ":now",
            "delivered_at": "NULL",
            "bulk": "0",
        }
        columns = ", ".join(changed.get(name, f"d.{name}") for name in names)
        # Constant names, those of the table.
        copy = " ".join(
            (
                "WITH RECURSIVE n (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < :count)",
                f"INSERT INTO deliveries ({', '.join(names)})",
                f"SELECT {columns} FROM n,",  # noqa: S608 - see above
                "(SELECT * FROM deliveries WHERE status = 'delivered' LIMIT 1) d",
            )
        )
        base.execute(copy, {"count": count, "endpoint": endpoint_id, "now": now})
        base.execute(
            "INSERT INTO delivery_bodies SELECT d.seq, b.deflated FROM deliveries d, "
            "(SELECT * FROM delivery_bodies LIMIT 1) b "
            "WHERE d.seq NOT IN (SELECT delivery_seq FROM delivery_bodies)"
        )
        base.execute(
            "UPDATE endpoints SET consecutive_failures = 3, last_failure_at = :now WHERE id = :endpoint",
            {"endpoint": endpoint_id, "now": now},
        )
    base.close()


def measure(shop: Shop, fresh: list[str], seconds: float) -> tuple[float, list[float]]:
    """Return the idle processor time in percent, and the speed of replays to fresh endpoints.

    The speed is relative to a bare loop run beside each, so that other load on the machine affects both.
    """
    cost = idle(shop.shop.pid, seconds)
    ratios = []
    for endpoint in fresh:
        mine = shop.replay([endpoint])
        ratios.append(mine.rate / shop.bare(shop.payments, mine.connections).rate)
    return cost.cpu_percent, ratios


def main() -> int:
    """Measure without the backlog, then with it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backlog", type=int, default=100_000)
    parser.add_argument("--payments", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        shop = Shop(Path(name), options.payments)
        try:
            status, dead = shop.shop.api("POST", wire.Path.ENDPOINTS, {"url": DEAD_URL})
            assert status == 201, dead
            shop.add_endpoints(2 * options.rounds + 1)
            shop.replay(shop.endpoints[:1])  # the first one loads the sender's modules
            half = options.rounds + 1
            before = measure(shop, shop.endpoints[1:half], options.seconds)
            progress("without the backlog: done")
            shop.shop.stop()
            owe(shop.shop.places.database, dead["data"]["id"], options.backlog)
            shop.shop.restart()
            tried = "attempts WHERE status_code IS NULL AND finished_at IS NOT NULL"
            until(lambda: shop.count(tried) > 0, TIMEOUT_S, "a probe", 0.25)
            after = measure(shop, shop.endpoints[half:], options.seconds)
            left = shop.count("deliveries WHERE next_attempt_at IS NOT NULL")
        finally:
            shop.close()
    if left < options.backlog - 10:
        raise RuntimeError(f"only {left} of the backlog are left")
    cpu, ratio = after[0] - before[0], median(after[1]) / median(before[1])
    rows = [
        Row("idle without it, processor", f"{before[0]:.2f} %"),
        Row("idle with it, processor", f"{after[0]:.2f} %"),
        Row("  what it costs", f"{cpu:.2f} %", "", f"<= {GOAL_CPU:g} %", cpu <= GOAL_CPU),
        Row("replay / bare loop without it", f"{median(before[1]):.2f}", spread(before[1], "", 2)),
        Row("replay / bare loop with it", f"{median(after[1]):.2f}", spread(after[1], "", 2)),
        Row("  with / without", f"{ratio:.2f}", "", f">= {GOAL_SLOWER:g}", ratio >= GOAL_SLOWER),
    ]
    return report(f"{options.backlog:,} pending deliveries to a dead endpoint", rows)


if __name__ == "__main__":
    sys.exit(main())
