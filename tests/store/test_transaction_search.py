"""A search of the transactions: one thing that is named whole, from the indexes alone; else a part of any."""

import sqlite3
from functools import partial
from pathlib import Path

import pytest

from daemon.store.engine import Store, Tx
from daemon.store.transaction_list import TransactionFilter, transactions
from daemon.wire import Mode

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
            "INSERT INTO svc_codes SELECT mode, svc_code, id, 9 FROM transactions WHERE seq = :seq",
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
        ("order%", []),
    ],
)
async def test_a_search_names_one_thing_whole_or_a_part_of_any(
    tmp_path: Path, search: str, expected: list[int]
) -> None:
    store = Store.open(str(tmp_path / "momo.db"), now_us=NOW)
    await store.write(add_orders)
    wanted = TransactionFilter(mode=Mode.LIVE, search=search)
    for limit in (10, 1):
        look = partial(transactions, wanted=wanted, now=NOW, limit=limit, offset=0)
        found, total = await store.read(look)
        assert ([one[0].seq for one in found], total) == (expected[:limit], len(expected))
    store.close()


async def test_a_whole_name_is_found_though_the_other_mode_has_it_too(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "momo.db"), now_us=NOW)
    await store.write(add_orders)
    await store.write(lambda tx: tx.run("UPDATE transactions SET mode = 'test' WHERE seq = 1"))
    wanted = TransactionFilter(mode=Mode.LIVE, search="order-5")
    found, _ = await store.read(
        lambda reader: transactions(reader, wanted, now=NOW, limit=9, offset=0)
    )
    assert [one[0].seq for one in found] == [2]
    store.close()


async def test_a_search_for_a_whole_name_or_a_reference_reads_indexes_alone(tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    store = Store.open(str(path), now_us=NOW)
    await store.write(add_orders)
    seen: list[str] = []

    def job(tx: Tx) -> None:
        tx._connection.set_trace_callback(seen.append)
        for search in ("order-5", "ABC234", "svc_trx_00000000", "svc_trx_" + "0" * 12 + "4…02"):
            wanted = TransactionFilter(mode=Mode.LIVE, search=search)
            assert transactions(tx, wanted, now=NOW, limit=9, offset=0)[1]
        tx._connection.set_trace_callback(None)

    await store.write(job)
    store.close()
    looked = [statement for statement in seen if statement.startswith("SELECT")]
    assert len(looked) == 4, "each once"
    with sqlite3.connect(path) as base:
        for statement in looked:
            plan = [line[3] for line in base.execute(f"EXPLAIN QUERY PLAN {statement}")]
            ways = [line for line in plan if " t " in line or " transactions " in line]
            assert ways
            assert not [line for line in ways if "id" not in line and "client" not in line], plan
    base.close()
