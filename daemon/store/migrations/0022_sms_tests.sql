-- An SMS that a person sends to see whether a modem can send (`momo modems test --send-to`) stands in the outbox with the
-- others, so that it goes out once and counts for what a SIM sends at most. A kind more is a table made anew.

CREATE TABLE sms_outbox_anew (
    seq            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    transaction_id TEXT    REFERENCES transactions (id),   -- NULL: a notice to the owner, or a test
    kind           TEXT    NOT NULL CHECK (kind IN ('code', 'receipt', 'notice', 'test')),
    sim_seq        INTEGER NOT NULL REFERENCES sims (seq),
    number         TEXT    NOT NULL,
    body           TEXT    NOT NULL,
    status         TEXT    NOT NULL CHECK (status IN ('queued', 'sending', 'sent', 'failed', 'unknown', 'expired')),
    tries          INTEGER NOT NULL CHECK (tries >= 0),
    parts_sent     INTEGER NOT NULL CHECK (parts_sent >= 0),
    next_try_at    INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    ended_at       INTEGER CHECK ((ended_at IS NULL) = (status IN ('queued', 'sending'))),
    why            TEXT    NOT NULL,
    UNIQUE (transaction_id, kind)
) STRICT;

INSERT INTO sms_outbox_anew (seq, id, transaction_id, kind, sim_seq, number, body, status, tries, parts_sent, next_try_at,
                             expires_at, created_at, ended_at, why)
SELECT seq, id, transaction_id, kind, sim_seq, number, body, status, tries, parts_sent, next_try_at,
       expires_at, created_at, ended_at, why FROM sms_outbox;
DROP TABLE sms_outbox;
ALTER TABLE sms_outbox_anew RENAME TO sms_outbox;

-- The indexes went with the old table; they are as they were.
CREATE INDEX sms_outbox_due ON sms_outbox (sim_seq, next_try_at, seq) WHERE status = 'queued';
CREATE INDEX sms_outbox_overdue ON sms_outbox (expires_at) WHERE status = 'queued';
CREATE INDEX sms_outbox_sending ON sms_outbox (seq) WHERE status = 'sending';
CREATE INDEX sms_outbox_to ON sms_outbox (number, created_at);
CREATE INDEX sms_outbox_from ON sms_outbox (sim_seq, created_at);
CREATE INDEX sms_outbox_with_text ON sms_outbox (ended_at) WHERE body <> '';
