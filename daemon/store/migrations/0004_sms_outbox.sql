-- SMS that the shop owes its payers (decisions.md section 2), and those to its owner. Each goes out at most once: `sending` is written down
-- before the phone is told, and what a crash finds there becomes `unknown` and is never sent again.

CREATE TABLE sms_outbox (
    seq            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    transaction_id TEXT    REFERENCES transactions (id),   -- NULL: a notice to the owner
    kind           TEXT    NOT NULL CHECK (kind IN ('code', 'receipt', 'notice')),
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

CREATE INDEX sms_outbox_due ON sms_outbox (sim_seq, next_try_at, seq) WHERE status = 'queued';
CREATE INDEX sms_outbox_overdue ON sms_outbox (expires_at) WHERE status = 'queued';
CREATE INDEX sms_outbox_sending ON sms_outbox (seq) WHERE status = 'sending';
CREATE INDEX sms_outbox_to ON sms_outbox (number, created_at);
CREATE INDEX sms_outbox_from ON sms_outbox (sim_seq, created_at);

-- The parts that the network took. `reference` (TP-MR) is what a status report names; `outcome` is what it said.
CREATE TABLE sms_outbox_parts (
    sms_id    TEXT    NOT NULL REFERENCES sms_outbox (id),
    part      INTEGER NOT NULL,
    reference INTEGER CHECK (reference BETWEEN 0 AND 255),
    sent_at   INTEGER NOT NULL,
    outcome   TEXT    CHECK (outcome IN ('delivered', 'trying', 'failed')),
    PRIMARY KEY (sms_id, part)
) STRICT;

CREATE INDEX sms_outbox_parts_reference ON sms_outbox_parts (reference, sent_at);
