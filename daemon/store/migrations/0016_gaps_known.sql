-- Money that no message told of, and of which a person says that it is known: it is not told as a finding any more. The gap
-- itself stays in line_balances; what is known is this amount in front of this message, and another amount there is a new one.

CREATE TABLE gaps_known (
    seq        INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES messages (id),
    gap_minor  INTEGER NOT NULL,
    notes      TEXT,
    known_by   TEXT NOT NULL,
    known_at   INTEGER NOT NULL,
    UNIQUE (message_id, gap_minor)
) STRICT;

-- An order that is made after its money looks for that money: the few payments of its amount that pay no order.
CREATE INDEX payments_open_by_amount ON payments (mode, amount_minor, stored_at) WHERE standing = 'open';

-- The newest claims of one network ID are read from the index as they stand.
DROP INDEX payer_claims_by_telco_id;
CREATE INDEX payer_claims_by_telco_id ON payer_claims (mode, telco_transaction_id, said_at);
