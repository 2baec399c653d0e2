"""Search for a failing game: `python -m tests.simulation.trust --level 3 --seeds 50`. Each failure prints the command that
repeats it exactly.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from daemon.runtime.system import SystemClock
from tests.simulation.trust.demands import held_too_often, problems
from tests.simulation.trust.game import Result, Setting, play
from tests.simulation.trust.player import LEVELS
from tests.simulation.trust.traffic import CENTRES, Size
from tests.simulation.trust.wallet import money


def run(setting: Setting) -> Result:
    """Play one game in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="momo-trust-") as folder:
        return play(Path(folder), setting)


def run_all(settings: Iterable[Setting]) -> Iterator[Result]:
    """Play games on all cores; yield the results in order."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run, settings)


def main() -> int:
    """Play the games; return 1 if any violated a demand."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.trust")
    parser.add_argument("--level", type=int, choices=LEVELS, help="of the adversary; none without")
    parser.add_argument("--seeds", type=int, default=4, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them")
    parser.add_argument("--days", type=int, default=26)
    parser.add_argument("--per-month", type=int, default=1_000, help="receipts in 26 days")
    parser.add_argument("--limit", default="auto", help="[trust] unconfirmed_limit")
    parser.add_argument("--centres", choices=list(CENTRES), default=next(iter(CENTRES)))
    parser.add_argument("--owner", choices=("asked", "daily", "weekly", "never", "errs"), default="asked")
    parser.add_argument("--phone", action="store_true", help="a source without service centres")
    parser.add_argument("--closed", default="-", help="weekdays on which the shop is closed, such as 5,6")
    parser.add_argument("--outages", type=int, default=0)
    parser.add_argument("--swept", type=float, default=0, help="share of evenings on which the wallet is emptied")
    asked = parser.parse_args()
    size = Size(
        days=asked.days,
        per_month=asked.per_month,
        centres=asked.centres,
        closed=tuple(int(one) for one in asked.closed.split(",") if one.isdigit()),
        outages=asked.outages,
        swept=asked.swept,
    )
    limit = asked.limit if asked.limit == "auto" else int(asked.limit)
    seeds = range(asked.first, asked.first + asked.seeds)
    clock, failed, results = SystemClock(), 0, list[Result]()
    began = clock.monotonic()
    for result in run_all(
        Setting(seed, asked.level, size, limit, owner=asked.owner, phone=asked.phone) for seed in seeds
    ):
        results.append(result)
        print(
            f"seed {result.setting.seed}: {result.genuine} genuine, {result.count('at once')} at once, "
            f"{result.count('later')} later, {result.count('person')} by a person, {result.count('never')} never, "
            f"{result.decisions} decisions; {result.sent} sent, {len(result.forged)} forged paid "
            f"(GHS {money(sum(one.amount for one in result.forged))})"
        )
        if found := problems(result):
            failed += 1
            print(f"  failed: {found[0]}\n  and {len(found) - 1} more\n  again: {result.setting.again()}")
    print(f"{len(seeds)} games, {failed} failed, {clock.monotonic() - began:.0f} s")
    if too_often := held_too_often(results):
        print(too_often)
    return 1 if failed or too_often else 0


if __name__ == "__main__":
    sys.exit(main())
