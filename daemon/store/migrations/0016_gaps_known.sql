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
