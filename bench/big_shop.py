"""Status, lines, lists and a search by name: in a shop of 10,000 payments and in one of 1,000,000.

Goals: each costs at most the 0.1th power of the number of payments, and at most 20 ms in the big shop; the search for a name
that 2,500 transactions contain at most 50 ms. Processor time, so that other load on the machine changes it less. The shops are
made by SQL (`tests/fakes/big_shop.py`), the big one in some minutes and 6 GB; all reads are warm.
"""

import argparse
import math
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from _figures import Row, median, report, spread

from daemon.store.engine import Reader, Tx
from daemon.store.payments import search_index
from tests.fakes import big_shop
from tests.store.test_flat_lists import FLAT, Job, transactions

SIZES: Final = (10_000, 1_000_000)
ROUNDS: Final = 15
EXPONENT: Final = 0.1
MOST_MS: Final = 20.0
SEARCH_MS: Final = 50.0
NOISE_MS: Final = 0.1
"""A difference that is not measured."""
INDEXED_AT_ONCE: Final = 5_000


def build(path: Path, size: int) -> sqlite3.Connection:
    """Make a shop and its index of the search; return a connection with the settings of a reader."""
    base = big_shop.build(path, size)
    tx, more = Tx(base, []), True
    while more:
        base.execute("BEGIN")
        more = search_index.catch_up(tx)
        base.execute("COMMIT")
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.close()
    return sqlite3.connect(path, isolation_level=None)


def milliseconds(base: sqlite3.Connection, job: Job) -> list[float]:
    """Return the processor time of each round."""
    job(Reader(base))
    taken = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        job(Reader(base))
        taken.append((time.thread_time() - started) * 1000)
    return taken


def main() -> int:
    """Make the shops, measure, and print the results."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    search_index.BATCH = INDEXED_AT_ONCE  # type: ignore[misc]
    rows = []
    with tempfile.TemporaryDirectory(prefix="momo-big-") as folder:
        small, big = (build(Path(folder) / f"{size}.db", size) for size in SIZES)
        for name, job in FLAT.items():
            few, many = milliseconds(small, job), milliseconds(big, job)
            grown = max(median(many) - NOISE_MS, NOISE_MS) / max(median(few), NOISE_MS)
            exponent = math.log(grown, SIZES[1] / SIZES[0])
            rows.append(
                Row(
                    name,
                    f"{median(many):.2f} ms, exponent {exponent:.2f}",
                    spread(many, " ms", 2),
                    f"<= {EXPONENT}, <= {MOST_MS:.0f} ms",
                    held=exponent <= EXPONENT and median(many) <= MOST_MS,
                )
            )
        found = milliseconds(big, transactions(origin="all", search=big_shop.NAMED))
        rows.append(
            Row(
                "search for a name, 2,500 of 1,187,000",
                f"{median(found):.0f} ms",
                spread(found, " ms"),
                f"<= {SEARCH_MS:.0f} ms",
                held=median(found) <= SEARCH_MS,
            )
        )
        small.close()
        big.close()
    return report("A big shop", rows)


if __name__ == "__main__":
    sys.exit(main())
