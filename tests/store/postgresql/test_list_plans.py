"""Lists on a PostgreSQL server are read from their index, as in a file. Skipped where PostgreSQL is not installed."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from daemon.store import journal
from daemon.store.branches import branches, copies
from daemon.store.engine import Reader
from daemon.store.payments.transaction_list import TransactionFilter, transactions
from daemon.store.postgresql.connection import Connection
from daemon.wire import Mode
from tests.fakes import postgresql

NOW = 1_795_248_000_000_000


class Explaining:
    """A connection that collects the plan of each statement."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.plans: list[str] = []

    def execute(self, sql: str, params: Any = ()) -> Any:
        """Run a statement."""
        rows = self._connection.execute(f"EXPLAIN {sql}", params).fetchall()
        self.plans.append("\n".join(str(row[0]) for row in rows))
        return self._connection.execute(sql, params)


@pytest.fixture
def explaining() -> Iterator[Explaining]:
    postgresql.cluster()
    store = postgresql.empty_store(NOW)
    with closing(store), closing(Connection(store.path, read_only=False)) as connection:
        # A sort is planned only where no index has the order: an empty table would be sorted otherwise.
        connection.execute("SET enable_sort = off")
        connection.execute(
            "INSERT INTO transaction_counts (mode, origin, status, count) VALUES ('live', 'request', 'PENDING', 1000)"
        )
        yield Explaining(connection)


@pytest.mark.parametrize(
    "wanted",
    [TransactionFilter(), TransactionFilter(mode=Mode.LIVE, origin="all"), TransactionFilter(sort="oldest")],
    ids=["newest", "live", "oldest"],
)
def test_a_page_of_transactions_is_read_in_the_order_of_time(explaining: Explaining, wanted: TransactionFilter) -> None:
    transactions(Reader(explaining), wanted, now=NOW, limit=10, offset=0)
    plan = explaining.plans[-1]
    ordered = plan[plan.index("Limit") :]
    assert "transactions_by_created" in ordered
    assert ("transactions_open" in ordered) == (wanted.origin == "all")
    assert "->  Sort" not in ordered
    # Those of one time are sorted among themselves.
    assert ordered.count("->  Incremental Sort") == len(
        re.findall(r"Presorted Key: t_\d\.created_at$", ordered, re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("message", "messages_of_branch"),
        ("payment", "payments_of_branch"),
        ("transaction", "transactions_of_branch"),
        ("review", "reviews_of_branch"),
    ],
)
def test_a_page_of_the_restore_of_a_branch_is_read_from_its_index(
    explaining: Explaining, kind: str, index: str
) -> None:
    copies.rows_of(Reader(explaining), "b1", kind, 5, 500)
    plan = explaining.plans[-1]
    assert f"Index Scan using {index} on" in plan
    assert "->  Sort" not in plan


def test_the_handed_up_payments_and_the_notice_about_a_double_are_read_from_their_indexes(
    explaining: Explaining,
) -> None:
    branches.handed_and_unused(Reader(explaining), "b1")
    assert "Index Scan using payments_handed_up on" in explaining.plans[-1]
    journal.has(Reader(explaining), "notice.paid_twice", "p1")
    assert "Index Scan using events_of_doubles on" in explaining.plans[-1]
