"""Status, lines and lists take as many steps in a big shop as in a small one, and scan no growing table."""

import importlib
import inspect
import pkgutil
import re
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import daemon.store
from daemon.api.lines import modems
from daemon.api.upkeep import status
from daemon.steps.lines import line_status
from daemon.store import journal
from daemon.store.engine import Reader
from daemon.store.messages import messages
from daemon.store.messages.messages import MessageFilter
from daemon.store.payments import payment_list, payments, reviews, transaction_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.payments.transaction_list import TransactionFilter
from daemon.store.upkeep import notices
from daemon.store.webhooks import dead_letters, delivery_log
from daemon.store.webhooks.dead_letters import DeadLetterCause, DeadLetterFilter
from daemon.store.webhooks.delivery_log import DeliveryFilter
from daemon.wire import DeliveryStatus, EventKind, MessageState, Mode, TransactionStatus
from tests.fakes import big_shop
from tests.fakes.big_shop import ENDPOINT, LINE, NOW
from tests.fakes.each import each

SMALL, BIG = 1_500, 15_000
DAY_US = 86_400_000_000
PAGE: dict[str, Any] = {"limit": 10, "offset": 0}
GROWING = "messages|payments|transactions|deliveries|attempts|events|line_balances|routings|sms_parts|dead_letters"
"""The tables that grow with each payment."""
LATE_PAYMENT = "000001f5-0000-7000-8000-0002000001f5"
STEPS = 20
"""The progress of a statement is counted in this many steps of SQLite's virtual machine."""
Job = Callable[[Reader], Any]


def of(function: Callable[..., Any], *args: Any, **named: Any) -> Job:
    return lambda reader: function(reader, *args, **named)


def listed(function: Callable[..., Any], wanted: Any) -> Job:
    return of(function, wanted, **PAGE)


def transactions(**wanted: Any) -> Job:
    return of(transaction_list.transactions, TransactionFilter(**wanted), now=NOW, **PAGE)


def list_payments(**wanted: Any) -> Job:
    return of(payment_list.listed, PaymentFilter(**wanted), limit=50)


MESSAGES, DELIVERIES = partial(listed, messages.page), partial(listed, delivery_log.listed)
FLAT: dict[str, Job] = {
    "status": of(status._read, NOW, []),
    "lines": of(line_status, NOW, []),
    "modems": modems.read,
    "messages": MESSAGES(MessageFilter()),
    "messages of a state": MESSAGES(MessageFilter(state=MessageState.PAYMENT)),
    "unparsed messages": MESSAGES(MessageFilter(state=MessageState.UNPARSED)),
    "messages of a line": MESSAGES(MessageFilter(line=LINE)),
    "payment messages of a line": MESSAGES(MessageFilter(MessageState.PAYMENT, "+233244124567")),
    "messages of a day": MESSAGES(MessageFilter(since=NOW - DAY_US // 10)),
    "messages of a day and sender": MESSAGES(
        MessageFilter(MessageState.PAYMENT, LINE, "MobileMoney", NOW - DAY_US // 10)
    ),
    "deliveries": DELIVERIES(DeliveryFilter()),
    "all deliveries": DELIVERIES(DeliveryFilter(implicit=True)),
    "live deliveries": DELIVERIES(DeliveryFilter(mode=Mode.LIVE)),
    "test deliveries": DELIVERIES(DeliveryFilter(mode=Mode.TEST)),
    "deliveries of an endpoint": DELIVERIES(DeliveryFilter(endpoint_id=ENDPOINT)),
    "waiting deliveries": DELIVERIES(DeliveryFilter(status=DeliveryStatus.PENDING)),
    "retried deliveries": DELIVERIES(DeliveryFilter(status=DeliveryStatus.RETRYING)),
    "delivered deliveries": DELIVERIES(DeliveryFilter(status=DeliveryStatus.DELIVERED)),
    "deliveries of an event": DELIVERIES(DeliveryFilter(event=EventKind.COMPLETED)),
    "deliveries of a rare event": DELIVERIES(DeliveryFilter(event=EventKind.REVERSED)),
    "deliveries of a transaction": DELIVERIES(DeliveryFilter(transaction_id="t")),
    "deliveries of a day": DELIVERIES(DeliveryFilter(since=NOW - DAY_US // 10)),
    "deliveries behind one": DELIVERIES(DeliveryFilter(after=900)),
    "transactions": transactions(),
    "live transactions": transactions(mode=Mode.LIVE, origin="all"),
    "pending transactions": transactions(status=TransactionStatus.PENDING),
    "the oldest transactions": transactions(sort="oldest"),
    "attempts": of(delivery_log.attempts, "d", **PAGE),
    "entries of a transaction": of(journal.of_transaction, "t", **PAGE),
    "payments": list_payments(),
    "payments by amount": list_payments(sort="largest"),
    "payments behind one": list_payments(sort="smallest", after=LATE_PAYMENT),
    "reversed payments": list_payments(state="reversed"),
    "payments in review": list_payments(state="review", sort="oldest"),
    "approved payers": of(payments.approved_payers, phone_number=None, revoked=False, mode=None, **PAGE),
}
"""The lists that cost the same in every shop, with the filters that people use."""
RARE: dict[str, Job] = {
    "messages of a sender": MESSAGES(MessageFilter(sender="MobileMoney")),
    "failed deliveries": DELIVERIES(DeliveryFilter(status=DeliveryStatus.FAILED)),
    "dead letters": listed(dead_letters.listed, DeadLetterFilter()),
    "dead letters of a mode": listed(dead_letters.listed, DeadLetterFilter(mode=Mode.LIVE)),
    "kinds of dead letters": of(dead_letters.groups, Mode.LIVE),
    "dead letters of a kind": of(
        dead_letters.of_kind, DeadLetterCause(ENDPOINT, "exhausted", "", 0, clock=False), after=0, limit=10
    ),
    "reviews": of(reviews.page, state=None, mode=None, **PAGE),
    "open live reviews": of(reviews.page, state="open", mode=Mode.LIVE, **PAGE),
    "notices": of(notices.page, unseen=False, **PAGE),
    "unseen notices": of(notices.page, unseen=True, **PAGE),
}
"""The lists that return a total."""
BY_PERIOD = {"by_group"}
"""A report adds up its period."""


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[sqlite3.Connection]]:
    """A small and a big shop, without statistics."""
    folder = tmp_path_factory.mktemp("shops")
    made = [big_shop.build(folder / f"{size}.db", size) for size in (SMALL, BIG)]
    yield made
    for base in made:
        base.close()


def steps(base: sqlite3.Connection, job: Job) -> int:
    """Return how many steps of the virtual machine a job takes."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += STEPS
        return 0

    job(Reader(base))  # reads the schema
    base.set_progress_handler(count, STEPS)
    job(Reader(base))
    base.set_progress_handler(None, STEPS)
    return taken


def full_scans(base: sqlite3.Connection, job: Job) -> list[tuple[str, str]]:
    """Return the steps of a job's plans that read a growing table through, and their statements."""
    statements: list[str] = []
    base.set_trace_callback(statements.append)
    job(Reader(base))
    base.set_trace_callback(None)
    assert statements
    return [
        (plan, statement)
        for statement in statements
        for *_, plan in base.execute(f"EXPLAIN QUERY PLAN {statement}")
        if plan.startswith("SCAN")
        and _is_growing(plan.split()[1], statement)
        and not _stops_at_its_page(statement)
        # The few rows that an index of such rows holds.
        and not re.search(r"INDEX (dead_letters_open|deliveries_failed)", plan)
    ]


def _is_growing(name: str, statement: str) -> bool:
    """Return whether a name in a plan, of a table or given to one by the statement, is of a growing table."""
    return bool(re.search(rf"^({GROWING})$", name) or re.search(rf"\b({GROWING}) {name}\b", statement))


def _stops_at_its_page(statement: str) -> bool:
    """Return whether a statement goes through the rows in the order of the list, up to a limit."""
    return bool(re.search(r"ORDER BY (d|m)\.seq DESC LIMIT \d+", statement))


@each("name", FLAT)
def test_a_list_takes_as_many_steps_in_a_big_shop(shops: list[sqlite3.Connection], name: str) -> None:
    small, big = (steps(base, FLAT[name]) for base in shops)
    assert big <= small * 1.3 + 200


@pytest.mark.parametrize("statistics", [False, True])
def test_no_list_reads_a_growing_table_through(shops: list[sqlite3.Connection], statistics: bool) -> None:
    base = shops[1]
    base.execute("BEGIN")
    if statistics:
        _gather(base)
    try:
        assert _lists_with_scans(base) == {}
    finally:
        base.execute("ROLLBACK")


@pytest.mark.slow
def test_no_list_of_a_hundred_thousand_payments_reads_a_growing_table_through(tmp_path: Path) -> None:
    base = big_shop.build(tmp_path / "momo.db", 100_000)
    base.execute("ANALYZE")
    found = _lists_with_scans(base)
    base.close()
    assert found == {}


def _lists_with_scans(base: sqlite3.Connection) -> dict[str, list[tuple[str, str]]]:
    return {name: scans for name, job in (FLAT | RARE).items() if (scans := full_scans(base, job))}


def _gather(base: sqlite3.Connection) -> None:
    """Give a shop the statistics of one ten times as big: each index ten times as many rows of one value."""
    base.execute("ANALYZE")
    for row, table, stat in base.execute("SELECT rowid, tbl, stat FROM sqlite_stat1").fetchall():
        first, *rest = stat.split()
        if int(first) < SMALL / 10 or table.endswith("_counts"):
            continue
        grown = [str(int(first) * 10), *(one if one == "1" else str(int(one) * 10) for one in rest)]
        base.execute("UPDATE sqlite_stat1 SET stat = ? WHERE rowid = ?", (" ".join(grown), row))
    base.execute("ANALYZE sqlite_schema")  # reads the statistics


def test_every_list_is_tried() -> None:
    pages = {
        name
        for module in pkgutil.walk_packages(daemon.store.__path__, "daemon.store.")
        for name, function in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction)
        if function.__module__ == module.name
        and {"limit", "offset"} <= set(inspect.signature(function).parameters)
        and not name.startswith("_")
    }
    tried = {"page", "evidence_page", "listed", "attempts", "of_transaction", "transactions", "approved_payers"}
    assert pages - BY_PERIOD == tried
