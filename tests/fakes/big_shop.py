"""A shop with any number of payments, made by SQL in a few seconds: for benchmarks, and for tests of query plans.

Of five payments four pay a transaction and one has none, and one more transaction is unpaid. One endpoint gets all of them.
A few in a thousand are rare cases: held, unparsed or incomplete messages, failed deliveries, gaps in the balance. The
number of open transactions and due deliveries is the same in every size, as in a real shop.
"""

import random
import sqlite3
import zlib
from pathlib import Path
from typing import Final

from daemon.store.migrate import migrate

NOW: Final = 1_795_248_000_000_000
"""The newest payment came just before."""
APART_US: Final = 20_000_000
LINE: Final = "00000000-0000-4000-8000-00000000a001"
ENDPOINT: Final = "00000000-0000-4000-8000-00000000e001"
SIM: Final = "8923301000000000012"
DEVICE: Final = "00000000-0000-4000-8000-00000000d001"
NAMED: Final = "KOFI ANTWI"
NAMED_OF: Final = 800
"""One payment in so many is by a payer with this name."""
WAITING: Final = 40
_SYLLABLES: Final = ["AN", "BO", "DU", "ENY", "FA", "KWA", "LAR", "MEN", "NII", "OWU", "SAH", "SUA", "TET", "YAW"]
_ID: Final = "printf('%08x-0000-7000-8000-{}%08x', n.i, n.i)"
_LINE_SEQ = f"(SELECT seq FROM payment_methods WHERE id = '{LINE}')"
_MESSAGE, _PAYMENT, _TRANSACTION = (_ID.format(f"000{kind}") for kind in "123")
_FORWARDED, _COMPLETED = (_ID.format(f"000{kind}") for kind in "45")
_STATE: Final = (
    "CASE WHEN n.i % 500 = 499 THEN 'held' WHEN n.i % 100 = 98 THEN 'unparsed' WHEN n.i % 1000 = 997 THEN 'incomplete' "
    "ELSE 'payment' END"
)
_PAID: Final = "n.i % 500 <> 499 AND n.i % 100 <> 98 AND n.i % 1000 <> 997"
_BODY: Final = zlib.compress(b"{}".ljust(450), 0, -13).hex()
"""As long as a real one when deflated."""
_SALE: Final = "n.i % 5 = 1"
_UNPAID: Final = "n.i % 5 = 0"
_FEW: Final = f"""
INSERT INTO devices (device_id, mode, name, present, first_seen_at, last_seen_at)
    VALUES ('{DEVICE}', 'live', 'huawei', 1, 0, {NOW});
INSERT INTO sims (seq, sim_key, network, device_id, slot_index, present, first_seen_at, last_seen_at)
    VALUES (100, '{SIM}', 'mtn', '{DEVICE}', 0, 1, 0, {NOW});
INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, line_created_at, created_at,
        updated_at)
    VALUES ('{LINE}', 'momo_mtn', '+233244124567', 'Ama', 100, 1, 0, 0, 0);
INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, is_active,
        consecutive_failures, created_at, updated_at)
    VALUES ('{ENDPOINT}', 'endpoint', 'live', 'https://shop.example/h', 'https://shop.example/h', '', '[]', 1, 0, 1, 0, 0, 0);
"""
_MANY: Final = f"""
INSERT INTO messages (id, mode, imported, sim_key, device_id, slot_index, payment_method_seq, sender, sender_type, smsc,
        sent_at, parts_total, parts_seen, reference_width, reference, body, state, kind, provider, wording, fields, trusted,
        reasons, payment_id, received_at, created_at)
    SELECT {_MESSAGE}, 'live', 0, '{SIM}', '{DEVICE}', 0, {_LINE_SEQ}, CASE WHEN n.i % 50 = 9 THEN n.phone ELSE 'MobileMoney' END, 'alphanumeric', '+233244500000',
        n.at, 2, 2, 8, n.i % 256, 'Payment received for GHS 25.00 from ' || n.name || printf(' %0250d', n.i), {_STATE},
        'payment_received', 'momo_mtn', 'mtn_1', '{{"amount":"25.00"}}', 1,
        CASE WHEN n.i % 1000 = 997 THEN '["parts_missing"]' ELSE '[]' END,
        CASE WHEN {_PAID} THEN {_PAYMENT} END, n.at, n.at FROM n;
INSERT INTO sms_parts (sim, sha256, pdu, message_seq, position, sent_at, storage, slot, received_at)
    SELECT 100, CAST(printf('%032x', n.i * 2 + part) AS BLOB), CAST(printf('%0100x', n.i) AS BLOB), m.seq, part + 1, n.at, 'SM', part, n.at
    FROM n JOIN messages m ON m.id = {_MESSAGE}, (SELECT 0 AS part UNION ALL SELECT 1) ORDER BY n.i, part;
INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, payment_method_seq, sim_key,
        device_id, slot_index, kind, amount_minor, currency, balance_minor, payer_name, payer_phone, telco_at, stored_at,
        historical, standing)
    SELECT {_PAYMENT}, 'live', 'momo_mtn', 90000000000 + n.i || '', 90000000000 + n.i || '', (SELECT seq FROM messages WHERE id = {_MESSAGE}),
        CASE WHEN n.i % 2000 <> 3 THEN {_LINE_SEQ} END, '{SIM}', '{DEVICE}', 0, 'payment_received', 2500, 'GHS', n.i * 2500,
        n.name, n.phone, n.at, n.at, 0, CASE WHEN {_SALE} THEN 'open' ELSE 'used' END FROM n WHERE {_PAID};
INSERT INTO transactions (id, mode, origin, status, svc_code, expected_minor, currency, phone_number, customer_name,
        client_reference, meta, send_sms_to_payer, created_with, created_at, expires_at, payment_seq, matched_by,
        processing_at, completed_at, late, rejected)
    SELECT {_TRANSACTION}, 'live', CASE WHEN {_SALE} THEN 'open' ELSE 'request' END, 'SUCCESS',
        CASE WHEN NOT ({_SALE}) THEN 'A7K2M9' END, CASE WHEN NOT ({_SALE}) THEN 2500 END, 'GHS', n.phone,
        CASE WHEN NOT ({_SALE}) THEN n.title END, CASE WHEN NOT ({_SALE}) THEN 'order-' || n.i END, '{{}}', 0, 'secret', n.at,
        n.at + 3600000000, (SELECT seq FROM payments WHERE id = {_PAYMENT}), 'code', n.at, n.at, 0, 0 FROM n WHERE {_PAID};
INSERT INTO transactions (id, mode, origin, status, svc_code, expected_minor, currency, phone_number, customer_name,
        client_reference, meta, send_sms_to_payer, created_with, created_at, expires_at, late, rejected)
    SELECT {_ID.format("0006")}, 'live', 'request', CASE WHEN n.i < :size - 5 * {WAITING} THEN 'EXPIRED' ELSE 'PENDING' END,
        'A7K2M9', 2500, 'GHS', n.phone, n.title, 'order-' || n.i, '{{}}', 0, 'secret', n.at, :now + 3600000000, 0, 0
    FROM n WHERE {_UNPAID};
INSERT INTO line_balances (message_seq, sim_seq, provider, at, stored_at, telco_id, pays, amount_minor, effect_minor,
        after_minor, smsc, home, doubts, standing, why, opens, position, gap_minor, counts)
    SELECT (SELECT seq FROM messages WHERE id = {_MESSAGE}), 100, 'momo_mtn', n.at, n.at, 90000000000 + n.i || '', 1, 2500, 2500, n.i * 2500,
        '+233244500000', 1, '[]', CASE WHEN {_PAID} THEN 'accepted' ELSE 'doubtful' END, 'joins', 0,
        CASE WHEN {_PAID} THEN n.i * 1024 END, CASE WHEN n.i % 5000 = 2 THEN 700 ELSE 0 END, 0 FROM n;
INSERT INTO reviews (id, mode, reason, state, message_id, details, created_at)
    SELECT {_ID.format("0007")}, 'live', 'balance_break', CASE WHEN n.i > :size - 5000 THEN 'open' ELSE 'rejected' END,
        {_MESSAGE}, '{{}}', n.at FROM n WHERE n.i % 500 = 499;
INSERT INTO routings (payment_seq, transaction_seq, mode, decided_at, claims, decision)
    SELECT p.seq, t.seq, 'live', p.stored_at, 1, '{{}}'
    FROM n JOIN payments p ON p.id = {_PAYMENT} JOIN transactions t ON t.id = {_TRANSACTION};
INSERT INTO deliveries (id, webhook_id, endpoint_seq, event, subject, revision, transaction_seq, test, status,
        attempt_count, run, next_attempt_at, response_status_code, response_body, created_at, delivered_at, failed_at)
    SELECT {{id}}, {{id}}, 1, '{{event}}', p.seq, 0, t.seq, 0,
        CASE WHEN n.i >= :size - {WAITING} THEN 'pending' WHEN n.i % 1000 = 7 THEN 'failed' ELSE 'delivered' END, 1, 1,
        CASE WHEN n.i >= :size - {WAITING} THEN :now END, 200, NULL, n.at, n.at,
        CASE WHEN n.i < :size - {WAITING} AND n.i % 1000 = 7 THEN n.at END
    FROM n JOIN transactions t ON t.id = {_TRANSACTION} JOIN payments p ON p.id = {_PAYMENT} WHERE {_PAID}{{more}};
INSERT INTO delivery_bodies (delivery_seq, deflated) SELECT seq, x'{_BODY}' FROM deliveries;
INSERT INTO attempts (delivery_seq, run, number, started_at, finished_at, duration_us, status_code, counted)
    SELECT seq, 1, 1, created_at, created_at, 2000, 200, 0 FROM deliveries;
INSERT INTO dead_letters (id, delivery_id, endpoint_id, reason, created_at, replay_count, failed_at)
    SELECT id, id, '{ENDPOINT}', 'exhausted', created_at, 0, failed_at FROM deliveries WHERE status = 'failed';
INSERT INTO notices (id, cause, kind, urgent, text, next, count, told, first_at, last_at, seen_at)
    SELECT {_ID.format("0008")}, 'cause', 'kind', 0, 'text', '', 1, 1, n.at, n.at,
        CASE WHEN n.i < :size - 5000 THEN n.at END FROM n WHERE n.i % 1000 = 1;
INSERT INTO events (type, mode, at, actor, transaction_seq, payment_seq, message_seq, data)
    SELECT 'transaction.verified', 'live', n.at, 'momo', t.seq, p.seq,
        (SELECT seq FROM messages WHERE id = {_MESSAGE}), '{{}}'
    FROM n JOIN payments p ON p.id = {_PAYMENT} JOIN transactions t ON t.id = {_TRANSACTION} ORDER BY p.seq;
"""


def build(path: Path, size: int, *, seed: int = 7) -> sqlite3.Connection:
    """Make a shop of `size` payments in a new file; return the connection, in autocommit."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = OFF")
    base.execute("PRAGMA cache_size = -500000")
    migrate(base, NOW)
    base.execute("BEGIN")
    for statement in _FEW.split(";\n"):
        base.execute(statement)
    _number(base, size, random.Random(seed))
    # Indexes are made at the end, which is faster than row by row.
    indexes = base.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    for name, _ in indexes:
        base.execute(f"DROP INDEX {name}")
    for statement in _statements():
        base.execute(statement, {"size": size, "now": NOW})
    for _, create in indexes:
        base.execute(create)
    base.execute("COMMIT")
    return base


def _statements() -> list[str]:
    made = []
    for statement in _MANY.split(";\n"):
        if "{event}" not in statement:
            made.append(statement)
            continue
        orders = f" AND NOT ({_SALE})"
        for place, event, more in ((_FORWARDED, "forwarded", ""), (_COMPLETED, "completed", orders)):
            made.append(statement.format(id=place, event=f"transaction.{event}", more=more))
    return made


def _number(base: sqlite3.Connection, size: int, rng: random.Random) -> None:
    """Make the table `n`: for each payment its number, time, and the payer's name and number."""
    words = ["".join(rng.choices(_SYLLABLES, k=3)) for _ in range(3_000)]
    people = [" ".join(rng.choices(words, k=2 + one % 2)) for one in range(200_000)]
    people[::NAMED_OF] = [f"{NAMED} {words[one % 3_000]}" for one in range(len(people[::NAMED_OF]))]
    base.execute("CREATE TEMP TABLE n (i INTEGER PRIMARY KEY, at INTEGER, name TEXT, title TEXT, phone TEXT)")
    base.executemany(
        "INSERT INTO n VALUES (?, ?, ?, ?, ?)",
        (
            (number, NOW - (size - number) * APART_US, name, name.title(), f"+23324{one:07d}")
            for number in range(size)
            for one in (number * 7 % len(people),)
            for name in (people[one],)
        ),
    )
