"""The list of transactions: with any filter it equals a count by hand, and it reads indexes alone."""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.store.engine import Store, Tx
from daemon.store.payments.transaction_list import TransactionFilter, transactions
from daemon.wire import Mode, TransactionStatus
from tests.fakes import new_database

NOW = 1_760_000_000_000_000
RESTING = ["PENDING", "EXPIRED", "MANUAL_REVIEW", "CANCELLED"]
STATUSES = [None, *TransactionStatus]


@dataclass(frozen=True)
class Row:
    """One transaction as the test makes it."""

    mode: str
    origin: str
    status: str
    created_at: int
    expires_in: int
    phone: str
    merged: bool = False

    def status_now(self) -> str:
        overdue = self.status == "PENDING" and self.expires_in <= 0
        return "EXPIRED" if overdue else self.status


requests = st.builds(
    Row,
    mode=st.sampled_from(["live", "test"]),
    origin=st.just("request"),
    status=st.sampled_from(RESTING),
    created_at=st.integers(0, 5),
    expires_in=st.integers(-1, 1),
    phone=st.sampled_from(["+233244000001", "+233244000002"]),
)
holders = st.builds(
    Row,
    mode=st.sampled_from(["live", "test"]),
    origin=st.just("open"),
    status=st.just("SUCCESS"),
    created_at=st.integers(0, 5),
    expires_in=st.just(1),
    phone=st.just("+233244000001"),
    # Without a payment a holder's row is sound only when it was merged, and then it is in no list.
    merged=st.just(True),
)
filters = st.builds(
    TransactionFilter,
    mode=st.sampled_from([None, Mode.LIVE, Mode.TEST]),
    origin=st.sampled_from(["request", "open", "all"]),
    status=st.sampled_from(STATUSES),
    since=st.none() | st.integers(0, 6),
    until=st.none() | st.integers(0, 6),
    phone_number=st.none() | st.just("+233244000001"),
    search=st.none()
    | st.sampled_from(["4000002", "a7k2M9", "%", "_", "svc_", "SVC_TRX_0000", "svc_…03", "svc_trx_0%"]),
    sort=st.sampled_from(["newest", "oldest", "largest", "smallest"]),
)


def add(tx: Tx, number: int, row: Row) -> None:
    tx.run(
        "INSERT INTO transactions (id, mode, origin, status, svc_code, expected_minor, currency, phone_number, meta, "
        "send_sms_to_payer, created_with, created_at, expires_at, late, rejected, merged_into) VALUES "
        "(:id, :mode, :origin, :status, 'A7K2M9', 100, 'GHS', :phone, '{}', 0, 'secret', :at, :expires, 0, 0, :merged)",
        {
            "id": f"00000000-0000-4000-8000-{number:012d}",
            "mode": row.mode,
            "origin": row.origin,
            "status": row.status,
            "phone": row.phone,
            "at": row.created_at,
            "expires": NOW + row.expires_in,
            "merged": "x" if row.merged else None,
        },
    )


def add_all(tx: Tx, rows: Sequence[Row]) -> None:
    for number, row in enumerate(rows):
        add(tx, number, row)


def by_hand(rows: Sequence[Row], wanted: TransactionFilter) -> list[str]:
    def searched(number: int, row: Row) -> bool:
        search = (wanted.search or "").lower()
        if not search.startswith("svc_"):
            return search in f"a7k2m9 {row.phone}"
        head, _, tail = search.partition("…")
        reference = f"svc_trx_00000000000040008000{number:012d}"
        return reference.startswith(head) and reference.endswith(tail)

    def fits(number: int, row: Row) -> bool:
        return (
            not row.merged
            and (wanted.mode is None or row.mode == wanted.mode)
            and wanted.origin in ("all", row.origin)
            and (wanted.status is None or row.status_now() == wanted.status)
            and (wanted.since is None or row.created_at >= wanted.since)
            and (wanted.until is None or row.created_at < wanted.until)
            and (wanted.phone_number is None or row.phone == wanted.phone_number)
            and searched(number, row)
        )

    # Every one of them asks for the same amount.
    found = [
        (0 if wanted.by_amount else row.created_at, number) for number, row in enumerate(rows) if fits(number, row)
    ]
    found.sort(reverse=wanted.sort in ("newest", "largest"))
    return [f"00000000-0000-4000-8000-{number:012d}" for _, number in found]


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One database for all examples, because making one takes longer than all queries."""
    store = Store.open(str(tmp_path_factory.mktemp("list") / "momo.db"), now_us=NOW)
    yield store
    store.close()


def refill(tx: Tx, rows: Sequence[Row]) -> None:
    """Put these rows in the place of all others."""
    tx.run("DELETE FROM transactions")
    tx.run("DELETE FROM transaction_counts")
    add_all(tx, rows)


@given(rows=st.lists(requests | holders, max_size=25), wanted=filters, limit=st.integers(1, 7))
def test_every_page_is_what_counting_by_hand_gives(
    rows: list[Row], wanted: TransactionFilter, limit: int, emptied: Store
) -> None:
    expected = by_hand(rows, wanted)

    def compare(tx: Tx) -> None:
        refill(tx, rows)
        for offset in range(0, len(rows) + 2 * limit, limit):
            found, total = transactions(tx, wanted, now=NOW, limit=limit, offset=offset)
            assert total == len(expected)
            assert [one[0].id for one in found] == expected[offset : offset + limit]
            if found and offset == limit:
                behind = replace(wanted, after=found[-1][0].id)
                rest, _ = transactions(tx, behind, now=NOW, limit=limit, offset=0)
                assert [one[0].id for one in rest] == expected[offset + limit : offset + 2 * limit]

    asyncio.run(emptied.write(compare))


async def test_totals_follow_every_change_of_a_status(tmp_path: Path) -> None:
    store = new_database.open_store(tmp_path / "momo.db", NOW)
    row = Row("live", "request", "PENDING", 1, 1, "+233244000001")
    await store.write(lambda tx: add_all(tx, [row] * 3))
    for change in (
        "UPDATE transactions SET status = 'EXPIRED' WHERE seq = 1",
        "UPDATE transactions SET status = 'CANCELLED' WHERE seq = 2",
        "UPDATE transactions SET status = 'EXPIRED' WHERE seq = 1",
        "UPDATE transactions SET status = 'SUCCESS', merged_into = 'x' WHERE seq = 3",
        "UPDATE transactions SET late = 1",
    ):

        def job(tx: Tx, change: str = change) -> None:
            tx.run(change)

        await store.write(job)
        kept, counted = await store.read(
            lambda reader: (
                reader.all("SELECT status, count FROM transaction_counts WHERE count > 0 ORDER BY status"),
                reader.all(
                    "SELECT status, COUNT(*) FROM transactions WHERE merged_into IS NULL GROUP BY status ORDER BY status"
                ),
            )
        )
        assert kept == counted
    store.close()


@pytest.mark.file  # asks for SQLite's plans
async def test_no_page_of_a_list_by_status_sorts_or_reads_the_table(tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    store = new_database.open_store(path, NOW)
    row = Row("live", "request", "PENDING", 1, 1, "+233244000001")
    await store.write(lambda tx: add_all(tx, [row] * 3))
    all_wanted = [
        TransactionFilter(mode=mode, origin=origin, status=status)
        for mode in (None, Mode.LIVE)
        for origin in ("request", "all")
        for status in STATUSES
    ]
    seen: list[str] = []

    def job(tx: Tx) -> None:
        tx._connection.set_trace_callback(seen.append)
        for wanted in all_wanted:
            for offset in (0, 2):
                transactions(tx, wanted, now=NOW, limit=1, offset=offset)
        tx._connection.set_trace_callback(None)

    await store.write(job)
    store.close()
    with sqlite3.connect(path) as base:
        for statement in seen:
            if statement.startswith("SELECT") and "transaction_counts" not in statement:
                plan = [line[3] for line in base.execute(f"EXPLAIN QUERY PLAN {statement}")]
                assert not [line for line in plan if line.startswith("SCAN t")], plan
                assert len([line for line in plan if "TEMP B-TREE" in line]) <= 1, plan
    base.close()
