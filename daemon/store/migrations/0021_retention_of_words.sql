-- What customers said of their payments, and the SMS that the shop sent, are pruned as the SMS that it got are (decisions.md
-- section 10). A claim gets a number, so that a batch of them can be named; a sent SMS keeps its row, because that row is
-- the memory that it went out, and loses its text.

CREATE TABLE payer_claims_numbered (
    seq                  INTEGER PRIMARY KEY,
    transaction_id       TEXT NOT NULL REFERENCES transactions (id),
    telco_transaction_id TEXT NOT NULL,        -- trimmed, upper case, as payments have it
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    said_at              INTEGER NOT NULL,
    UNIQUE (transaction_id, telco_transaction_id)
) STRICT;
INSERT INTO payer_claims_numbered (transaction_id, telco_transaction_id, mode, said_at)
    SELECT transaction_id, telco_transaction_id, mode, said_at FROM payer_claims ORDER BY said_at;
DROP TABLE payer_claims;
ALTER TABLE payer_claims_numbered RENAME TO payer_claims;
CREATE INDEX payer_claims_by_telco_id ON payer_claims (mode, telco_transaction_id, said_at);
CREATE INDEX payer_claims_by_age ON payer_claims (said_at);

CREATE INDEX sms_outbox_with_text ON sms_outbox (ended_at) WHERE body <> '';
