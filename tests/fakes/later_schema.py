"""A small shop with the base schema, and made-up later migrations, for tests of upgrades."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from daemon.store import migrate
from daemon.store.migrate import Migration

_NAMES = "device_id, mode, imei, name, manufacturer, model, port, present, first_seen_at, last_seen_at, forgotten_at"
BASE = migrate.migrations()[0]
_DEVICE = """\
    device_id     TEXT PRIMARY KEY,
    mode          TEXT NOT NULL DEFAULT 'live',
    imei          TEXT,
    name          TEXT NOT NULL,
    manufacturer  TEXT,
    model         TEXT,
    port          TEXT,
    present       INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL,
    forgotten_at  INTEGER,
    shelf         TEXT
"""
LATER = (
    Migration(
        2,
        "labels",
        "ALTER TABLE payments ADD COLUMN label TEXT;\n"
        "CREATE TABLE labels (\n    seq INTEGER PRIMARY KEY,\n    payment_id TEXT NOT NULL REFERENCES payments (id)\n) STRICT;\n"
        "INSERT INTO labels (seq, payment_id) SELECT seq, id FROM payments;\n",
    ),
    Migration(
        3,
        "devices_anew",  # a table with foreign keys to it
        f"CREATE TABLE devices_anew (\n{_DEVICE}) STRICT;\n"
        f"INSERT INTO devices_anew ({_NAMES}) SELECT {_NAMES} FROM devices;\n"
        "DROP TABLE devices;\n"
        "ALTER TABLE devices_anew RENAME TO devices;\n",
    ),
)
STEPS = [BASE, *LATER]
SMALL_SHOP = (
    "INSERT INTO shop (id, name, timezone, account_key, created_at) VALUES (1, 'Ama', 'UTC', 'ab', 1)",
    "INSERT INTO devices (device_id, imei, name, present, first_seen_at, last_seen_at) VALUES ('d', '1', 'zte', 1, 1, 1)",
    ("INSERT INTO sims (sim_key, network, device_id, slot_index, present, first_seen_at, last_seen_at) "
    "VALUES ('s', 'mtn', 'd', 0, 1, 1, 1)"),
    ("INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, line_created_at, created_at, "
    "updated_at) SELECT 'pm', 'momo_mtn', '+233244124567', 'Ama', seq, 1, 1, 1, 1 FROM sims WHERE sim_key = 's'"),
    ("INSERT INTO messages (id, mode, imported, sim_key, device_id, slot_index, sender, sent_at, parts_total, parts_seen, body, state, "
    "fields, reasons, payment_id, received_at, created_at) VALUES ('m1', 'live', 0, 's', 'd', 0, 'MobileMoney', 2, 1, 1, 'text', "
    "'payment', '{}', '[]', 'p1', 2, 2)"),
    ("INSERT INTO sms_parts (sim, sha256, pdu, message_seq, position, storage, slot, received_at) "
    "SELECT (SELECT seq FROM sims WHERE sim_key = 's'), x'ff', x'00', seq, 1, 'SM', 1, 2 FROM messages"),
    ("INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, payment_method_seq, sim_key, "
    "device_id, slot_index, kind, amount_minor, currency, telco_at, stored_at, historical, standing) VALUES ('p1', 'live', "
    "'momo_mtn', '0012', '0012', 1, 1, 's', 'd', 0, 'received', 2500, 'GHS', 2, 2, 0, 'used')"),
    ("INSERT INTO transactions (id, mode, origin, status, svc_code, public_slug, expected_minor, currency, meta, "
    "send_sms_to_payer, created_with, created_at, expires_at, payment_seq, matched_by, completed_at, late, rejected) VALUES ('t1', 'live', "
    "'request', 'SUCCESS', 'K7M2QX', 'slug1', 2500, 'GHS', '{}', 1, 'secret', 1, 9, 1, 'code', 2, 0, 0)"),
    ("INSERT INTO transactions (id, mode, origin, status, svc_code, public_slug, expected_minor, currency, meta, "
    "send_sms_to_payer, created_with, created_at, expires_at, late, rejected) VALUES ('t2', 'live', 'request', 'PENDING', "
    "'ABCDEF', 'slug2', 100, 'GHS', '{\"a\":1}', 1, 'secret', 1, 9, 0, 0)"),
    "INSERT INTO svc_codes (mode, code, transaction_seq, free_at) VALUES ('live', 'K7M2QX', 1, 99)",
    ("INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, is_active, "
    "consecutive_failures, created_at, updated_at) VALUES ('e1', 'endpoint', 'live', 'https://a.example/', "
    "'https://a.example/', '', '[]', 1, 0, 1, 0, 1, 1)"),
    "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES ('e1', 'v1.x', 1)",
    ("INSERT INTO deliveries (id, webhook_id, endpoint_seq, event, subject, revision, transaction_seq, test, status, "
    "attempt_count, run, created_at, delivered_at) VALUES ('dl1', 'w1', 1, 'transaction.forwarded', 1, 0, 1, 0, "
    "'delivered', 1, 1, 3, 4)"),
    ("INSERT INTO deliveries (id, webhook_id, endpoint_seq, event, subject, revision, transaction_seq, test, status, "
    "attempt_count, run, created_at, failed_at) VALUES ('dl2', 'w2', 1, 'transaction.completed', 1, 0, 1, 0, "
    "'failed', 1, 1, 3, 5)"),
    "INSERT INTO delivery_bodies (delivery_seq, deflated) SELECT seq, x'abae0500' FROM deliveries",
    "INSERT INTO attempts (delivery_seq, run, number, started_at, finished_at, status_code) SELECT seq, 1, 1, 4, 5, 500 FROM deliveries WHERE id = 'dl2'",
    "INSERT INTO dead_letters (id, delivery_id, endpoint_id, reason, created_at, replay_count, failed_at, attempt_count) VALUES ('x1', 'dl2', 'e1', 'exhausted', 5, 0, 5, 1)",
    "INSERT INTO events (type, mode, at, actor, transaction_seq, data) VALUES ('transaction.created', 'live', 1, 'momo', 1, '{}')",
    (
        "INSERT INTO events (type, mode, at, actor, transaction_seq, payment_seq, data) VALUES ('transaction.verified', 'live', 2, "
        "'momo', 1, 1, '{}')"
    ),
)  # fmt: skip


def make_small_shop(path: str | Path) -> None:
    """Make a shop with the base schema, with payments, webhooks and a dead letter."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = WAL")
        migrate.migrate(base, 1, [BASE])
        for statement in SMALL_SHOP:
            base.execute(statement)


def know_later_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the made-up migrations to the program's list."""
    monkeypatch.setattr(migrate, "migrations", lambda: STEPS)
