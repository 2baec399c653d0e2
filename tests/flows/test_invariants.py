"""The checks of `tests/fakes/invariants.py` find violations: each is run on a shop that violates it."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.each import each
from tests.fakes.invariants import QUESTIONS, broken_invariants
from tests.fakes.receipts import mtn
from tests.fakes.reviews import endpoint
from tests.fakes.shop import FakeShop

pytestmark = pytest.mark.file  # breaks rows that the constraints of a server forbid; `check_invariants` runs on both

COPY_MESSAGE = (
    "INSERT INTO payments (seq, id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, payment_method_seq, "
    "sim_key, device_id, slot_index, kind, amount_minor, currency, fee_minor, balance_minor, payer_name, payer_phone, "
    "reference_text, telco_at, stored_at, historical, standing, reversed_at, payer_proven) SELECT NULL, 'again', mode, provider, telco_transaction_id || '{suffix}', telco_id_as_read, "
    "message_seq, payment_method_seq, sim_key, device_id, slot_index, kind, amount_minor, currency, fee_minor, balance_minor, "
    "payer_name, payer_phone, reference_text, telco_at, stored_at, historical, standing, reversed_at, payer_proven "
    "FROM payments LIMIT 1"
)
PAID = "(SELECT id FROM transactions WHERE origin = 'request' AND payment_seq IS NOT NULL)"
OPEN = "(SELECT MIN(id) FROM transactions WHERE status = 'PENDING')"
AGAIN = (
    "INSERT INTO events (seq, type, mode, at, actor, transaction_seq, payment_seq, data) "
    "SELECT seq + 100, '{type}', mode, at, actor, transaction_seq, payment_seq, data FROM events WHERE type = 'transaction.verified'"
)
SABOTAGE = {
    "one SMS is stored once": (
        "INSERT INTO sms_parts SELECT NULL, sim, sha256, pdu, pdu_text, message_seq, position + 7, sent_at, storage, slot, "
        "received_at, synthesised FROM sms_parts LIMIT 1"
    ),
    "a message has as many parts as it counts": "UPDATE messages SET parts_seen = 1",
    "one network ID is one payment": COPY_MESSAGE.format(suffix=""),
    "a payment belongs to a stored message": "UPDATE payments SET message_seq = 99",
    "a transaction is paid in its own currency": f"UPDATE transactions SET currency = 'XOF' WHERE id = {PAID}",
    "a delivered webhook has a time of delivery, a failed one a time of failure": "UPDATE deliveries SET status = 'failed'",
    "a payment verifies at most one transaction": (
        f"UPDATE transactions SET status = 'SUCCESS', payment_seq = "
        f"(SELECT payment_seq FROM transactions WHERE id = {PAID}) WHERE id = {OPEN}"
    ),
    "a payment that paid an order of head office pays none here": (
        "INSERT INTO hub_commands (seq, kind, subject, body) SELECT 1, 'decided', id, '{\"origin\": \"request\"}' FROM payments "
        f"WHERE seq = (SELECT payment_seq FROM transactions WHERE id = {PAID})"
    ),
    "no transaction is held for a payment that verified one": (
        f"UPDATE transactions SET held_payment_seq = (SELECT payment_seq FROM transactions WHERE id = {PAID}) WHERE id = {OPEN}"
    ),
    "a verified transaction has its payment, and no other has one": (
        f"UPDATE transactions SET status = 'SUCCESS' WHERE id = {OPEN}"
    ),
    "a merged holder's payment belongs to the transaction that replaced it": (
        "UPDATE transactions SET merged_into = 'nobody' WHERE origin = 'open'"
    ),
    "the status agrees with the amount paid": f"UPDATE transactions SET expected_minor = 7 WHERE id = {PAID}",
    "a request is verified once, and the journal says when": AGAIN.format(type="transaction.verified"),
    "only a verified transaction is announced as completed": (
        f"UPDATE deliveries SET transaction_seq = (SELECT seq FROM transactions WHERE id = {OPEN}) WHERE event = 'transaction.completed'"
    ),
    "what is verified is owed to somebody, where anybody takes it": (
        "DELETE FROM deliveries WHERE event = 'transaction.forwarded'"
    ),
    "one webhook id is one kind of event about one payment": "UPDATE deliveries SET webhook_id = 'ocl_'",
    "one webhook id is one address": (
        "UPDATE deliveries SET webhook_id = 'ocl_'; "
        "INSERT INTO endpoints SELECT 99, 'other', kind, mode, url || 'x', url_normalised || 'x', description, events, "
        "catch_all, include_raw, is_active, created_at, updated_at, auto_paused_at, last_success_at, last_failure_at, "
        "consecutive_failures, link_failures, deleted_at, backlog_seq, headers FROM endpoints; "
        "UPDATE deliveries SET endpoint_seq = 99 WHERE event = 'transaction.completed'"
    ),
    "one address, kind and payment is one webhook id": (
        "INSERT INTO endpoints SELECT 99, 'twin', kind, mode, url, url_normalised, description, events, catch_all, "
        "include_raw, is_active, created_at, updated_at, auto_paused_at, last_success_at, last_failure_at, "
        "consecutive_failures, link_failures, deleted_at, backlog_seq, headers FROM endpoints; "
        "INSERT INTO deliveries SELECT NULL, id || 'x', 'ocl_other' || seq, 99, event, subject, revision, "
        "transaction_seq, test, status, attempt_count, run, next_attempt_at, leased_until, waiting, extra, "
        "response_status_code, response_body, error_code, error_message, created_at, delivered_at, failed_at, bulk, tried, "
        "clock_waits FROM deliveries"
    ),
    "nothing follows verification but a reversal": AGAIN.format(type="transaction.released"),
    "a request is cancelled once": 2 * (AGAIN.format(type="transaction.cancelled") + ";"),
    "a cancelled transaction has a time of cancelling, an open or expired one has none": (
        f"UPDATE transactions SET status = 'CANCELLED' WHERE id = {OPEN}"
    ),
    "a transaction in MANUAL_REVIEW has an open review": (
        f"UPDATE transactions SET status = 'MANUAL_REVIEW' WHERE id = {OPEN}"
    ),
    "one key of a caller has one answer": (
        "INSERT INTO idempotency_keys SELECT 's', 'k', '', 201, '', 0, 0 FROM payments"
    ),
    "a payment is counted once: used, with a holder, in review, or handed to the hub": (
        "UPDATE payments SET standing = 'review'"
    ),
    "a transaction and its payment are of one mode": (f"UPDATE transactions SET mode = 'test' WHERE id = {PAID}"),
    "a payment and its message are of one mode": "UPDATE messages SET mode = 'test'",
    "a delivery has its body": "DELETE FROM delivery_bodies",
    "a delivery, its endpoint and its transaction are of one mode": "UPDATE deliveries SET test = 1",
    "a review is of its payment's mode": (
        "INSERT INTO reviews SELECT NULL, 'r', 'test', 'late', 'rejected', (SELECT id FROM messages WHERE seq = message_seq), id, NULL, '{}', 0, 0, '', '', NULL, NULL "
        "FROM payments"
    ),
    "the code of an open request is its own": "DELETE FROM svc_codes",
    "the stored totals agree with the rows": "UPDATE transaction_counts SET count = count + 1",
    "the stored totals of messages agree with the rows": "UPDATE message_counts SET count = count + 1",
    "the stored totals of deliveries agree with the rows": "UPDATE delivery_counts SET count = count + 1",
    "nothing names a row that is not there": "UPDATE sms_parts SET message_seq = 999 WHERE seq = 1",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop with an order that was paid, one that waits, a walk-in, and an endpoint; each test gets a copy."""
    folder = tmp_path_factory.mktemp("shop")
    asyncio.run(_make(folder))
    return folder / "momo.db"


@pytest.fixture(scope="module")
def bare(made: Path) -> Path:
    """The same shop without constraints."""
    path = made.with_name("bare.db")
    shutil.copy(made, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        _lift_constraints(base)
    return path


@pytest.fixture
def busy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


async def _make(folder: Path) -> None:
    shop = await FakeShop.make(folder)
    await endpoint(shop)
    both = '["transaction.forwarded", "transaction.completed"]'
    await shop.env.store.write(lambda tx: tx.run(f"UPDATE endpoints SET events = '{both}'"))
    paid = await shop.request()
    await shop.request()
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), paid.svc_code or "", "93214500001"))
    await shop.read(mtn(900, "KOFI ANTWI BADU", shop.wallet(900), "food", "93214500002", concatenation=2))
    shop.close()


def test_a_sound_shop_passes(busy: Path) -> None:
    assert broken_invariants(busy) == {}


def test_every_question_but_sqlites_own_is_tried() -> None:
    assert set(SABOTAGE) == set(QUESTIONS) - {"the file is sound"}


@each("question", SABOTAGE)
def test_what_is_broken_is_found(made: Path, bare: Path, tmp_path: Path, question: str) -> None:
    # Of the constraints themselves only a shop with them can be asked.
    path = shutil.copy(made if "names a row" in question else bare, tmp_path / "broken.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA synchronous = OFF")
        base.executescript(SABOTAGE[question])
    assert question in broken_invariants(path)


def _lift_constraints(base: sqlite3.Connection) -> None:
    """Make every table anew with the same rows and without constraints."""
    tables = [
        name
        for (name,) in base.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search%'"
        )
    ]
    base.execute("PRAGMA legacy_alter_table = ON")
    base.execute("PRAGMA synchronous = OFF")
    for name in tables:
        base.executescript(
            f"CREATE TABLE bare AS SELECT * FROM {name}; DROP TABLE {name}; ALTER TABLE bare RENAME TO {name};"
        )
