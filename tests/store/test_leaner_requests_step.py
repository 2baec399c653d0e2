"""The step of the schema that makes the table of requests anew: nothing is lost, and what it refused it still refuses."""

import sqlite3
from pathlib import Path

import pytest

from daemon.store.engine import Store
from daemon.store.migrate import DatabaseDamaged, Migration, migrate, migrations

BEFORE = 16
_MESSAGE = """INSERT INTO messages (id, mode, sim_key, device_id, slot_index, parts_total, parts_seen, state, fields,
    reasons, received_at, created_at) VALUES ('m1', 'live', 's', 'd', 0, 1, 1, 'payment', '{}', '[]', 1, 1)"""
_PAYMENT = """INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_id, sim_key,
    device_id, slot_index, kind, amount_minor, currency, telco_at, stored_at, historical, standing)
    VALUES ('p1', 'live', 'momo_mtn', '1', '1', 'm1', 's', 'd', 0, 'received', 2500, 'GHS', 1, 1, 0, 'used')"""
_REQUEST = """INSERT INTO transactions (id, mode, origin, status, svc_code, public_slug, expected_minor, currency, meta,
    send_sms_to_payer, created_with, created_at, expires_at, payment_id, late, rejected, expected_payer_name)
    VALUES ('{id}', 'live', 'request', '{status}', 'K7M2QX', '{id}', 2500, 'GHS', '{{}}', 1, 'secret', 5, 9, {payment}, 0, 0,
    'AMA')"""
PAID = _REQUEST.format(id="t1", status="SUCCESS", payment="'p1'")
EARLIER = (
    _MESSAGE,
    _PAYMENT,
    PAID,
    _REQUEST.format(id="t2", status="PENDING", payment="NULL"),
    "INSERT INTO svc_codes (mode, code, transaction_id, free_at) VALUES ('live', 'K7M2QX', 't2', 99)",
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A database of the schema before, with a paid request, one that waits, and a code."""
    path = str(tmp_path / "momo.db")
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, 1, migrations()[:BEFORE])
    for statement in EARLIER:
        connection.execute(statement)
    connection.close()
    return path


async def test_requests_codes_and_totals_are_as_they_were(path: str) -> None:
    store = Store.open(path, now_us=2)
    kept = await store.read(
        lambda reader: (
            reader.all("SELECT seq, id, status, payment_id, expected_payer_name FROM transactions"),
            reader.all("SELECT mode, code, transaction_id, free_at FROM svc_codes"),
            reader.all("SELECT status, count FROM transaction_counts ORDER BY status"),
            reader.all("PRAGMA foreign_key_check"),
        )
    )
    store.close()
    assert kept == (
        [(1, "t1", "SUCCESS", "p1", "AMA"), (2, "t2", "PENDING", None, "AMA")],
        [("live", "K7M2QX", "t2", 99)],
        [("PENDING", 1), ("SUCCESS", 1)],
        [],
    )


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        (PAID.replace("'t1'", "'t3'"), "UNIQUE constraint failed: transactions.payment_id"),
        (PAID.replace("'p1'", "'p2'").replace("'t1'", "'t3'"), "FOREIGN KEY"),
        ("DELETE FROM transactions WHERE id = 't2'", "FOREIGN KEY"),
        ("INSERT INTO svc_codes VALUES ('live', 'AAAAAA', 't9', 1)", "FOREIGN KEY"),
    ],
)
async def test_what_was_refused_still_is(path: str, statement: str, refused: str) -> None:
    store = Store.open(path, now_us=2)
    with pytest.raises(sqlite3.IntegrityError, match=refused):
        await store.write(lambda tx: tx.run(statement))
    store.close()


def test_a_step_that_would_leave_rows_without_what_they_name_is_not_taken(path: str) -> None:
    lossy = (
        "CREATE TABLE anew (id TEXT NOT NULL UNIQUE) STRICT;\nDROP TABLE transactions;\n"
        "ALTER TABLE anew RENAME TO transactions;\n"
    )
    known = [*migrations()[:BEFORE], Migration(BEFORE + 1, "lossy", lossy)]
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(DatabaseDamaged, match="rows of svc_codes that name none of transactions"):
        migrate(connection, 2, known)
    assert connection.execute("SELECT COUNT(*) FROM transactions").fetchone() == (2,)
    connection.close()
