-- A new request writes no more than it must (docs/decisions/0027): each index is one more page in the commit that its
-- caller waits for. Most requests are unpaid when they are made, so the payment's two columns are indexed only where they
-- hold one, which an index inside the table's own definition cannot say: the table is made anew. Who has or had a code is
-- what `svc_codes` says; requests need no second index on it.

CREATE TABLE transactions_anew (
    seq                           INTEGER PRIMARY KEY,
    id                            TEXT NOT NULL UNIQUE,   -- UUID; its hex is the reference's
    mode                          TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    origin                        TEXT NOT NULL CHECK (origin IN ('request', 'open')),
    status                        TEXT NOT NULL CHECK (status IN ('PENDING', 'SUCCESS', 'PARTIAL', 'OVERPAID',
                                                                  'EXPIRED', 'MANUAL_REVIEW', 'CANCELLED')),
    svc_code                      TEXT,
    public_slug                   TEXT UNIQUE,
    expected_minor                INTEGER CHECK (expected_minor > 0),
    currency                      TEXT NOT NULL,
    phone_number                  TEXT,
    customer_name                 TEXT,
    description                   TEXT,
    webhook_url                   TEXT,
    redirect_url                  TEXT,
    client_reference              TEXT,
    meta                          TEXT NOT NULL,          -- JSON object
    expected_telco_transaction_id TEXT,                   -- trimmed, upper case
    expected_payer_phone          TEXT,
    send_sms_to_payer             INTEGER NOT NULL CHECK (send_sms_to_payer IN (0, 1)),
    created_with                  TEXT NOT NULL CHECK (created_with IN ('secret', 'publishable', 'session', 'sms')),
    created_at                    INTEGER NOT NULL,
    expires_at                    INTEGER,
    cancelled_at                  INTEGER,
    payment_id                    TEXT REFERENCES payments (id),
    held_payment_id               TEXT REFERENCES payments (id),
    matched_by                    TEXT CHECK (matched_by IN ('code', 'telco_id', 'reconcile', 'review', 'none')),
    processing_at                 INTEGER,
    completed_at                  INTEGER,
    late                          INTEGER NOT NULL CHECK (late IN (0, 1)),
    rejected                      INTEGER NOT NULL CHECK (rejected IN (0, 1)),
    merged_into                   TEXT,                   -- id of the transaction that took this holder's payment
    supersedes                    TEXT,                   -- id of the holder whose payment this one took
    reversed_at                   INTEGER,
    expected_payer_name           TEXT,
    CHECK (origin = 'open' OR (svc_code IS NOT NULL AND expected_minor IS NOT NULL AND expires_at IS NOT NULL)),
    CHECK ((status IN ('SUCCESS', 'PARTIAL', 'OVERPAID')) = (payment_id IS NOT NULL OR merged_into IS NOT NULL))
) STRICT;

INSERT INTO transactions_anew (
    seq, id, mode, origin, status, svc_code, public_slug, expected_minor, currency, phone_number, customer_name,
    description, webhook_url, redirect_url, client_reference, meta, expected_telco_transaction_id, expected_payer_phone,
    send_sms_to_payer, created_with, created_at, expires_at, cancelled_at, payment_id, held_payment_id, matched_by,
    processing_at, completed_at, late, rejected, merged_into, supersedes, reversed_at, expected_payer_name
)
SELECT
    seq, id, mode, origin, status, svc_code, public_slug, expected_minor, currency, phone_number, customer_name,
    description, webhook_url, redirect_url, client_reference, meta, expected_telco_transaction_id, expected_payer_phone,
    send_sms_to_payer, created_with, created_at, expires_at, cancelled_at, payment_id, held_payment_id, matched_by,
    processing_at, completed_at, late, rejected, merged_into, supersedes, reversed_at, expected_payer_name
FROM transactions;

DROP TABLE transactions;
ALTER TABLE transactions_anew RENAME TO transactions;

-- A payment verifies at most one, and holds at most one (invariant 3).
CREATE UNIQUE INDEX transactions_one_per_payment ON transactions (payment_id) WHERE payment_id IS NOT NULL;
CREATE UNIQUE INDEX transactions_one_per_held_payment ON transactions (held_payment_id)
    WHERE held_payment_id IS NOT NULL;

-- The other indexes and the triggers went with the old table; they are as they were.
CREATE INDEX transactions_by_created ON transactions (mode, origin, created_at, seq) WHERE merged_into IS NULL;
CREATE INDEX transactions_by_status ON transactions (mode, origin, status, created_at, seq) WHERE merged_into IS NULL;
CREATE INDEX transactions_by_completed ON transactions (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX transactions_by_client_reference ON transactions (client_reference)
    WHERE client_reference IS NOT NULL;
CREATE INDEX transactions_expiring ON transactions (expires_at) WHERE status = 'PENDING';
CREATE INDEX transactions_expecting ON transactions (mode, expected_telco_transaction_id, seq)
    WHERE expected_telco_transaction_id IS NOT NULL;
CREATE UNIQUE INDEX transactions_one_per_expected_id ON transactions (mode, expected_telco_transaction_id)
    WHERE expected_telco_transaction_id IS NOT NULL AND status = 'PENDING';
CREATE INDEX transactions_by_customer ON transactions (mode, phone_number, expected_minor, expires_at)
    WHERE status IN ('PENDING', 'EXPIRED');
CREATE INDEX transactions_by_expected_payer ON transactions (mode, expected_payer_phone, expected_minor, expires_at)
    WHERE status IN ('PENDING', 'EXPIRED') AND expected_payer_phone IS NOT NULL;

CREATE TRIGGER transactions_counted_in AFTER INSERT ON transactions WHEN NEW.merged_into IS NULL
BEGIN
    INSERT INTO transaction_counts (mode, origin, status, count) VALUES (NEW.mode, NEW.origin, NEW.status, 1)
    ON CONFLICT (mode, origin, status) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER transactions_counted_out AFTER UPDATE OF status, merged_into ON transactions
WHEN OLD.merged_into IS NULL AND (NEW.merged_into IS NOT NULL OR NEW.status <> OLD.status)
BEGIN
    UPDATE transaction_counts SET count = count - 1
    WHERE mode = OLD.mode AND origin = OLD.origin AND status = OLD.status;
END;

CREATE TRIGGER transactions_counted_over AFTER UPDATE OF status, merged_into ON transactions
WHEN NEW.merged_into IS NULL AND (OLD.merged_into IS NOT NULL OR NEW.status <> OLD.status)
BEGIN
    INSERT INTO transaction_counts (mode, origin, status, count) VALUES (NEW.mode, NEW.origin, NEW.status, 1)
    ON CONFLICT (mode, origin, status) DO UPDATE SET count = count + 1;
END;

-- Who holds a payment code, or held it last: in the key itself, not in a table and an index beside it.
CREATE TABLE svc_codes_anew (
    mode           TEXT NOT NULL,
    code           TEXT NOT NULL,
    transaction_id TEXT NOT NULL REFERENCES transactions (id),
    free_at        INTEGER NOT NULL,
    PRIMARY KEY (mode, code)
) STRICT, WITHOUT ROWID;
INSERT INTO svc_codes_anew (mode, code, transaction_id, free_at)
SELECT mode, code, transaction_id, free_at FROM svc_codes;
DROP TABLE svc_codes;
ALTER TABLE svc_codes_anew RENAME TO svc_codes;
