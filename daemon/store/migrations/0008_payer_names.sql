-- Who may have paid what: names that a request expects, numbers and names that lead from a payment without a code to the
-- requests it may have been meant for, and names that a person has approved for a number (decisions.md sections 2 and 4).

ALTER TABLE transactions ADD COLUMN expected_payer_name TEXT;

-- The requests whose customer paid exactly their amount.
CREATE INDEX transactions_by_customer ON transactions (mode, phone_number, expected_minor, expires_at)
    WHERE status IN ('PENDING', 'EXPIRED');
CREATE INDEX transactions_by_expected_payer ON transactions (mode, expected_payer_phone, expected_minor, expires_at)
    WHERE status IN ('PENDING', 'EXPIRED') AND expected_payer_phone IS NOT NULL;

-- Every two words of the names on an unpaid request (`parsers.person_name.pairs`): names that look alike share one. Rows
-- go when the request is paid, given up, or too old to be paid late.
CREATE TABLE request_names (
    mode           TEXT NOT NULL,
    expected_minor INTEGER NOT NULL,
    pair           TEXT NOT NULL,
    expires_at     INTEGER NOT NULL,
    transaction_id TEXT NOT NULL REFERENCES transactions (id),
    PRIMARY KEY (mode, expected_minor, pair, expires_at, transaction_id)
) STRICT;
CREATE INDEX request_names_by_transaction ON request_names (transaction_id);
CREATE INDEX request_names_by_expiry ON request_names (expires_at);

-- Names that a person has approved for a number: a receipt of that name without a number is from that number's owner.
CREATE TABLE approved_payers (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    phone_number TEXT NOT NULL,                -- E.164
    name         TEXT NOT NULL,                -- as the receipt had it
    name_key     TEXT NOT NULL,                -- `parsers.person_name.key`
    review_id    TEXT NOT NULL REFERENCES reviews (id),
    approved_by  TEXT NOT NULL,
    approved_at  INTEGER NOT NULL,
    revoked_by   TEXT,
    revoked_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX approved_payers_one_per_name ON approved_payers (mode, phone_number, name_key)
    WHERE revoked_at IS NULL;
