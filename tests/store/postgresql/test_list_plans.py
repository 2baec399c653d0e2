"""Lists on a PostgreSQL server are read from their index, as in a file. Skipped where PostgreSQL is not installed."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from daemon.store import journal
from daemon.store.branches import branches, copies
from daemon.store.engine import Reader
from daemon.store.payments import payment_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.payments.transaction_list import TransactionFilter, transactions
from daemon.store.postgresql.connection import Connection
from daemon.wire import Mode
from tests.fakes import postgresql

NOW = 1_795_248_000_000_000


class Explaining:
    """A connection that collects the plan of each statement."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.plans: list[str] = []

    def execute(self, sql: str, params: Any = ()) -> Any:
        """Run a statement."""
        rows = self.connection.execute(f"EXPLAIN {sql}", params).fetchall()
        self.plans.append("\n".join(str(row[0]) for row in rows))
        return self.connection.execute(sql, params)


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


@pytest.fixture
def searched(explaining: Explaining) -> Explaining:
    """A database with payments whose payers typed a word, of which one typed another."""
    run = explaining.connection.execute
    run("SET enable_sort = on")
    run("SET session_replication_role = replica")
    run(
        "INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, sim_key, device_id, slot_index, "
        "kind, amount_minor, currency, payer_name, payer_phone, reference_text, telco_at, stored_at, historical, standing) "
        "SELECT 'p' || i, 'live', 'momo_mtn', 93214500000 + i, 93214500000 + i, i, 's', 'd', 0, 'payment_received', 2500, 'GHS', "
        "'KOFI ANTWI BADU', '+23320' || 1000000 + i, CASE i WHEN 77 THEN 'Xylophone' ELSE 'food' END, i, i, 0, 'open' "
        "FROM generate_series(1, 5000) i"
    )
    run(
        "INSERT INTO transactions (id, mode, origin, status, currency, meta, send_sms_to_payer, created_with, created_at, payment_seq, "
        "late, rejected) SELECT 't' || i, 'live', 'open', 'SUCCESS', 'GHS', '{}', 0, 'secret', i, i, 0, 0 FROM generate_series(1, 5000) i"
    )
    run("INSERT INTO transaction_counts (mode, origin, status, count) VALUES ('live', 'open', 'SUCCESS', 5000)")
    run("ANALYZE payments")
    run("ANALYZE transactions")
    return explaining


@pytest.mark.parametrize("search", ["xylophone", "93214500077", "xylo food"])
def test_a_word_or_a_whole_network_id_is_searched_by_indexes(searched: Explaining, search: str) -> None:
    found, _more = payment_list.listed(Reader(searched), PaymentFilter(search=search), limit=10)
    assert [one.payment.id for one in found] == ([] if " " in search else ["p77"])
    assert [plan for plan in searched.plans if re.search(r"Seq Scan on payments|payments_by_storage", plan)] == []


@pytest.mark.parametrize("search", ["xylophone", "+233 20 100 0077"])
def test_a_word_or_a_number_with_spaces_is_searched_among_transactions_by_indexes(
    searched: Explaining, search: str
) -> None:
    wanted = TransactionFilter(search=search, origin="all")
    found, _total = transactions(Reader(searched), wanted, now=NOW, limit=10, offset=0)
    assert [one.id for one, _payment in found] == ["t77"]
    assert [plan for plan in searched.plans if "Seq Scan on payments" in plan] == []


def test_a_part_of_a_network_id_is_found(searched: Explaining) -> None:
    found, _more = payment_list.listed(Reader(searched), PaymentFilter(search="4500077"), limit=10)
    assert [one.payment.id for one in found] == ["p77"]
