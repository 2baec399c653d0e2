-- What customers say on the checkout page: "I have paid, and this is the transaction ID of it". A hint for a person, never
-- money, and what the guess guard counts.
CREATE TABLE payer_claims (
    transaction_id       TEXT NOT NULL REFERENCES transactions (id),
    telco_transaction_id TEXT NOT NULL,        -- trimmed, upper case, as payments have it
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    said_at              INTEGER NOT NULL,
    PRIMARY KEY (transaction_id, telco_transaction_id)
) STRICT;
CREATE INDEX payer_claims_by_telco_id ON payer_claims (mode, telco_transaction_id);

-- The checkout page asks of one request whether a person is looking at its money.
CREATE INDEX reviews_open_by_transaction ON reviews (transaction_id) WHERE state = 'open';
