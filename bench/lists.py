"""A page of 100 transactions with its total: in a shop of 10,000 transactions and in one of 1,000,000.

Goals: an unfiltered page, or one by status, costs at most 1.5 times as much in the big shop; one narrowed by time or
payer at most 1.5 times the bare count and page query there. A page in the middle of the list is compared with the bare
OFFSET. Other lists and the search are in `big_shop.py`.

Both shops are made by SQL, with the sizes and statuses of a real one, on this machine's disk; all reads are warm.
"""

import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from _figures import Row, median, report, spread

from daemon.store.engine import Reader
from daemon.store.migrate import migrate
from daemon.store.payments.transaction_list import JOINED, TransactionFilter, transactions
from daemon.wire import Mode, TransactionStatus

SIZES: Final = (10_000, 1_000_000)
ROUNDS: Final = 31
NOW: Final = 1_795_248_000_000_000
APART_US: Final = 20_000_000
STATUSES: Final = ("EXPIRED",) * 17 + ("CANCELLED",) * 2 + ("MANUAL_REVIEW",)
RATIO: Final = 1.5
ASKED: Final = {
    "unfiltered": TransactionFilter(mode=Mode.LIVE),
    "both modes": TransactionFilter(),
    "status=PENDING": TransactionFilter(mode=Mode.LIVE, status=TransactionStatus.PENDING),
    "status=EXPIRED": TransactionFilter(mode=Mode.LIVE, status=TransactionStatus.EXPIRED),
    "status=MANUAL_REVIEW": TransactionFilter(mode=Mode.LIVE, status=TransactionStatus.MANUAL_REVIEW),
}


def build(path: Path, size: int) -> sqlite3.Connection:
    """Make a shop of `size` requested transactions, the newest of them open."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    migrate(base, NOW)
    rng = random.Random(7)  # noqa: S311 -- a made-up shop

    def rows() -> Any:
        for number in range(size):
            at = NOW - (size - number) * APART_US
            waiting = number >= size - 200
            yield (
                f"{number:08x}-0000-4000-8000-{rng.getrandbits(48):012x}",
                "PENDING" if waiting else rng.choice(STATUSES),
                f"+2332440{rng.randrange(10_000):05d}",
                at,
                NOW + 3_600_000_000 if waiting else at + 3_600_000_000,
            )

    base.execute("BEGIN")
    base.executemany(
        "INSERT INTO transactions (id, mode, origin, status, svc_code, expected_minor, currency, phone_number, meta, "
        "send_sms_to_payer, created_with, created_at, expires_at, late, rejected) "
        "VALUES (?, 'live', 'request', ?, 'A7K2M9', 2500, 'GHS', ?, '{}', 1, 'secret', ?, ?, 0, 0)",
        rows(),
    )
    base.execute("COMMIT")
    base.execute("ANALYZE")
    return base


def ours(base: sqlite3.Connection, wanted: TransactionFilter, offset: int = 0) -> Callable[[], object]:
    """Return a function that reads one page as the API does."""
    reader = Reader(base)
    return lambda: transactions(reader, wanted, now=NOW, limit=100, offset=offset)


def bare(base: sqlite3.Connection, where: str, params: dict[str, Any], offset: int = 0) -> Callable[[], object]:
    """Return the plain count and the plain page query, without optimisation."""
    source = f"FROM {JOINED} WHERE {where}"
    count = f"SELECT COUNT(*) {source}"
    order = f"ORDER BY t.created_at DESC, t.seq DESC LIMIT 100 OFFSET {offset}"
    page = f"SELECT t.*, p.* {source} {order}"
    return lambda: (base.execute(count, params).fetchone(), base.execute(page, params).fetchall())


def milliseconds(work: Callable[[], object]) -> float:
    """Return the duration of one run."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def side_by_side(*works: Callable[[], object], rounds: int = ROUNDS) -> list[list[float]]:
    """Return the times of each, run in turns so that other load on the machine affects all."""
    for work in works:
        work()
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for place, work in enumerate(works):
            taken[place].append(milliseconds(work))
    return taken


def main() -> int:
    """Make the shops, measure, and print the results."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="momo-lists-") as folder:
        small, big = (build(Path(folder) / f"{size}.db", size) for size in SIZES)
        for name, wanted in ASKED.items():
            few, many = side_by_side(ours(small, wanted), ours(big, wanted))
            ratio = median(many) / median(few)
            rows.append(
                Row(
                    f"{name}: 1,000,000 beside 10,000",
                    f"{ratio:.2f} x ({median(many):.2f} ms)",
                    spread(many, " ms", 2),
                    f"<= {RATIO} x",
                    held=ratio <= RATIO,
                )
            )
        always = "t.merged_into IS NULL AND t.mode = 'live' AND t.origin = 'request'"
        month = NOW - 30 * 86_400_000_000
        narrowed = (
            (
                "from a month ago",
                TransactionFilter(mode=Mode.LIVE, since=month),
                f"{always} AND t.created_at >= :since",
                {"since": month},
            ),
            (
                "one payer",
                TransactionFilter(mode=Mode.LIVE, phone_number="+233244000007"),
                f"{always} AND COALESCE(p.payer_phone, t.phone_number) = :phone",
                {"phone": "+233244000007"},
            ),
        )
        for name, wanted, where, params in narrowed:
            mine, plain = side_by_side(ours(big, wanted), bare(big, where, params), rounds=7)
            ratio = median(mine) / median(plain)
            rows.append(
                Row(
                    f"{name}: beside the bare queries",
                    f"{ratio:.2f} x ({median(mine):.1f} ms)",
                    spread(mine, " ms"),
                    f"<= {RATIO} x",
                    held=ratio <= RATIO,
                )
            )
        middle = SIZES[1] // 2
        deep = (ours(big, ASKED["unfiltered"], at) for at in (middle, SIZES[1] - 1000))
        centre, end, plain = side_by_side(*deep, bare(big, always, {}, middle), rounds=7)
        rows += [
            Row("page in the middle", f"{median(centre):.1f} ms", spread(centre, " ms")),
            Row("page near the end", f"{median(end):.1f} ms", spread(end, " ms")),
            Row("bare count and OFFSET to the middle", f"{median(plain):.1f} ms", spread(plain, " ms")),
        ]
        small.close()
        big.close()
    return report("Lists of transactions", rows)


if __name__ == "__main__":
    sys.exit(main())
