-- The running balance of each line, what a line's SIM is known by, and what the network took back (decisions.md
-- section 4). Live messages only: test messages never touch any of this.

-- One row for each message of a network's own sender that says or explains what the wallet holds: its entry in the chain
-- of `daemon/core/balance_line.py`. It is also the evidence why a payment was believed.
CREATE TABLE line_balances (
    seq               INTEGER PRIMARY KEY,
    message_id        TEXT NOT NULL UNIQUE REFERENCES messages (id),
    sim_key           TEXT NOT NULL,           -- the chain is that of (sim_key, provider): the wallet follows its SIM
    provider          TEXT NOT NULL,
    payment_method_id TEXT,
    at                INTEGER NOT NULL,        -- SMSC time, else when stored
    stored_at         INTEGER NOT NULL,
    telco_id          TEXT,                    -- trimmed, upper case
    pays              INTEGER NOT NULL CHECK (pays IN (0, 1)),
    effects           TEXT NOT NULL,           -- JSON array of signed minor units, the likeliest first
    after_minor       INTEGER,                 -- the balance it names
    doubted           INTEGER NOT NULL CHECK (doubted IN (0, 1)),
    standing          TEXT NOT NULL CHECK (standing IN ('accepted', 'held', 'forged', 'suspect', 'unproven', 'noted')),
    gap_minor         INTEGER,                 -- what no message accounts for in front of it, signed
    place             TEXT,                    -- the number behind which it stands; may have 40 digits
    why               TEXT NOT NULL,           -- what decided when it came in, or a person since
    doubts            TEXT NOT NULL,           -- JSON array: what else spoke against it when it came in
    told_at           INTEGER                  -- when a person was told that it is held for long
) STRICT;
CREATE INDEX line_balances_by_time ON line_balances (sim_key, provider, at);
CREATE UNIQUE INDEX line_balances_one_per_id ON line_balances (sim_key, provider, telco_id)
    WHERE telco_id IS NOT NULL;
CREATE INDEX line_balances_gaps ON line_balances (at)
    WHERE standing = 'accepted' AND gap_minor <> 0;
CREATE INDEX line_balances_waiting ON line_balances (stored_at)
    WHERE standing = 'held' AND pays = 1 AND told_at IS NULL;

-- The service centres that a SIM is known to get genuine messages from (rule 6).
CREATE TABLE sim_smscs (
    sim_key    TEXT NOT NULL,
    smsc       TEXT NOT NULL,
    message_id TEXT NOT NULL,                  -- the one that proved it
    learned_at INTEGER NOT NULL,
    PRIMARY KEY (sim_key, smsc)
) STRICT;

-- When a SIM was in no phone that we could read: it explains a break in its line's balance.
CREATE TABLE sim_absences (
    seq     INTEGER PRIMARY KEY,
    sim_key TEXT NOT NULL,
    since   INTEGER NOT NULL,
    until   INTEGER                            -- NULL: it is still away
) STRICT;
CREATE INDEX sim_absences_by_sim ON sim_absences (sim_key, until);
CREATE UNIQUE INDEX sim_absences_one_open ON sim_absences (sim_key) WHERE until IS NULL;

-- What a network took back, also of payments that are not here yet.
CREATE TABLE reversals (
    seq               INTEGER PRIMARY KEY,
    message_id        TEXT NOT NULL UNIQUE REFERENCES messages (id),
    mode              TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    provider          TEXT NOT NULL,
    original_telco_id TEXT NOT NULL,           -- trimmed, upper case
    amount_minor      INTEGER,                 -- NULL where the message names none
    at                INTEGER NOT NULL,        -- when the network took it back
    created_at        INTEGER NOT NULL,
    UNIQUE (mode, provider, original_telco_id)
) STRICT;
