"""Lists and replays of a big database use an index instead of a full scan."""

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

from daemon.flows.webhooks import replay
from daemon.flows.webhooks.replay import ReplayRequest
from daemon.store import journal
from daemon.store.branches import branches, copies
from daemon.store.engine import Reader
from daemon.store.payments import payment_list, transaction_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.webhooks import dead_letters, delivery_log
from daemon.store.webhooks.delivery_log import DeliveryFilter
from daemon.wire import Mode
from tests.fakes.new_database import writer
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.shop import OWNER, FakeShop

BIG = ("payments", "deliveries", "transactions", "attempts", "p ", "d ", "t ", "o ")
DAY_US = 86_400_000_000


def scans(path: Path, statements: set[str]) -> list[tuple[str, str]]:
    """Return the steps that scan one of the big tables, or sort their rows."""
    connection = sqlite3.connect(path)
    found = [
        (str(line[3]), statement)
        for statement in statements
        if statement.startswith(("SELECT", "INSERT", "UPDATE"))
        for line in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        if str(line[3]).startswith("SCAN") and f"{str(line[3]).removeprefix('SCAN ')} ".startswith(BIG)
    ]
    connection.close()
    return found


async def test_a_replay_and_each_narrowed_list_are_found_by_an_index(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    now = shop.clock.now_us()
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    await add_endpoint(shop)
    asked = ReplayRequest("e1", now - DAY_US, now + DAY_US)
    statements: set[str] = set()
    writer(shop.env.store).set_trace_callback(statements.add)
    await replay.replay(shop.env, OWNER, asked)
    ((delivery, webhook),) = await shop.values("SELECT id, webhook_id FROM deliveries")

    def read(tx: Any) -> None:
        replay._look(tx, OWNER, asked)
        delivery_log.one(tx, delivery)
        delivery_log.attempts(tx, delivery, limit=50, offset=0)
        for wanted in (
            DeliveryFilter(endpoint_id="e1", mode=Mode.LIVE),
            DeliveryFilter(transaction_id="t1"),
            DeliveryFilter(webhook_id=webhook),
            DeliveryFilter(endpoint_id="e1", after=7),
        ):
            delivery_log.listed(tx, wanted, limit=50, offset=0)
        for after in (None, (now, 7)):
            letters = dead_letters.DeadLetterFilter(after=after)
            dead_letters.listed(tx, letters, limit=100, offset=0)
        dead_letters.one(tx, "l1")
        assert isinstance(tx, Reader)

    await shop.env.store.write(read)
    writer(shop.env.store).set_trace_callback(None)
    shop.close()
    assert len(statements) > 15
    assert scans(tmp_path / "momo.db", statements) == []


async def test_the_request_that_has_or_had_a_code_is_found_by_it(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    request = await shop.request()
    code = request.svc_code
    assert code is not None
    statements: set[str] = set()

    def read(tx: Any) -> list[Any]:
        return [transaction_list.by_code(tx, code, mode) for mode in (None, Mode.LIVE, Mode.TEST)]

    writer(shop.env.store).set_trace_callback(statements.add)
    found = await shop.env.store.write(read)
    writer(shop.env.store).set_trace_callback(None)
    shop.close()
    assert [one is not None and one[0].id == request.id for one in found] == [True, True, False]
    assert scans(tmp_path / "momo.db", statements) == []


async def test_payments_by_time_and_by_amount_are_read_in_the_order_of_an_index(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    for number, minor in enumerate((2500, 900, 2500, 700)):
        at = STARTED + timedelta(minutes=number)
        telco_id, balance = f"9321450000{number + 1}", 90_000 + number * 5_000
        await shop.read(mtn(minor, "KOFI BADU", balance, "food", telco_id, sent_at=at))
    statements: set[str] = set()
    seen: dict[str, list[int]] = {}

    def read(tx: Any) -> None:
        for sort in payment_list.SORTS:
            after, amounts = None, []
            while True:
                wanted = PaymentFilter(sort=sort, after=after)
                page, more = payment_list.listed(tx, wanted, limit=1)
                amounts += [one.payment.amount_minor for one in page]
                if not more:
                    break
                after = page[-1].payment.id
            seen[sort] = amounts

    writer(shop.env.store).set_trace_callback(statements.add)
    await shop.env.store.write(read)
    writer(shop.env.store).set_trace_callback(None)
    shop.close()
    assert seen["largest"] == [2500, 2500, 900, 700]
    assert seen["smallest"] == [700, 900, 2500, 2500]
    assert seen["newest"] == seen["oldest"][::-1] == [700, 2500, 900, 2500]
    assert scans(tmp_path / "momo.db", statements) == []
    connection = sqlite3.connect(tmp_path / "momo.db")
    plans = [
        str(line[3])
        for statement in statements
        if "ORDER BY" in statement
        for line in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
    connection.close()
    assert not [plan for plan in plans if "TEMP B-TREE" in plan]
    assert [plan for plan in plans if "payments_by_amount" in plan]


async def test_the_payments_of_a_customer_are_read_by_the_index_of_payers(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    statements: set[str] = set()
    wanted = PaymentFilter(payer_phone="+233241234567", orders_since=1)
    writer(shop.env.store).set_trace_callback(statements.add)

    def read(tx: Any) -> None:
        payment_list.listed(tx, wanted, limit=50)
        payment_list.totals(tx, wanted, most=100)

    await shop.env.store.write(read)
    writer(shop.env.store).set_trace_callback(None)
    shop.close()
    connection = sqlite3.connect(tmp_path / "momo.db")
    plans = [
        {str(line[3]) for line in connection.execute(f"EXPLAIN QUERY PLAN {statement}")}
        for statement in statements
        if "payer_phone =" in statement
    ]
    connection.close()
    assert len(plans) == 2
    for plan in plans:
        assert {
            "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)",
            "SEARCH y USING COVERING INDEX payments_by_payer (payer_phone=?)",
        } <= plan


async def test_a_hub_reads_the_rows_of_one_branch_by_an_index(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    statements: set[str] = set()
    writer(shop.env.store).set_trace_callback(statements.add)

    def read(tx: Any) -> None:
        for kind in ("message", "payment", "transaction", "review"):
            copies.rows_of(tx, "b1", kind, 5, 500)
        branches.counts(tx, "b1")
        branches.decisions(tx, "b1", 5, 500)
        branches.lost_orders(tx, "b1")
        branches.handed_and_unused(tx, "b1")
        journal.has(tx, "notice.paid_twice", "p1")

    await shop.env.store.write(read)
    writer(shop.env.store).set_trace_callback(None)
    shop.close()
    with sqlite3.connect(tmp_path / "momo.db") as base:
        steps = {
            str(line[3])
            for statement in statements
            if statement.startswith("SELECT")
            for line in base.execute(f"EXPLAIN QUERY PLAN {statement}")
        }
    base.close()
    assert not {step for step in steps if "TEMP B-TREE" in step or step.startswith("SCAN")}
    assert not {step for step in steps if "PRIMARY KEY (rowid>?)" in step}
    assert {"payments_handed_up", "events_of_doubles", "events_of_lost_orders", "branch_commands_decided"} <= {
        word for step in steps for word in step.split()
    }


async def test_the_indexes_of_branches_hold_no_row_of_a_shop_without_any(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    made = await shop.values(
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '%(branch_id%' "
        "AND tbl_name IN ('messages', 'payments', 'transactions', 'reviews')"
    )
    shop.close()
    assert len(made) == 6
    assert all("WHERE branch_id IS NOT NULL" in one for one in made)
