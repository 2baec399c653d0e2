"""Speed of deliveries, compared with a bare loop of the same HTTP client.

    python bench/deliver.py [--rounds 3] [--payments 1000] [--live-only]

A shop received 1,000 payments before it had an endpoint; then they are replayed to one local HTTPS endpoint, and to ten
at once. The clock starts with the first request at the receiver and stops when the last attempt is recorded as
delivered: every attempt is durable before it is sent, and every outcome after it. The bare loop posts as many bodies of
the same size with the same headers, on as many connections as the daemon used, with the daemon's own client, and stores
nothing. Then live payments come in, alone and during a replay to ten, while it is queued and sent. The receiver is a separate program that verifies both signatures of each.
"""

import argparse
import math
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _delivery_shop import Shop
from _figures import Row, median, percentile, progress, report, spread, until

GOAL_RATIO = 0.6
GOAL_GROWTH_MS = 20.0
LIVE = 24
WARM_UP = 3
OVERTAKE_S = 15.0
"""The replay during which live payments come in must last this long."""


def replay(rounds: int, payments: int, endpoints: int) -> tuple[list[Row], float]:
    """Measure one of the replays, with a fresh shop for each round; return the rows and the median rate."""
    rates, ratios, bare_rates, connections = [], [], [], 0
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
            shop = Shop(Path(name), payments)
            try:
                shop.add_endpoints(endpoints)
                mine = shop.replay(shop.endpoints)
                bare = shop.bare(payments, mine.connections)
            finally:
                shop.close()
        progress(f"replay to {endpoints}, round {number + 1} of {rounds}: {mine} against {bare}")
        rates.append(mine.rate)
        bare_rates.append(bare.rate)
        ratios.append(mine.rate / bare.rate)
        connections = max(connections, mine.connections)
    what = f"{payments:,} payments to {endpoints}"
    rows = [
        Row(f"{what}, on record", f"{median(rates):.0f}/s", spread(rates, "/s", 0)),
        Row(f"  bare loop, {connections} connections", f"{median(bare_rates):.0f}/s",
            spread(bare_rates, "/s", 0)),
        Row("  against it", f"{median(ratios):.2f}", spread(ratios, "", 2),
            f">= {GOAL_RATIO:g}", median(ratios) >= GOAL_RATIO),
    ]  # fmt: skip
    return rows, median(rates)


def overtake(rounds: int, payments: int) -> list[Row]:
    """Measure live payments alone and during a replay to ten endpoints, all of which also get the live ones."""
    quiet: list[list[float]] = []
    during: list[list[float]] = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
            shop = Shop(Path(name), payments)
            try:
                shop.add_endpoints(10)
                shop.live(WARM_UP)
                quiet.append(shop.live(LIVE))
                # Queuing takes nearly as long as sending, and belongs to a replay.
                with ThreadPoolExecutor(1) as queuing:
                    asked = [queuing.submit(shop.ask_replay, one) for one in shop.endpoints]
                    until(shop.is_replaying, OVERTAKE_S, "the replay's first delivery", 0.1)
                    during.append(shop.live(LIVE))
                    if not shop.is_replaying():
                        raise RuntimeError("the replay was over first: take more payments")
                    for one in asked:
                        one.result()
            finally:
                shop.close()
        progress(f"live payments, round {number + 1} of {rounds}")
    grown = [percentile(busy, 95) - percentile(alone, 95) for alone, busy in zip(quiet, during, strict=True)]

    def row(what: str, rounds: list[list[float]]) -> Row:
        p95 = [percentile(one, 95) for one in rounds]
        return Row(what, f"{median(p95):.0f} ms", spread(p95, " ms", 0))

    return [
        row("live payment to its webhook, p95", quiet),
        row("  during a replay to 10", during),
        Row("  growth", f"{median(grown):.0f} ms", spread(grown, " ms", 0),
            f"<= {GOAL_GROWTH_MS:g} ms", median(grown) <= GOAL_GROWTH_MS),
    ]  # fmt: skip


def main() -> int:
    """Run the requested measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--payments", type=int, default=1_000)
    parser.add_argument("--live-only", action="store_true", help="leave the two replays out")
    options = parser.parse_args()
    if options.live_only:
        return report("Live payments during a replay", overtake(options.rounds, options.payments))
    to_one, _ = replay(options.rounds, options.payments, 1)
    to_ten, rate = replay(options.rounds, options.payments, 10)
    enough = max(options.payments, math.ceil(rate * OVERTAKE_S / 10))
    return report("Speed of deliveries", [*to_one, *to_ten, *overtake(options.rounds, enough)])


if __name__ == "__main__":
    sys.exit(main())
