"""Damage between two backups loses no payment: a restored shop gets its messages from the message journal, each of them once.

The daemon and the restore are killed at random moments on the way.
"""

import random
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.acceptance.conftest import Scene
from tests.fakes.invariants import check_invariants
from tests.fakes.message_journal import journal_of
from tests.fakes.real_shop import ROOT, RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.seed import seed
from tests.fakes.tiers import share

BOOKS = (
    "SELECT id, state, body FROM messages WHERE body <> '' ORDER BY id",
    "SELECT id, telco_transaction_id, amount_minor, standing FROM payments ORDER BY id",
    "SELECT id, (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions WHERE origin = 'open' ORDER BY id",
    "SELECT webhook_id, event, (SELECT id FROM transactions WHERE seq = transaction_seq) FROM deliveries ORDER BY webhook_id",
)


def books(shop: RealShop) -> list[list[tuple[Any, ...]]]:
    return [shop.rows(statement) for statement in BOOKS]


def work(scene: Scene, receipts: int, *, backup_after: int) -> None:
    """Take in receipts, and make a backup between them; the shop is stopped afterwards."""
    shop = scene.shop
    shop.begin_chain(50_000)
    scene.open_for_business()
    plan = list(mtn_receipts(receipts, seed(), started=utc_now()))
    for number, part in enumerate((plan[:backup_after], plan[backup_after:])):
        if number:
            done = shop.program("backup", "create", "--json")
            assert done.returncode == 0, done.stderr
        for receipt in part:
            scene.phone.deliver(receipt.pdus)
        wait_until(scene.phone.is_empty, 60 + receipts, "every SMS is taken in")
    wait_until(lambda: len(shop.rows("SELECT id FROM payments")) == receipts, 90, "all are paid")
    shop.stop()


def damage(shop: RealShop) -> None:
    with open(shop.places.database, "r+b") as file:  # noqa: PTH123
        file.seek(4096)
        file.write(b"\xff" * 65_536)


def recovered(shop: RealShop, receipts: int) -> bool:
    return len(shop.rows("SELECT id FROM payments")) == receipts


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_restored_shop_has_every_payment_under_its_old_ids(scene: Scene) -> None:
    shop = scene.shop
    work(scene, 6, backup_after=2)
    before = books(shop)
    journaled = len([*journal_of(shop).backward()])
    damage(shop)
    done = shop.momo("restore", "--confirm", "Ama Provisions", timeout_s=60)
    assert done.returncode == 0, done.stderr
    assert "8 parts of SMS in the message journal are newer than the backup" in done.stderr
    assert len(shop.rows("SELECT id FROM payments")) == 2
    shop.start()
    wait_until(lambda: recovered(shop, 6), 30, "the messages are taken in")
    assert books(shop) == before
    (told,) = shop.rows("SELECT data FROM events WHERE type = 'messages.recovered'")
    assert told == ('{"messages":4,"payments":4}',)
    wait_until(lambda: shop.rows("SELECT 1 FROM notices WHERE kind = 'messages.recovered'"), 30, "a notice")
    shop.stop()
    assert shop.rows("SELECT COUNT(*) FROM messages WHERE recovered = 1") == [(4,)]
    assert len([*journal_of(shop).backward()]) == journaled
    check_invariants(shop.places.database)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(share(20, least=2)))
def test_kills_during_a_restore_and_during_the_replay_lose_nothing(scene: Scene, number: int) -> None:
    rng = random.Random(seed() + number)
    shop, receipts = scene.shop, 40
    work(scene, receipts, backup_after=rng.randrange(receipts // 2))
    before = books(shop)
    for _ in range(3):
        _restore(shop, kill_after_s=rng.uniform(0.2, 0.9))
    _restore(shop)
    for _ in range(4):
        shop.spawn()
        if rng.random() < 0.7:
            shop.wait_ready()
            pause(rng.uniform(0, 0.2) * shop.slowness)
        else:
            pause(rng.uniform(0.2, 0.9) * shop.slowness)
        shop.kill()
    shop.start()
    wait_until(lambda: recovered(shop, receipts), 60, "the messages are taken in")
    assert books(shop) == before
    shop.stop()
    check_invariants(shop.places.database)


def _restore(shop: RealShop, kill_after_s: float | None = None) -> None:
    """Restore the newest backup; kill the process after that time."""
    process = subprocess.Popen(
        [sys.executable, "-m", "daemon", "backup", "restore", "--json"],
        cwd=ROOT, env=shop.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        code = process.wait(60 if kill_after_s is None else kill_after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    assert code in ((0,) if kill_after_s is None else (0, -signal.SIGKILL))
