"""Live through a simulated shop's day, and judge it: did everything come to its end, and was nobody fooled?"""

import asyncio
import hashlib
import ipaddress
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fakes.invariants import check_invariants
from tests.simulation.customers import Customers, Truth
from tests.simulation.faults import Faults
from tests.simulation.people import People
from tests.simulation.shop import Shop, Size
from tests.simulation.simulated_time import run

PHONES_QUIET_S = 2_400.0
"""After the last fault each storage of each phone is swept several times."""
OUTBOX_QUIET_H = 80
"""Within which each delivery comes to its end: the longest schedule, and a replay after it."""
FINAL = "('delivered', 'failed')"
TABLES = (
    "transactions",
    "payments",
    "messages",
    "reviews",
    "deliveries",
    "dead_letters",
    "attempts",
    "events",
)


def live(folder: Path, size: Size) -> Shop:
    """Live through the day of one seed.

    Raises:
        AssertionError: What should not have been; whatever a part of the daemon died of is raised as it is.
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
    people = People(shop, customers)
    faults = Faults(shop, customers, people)
    end = shop.clock.monotonic() + shop.size.hours * 3600
    working = asyncio.create_task(_work(people, shop, end))
    await asyncio.gather(customers.come(end), faults.strike(end), working)
    await faults.mend()
    for _ in range(4):
        await asyncio.sleep(PHONES_QUIET_S / 4)
        shop.watch()
    for phone in shop.phones:
        phone.unplug()
    await people.decide_all()
    await people.resume_all()
    await people.replay_all()
    for _ in range(OUTBOX_QUIET_H):
        await asyncio.sleep(3600)
        shop.watch()
        if not await shop.look(f"SELECT 1 FROM deliveries WHERE status NOT IN {FINAL} LIMIT 1"):
            break
    await shop.end()
    check_invariants(shop.database)
    problems = [
        problem
        for judged in (_messages, _money, _webhooks)
        for problem in judged(shop, customers.truth)
    ]
    assert not problems, "\n".join(problems[:20])


async def _work(people: People, shop: Shop, end: float) -> None:
    while shop.clock.monotonic() < end:
        await asyncio.sleep(people.pause_s())
        await people.work()


def _digest(shop: Shop) -> str:
    seen = hashlib.sha256("\n".join(shop.trace).encode())
    for table in TABLES:
        for row in _rows(shop, f"SELECT * FROM {table} ORDER BY seq"):
            seen.update(repr(row).encode())
    return seen.hexdigest()


def _rows(shop: Shop, sql: str) -> list[tuple[Any, ...]]:
    return shop.store.look(lambda reader: reader.all(sql))


def _messages(shop: Shop, truth: Truth) -> list[str]:
    """Every message that reached a SIM is there once, under that SIM, and no part left its slot too early."""
    found = Counter(
        _rows(shop, "SELECT sim_key, body FROM messages WHERE reasons NOT LIKE '[\"imported\"%'")
    )
    sent = Counter(truth.texts)
    problems = [f"left its slot before it was stored: {one}" for one in shop.too_early]
    problems += [f"lost: {one}" for one in sent if not found[one]]
    problems += [f"there {found[one]} times: {one}" for one in sent if found[one] > 1]
    problems += [f"nobody sent: {one}" for one in found if one not in sent]
    problems += [
        f"left on {phone.name}"
        for phone in shop.phones
        if phone.phone.stored() or phone.phone.held()
    ]
    return problems


def _money(shop: Shop, truth: Truth) -> list[str]:
    """What a thief sends pays nothing; each genuine one is used, without an order, or was before a person; answers hold."""
    standing = dict(_rows(shop, "SELECT telco_transaction_id, standing FROM payments"))
    reviewed = {
        body
        for (body,) in _rows(
            shop, "SELECT m.body FROM reviews r JOIN messages m ON m.id = r.message_id"
        )
    }
    paid_by = dict(
        _rows(
            shop,
            "SELECT 'svc_trx_' || REPLACE(t.id, '-', ''), p.telco_transaction_id FROM transactions t "
            "JOIN payments p ON p.id = t.payment_id WHERE t.origin = 'request'",
        )
    )
    facts = {
        row[0]: row[1:]
        for row in _rows(
            shop,
            "SELECT p.telco_transaction_id, p.amount_minor, p.historical AND p.standing <> 'used' "
            "AND COALESCE(l.line_created_at, 0) <= m.sent_at FROM payments p "
            "JOIN messages m ON m.id = p.message_id "
            "LEFT JOIN payment_methods l ON l.id = p.payment_method_id",
        )
    }
    problems = [
        f"{one} is of {truth.genuine[one].amount_minor}, and was booked as {facts[one][0]}"
        for one in facts
        if one in truth.genuine and facts[one][0] != truth.genuine[one].amount_minor
    ]
    # What is older than its line is history: the number was off its SIM since.
    problems += [
        f"a phone read it, and it is history: {one}"
        for one, (_, history) in facts.items()
        if history
    ]
    problems += [f"forged, and {standing[one]}: {one}" for one in truth.forged if one in standing]
    problems += [
        f"no payment and before nobody: {one}"
        for one, receipt in truth.genuine.items()
        if one not in standing and receipt.text not in reviewed
    ]
    waiting = _rows(shop, "SELECT id, reason FROM reviews WHERE state = 'open'")
    problems += [f"still waits for a person: {one}" for one in waiting]
    orders = {
        row[0] for row in _rows(shop, "SELECT 'svc_trx_' || REPLACE(id, '-', '') FROM transactions")
    }
    problems += [
        f"an order that was answered is gone: {one}" for one in truth.orders if one not in orders
    ]
    problems += [
        f"{reference} was matched with {telco_id}, and is {paid_by.get(reference)}"
        for reference, telco_id in truth.matched.items()
        if paid_by.get(reference) != telco_id
    ]
    return problems


def _webhooks(shop: Shop, truth: Truth) -> list[str]:
    """All is delivered or dead, what is delivered was taken, and no address of the shop's own network was dialled."""
    del truth
    problems = [f"{host}: {wrong}" for host, it in shop.receivers.items() for wrong in it.wrong]
    problems += [
        f"dialled {address}"
        for address in shop.internet.dialled
        if not ipaddress.ip_address(address).is_global
    ]
    taken = {webhook_id for receiver in shop.receivers.values() for webhook_id in receiver.taken}
    for status, webhook_id, delivered_at in _rows(
        shop, "SELECT status, webhook_id, delivered_at FROM deliveries"
    ):
        if status not in {"delivered", "failed"}:
            problems.append(f"still {status}: {webhook_id}")
        if delivered_at is not None and webhook_id not in taken:
            problems.append(f"nobody took {webhook_id}")
    return problems
