"""Lists on a PostgreSQL server are read from their index, as in a file. Skipped where PostgreSQL is not installed."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

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
    [
        TransactionFilter(),
        TransactionFilter(mode=Mode.LIVE, origin="all"),
        TransactionFilter(sort="oldest"),
    ],
    ids=["newest", "live", "oldest"],
)
def test_a_page_of_transactions_is_not_sorted(
    explaining: Explaining, wanted: TransactionFilter
) -> None:
    transactions(Reader(explaining), wanted, now=NOW, limit=10, offset=0)
    plan = explaining.plans[-1]
    ordered = plan[plan.index("Limit") :]
    assert "transactions_by_created" in ordered
    assert "->  Sort" not in ordered
    assert "->  Incremental Sort" not in ordered
