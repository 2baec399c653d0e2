"""The queries of a payment and its webhook take as long in a big shop as in a small one."""

import sqlite3
from pathlib import Path

import pytest

from daemon.core.webhooks.delivery import SCHEDULE_S, AttemptOutcome, LinkState, RetryPolicy
from daemon.store.migrate import migrate
from tests.fakes import big_shop, delivering
from tests.fakes.new_database import writer
from tests.fakes.outbox import add_endpoint, fail, lease, owe
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

SMALL = {"endpoints", "e", "webhook_secrets", "sims", "s", "payment_methods", "m"}
"""A shop has a handful of these, however many payments it has."""
CHOSEN = {
    "owing", "known", "target", "kind", "first", "due", "offered", "of_endpoint", "of_class", "of_all", "begins",
    "k", "t", "f", "q", "found",
}  # fmt: skip
"""Parts of the statement that chooses the deliveries to lease: a few for each endpoint (`leasing`)."""
OUTCOME = AttemptOutcome(status_code=200, response_body="ok", error_code=None, error_message=None, duration_us=1_000)
POLICY = RetryPolicy(tuple(SCHEDULE_S), 0.2, frozenset())


@pytest.mark.parametrize("payments", [0, 10_000])
async def test_no_statement_between_sms_and_webhook_reads_a_whole_table(tmp_path: Path, payments: int) -> None:
    """Without statistics, and with those of a shop of many payments."""
    shop = await FakeShop.make(tmp_path)
    statements: set[str] = set()
    request = await shop.request(webhook_url="https://shop.example/hook")
    writer(shop.env.store).set_trace_callback(statements.add)
    code = request.svc_code
    assert code is not None
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, code, "93214500001"))
    await shop.read(mtn(700, "KOFI ANTWI BADU", 90_700, "food", "93214500002", concatenation=1))
    due = await delivering.lease(shop.env, limit=5, per_endpoint=5, running={})
    for leased in due.leased:
        await delivering.record_outcome(shop.env, leased, OUTCOME, link=LinkState(False, False), policy=POLICY)
    assert len(due.leased) == 1
    writer(shop.env.store).set_trace_callback(None)
    shop.close()
    if payments:
        (tmp_path / "momo.db").unlink()
        built = big_shop.build(tmp_path / "momo.db", payments)
        built.execute("ANALYZE")
        built.close()
    with sqlite3.connect(tmp_path / "momo.db") as base:
        scanned = {
            (line[3].split()[1], statement)
            for statement in statements
            if statement.strip().startswith(("SELECT", "INSERT", "UPDATE", "WITH"))
            for line in base.execute(f"EXPLAIN QUERY PLAN {statement}")
            if line[3].startswith("SCAN") or "TEMP B-TREE" in line[3]
            # The rows of a VALUES list in the statement.
            if "CONSTANT ROW" not in line[3]
        }
    base.close()
    assert len(statements) > 20
    # The rows that a subquery has found, by an index and up to its LIMIT, are read from end to end (`few`, `newest`, `part`),
    # and so are the VALUES in the statement (`v`).
    assert {
        (table, statement)
        for table, statement in scanned
        if table not in SMALL | {"TEMP", "few", "newest", "part", "v", "json_each"}
        and not (table in CHOSEN and "WITH RECURSIVE" in statement)
        and not table.startswith("(subquery")
    } == set()
    # Sorted are the endpoints, the payment methods, the SMSCs of a SIM, and the parts that bear one reference and came within 15 minutes.
    few = (
        "json_each", "FROM endpoints", "FROM payment_methods", "FROM messages m JOIN sms_parts p", "LEFT JOIN sim_smscs",
    )  # fmt: skip
    # With statistics SQLite sorts the one row that it expects rather than read it in order.
    if not payments:
        assert [s for table, s in scanned if table == "TEMP" and not any(one in s for one in few)] == []


async def test_neither_a_probe_nor_the_end_of_an_outage_goes_through_a_long_queue(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await add_endpoint(shop)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    for leased in await lease(shop, limit=3):
        await fail(shop, leased)
    shop.clock.advance(30)
    statements: set[str] = set()
    writer(shop.env.store).set_trace_callback(statements.add)
    (untried,) = await lease(shop)
    await fail(shop, untried)
    shop.clock.advance(30)
    (tried,) = await lease(shop)
    await delivering.record_outcome(shop.env, tried, OUTCOME, link=LinkState(False, False), policy=POLICY)
    writer(shop.env.store).set_trace_callback(None)
    assert (untried.number, tried.number) == (1, 2)
    shop.close()
    with sqlite3.connect(tmp_path / "momo.db") as base:
        plans = {
            (statement, line[3])
            for statement in statements
            if " deliveries" in statement and statement.strip().startswith(("SELECT", "UPDATE", "WITH"))
            for line in base.execute(f"EXPLAIN QUERY PLAN {statement}")
        }
    base.close()
    sought = ("INDEX deliveries_tried (endpoint_seq=?", "_retrying")
    assert {line for _, line in plans if any(one in line for one in sought)} == {
        "SEARCH w USING INDEX deliveries_tried (endpoint_seq=?)",
        "SEARCH deliveries USING INDEX deliveries_retrying (endpoint_seq=? AND rowid>?)",
    }
    # The few rows of a choice are sorted, not a queue.
    assert {line for one, line in plans if "USE TEMP" in line and "json_each" not in one} == set()
    scanned = ("SCAN d", "SCAN w", "SCAN deliveries")
    assert [plan for plan in plans if plan[1].split(" USING")[0] in scanned] == []


@pytest.mark.file
async def test_no_statement_of_a_receipt_is_prepared_twice(tmp_path: Path) -> None:
    """SQLite prepares a statement again when the bare parameter of a LIKE is bound: ten times the statement's own time."""
    shop = await FakeShop.make(tmp_path)
    await shop.begin_chain()
    for number in range(3):
        order = await shop.request()
        receipt = mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), order.svc_code or "", f"9321450000{number}")
        assert len(receipt.pdus) == 2
        await shop.read(receipt)
    found = writer(shop.env.store).execute("SELECT sql, run, reprep FROM sqlite_stmt").fetchall()
    shop.close()
    assert len([sql for sql, runs, _ in found if runs >= 3]) > 10
    assert [sql for sql, _, again in found if again] == []


def test_no_insert_makes_a_temporary_table() -> None:
    """A check with a list of more than two values does, for each list and each row."""
    base = sqlite3.connect(":memory:", isolation_level=None)
    migrate(base, 0)
    names = [row[0] for row in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert len(names) > 30
    slow = {
        name
        for name in names
        if not name.startswith(("sqlite_", "search"))
        for line in base.execute(f"EXPLAIN INSERT INTO {name} DEFAULT VALUES")
        if line[1] == "OpenEphemeral"
    }
    base.close()
    assert slow == set()
