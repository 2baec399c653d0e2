"""A page of 100 transactions with its total: in a shop of 10,000 transactions and in one of 1,000,000.

Goals: an unfiltered page, or one by status, costs at most 1.5 times as much in the big shop; one narrowed by time or
payer at most 1.5 times the bare count and page query there; a search by name at most half of them, in a shop with as
many transactions, four in five of them paid. A page in the middle of the list is compared with the bare OFFSET.

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
from daemon.store.payments.transaction_list import BOTH, JOINED, TransactionFilter, transactions
from daemon.wire import Mode, TransactionStatus

SIZES: Final = (10_000, 1_000_000)
ROUNDS: Final = 31
NOW: Final = 1_795_248_000_000_000
APART_US: Final = 20_000_000
STATUSES: Final = ("EXPIRED",) * 17 + ("CANCELLED",) * 2 + ("MANUAL_REVIEW",)
RATIO: Final = 1.5
SEARCH_RATIO: Final = 0.5
SYLLABLES: Final = (
    "AN",
    "BO",
    "DU",
    "ENY",
    "FA",
    "KWA",
    "LAR",
    "MEN",
    "NII",
    "OWU",
    "SAH",
    "SUA",
    "TET",
    "YAW",
)
NAMED: Final = 250
"""This many of 200,000 people are called Kofi Antwi: one transaction in 800."""
ASKED: Final = {
    "unfiltered": TransactionFilter(mode=Mode.LIVE),
    "both modes": TransactionFilter(),
    "status=PENDING": TransactionFilter(mode=Mode.LIVE, status=TransactionStatus.PENDING),
    "status=EXPIRED": TransactionFilter(mode=Mode.LIVE, status=TransactionStatus.EXPIRED),
    "status=MANUAL_REVIEW": TransactionFilter(
        mode=Mode.LIVE, status=TransactionStatus.MANUAL_REVIEW
    ),
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


def build_paid(path: Path, size: int) -> sqlite3.Connection:
    """Make a shop of `size` transactions, requested ones and sales, four in five of them paid, by people with names."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    migrate(base, NOW)
    rng = random.Random(7)  # noqa: S311 -- a made-up shop
    words = ["".join(rng.choices(SYLLABLES, k=3)) for _ in range(3_000)]
    people = [" ".join(rng.choices(words, k=2 + one % 2)) for one in range(200_000)]
    people[:: len(people) // NAMED] = [f"KOFI ANTWI {words[one % 3_000]}" for one in range(NAMED)]

    def payments() -> Any:
        for number in range(size):
            if number % 5:
                payer = people[number * 7 % len(people)]
                at = NOW - (size - number) * APART_US
                yield f"p{number:035d}", f"{90_000_000_000 + number}", payer, at, at

    def rows() -> Any:
        for number in range(size):
            payer, paid = people[number * 7 % len(people)], number % 5
            sale = number % 5 == 1
            at = NOW - (size - number) * APART_US
            yield (
                f"{number:08x}-0000-4000-8000-{rng.getrandbits(48):012x}",
                "open" if sale else "request",
                "SUCCESS" if paid else "EXPIRED",
                f"+23324{number % 10_000_000:07d}",
                None if sale else payer.title(),
                None if sale else f"order-{number}",
                at,
                at + 3_600_000_000,
                f"p{number:035d}" if paid else None,
            )

    base.execute("BEGIN")
    base.executemany(
        "INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_id, sim_key, device_id, "
        "slot_index, kind, amount_minor, currency, payer_name, telco_at, stored_at, historical, standing) "
        "VALUES (?1, 'live', 'momo_mtn', ?2, ?2, ?1, 's', 'd', 0, 'payment_received', 2500, 'GHS', ?3, ?4, ?5, 0, 'used')",
        payments(),
    )
    base.executemany(
        "INSERT INTO transactions (id, mode, origin, status, svc_code, expected_minor, currency, phone_number, customer_name, "
        "client_reference, meta, send_sms_to_payer, created_with, created_at, expires_at, payment_id, late, rejected) "
        "VALUES (?, 'live', ?, ?, 'A7K2M9', 2500, 'GHS', ?, ?, ?, '{}', 1, 'secret', ?, ?, ?, 0, 0)",
        rows(),
    )
    base.execute("COMMIT")
    return base


def ours(
    base: sqlite3.Connection, wanted: TransactionFilter, offset: int = 0
) -> Callable[[], object]:
    """Return a function that reads one page as the API does."""
    reader = Reader(base)
    return lambda: transactions(reader, wanted, now=NOW, limit=100, offset=offset)


def bare(
    base: sqlite3.Connection, where: str, params: dict[str, Any], offset: int = 0
) -> Callable[[], object]:
    """Return the plain count and the plain page query, without optimisation."""
    source = f"FROM {JOINED} WHERE {where}"
    count = f"SELECT COUNT(*) {source}"
    order = f"ORDER BY t.created_at DESC, t.seq DESC LIMIT 100 OFFSET {offset}"
    page = f"SELECT {BOTH} {source} {order}"
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


def search(path: Path) -> Row:
    """Compare a search by name with the bare queries."""
    base = build_paid(path, SIZES[1])
    columns = (
        "t.svc_code", "t.customer_name", "t.client_reference", "t.description", "t.phone_number",
        "p.telco_transaction_id", "p.payer_name", "p.payer_phone",
    )  # fmt: skip
    held = " OR ".join(f"{column} LIKE :search" for column in columns)
    wanted = TransactionFilter(mode=Mode.LIVE, origin="all", search="kofi antwi")
    where = f"t.merged_into IS NULL AND t.mode = 'live' AND ({held})"
    mine, plain = side_by_side(
        ours(base, wanted), bare(base, where, {"search": "%kofi antwi%"}), rounds=7
    )
    base.close()
    ratio = median(mine) / median(plain)
    return Row(
        "a name that one in 800 has: beside the bare queries",
        f"{ratio:.2f} x ({median(mine):.0f} ms)",
        spread(mine, " ms"),
        f"<= {SEARCH_RATIO} x",
        held=ratio <= SEARCH_RATIO,
    )


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
            Row(
                "bare count and OFFSET to the middle",
                f"{median(plain):.1f} ms",
                spread(plain, " ms"),
            ),
        ]
        small.close()
        big.close()
        rows.append(search(Path(folder) / "paid.db"))
    return report("Lists of transactions", rows)


if __name__ == "__main__":
    sys.exit(main())
