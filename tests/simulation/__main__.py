"""Search for a failing seed: `python -m tests.simulation --seeds 10000`. Each failure prints the command that repeats
it.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from daemon.runtime.system import SystemClock
from tests.simulation.checks import run_day
from tests.simulation.shop import Size


def play(seed: int) -> tuple[str | None, Counter[str]]:
    """Run one seed; return the error, if any, and how often each event happened."""
    with tempfile.TemporaryDirectory(prefix="momo-sim-") as folder:
        try:
            return None, run_day(Path(folder), Size(seed)).happened
        except Exception as error:  # noqa: BLE001 -- any exception is a finding
            return f"{type(error).__name__}: {error}", Counter()


def main() -> int:
    """Run the seeds on all cores; return 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    clock, failed = SystemClock(), 0
    began = clock.monotonic()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, (problem, _) in zip(seeds, pool.map(play, seeds), strict=True):
            if problem is not None:
                failed += 1
                print(f"seed {seed} failed: {problem}\n  again: python -m tests.simulation --seeds 1 --from {seed}")
    print(f"{len(seeds)} seeds, {failed} failed, {clock.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
