"""A shop of the first schema comes through every step, whole; a step that is killed has not happened."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon.store import backup, ledger
from daemon.store.engine import Store
from daemon.store.migrate import migrate, migrations

SHOP_OF_SCHEMA_1 = (
    "INSERT INTO shop (id, name, timezone, password_hash, account_key, created_at) VALUES (1, 'Ama', 'UTC', 'x', 'ab', 1)",
    "INSERT INTO devices (device_id, imei, name, present, first_seen_at, last_seen_at) VALUES ('d', '1', 'zte', 1, 1, 1)",
    ("INSERT INTO sims (sim_key, network, device_id, slot_index, present, first_seen_at, last_seen_at) "
    "VALUES ('s', 'mtn', 'd', 0, 1, 1, 1)"),
    ("INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, line_created_at, created_at, "
    "updated_at) VALUES ('pm', 'momo_mtn', '+233244124567', 'Ama', 1, 1, 1, 1, 1)"),
    ("INSERT INTO messages (id, mode, sim_key, device_id, slot_index, sender, sent_at, parts_total, parts_seen, body, state, "
    "fields, reasons, payment_id, received_at, created_at) VALUES ('m1', 'live', 's', 'd', 0, 'MobileMoney', 2, 1, 1, 'text', "
    "'payment', '{}', '[]', 'p1', 2, 2)"),
    ("INSERT INTO sms_parts (sim_key, sha256, pdu, message_id, position, storage, slot, received_at) "
    "VALUES ('s', 'ff', '00', 'm1', 1, 'SM', 1, 2)"),
    ("INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_id, payment_method_id, sim_key, "
    "device_id, slot_index, kind, amount_minor, currency, telco_at, stored_at, historical, standing) VALUES ('p1', 'live', "
    "'momo_mtn', '0012', '0012', 'm1', 'pm', 's', 'd', 0, 'received', 2500, 'GHS', 2, 2, 0, 'used')"),
    ("INSERT INTO transactions (id, mode, origin, status, svc_code, public_slug, expected_minor, currency, meta, "
    "send_sms_to_payer, created_with, created_at, expires_at, payment_id, matched_by, completed_at, late, rejected) VALUES ('t1', 'live', "
    "'request', 'SUCCESS', 'K7M2QX', 'slug1', 2500, 'GHS', '{}', 1, 'secret', 1, 9, 'p1', 'code', 2, 0, 0)"),
    ("INSERT INTO transactions (id, mode, origin, status, svc_code, public_slug, expected_minor, currency, meta, "
    "send_sms_to_payer, created_with, created_at, expires_at, late, rejected) VALUES ('t2', 'live', 'request', 'PENDING', "
    "'ABCDEF', 'slug2', 100, 'GHS', '{\"a\":1}', 1, 'secret', 1, 9, 0, 0)"),
    "INSERT INTO svc_codes (mode, code, transaction_id, free_at) VALUES ('live', 'K7M2QX', 't1', 99)",
    ("INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, is_active, "
    "consecutive_failures, created_at, updated_at) VALUES ('e1', 'endpoint', 'live', 'https://a.example/', "
    "'https://a.example/', '', '[]', 1, 0, 1, 0, 1, 1)"),
    "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES ('e1', 'v1.x', 1)",
    ("INSERT INTO deliveries (id, webhook_id, endpoint_id, event, subject, revision, transaction_id, test, body, status, "
    "attempt_count, run, created_at, delivered_at) VALUES ('dl1', 'w1', 'e1', 'transaction.forwarded', 'p1', 0, 't1', 0, '{}', "
    "'delivered', 1, 1, 3, 4)"),
    ("INSERT INTO deliveries (id, webhook_id, endpoint_id, event, subject, revision, transaction_id, test, body, status, "
    "attempt_count, run, created_at, failed_at) VALUES ('dl2', 'w2', 'e1', 'transaction.completed', 'p1', 0, 't1', 0, '{}', "
    "'failed', 1, 1, 3, 5)"),
    "INSERT INTO attempts (delivery_id, run, number, started_at, finished_at, status_code) VALUES ('dl2', 1, 1, 4, 5, 500)",
    "INSERT INTO dead_letters (id, delivery_id, reason, created_at, replay_count) VALUES ('x1', 'dl2', 'exhausted', 5, 0)",
    "INSERT INTO events (type, mode, at, actor, transaction_id, data) VALUES ('transaction.created', 'live', 1, 'momo', 't1', '{}')",
    (
        "INSERT INTO events (type, mode, at, actor, transaction_id, payment_id, data) VALUES ('transaction.verified', 'live', 2, "
        "'momo', 't1', 'p1', '{}')"
    ),
)  # fmt: skip
KEPT = (
    "SELECT id, telco_transaction_id, amount_minor, standing FROM payments",
    "SELECT id, status, svc_code, payment_id, meta FROM transactions ORDER BY id",
    "SELECT code, transaction_id FROM svc_codes",
    "SELECT id, body, state FROM messages",
    "SELECT sha256, pdu FROM sms_parts",
    "SELECT id, status, webhook_id FROM deliveries ORDER BY id",
    "SELECT delivery_id, status_code FROM attempts",
    "SELECT id, delivery_id FROM dead_letters",
    "SELECT id, url FROM endpoints",
    "SELECT owner, sealed FROM webhook_secrets",
    "SELECT type, transaction_id FROM events ORDER BY seq",
)
KILLED = """
import os, signal, sqlite3, sys
from daemon.store.migrate import migrate, migrations
path, number, after = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
base = sqlite3.connect(path, isolation_level=None)
base.execute("PRAGMA journal_mode = WAL")
seen = 0
def watch(sql):
    global seen
    seen += 1
    # The last statement of a step is its COMMIT, and then it has happened.
    if seen > after or sql.startswith("COMMIT"):
        os.kill(os.getpid(), signal.SIGKILL)
base.set_trace_callback(watch)
migrate(base, 1, migrations()[:number])
"""


def connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A shop of the first schema, with money, webhooks and a dead letter."""
    made = tmp_path / "momo.db"
    base = connected(made)
    base.execute("PRAGMA journal_mode = WAL")
    migrate(base, 1, migrations()[:1])
    for statement in SHOP_OF_SCHEMA_1:
        base.execute(statement)
    base.close()
    return made


def holds(path: Path) -> list[Any]:
    base = connected(path)
    rows = [base.execute(question).fetchall() for question in KEPT]
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert base.execute("PRAGMA foreign_key_check").fetchall() == []
    base.close()
    return rows


def version(path: Path) -> int:
    base = connected(path)
    (found,) = base.execute("PRAGMA user_version").fetchone()
    base.close()
    return int(found)


def test_a_shop_of_the_first_schema_comes_through_every_step_whole(path: Path) -> None:
    before = holds(path)
    Store.open(str(path), now_us=2).close()
    assert holds(path) == before
    base = connected(path)
    assert ledger.broken(base) == []
    steps = base.execute("SELECT version FROM schema_migrations ORDER BY version").fetchall()
    base.close()
    assert [number for (number,) in steps] == list(range(1, len(migrations()) + 1))
    assert backup.look_through(path).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("after", [3, 1_000])
def test_a_kill_while_the_first_step_makes_the_shop_leaves_an_empty_file_that_can_be_used(
    after: int, tmp_path: Path
) -> None:
    new = tmp_path / "new.db"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(new), "1", str(after)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert version(new) == 0
    base = connected(new)
    assert base.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone() == (0,)
    base.close()
    Store.open(str(new), now_us=2).close()
    assert version(new) == len(migrations())


@pytest.mark.slow
def test_a_kill_in_the_middle_or_at_the_end_of_each_step_leaves_the_one_before(path: Path) -> None:
    before = holds(path)
    for step in migrations()[1:]:
        for after in (3, 1_000):
            done = subprocess.run(
                [sys.executable, "-c", KILLED, str(path), str(step.version), str(after)],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            assert done.returncode == -signal.SIGKILL, (step.name, after, done.stderr)
            assert version(path) == step.version - 1, (step.name, after)
            assert holds(path) == before, (step.name, after)
        base = connected(path)
        migrate(base, 1, migrations()[: step.version])
        base.close()
    assert version(path) == len(migrations())
    assert holds(path) == before
