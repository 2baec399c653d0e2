"""Run a simulated shop's day and check the result: everything ended, and no forgery paid."""

import asyncio
import hashlib
import ipaddress
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fakes.invariants import check_invariants
from tests.simulation.customers import Customers, Truth
from tests.simulation.faults import Faults
from tests.simulation.operators import Operators
from tests.simulation.shop import Shop, Size
from tests.simulation.simulated_time import run

PHONES_QUIET_S = 2_400.0
"""Time after the last fault in which each storage of each phone is swept several times."""
OUTBOX_QUIET_H = 80
"""Hours in which each delivery ends: the longest schedule, and a replay after it."""
FINAL = "('delivered', 'failed')"
TABLES = ("transactions", "payments", "messages", "reviews", "deliveries", "dead_letters", "attempts", "events")


def run_day(folder: Path, size: Size) -> Shop:
    """Run the day of one seed.

    Raises:
        AssertionError: A violated invariant; an error that ended a part of the daemon is raised unchanged.
    """
    shop = Shop(folder, size)
    try:
        run(shop.clock, _day(shop))
        shop.digest = _digest(shop)
    finally:
        shop.store.close()
    return shop


async def _day(shop: Shop) -> None:
    await shop.begin()
    customers = Customers(shop)
    operators = Operators(shop, customers)
    faults = Faults(shop, customers, operators)
    end = shop.clock.monotonic() + shop.size.hours * 3600
    working = asyncio.create_task(_work(operators, shop, end))
    await asyncio.gather(customers.come(end), faults.strike(end), working)
    await faults.mend()
    for _ in range(4):
        await asyncio.sleep(PHONES_QUIET_S / 4)
        shop.watch()
    for phone in shop.phones:
        phone.unplug()
    await operators.decide_all()
    await operators.resume_all()
    await operators.replay_all()
    for _ in range(OUTBOX_QUIET_H):
        await asyncio.sleep(3600)
        shop.watch()
        if not await shop.look(f"SELECT 1 FROM deliveries WHERE status NOT IN {FINAL} LIMIT 1"):
            break
    await shop.end()
    check_invariants(shop.database)
    problems = [problem for judged in (_messages, _money, _webhooks) for problem in judged(shop, customers.truth)]
    assert not problems, "\n".join(problems[:20])


async def _work(operators: Operators, shop: Shop, end: float) -> None:
    while shop.clock.monotonic() < end:
        await asyncio.sleep(operators.pause_s())
        await operators.work()


def _digest(shop: Shop) -> str:
    seen = hashlib.sha256("\n".join(shop.trace).encode())
    for table in TABLES:
        for row in _rows(shop, f"SELECT * FROM {table} ORDER BY seq"):
            seen.update(repr(row).encode())
    return seen.hexdigest()


def _rows(shop: Shop, sql: str) -> list[tuple[Any, ...]]:
    return shop.store.peek(lambda reader: reader.all(sql))


def _messages(shop: Shop, truth: Truth) -> list[str]:
    """Check that every message that reached a SIM is stored once, under that SIM, and no part left its slot too early."""
    found = Counter(_rows(shop, "SELECT sim_key, body FROM messages WHERE imported = 0 AND body <> ''"))
    sent = Counter(truth.texts)
    problems = [f"left its slot before it was stored: {one}" for one in shop.too_early]
    problems += [f"lost: {one}" for one in sent if not found[one]]
    problems += [f"stored {found[one]} times: {one}" for one in sent if found[one] > 1]
    problems += [f"never sent: {one}" for one in found if one not in sent]
    problems += [f"left on {phone.name}" for phone in shop.phones if phone.phone.stored() or phone.phone.held()]
    return problems


def _money(shop: Shop, truth: Truth) -> list[str]:
    """Check payments and answers.

    No forgery pays. Each genuine receipt is matched, or a sale of its own, or was reviewed. Given answers remain true.
    """
    standing = dict(_rows(shop, "SELECT telco_transaction_id, standing FROM payments"))
    reviewed = {body for (body,) in _rows(shop, "SELECT m.body FROM reviews r JOIN messages m ON m.id = r.message_id")}
    paid_by = dict(
        _rows(
            shop,
            "SELECT 'svc_trx_' || REPLACE(t.id, '-', ''), p.telco_transaction_id FROM transactions t "
            "JOIN payments p ON p.seq = t.payment_seq WHERE t.origin = 'request'",
        )
    )
    facts = {
        row[0]: row[1:]
        for row in _rows(
            shop,
            "SELECT p.telco_transaction_id, p.amount_minor, p.historical AND p.standing <> 'used' "
            "AND COALESCE(l.line_created_at, 0) <= m.sent_at FROM payments p "
            "JOIN messages m ON m.seq = p.message_seq "
            "LEFT JOIN payment_methods l ON l.seq = p.payment_method_seq",
        )
    }
    problems = [
        f"{one} has the amount {truth.genuine[one].amount_minor}, and was booked as {facts[one][0]}"
        for one in facts
        if one in truth.genuine and facts[one][0] != truth.genuine[one].amount_minor
    ]
    # A payment older than its line is historical: the number was off its SIM meanwhile.
    problems += [f"read from a phone, but historical: {one}" for one, (_, history) in facts.items() if history]
    problems += [f"forged, but {standing[one]}: {one}" for one in truth.forged if one in standing]
    problems += [
        f"neither a payment nor reviewed: {one}"
        for one, receipt in truth.genuine.items()
        if one not in standing and receipt.text not in reviewed
    ]
    waiting = _rows(shop, "SELECT id, reason FROM reviews WHERE state = 'open'")
    problems += [f"review still open: {one}" for one in waiting]
    orders = {row[0] for row in _rows(shop, "SELECT 'svc_trx_' || REPLACE(id, '-', '') FROM transactions")}
    problems += [f"an answered transaction is gone: {one}" for one in truth.orders if one not in orders]
    problems += [
        f"{reference} was matched with {telco_id}, and is {paid_by.get(reference)}"
        for reference, telco_id in truth.matched.items()
        if paid_by.get(reference) != telco_id
    ]
    return problems


def _webhooks(shop: Shop, truth: Truth) -> list[str]:
    """Check that every delivery is delivered or dead, every delivered one arrived, and no private address was dialled."""
    del truth
    problems = [f"{host}: {wrong}" for host, it in shop.receivers.items() for wrong in it.wrong]
    problems += [
        f"dialled {address}" for address in shop.internet.dialled if not ipaddress.ip_address(address).is_global
    ]
    taken = {webhook_id for receiver in shop.receivers.values() for webhook_id in receiver.taken}
    for status, webhook_id, delivered_at in _rows(shop, "SELECT status, webhook_id, delivered_at FROM deliveries"):
        if status not in {"delivered", "failed"}:
            problems.append(f"still {status}: {webhook_id}")
        if delivered_at is not None and webhook_id not in taken:
            problems.append(f"delivered, but never received: {webhook_id}")
    return problems
