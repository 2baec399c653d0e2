"""Search of transactions: a whole identifier is found by the indexes alone; a part of a text reads each table once."""

import itertools
import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.model import Payment, Transaction
from daemon.store.engine import Reader, Tx
from daemon.store.payments import search_index, transaction_list
from daemon.store.payments.transaction_list import TransactionFilter, transactions
from daemon.wire import Mode, TransactionStatus
from tests.fakes import new_database
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

NOW = 1_760_000_000_000_000
ORDERS = {1: ("order-5", "ABC234"), 2: ("order-55", "XYZ567"), 3: (None, "DEF234")}
"""The caller's own reference and the code of each."""


def add_orders(tx: Tx) -> None:
    for seq in ORDERS:
        tx.run(
            "INSERT INTO transactions (id, mode, origin, status, svc_code, expected_minor, currency, phone_number, meta, "
            "send_sms_to_payer, created_with, created_at, expires_at, late, rejected) VALUES "
            "(:id, 'live', 'request', 'PENDING', 'A7K2M9', 100, 'GHS', '+233244000001', '{}', 0, 'secret', 1, :at, 0, 0)",
            {"id": f"00000000-0000-4000-8000-{seq - 1:012d}", "at": NOW + 1},
        )
    for seq, (reference, code) in ORDERS.items():
        told = {"seq": seq, "reference": reference, "code": code}
        tx.run(
            "UPDATE transactions SET client_reference = :reference, svc_code = :code, customer_name = 'Ama' "
            "WHERE seq = :seq",
            told,
        )
        tx.run(
            "INSERT INTO svc_codes (mode, code, transaction_seq, free_at) SELECT mode, svc_code, seq, 9 FROM transactions WHERE seq = :seq",
            told,
        )


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("order-5", [1]),
        ("rder-5", [2, 1]),
        ("order-55", [2]),
        ("abc234", [1]),
        ("C23", [1]),
        ("234", [3, 1]),
        ("ama", [3, 2, 1]),
        ("0244 000", [3, 2, 1]),
        ("+233 24-400", [3, 2, 1]),
        ("0255", []),
        ("23", [3, 2, 1]),
        ("a", [3, 2, 1]),
        ('"', []),
        ('a"b', []),
        ("AND", []),
        ("order%", []),
    ],
)
@pytest.mark.parametrize("indexed", [True, False])
async def test_a_search_names_one_thing_whole_or_a_part_of_any(
    tmp_path: Path, search: str, expected: list[int], indexed: bool
) -> None:
    store = new_database.open_store(tmp_path / "momo.db", NOW)
    await store.write(add_orders)
    if indexed:
        await store.write(search_index.catch_up)
    wanted = TransactionFilter(mode=Mode.LIVE, search=search)
    for limit in (10, 1):
        look = partial(transactions, wanted=wanted, now=NOW, limit=limit, offset=0)
        found, total = await store.read(look)
        assert ([one[0].seq for one in found], total) == (expected[:limit], len(expected))
    store.close()


async def test_a_whole_name_is_found_though_the_other_mode_has_it_too(tmp_path: Path) -> None:
    store = new_database.open_store(tmp_path / "momo.db", NOW)
    await store.write(add_orders)
    await store.write(lambda tx: tx.run("UPDATE transactions SET mode = 'test' WHERE seq = 1"))
    wanted = TransactionFilter(mode=Mode.LIVE, search="order-5")
    found, _ = await store.read(lambda reader: transactions(reader, wanted, now=NOW, limit=9, offset=0))
    assert [one[0].seq for one in found] == [2]
    store.close()


def statements(tx: Tx, *asked: TransactionFilter, limit: int = 9) -> list[str]:
    """Return the SQL of each of these lists, without the queries of stored totals."""
    seen: list[str] = []
    tx._connection.set_trace_callback(seen.append)
    for wanted in asked:
        assert transactions(tx, wanted, now=NOW, limit=limit, offset=0)[1]
    tx._connection.set_trace_callback(None)
    # Those that FTS5 asks itself are comments.
    asked_for = [sql for sql in seen if not sql.startswith("--")]
    return [sql for sql in asked_for if "FROM transactions" in sql or " transactions t" in sql]


def plan(base: sqlite3.Connection, statement: str) -> list[str]:
    return [line[3] for line in base.execute(f"EXPLAIN QUERY PLAN {statement}")]


@pytest.mark.file  # asks for SQLite's plans
async def test_a_search_for_a_whole_name_or_a_reference_reads_indexes_alone(tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    store = new_database.open_store(path, NOW)
    await store.write(add_orders)
    searches = ("order-5", "ABC234", "svc_trx_00000000", "svc_trx_" + "0" * 12 + "4…02")
    asked = [TransactionFilter(mode=Mode.LIVE, search=search) for search in searches]
    looked = await store.write(lambda tx: statements(tx, *asked))
    store.close()
    assert len(looked) == 4, "each once"
    with sqlite3.connect(path) as base:
        for statement in looked:
            read = [line for line in plan(base, statement) if line.split()[1] in ("t", "p")]
            assert read
            assert not [line for line in read if line.startswith("SCAN")], read
    base.close()


@pytest.mark.file  # asks for SQLite's plans
@pytest.mark.parametrize("search", ["ama", "am"])
async def test_a_search_for_a_part_reads_what_is_not_indexed_once_and_counts_what_it_found(
    tmp_path: Path, search: str
) -> None:
    path = tmp_path / "momo.db"
    store = new_database.open_store(path, NOW)
    await store.write(add_orders)
    await store.write(lambda tx: tx.run("UPDATE transaction_counts SET count = 100000 WHERE status = 'PENDING'"))
    wanted = TransactionFilter(search=search, origin="all")
    (statement,) = await store.write(lambda tx: statements(tx, wanted, limit=1))
    store.close()
    with sqlite3.connect(path) as base:
        found = plan(base, statement)
    base.close()
    assert not [line for line in found if line.startswith(("SCAN t", "SCAN p"))]
    behind = [line for line in found if "rowid>?" in line]
    assert [line.split()[1] for line in behind] == ["t", "p"]
    assert any("search VIRTUAL TABLE" in line for line in found) is (search == "ama")
    # No step looks up the payment of each transaction: that took three times as long.
    end = found.index("SCAN found")
    assert not [line for line in found[:end] if line.startswith("SEARCH p USING INDEX")], found


@pytest.mark.file  # asks for SQLite's plans
async def test_a_list_that_is_short_is_walked_through(tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    store = new_database.open_store(path, NOW)
    await store.write(add_orders)
    await store.write(lambda tx: tx.run("UPDATE transactions SET status = 'CANCELLED' WHERE seq = 2"))
    await store.write(lambda tx: tx.run("UPDATE transactions SET status = 'EXPIRED' WHERE seq <> 2"))
    await store.write(lambda tx: tx.run("UPDATE transaction_counts SET count = 4 WHERE status = 'EXPIRED'"))
    wanted = TransactionFilter(search="am", status=TransactionStatus.CANCELLED)
    (statement,) = await store.write(lambda tx: statements(tx, wanted))
    store.close()
    with sqlite3.connect(path) as base:
        assert not [line for line in plan(base, statement) if line in ("SCAN t", "SCAN p")]
    base.close()


STATUSES = (None, TransactionStatus.SUCCESS, TransactionStatus.PENDING)
NAMES = ("KOFI ANTWI BADU", "AMA SERWAA MENSAH", "SKOFIELD TETTEH OWUSU")


@pytest.fixture
async def mixed(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """Orders and walk-ins, paid and not, where a name is the customer's, the payer's, both or in a description."""
    shop = await FakeShop.make(tmp_path)
    for number, name in enumerate(NAMES * 2):
        shop.clock.advance(60)
        order = await shop.request(2500 + number, customer_name=name.title() if number % 2 else None)
        code = order.svc_code if number < 4 else "food"
        await shop.read(
            mtn(
                2500 + number,
                name,
                shop.wallet(2500 + number),
                code or "",
                f"9321450{number:04d}",
                concatenation=number,
            )
        )
    await shop.request(900, description="for Kofi, at the gate")
    yield shop
    shop.close()


@pytest.mark.parametrize("indexed", ["none", "some", "all"])
@pytest.mark.parametrize("sort", ["newest", "oldest", "largest", "smallest"])
async def test_a_name_is_found_wherever_it_stands_each_once(
    mixed: FakeShop, sort: str, indexed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = mixed.clock.now_us()
    monkeypatch.setattr(transaction_list, "_WALKED_MAX", 0)  # else so few are read one by one
    if indexed != "none":
        monkeypatch.setattr(search_index, "BATCH", 3 if indexed == "some" else 50)
        await mixed.env.store.write(search_index.catch_up)

    def compare(reader: Reader, text: str) -> int:
        def page(wanted: TransactionFilter, offset: int = 0, limit: int = 2) -> tuple[list[str], int]:
            found, total = transactions(reader, wanted, now=now, limit=limit, offset=offset)
            return [one.id for one, _ in found], total

        most = 0
        for origin, status in itertools.product(("all", "request", "open"), STATUSES):
            listed = TransactionFilter(origin=origin, status=status, sort=sort)
            rows, _ = transactions(reader, listed, now=now, limit=99, offset=0)
            expected = [row[0].id for row in rows if holds(text, *row)]
            most = max(most, len(expected))
            wanted = replace(listed, search=text)
            for offset in range(0, len(expected) + 3, 2):
                shown = expected[offset : offset + 2]
                assert page(wanted, offset) == (shown, len(expected))
                if shown:
                    behind = replace(wanted, after=shown[-1])
                    assert page(behind) == (expected[offset + 2 : offset + 4], len(expected))

        return most

    for text in ("kofi", "ama serwaa", "antwi b", "9321450000", "0241 234"):
        assert await mixed.env.store.read(partial(compare, text=text)) > 1


def holds(text: str, one: Transaction, payment: Payment | None) -> bool:
    held = [one.svc_code, one.customer_name, one.client_reference, one.description, one.phone_number]
    if payment is not None:
        held += [payment.telco_transaction_id, payment.payer_name, payment.payer_phone]
    wanted = "+233241234" if text == "0241 234" else text
    return any(wanted in each.lower() for each in held if each)
