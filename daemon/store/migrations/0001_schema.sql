-- The schema. Times are microseconds since 1970 in UTC, amounts are minor units, ids are text.
-- `seq` numbers the rows of a table in the order in which they were written; a column such as `message_seq` names a row by it.
-- A column of text says in the comment of its line what an operator sees of it: `public`, `masked` or `hidden`; and, unless it
-- is public, what happens to it when a payer is forgotten (daemon/store/upkeep/payer_data.py): `erased VALUE` (also when the row is too
-- old), `forgotten VALUE`, `cleaned` of the payer's number and names, `own` (by a function for it), or `kept`.
-- A check compares with OR: for a list of more than two, SQLite makes a temporary table at each INSERT.


-- Access

-- The one shop of this database.
CREATE TABLE shop (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    name          TEXT NOT NULL,  -- masked, kept
    timezone      TEXT NOT NULL,  -- public
    owner_email   TEXT,  -- masked, kept
    account_key   TEXT NOT NULL,   -- hidden, kept; hex; the HMAC key that makes webhook ids
    created_at    INTEGER NOT NULL,
    role          TEXT NOT NULL DEFAULT 'alone' CHECK (role = 'alone' OR role = 'branch' OR role = 'hub')  -- public
) STRICT;

CREATE TABLE api_keys (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,  -- public
    name         TEXT NOT NULL,  -- masked, kept
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    kind         TEXT NOT NULL CHECK (kind IN ('secret', 'publishable')),  -- public
    hint         TEXT NOT NULL,            -- public; prefix and last four, for lists
    sha256       TEXT NOT NULL UNIQUE,  -- hidden, kept
    scopes       TEXT NOT NULL,            -- public; JSON array
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    last_used_from TEXT,  -- masked, kept
    branch_id    TEXT  -- public; at a hub: it sees and does only what is of this branch; NULL: of all
) STRICT;

-- The people who may use the shop; one of them is the owner.
CREATE TABLE users (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,  -- public
    name          TEXT NOT NULL UNIQUE,  -- masked, kept
    role          TEXT NOT NULL CHECK (role = 'owner' OR role = 'manager' OR role = 'cashier' OR role = 'viewer'),  -- public
    password_hash TEXT NOT NULL,           -- hidden, kept; argon2id
    totp_sealed   TEXT,                    -- hidden, kept; the seed of the second factor; NULL while it is off
    totp_step     INTEGER,                 -- the time step of the last code that was used; no code is taken twice
    created_at    INTEGER NOT NULL,
    password_at   INTEGER NOT NULL,        -- when the password was set
    disabled_at   INTEGER,
    branch_id     TEXT                     -- public; as in api_keys
) STRICT;
CREATE UNIQUE INDEX users_one_owner ON users (role) WHERE role = 'owner';

-- Codes that replace a lost second factor, each once.
CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL REFERENCES users (id),  -- public
    sha256  TEXT NOT NULL,  -- hidden, kept
    PRIMARY KEY (user_id, sha256)
) STRICT, WITHOUT ROWID;

-- Browsers that are logged in to the dashboard. The cookie holds the token, the row only its hash.
CREATE TABLE browser_sessions (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,  -- hidden, kept
    sha256       TEXT NOT NULL UNIQUE,  -- hidden, kept
    user_id      TEXT NOT NULL REFERENCES users (id),  -- public
    created_at   INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL,
    confirmed_at INTEGER,                  -- when the user last typed the own password again
    address      TEXT NOT NULL,  -- masked, kept
    browser      TEXT NOT NULL,  -- masked, kept
    language     TEXT,  -- public
    mode         TEXT CHECK (mode IN ('live', 'test'))  -- public; NULL: live, or the sandbox while all phones are simulated
) STRICT;
CREATE INDEX browser_sessions_by_user ON browser_sessions (user_id, seq);

-- Recent attempts with a password, so that a restart does not reset the limit.
CREATE TABLE password_attempts (
    seq INTEGER PRIMARY KEY,
    at  INTEGER NOT NULL,
    who TEXT NOT NULL DEFAULT 'account'  -- masked, kept
) STRICT;
CREATE INDEX password_attempts_by_who ON password_attempts (who, at);

-- The key that signs the session tokens of the API.
CREATE TABLE session_keys (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    sealed  TEXT NOT NULL,  -- hidden, kept
    made_at INTEGER NOT NULL
) STRICT;

-- Sessions that were logged out, until their tokens expire.
CREATE TABLE ended_sessions (
    id      TEXT PRIMARY KEY,  -- hidden, kept
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Passwords of other services.
CREATE TABLE sealed_secrets (
    name   TEXT PRIMARY KEY,  -- public
    sealed TEXT NOT NULL,  -- hidden, kept
    set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sources that post to momo: when one was heard, and posts refused because of their signature.
CREATE TABLE source_states (
    name       TEXT PRIMARY KEY,  -- public
    heard_at   INTEGER,
    refused    INTEGER NOT NULL,
    refused_at INTEGER
) STRICT, WITHOUT ROWID;

-- First answers of calls with an idempotency key.
CREATE TABLE idempotency_keys (
    scope       TEXT NOT NULL,                 -- public; mode, caller, method and path
    key         TEXT NOT NULL,  -- hidden, own
    fingerprint TEXT NOT NULL,  -- hidden, own
    status      INTEGER NOT NULL,
    body        TEXT NOT NULL,  -- hidden, own
    sealed      INTEGER NOT NULL CHECK (sealed IN (0, 1)),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);


-- Messages

CREATE TABLE messages (
    seq               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,  -- public
    mode              TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    imported          INTEGER NOT NULL CHECK (imported IN (0, 1)),  -- from a file, not read by a phone
    recovered         INTEGER NOT NULL DEFAULT 0 CHECK (recovered IN (0, 1)),  -- read again from the message journal
    sim_key           TEXT NOT NULL,  -- public
    device_id         TEXT NOT NULL,  -- public
    slot_index        INTEGER NOT NULL,
    payment_method_seq INTEGER CHECK (payment_method_seq > 0),  -- NULL: of none of the shop's numbers
    sender            TEXT,  -- masked, own
    sender_type       TEXT,  -- public
    smsc              TEXT,  -- public
    sent_at           INTEGER,             -- SMSC time of the first part
    parts_total       INTEGER NOT NULL CHECK (parts_total >= 1),
    parts_seen        INTEGER NOT NULL CHECK (parts_seen >= 1 AND parts_seen <= parts_total),
    reference_width   INTEGER,             -- 8 or 16; NULL for a message of one part
    reference         INTEGER,
    body              TEXT,                -- masked, erased ''; NULL until the last part is stored
    state             TEXT NOT NULL CHECK (state = 'payment' OR state = 'not_payment' OR state = 'unparsed' OR  -- public
                                           state = 'incomplete' OR state = 'held' OR state = 'historical' OR
                                           state = 'duplicate'),
    kind              TEXT,  -- public
    provider          TEXT,  -- public
    wording           TEXT,  -- public
    fields            TEXT NOT NULL,       -- masked, erased '{}'; JSON object, without members that are null
    trusted           INTEGER CHECK (trusted IN (0, 1)),
    reasons           TEXT NOT NULL,       -- public; JSON array
    payment_id        TEXT,  -- public
    received_at       INTEGER NOT NULL,    -- when its last part was stored; the first one if it is incomplete
    created_at        INTEGER NOT NULL,
    assemble_at       INTEGER,             -- when its parts are put together; they wait for rivals until then
    source            TEXT,                -- public; the name in [[sources]]; NULL for an AT modem
    level             TEXT NOT NULL DEFAULT 'full' CHECK (level = 'full' OR level = 'partial' OR level = 'reported'),  -- public
    synthesised       INTEGER NOT NULL DEFAULT 0 CHECK (synthesised IN (0, 1)),  -- PDUs encoded by momo from a text
    branch_id         TEXT,                -- public; at a hub: the branch that it is a copy of; NULL: the shop's own
    version           INTEGER              -- of the copy: the branch's epoch and the number in its feed
) STRICT;
CREATE INDEX messages_to_assemble ON messages (assemble_at) WHERE assemble_at IS NOT NULL;
CREATE INDEX messages_by_part_key ON messages (reference, sent_at) WHERE reference IS NOT NULL AND branch_id IS NULL;
CREATE INDEX messages_by_state ON messages (state, seq);
CREATE INDEX messages_incomplete ON messages (state, sim_key, created_at, received_at, payment_method_seq)
    WHERE state = 'incomplete';
CREATE INDEX messages_parts_missing ON messages (state, mode) WHERE reasons = '["parts_missing"]';
CREATE INDEX messages_by_sender ON messages (LOWER(sender), seq);
CREATE INDEX messages_by_arrival ON messages (state, received_at, payment_method_seq) WHERE state <> 'incomplete';
CREATE INDEX messages_of_sandbox ON messages (seq) WHERE mode = 'test';
CREATE INDEX messages_of_branch ON messages (branch_id, seq) WHERE branch_id IS NOT NULL;
CREATE INDEX messages_with_text ON messages (created_at) WHERE body IS NULL OR body <> '';
CREATE TRIGGER messages_counted_in AFTER INSERT ON messages WHEN NEW.state <> 'incomplete'
BEGIN
    INSERT INTO message_counts (mode, line, state, count) VALUES (NEW.mode, COALESCE(NEW.payment_method_seq, 0), NEW.state, 1)
    ON CONFLICT (mode, line, state) DO UPDATE SET count = message_counts.count + 1;
END;
CREATE TRIGGER messages_counted_over AFTER UPDATE OF state, payment_method_seq ON messages
WHEN NEW.state <> OLD.state OR COALESCE(NEW.payment_method_seq, 0) <> COALESCE(OLD.payment_method_seq, 0)
BEGIN
    UPDATE message_counts SET count = count - 1
    WHERE OLD.state <> 'incomplete' AND mode = OLD.mode AND line = COALESCE(OLD.payment_method_seq, 0) AND state = OLD.state;
    INSERT INTO message_counts (mode, line, state, count)
    SELECT NEW.mode, COALESCE(NEW.payment_method_seq, 0), NEW.state, 1 WHERE NEW.state <> 'incomplete'
    ON CONFLICT (mode, line, state) DO UPDATE SET count = message_counts.count + 1;
END;
CREATE TRIGGER messages_counted_out AFTER DELETE ON messages WHEN OLD.state <> 'incomplete'
BEGIN
    UPDATE message_counts SET count = count - 1
    WHERE mode = OLD.mode AND line = COALESCE(OLD.payment_method_seq, 0) AND state = OLD.state;
END;

-- Totals of the complete messages in lists, kept by the triggers above; a first part need not change them.
CREATE TABLE message_counts (
    mode  TEXT NOT NULL,  -- public
    line  INTEGER NOT NULL,                -- number of the payment method, or 0
    state TEXT NOT NULL,  -- public
    count INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (mode, line, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE sms_parts (
    seq         INTEGER PRIMARY KEY,
    sim         INTEGER NOT NULL CHECK (sim <> 0),  -- its number, or minus that of a merchant number without a SIM
    sha256      BLOB NOT NULL,             -- public; its first 16 octets: of the PDU's octets, of an imported part also of a prefix
    pdu         BLOB,                      -- hidden, erased NULL; its octets; NULL once it was erased, or if `pdu_text` has it
    pdu_text    TEXT,                      -- hidden, erased NULL; what the phone gave, if it is not the octets in hex with capital letters
    message_seq INTEGER NOT NULL REFERENCES messages (seq),
    position    INTEGER NOT NULL CHECK (position >= 1),
    sent_at     INTEGER,
    storage     TEXT NOT NULL,  -- public
    slot        INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    synthesised INTEGER NOT NULL DEFAULT 0 CHECK (synthesised IN (0, 1)),
    UNIQUE (sim, sha256)                   -- one SMS is stored once (invariant 2)
) STRICT;
CREATE INDEX sms_parts_by_message ON sms_parts (message_seq, position);

-- The trust of each line: its believed balance. Keyed by (sim_seq, provider): the wallet moves with its SIM.
CREATE TABLE line_trust (
    sim_seq         INTEGER NOT NULL REFERENCES sims (seq),
    provider        TEXT NOT NULL,  -- public
    balance         INTEGER,                   -- believed, minor units
    sent_at         INTEGER NOT NULL,          -- latest network time of a message that moved it
    moved_at        INTEGER NOT NULL,
    position        INTEGER NOT NULL,
    base            INTEGER NOT NULL,          -- first place of the chain since another row became it
    provisional     TEXT CHECK (provisional = 'first' OR provisional = 'swept' OR provisional = 'silence'),  -- public; NULL: firm
    since           INTEGER NOT NULL,
    joined          INTEGER NOT NULL,
    swept_at        INTEGER NOT NULL,
    gap_left        INTEGER,
    gap_left_at     INTEGER,
    split_at        INTEGER,
    proved_at       INTEGER NOT NULL,
    strike_until    INTEGER NOT NULL,
    candidate_at    INTEGER NOT NULL,
    flood_told_at   INTEGER NOT NULL,
    asked_at        INTEGER NOT NULL,
    live_rows       INTEGER NOT NULL,
    usual_day       INTEGER NOT NULL,
    usual_minor     INTEGER NOT NULL,
    usual_receipts  INTEGER NOT NULL,
    PRIMARY KEY (sim_seq, provider)
) STRICT;

-- Rows of candidates beside the chain.
CREATE TABLE line_rows (
    seq          INTEGER PRIMARY KEY,
    sim_seq      INTEGER NOT NULL REFERENCES sims (seq),
    provider     TEXT NOT NULL,  -- public
    before_minor INTEGER NOT NULL,             -- the balance before its first message
    after_minor  INTEGER NOT NULL,             -- the balance after its last message
    began_at     INTEGER NOT NULL,             -- network time of its first message
    grew_at      INTEGER NOT NULL,             -- when its last message came
    messages     INTEGER NOT NULL,
    lapsed       INTEGER NOT NULL CHECK (lapsed IN (0, 1))
) STRICT;
CREATE INDEX line_rows_by_end ON line_rows (sim_seq, provider, lapsed, after_minor);
CREATE INDEX line_rows_by_start ON line_rows (sim_seq, provider, lapsed, before_minor);
CREATE INDEX line_rows_by_growth ON line_rows (sim_seq, provider, lapsed, grew_at);

-- What each message says about the wallet of its SIM: the chain, the rows beside it, and doubtful messages.
CREATE TABLE line_balances (
    seq               INTEGER PRIMARY KEY,
    message_seq       INTEGER NOT NULL UNIQUE REFERENCES messages (seq),
    sim_seq           INTEGER NOT NULL REFERENCES sims (seq),
    provider          TEXT NOT NULL,  -- public
    at                INTEGER NOT NULL,        -- SMSC time, else when stored
    stored_at         INTEGER NOT NULL,
    telco_id          TEXT,                    -- public; trimmed, upper case
    pays              INTEGER NOT NULL CHECK (pays IN (0, 1)),
    amount_minor      INTEGER,                 -- of a receipt
    effect_minor      INTEGER,                 -- the change of the balance, signed
    after_minor       INTEGER,                 -- the balance in the message
    smsc              TEXT,  -- public
    home              INTEGER NOT NULL CHECK (home IN (0, 1)),  -- the SMSC is a home SMSC of the SIM
    doubts            TEXT NOT NULL,           -- public; JSON array: reasons against it besides its SMSC and its balance
    standing          TEXT NOT NULL CHECK (standing = 'accepted' OR standing = 'candidate' OR standing = 'doubtful'),  -- public
    why               TEXT NOT NULL,           -- public; the reason for its standing
    row_number        INTEGER,                 -- of a candidate: its row
    opens             INTEGER NOT NULL CHECK (opens IN (0, 1)),
    position          INTEGER,                 -- in the chain or in its row; NULL for a message that filled a gap
    gap_left_minor    INTEGER,                 -- the balance before the gap in front of it
    gap_left_at       INTEGER,
    gap_minor         INTEGER,                 -- the difference before it that no message explains, signed
    counts            INTEGER NOT NULL,        -- how its payment counts while nothing has confirmed it; 0: it does not
    counts_day        INTEGER,                 -- the day since 1970 to which it counts
    told_at           INTEGER                  -- when a notice said that it has been held for long
) STRICT;
CREATE INDEX line_balances_by_time ON line_balances (sim_seq, at);
CREATE INDEX line_balances_by_id ON line_balances (telco_id) WHERE telco_id IS NOT NULL;
CREATE UNIQUE INDEX line_balances_chain ON line_balances (sim_seq, provider, position)
    WHERE standing = 'accepted' AND position IS NOT NULL;
CREATE INDEX line_balances_beside ON line_balances (sim_seq, provider, standing, seq)
    WHERE standing IN ('candidate', 'doubtful');
CREATE INDEX line_balances_rows ON line_balances (row_number, position) WHERE row_number IS NOT NULL;
CREATE INDEX line_balances_gaps ON line_balances (sim_seq, provider, at)
    WHERE standing = 'accepted' AND gap_minor <> 0;
CREATE INDEX line_balances_waiting ON line_balances (stored_at)
    WHERE standing IN ('accepted', 'candidate') AND pays = 1 AND told_at IS NULL;
CREATE INDEX line_balances_counting ON line_balances (sim_seq, provider, counts, counts_day)
    WHERE counts > 0;

-- Unexplained differences of a balance that an operator acknowledged.
CREATE TABLE gaps_known (
    seq         INTEGER PRIMARY KEY,
    message_seq INTEGER NOT NULL REFERENCES messages (seq),
    gap_minor   INTEGER NOT NULL,
    notes       TEXT,  -- masked, kept
    known_by    TEXT NOT NULL,  -- public
    known_at    INTEGER NOT NULL,
    UNIQUE (message_seq, gap_minor)
) STRICT;

-- The home SMSCs of a SIM, and foreign ones that a notice named.
CREATE TABLE sim_smscs (
    sim_key    TEXT NOT NULL,  -- public
    smsc       TEXT NOT NULL,  -- public
    source     TEXT NOT NULL CHECK (source = 'sim' OR source = 'test_payment' OR source = 'approved' OR  -- public
                                    source = 'proved' OR source = 'noticed'),
    message_id TEXT,                           -- public; the message that showed it
    since      INTEGER NOT NULL,
    PRIMARY KEY (sim_key, smsc)
) STRICT;

-- A payment that the owner makes to prove a SIM's SMSC and balance; momo names its amount.
CREATE TABLE test_payments (
    sim_key      TEXT PRIMARY KEY,  -- public
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0),
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE confirmed_wordings (
    seq          INTEGER PRIMARY KEY,
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    network      TEXT NOT NULL,                -- public; short name
    wording      TEXT NOT NULL,  -- public
    sender       TEXT NOT NULL,                -- masked, kept; alphanumeric, byte for byte
    message_id   TEXT NOT NULL REFERENCES messages (id),  -- public
    confirmed_by TEXT NOT NULL,  -- public
    confirmed_at INTEGER NOT NULL,
    UNIQUE (mode, network, wording, sender)
) STRICT;

CREATE TABLE approved_payers (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,  -- public
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    phone_number TEXT NOT NULL,                -- masked, own; E.164
    name         TEXT NOT NULL,                -- masked, own; as on the receipt
    name_key     TEXT NOT NULL,                -- masked, own; parsers.person_name.comparison_key
    review_id    TEXT NOT NULL REFERENCES reviews (id),  -- public
    approved_by  TEXT NOT NULL,  -- public
    approved_at  INTEGER NOT NULL,
    revoked_by   TEXT,  -- public
    revoked_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX approved_payers_one_per_name ON approved_payers (mode, phone_number, name_key)
    WHERE revoked_at IS NULL;


-- Lines: modems, SIMs, merchant numbers

CREATE TABLE devices (
    device_id     TEXT PRIMARY KEY,        -- public; UUIDv5 of the IMEI
    mode          TEXT NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),  -- public; test: a phone of the sandbox
    imei          TEXT,  -- public
    name          TEXT NOT NULL,  -- masked, kept
    manufacturer  TEXT,  -- public
    model         TEXT,  -- public
    port          TEXT,  -- public
    present       INTEGER NOT NULL CHECK (present IN (0, 1)),
    first_seen_at INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL,
    forgotten_at  INTEGER
) STRICT;

CREATE TABLE sims (
    seq             INTEGER PRIMARY KEY,
    sim_key         TEXT NOT NULL UNIQUE,  -- public; ICCID, else imsi:<IMSI>, else slot:<device>:<slot>
    iccid           TEXT,  -- public
    imsi            TEXT,  -- public
    network         TEXT,                  -- public; short name; NULL if the IMSI belongs to no known network
    device_id       TEXT NOT NULL REFERENCES devices (device_id),  -- public
    slot_index      INTEGER NOT NULL CHECK (slot_index >= 0),
    present         INTEGER NOT NULL CHECK (present IN (0, 1)),
    first_seen_at   INTEGER NOT NULL,
    last_seen_at    INTEGER NOT NULL,
    read_payment_at INTEGER,               -- when the last payment message was read from it
    ignored_at      INTEGER,               -- set: the SIM is not for payments
    -- What the owner was told (daemon/flows/lines/receiving.py); NULL: nothing.
    not_receiving_since INTEGER,           -- since when no message can come
    unused_since        INTEGER,           -- since when nothing was sent or received
    served_by           TEXT               -- public; the foreign network that serves it, or 'roaming'
) STRICT;
CREATE UNIQUE INDEX sims_one_per_slot ON sims (device_id, slot_index) WHERE present = 1;

-- The sandbox has one phone per network (daemon/core/messages/sandbox.py), present only with --simulated-phone.
INSERT INTO devices (device_id, mode, name, present, first_seen_at, last_seen_at) VALUES
    ('773b0073-7953-5cc8-b146-bcd7565a41ec', 'test', 'simulated-mtn', 0, 0, 0),
    ('96a17ca6-3a9e-539a-a751-af4d72f05498', 'test', 'simulated-telecel', 0, 0, 0);
INSERT INTO sims (sim_key, network, device_id, slot_index, present, first_seen_at, last_seen_at) VALUES
    ('sandbox:momo_mtn', 'mtn', '773b0073-7953-5cc8-b146-bcd7565a41ec', 0, 1, 0, 0),
    ('sandbox:momo_telecel', 'telecel', '96a17ca6-3a9e-539a-a751-af4d72f05498', 0, 1, 0, 0);

-- When a SIM was in no phone that answers.
CREATE TABLE sim_absences (
    seq     INTEGER PRIMARY KEY,
    sim_key TEXT NOT NULL,  -- public
    since   INTEGER NOT NULL,
    until   INTEGER                            -- NULL: still absent
) STRICT;
CREATE INDEX sim_absences_by_sim ON sim_absences (sim_key, until);
CREATE UNIQUE INDEX sim_absences_one_open ON sim_absences (sim_key) WHERE until IS NULL;

CREATE TABLE sim_pins (
    owner     TEXT PRIMARY KEY,           -- public; the SIM's ICCID; the phone's IMEI if it names no SIM while locked
    sealed    TEXT NOT NULL,  -- hidden, kept
    stored_at INTEGER NOT NULL,
    tried_at  INTEGER,                    -- NULL: never
    outcome   TEXT CHECK (outcome IN ('opened', 'wrong'))  -- public; of the last try; NULL: none, or unknown
) STRICT;

CREATE TABLE locked_sims (
    device_id  TEXT NOT NULL REFERENCES devices (device_id),  -- public
    slot_index INTEGER NOT NULL CHECK (slot_index >= 0),
    owner      TEXT,                      -- public; as in sim_pins; NULL if the phone names neither
    wants      TEXT NOT NULL,             -- public; as the phone reports it: SIM PIN, SIM PUK
    since      INTEGER NOT NULL,
    PRIMARY KEY (device_id, slot_index)
) STRICT;

CREATE TABLE payment_methods (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,  -- public
    mode            TEXT NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),  -- public; test: made in the sandbox
    provider        TEXT NOT NULL,  -- public
    phone_number    TEXT NOT NULL,         -- masked, kept; E.164
    account_name    TEXT NOT NULL,  -- masked, kept
    merchant_code   TEXT,  -- masked, kept
    sim_seq         INTEGER REFERENCES sims (seq),
    is_active       INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    line_created_at INTEGER,               -- when the number was put on its SIM; older messages are history
    last_payment_at INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    deleted_at      INTEGER,
    branch_id       TEXT,                  -- public; as in messages
    version         INTEGER
) STRICT;
CREATE UNIQUE INDEX payment_methods_one_per_number ON payment_methods (mode, provider, phone_number)
    WHERE deleted_at IS NULL AND branch_id IS NULL;
CREATE UNIQUE INDEX payment_methods_one_per_sim ON payment_methods (sim_seq)
    WHERE sim_seq IS NOT NULL AND deleted_at IS NULL;

-- How often messages come to a SIM, to notice when they stop.
CREATE TABLE sim_rhythms (
    sim_key        TEXT PRIMARY KEY,  -- public
    watched_since  INTEGER NOT NULL,
    week           INTEGER NOT NULL,           -- the newest week in counts: local hours since 1970, divided by 168
    counts         TEXT NOT NULL,              -- public; hex: 8 weeks of 168 hours, a byte each; ff: not watched
    messages       INTEGER NOT NULL CHECK (messages >= 0),
    last_at        INTEGER,                    -- when the last message was received
    longest_gap_us INTEGER NOT NULL,
    silent_since   INTEGER                     -- NULL: no alarm
) STRICT;

-- The signal of each modem in the hours of the last day.
CREATE TABLE signal_hours (
    device_id TEXT NOT NULL,  -- public
    at        INTEGER NOT NULL,           -- the start of the hour
    lowest    INTEGER NOT NULL CHECK (lowest BETWEEN 0 AND 31),   -- of AT+CSQ
    highest   INTEGER NOT NULL CHECK (highest BETWEEN lowest AND 31),
    PRIMARY KEY (device_id, at)
) STRICT;

-- The last message that was added to the rhythms.
CREATE TABLE rhythm_cursor (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    message_seq INTEGER NOT NULL
) STRICT;
INSERT INTO rhythm_cursor (id, message_seq) VALUES (1, 0);


-- Payments

CREATE TABLE payments (
    seq                  INTEGER PRIMARY KEY,
    id                   TEXT NOT NULL UNIQUE,  -- public
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    provider             TEXT NOT NULL,  -- public
    telco_transaction_id TEXT NOT NULL,    -- public; trimmed, upper case, for comparison
    telco_id_as_read     TEXT NOT NULL,  -- public
    message_seq          INTEGER NOT NULL REFERENCES messages (seq),
    payment_method_seq   INTEGER CHECK (payment_method_seq > 0),  -- NULL: unplaced
    sim_key              TEXT NOT NULL,  -- public
    device_id            TEXT NOT NULL,  -- public
    slot_index           INTEGER NOT NULL,
    kind                 TEXT NOT NULL,  -- public
    amount_minor         INTEGER NOT NULL CHECK (amount_minor >= 0),
    currency             TEXT NOT NULL,  -- public
    fee_minor            INTEGER,
    balance_minor        INTEGER,
    payer_name           TEXT,  -- masked, forgotten NULL
    payer_phone          TEXT,             -- masked, forgotten NULL; E.164
    reference_text       TEXT,  -- masked, forgotten NULL
    telco_at             INTEGER NOT NULL, -- printed time, else SMSC time, else when stored
    stored_at            INTEGER NOT NULL,
    historical           INTEGER NOT NULL CHECK (historical IN (0, 1)),
    standing             TEXT NOT NULL CHECK (standing = 'used' OR standing = 'open' OR standing = 'review' OR  -- public
                                              standing = 'handed' OR standing = 'withdrawn'),
    reversed_at          INTEGER,
    payer_proven         INTEGER NOT NULL DEFAULT 1 CHECK (payer_proven IN (0, 1)),  -- 0: the payer may have typed the number
    decider              TEXT NOT NULL DEFAULT 'branch' CHECK (decider IN ('branch', 'hub')),  -- public; who may match it
    double_of            TEXT,             -- public; the payment that counts instead, or one of those of which a person must choose; itself if it is withdrawn
    branch_id            TEXT,             -- public; as in messages
    version              INTEGER
) STRICT;
-- One payment per network transaction (invariant 2).
CREATE UNIQUE INDEX payments_one_per_telco_id ON payments (telco_transaction_id, mode, provider) WHERE double_of IS NULL;
CREATE INDEX payments_double ON payments (telco_transaction_id) WHERE double_of IS NOT NULL;
CREATE INDEX payments_of_branch ON payments (branch_id, stored_at) WHERE branch_id IS NOT NULL;
CREATE INDEX payments_unconfirmed ON payments (branch_id, seq)
    WHERE branch_id IS NOT NULL AND decider = 'hub' AND standing = 'handed';
CREATE INDEX payments_handed_up ON payments (branch_id, seq)
    WHERE branch_id IS NOT NULL AND decider = 'hub' AND standing <> 'used';
CREATE INDEX payments_unplaced ON payments (mode, stored_at) WHERE payment_method_seq IS NULL;
CREATE INDEX payments_by_line ON payments (payment_method_seq, stored_at) WHERE branch_id IS NULL;
CREATE INDEX payments_by_storage ON payments (mode, stored_at);
CREATE INDEX payments_reversed ON payments (mode, stored_at) WHERE reversed_at IS NOT NULL;
CREATE INDEX payments_in_review ON payments (mode, stored_at) WHERE standing = 'review';
CREATE INDEX payments_by_payer ON payments (payer_phone, stored_at, seq) WHERE payer_phone IS NOT NULL;
CREATE INDEX payments_by_telco_time ON payments (mode, telco_at);
CREATE INDEX payments_by_amount ON payments (mode, amount_minor, seq);
CREATE INDEX payments_open_by_amount ON payments (mode, amount_minor, stored_at)
    WHERE standing = 'open' AND (decider = 'hub' OR branch_id IS NULL);

-- Payments that a network took back; a reversal may come before its payment.
CREATE TABLE reversals (
    seq               INTEGER PRIMARY KEY,
    message_id        TEXT NOT NULL UNIQUE REFERENCES messages (id),  -- public
    mode              TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    provider          TEXT NOT NULL,  -- public
    original_telco_id TEXT NOT NULL,           -- public; trimmed, upper case
    amount_minor      INTEGER,                 -- NULL if the message names none
    at                INTEGER NOT NULL,        -- when the network took it back
    created_at        INTEGER NOT NULL,
    branch_id         TEXT,                    -- public; as in messages
    version           INTEGER,
    UNIQUE (mode, provider, original_telco_id)
) STRICT;

-- Payment requests (`request`), and holders of payments that belong to none (`open`).
CREATE TABLE transactions (
    seq                           INTEGER PRIMARY KEY,
    id                            TEXT NOT NULL UNIQUE,   -- public; UUID; the reference contains its hex digits
    mode                          TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    origin                        TEXT NOT NULL CHECK (origin IN ('request', 'open')),  -- public
    status                        TEXT NOT NULL CHECK (status = 'PENDING' OR status = 'SUCCESS' OR  -- public
                                                       status = 'PARTIAL' OR status = 'OVERPAID' OR
                                                       status = 'EXPIRED' OR status = 'MANUAL_REVIEW' OR
                                                       status = 'CANCELLED'),
    svc_code                      TEXT,  -- public
    public_slug                   TEXT UNIQUE,  -- public
    expected_minor                INTEGER CHECK (expected_minor > 0),
    currency                      TEXT NOT NULL,  -- public
    phone_number                  TEXT,  -- masked, forgotten NULL
    customer_name                 TEXT,  -- masked, forgotten NULL
    description                   TEXT,  -- masked, forgotten NULL
    webhook_url                   TEXT,  -- masked, kept
    redirect_url                  TEXT,  -- masked, kept
    client_reference              TEXT,  -- masked, kept
    meta                          TEXT NOT NULL,          -- masked, forgotten '{}'; JSON object
    expected_telco_transaction_id TEXT,                   -- public; trimmed, upper case
    expected_payer_phone          TEXT,  -- masked, forgotten NULL
    expected_payer_name           TEXT,  -- masked, forgotten NULL
    send_sms_to_payer             INTEGER NOT NULL CHECK (send_sms_to_payer IN (0, 1)),
    created_with                  TEXT NOT NULL CHECK (created_with = 'secret' OR created_with = 'publishable' OR  -- public
                                                       created_with = 'session' OR created_with = 'sms'),
    created_at                    INTEGER NOT NULL,
    expires_at                    INTEGER,
    cancelled_at                  INTEGER,
    payment_seq                   INTEGER REFERENCES payments (seq),
    held_payment_seq              INTEGER REFERENCES payments (seq),
    matched_by                    TEXT CHECK (matched_by = 'code' OR matched_by = 'telco_id' OR  -- public
                                              matched_by = 'reconcile' OR matched_by = 'review' OR
                                              matched_by = 'none'),
    processing_at                 INTEGER,
    completed_at                  INTEGER,
    late                          INTEGER NOT NULL CHECK (late IN (0, 1)),
    rejected                      INTEGER NOT NULL CHECK (rejected IN (0, 1)),
    merged_into                   TEXT,                   -- public; id of the transaction that this holder's payment moved to
    supersedes                    TEXT,                   -- public; id of the holder that its payment came from
    reversed_at                   INTEGER,
    settled_at                    INTEGER,                -- a person ended what a short or too large payment left open
    settled_by                    TEXT,                   -- public
    settlement                    TEXT,                   -- masked, cleaned; JSON object: kind, amount_minor, holder, notes
    settles                       TEXT,                   -- public; of a holder: id of the order that its payment settles
    made_for                      TEXT,                   -- public; of an order of a hub: the branch whose user or API key made it
    branch_id                     TEXT,                   -- public; as in messages
    version                       INTEGER,
    CHECK ((settled_at IS NULL) = (settlement IS NULL)),
    CHECK (origin = 'open' OR (svc_code IS NOT NULL AND expected_minor IS NOT NULL AND expires_at IS NOT NULL)),
    CHECK ((status = 'SUCCESS' OR status = 'PARTIAL' OR status = 'OVERPAID')
           = (payment_seq IS NOT NULL OR merged_into IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX transactions_settled_once ON transactions (settles) WHERE settles IS NOT NULL;
CREATE INDEX transactions_settled ON transactions (mode, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX transactions_unsettled ON transactions (mode, origin, status, created_at, seq)
    WHERE merged_into IS NULL AND settled_at IS NULL AND reversed_at IS NULL AND branch_id IS NULL AND status IN ('PARTIAL', 'OVERPAID');
CREATE UNIQUE INDEX transactions_one_per_payment ON transactions (payment_seq) WHERE payment_seq IS NOT NULL;
CREATE UNIQUE INDEX transactions_one_per_held_payment ON transactions (held_payment_seq)
    WHERE held_payment_seq IS NOT NULL;
-- At most 24 bytes an entry: else PostgreSQL leaves pages half full when the rows of a branch are older than those of the others.
CREATE INDEX transactions_by_created ON transactions (mode, created_at) WHERE merged_into IS NULL AND origin = 'request';
CREATE INDEX transactions_open ON transactions (mode, created_at) WHERE merged_into IS NULL AND origin = 'open';
-- A holder is always SUCCESS, so it is found by its time.
CREATE INDEX transactions_by_status ON transactions (mode, status, created_at, seq)
    WHERE merged_into IS NULL AND origin = 'request';
CREATE INDEX transactions_by_completed ON transactions (completed_at) WHERE completed_at IS NOT NULL AND origin = 'request';
CREATE INDEX transactions_by_client_reference ON transactions (client_reference)
    WHERE client_reference IS NOT NULL;
CREATE INDEX transactions_expiring ON transactions (expires_at) WHERE status = 'PENDING';
CREATE INDEX transactions_of_branch ON transactions (branch_id, created_at) WHERE branch_id IS NOT NULL;
CREATE INDEX transactions_made_for ON transactions (made_for, created_at) WHERE made_for IS NOT NULL;
CREATE INDEX transactions_expecting ON transactions (mode, expected_telco_transaction_id, seq)
    WHERE expected_telco_transaction_id IS NOT NULL;
CREATE UNIQUE INDEX transactions_one_per_expected_id ON transactions (mode, expected_telco_transaction_id)
    WHERE expected_telco_transaction_id IS NOT NULL AND status = 'PENDING' AND branch_id IS NULL;
CREATE INDEX transactions_by_customer ON transactions (mode, phone_number, expected_minor, expires_at)
    WHERE status IN ('PENDING', 'EXPIRED');
CREATE INDEX transactions_by_expected_payer ON transactions (mode, expected_payer_phone, expected_minor, expires_at)
    WHERE status IN ('PENDING', 'EXPIRED') AND expected_payer_phone IS NOT NULL;
CREATE TRIGGER transactions_counted_in AFTER INSERT ON transactions WHEN NEW.merged_into IS NULL
BEGIN
    INSERT INTO transaction_counts (mode, origin, status, count) VALUES (NEW.mode, NEW.origin, NEW.status, 1)
    ON CONFLICT (mode, origin, status) DO UPDATE SET count = transaction_counts.count + 1;
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
    ON CONFLICT (mode, origin, status) DO UPDATE SET count = transaction_counts.count + 1;
END;

-- Totals of the transactions in lists, kept by the triggers above.
CREATE TABLE transaction_counts (
    mode   TEXT NOT NULL,  -- public
    origin TEXT NOT NULL,  -- public
    status TEXT NOT NULL,  -- public
    count  INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (mode, origin, status)
) STRICT, WITHOUT ROWID;

-- Trigrams of the texts that are searched, of rows up to the cursor (daemon/store/payments/search_index.py). Its row numbers
-- are twice those of transactions, and twice those of payments plus one. PostgreSQL would have a pg_trgm index instead.
CREATE VIRTUAL TABLE search USING fts5 (text, content = '', columnsize = 0, detail = none, tokenize = 'trigram');
CREATE TABLE search_cursor (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    transaction_seq INTEGER NOT NULL,
    payment_seq     INTEGER NOT NULL,
    purging         INTEGER NOT NULL CHECK (purging IN (0, 1))  -- what was erased is not yet overwritten in the index
) STRICT;
INSERT INTO search_cursor (id, transaction_seq, payment_seq, purging) VALUES (1, 0, 0, 0);

-- Payment codes: which transaction has or had each one last, and from when it may be reused.
CREATE TABLE svc_codes (
    mode            TEXT NOT NULL,  -- public
    code            TEXT NOT NULL,  -- public
    transaction_seq INTEGER NOT NULL REFERENCES transactions (seq),
    free_at         INTEGER NOT NULL,
    PRIMARY KEY (mode, code)
) STRICT, WITHOUT ROWID;

-- Pairs of words of the names on unpaid transactions, for suggestions.
CREATE TABLE request_names (
    mode           TEXT NOT NULL,  -- public
    expected_minor INTEGER NOT NULL,
    pair           TEXT NOT NULL,  -- masked, own
    expires_at     INTEGER NOT NULL,
    transaction_id TEXT NOT NULL REFERENCES transactions (id),  -- public
    PRIMARY KEY (mode, expected_minor, pair, expires_at, transaction_id)
) STRICT;
CREATE INDEX request_names_by_transaction ON request_names (transaction_id);
CREATE INDEX request_names_by_expiry ON request_names (expires_at);

-- Transaction IDs that customers typed on the checkout page; never a proof.
CREATE TABLE payer_claims (
    seq                  INTEGER PRIMARY KEY,
    transaction_id       TEXT NOT NULL REFERENCES transactions (id),  -- public
    telco_transaction_id TEXT NOT NULL,        -- public; trimmed, upper case, as payments have it
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    said_at              INTEGER NOT NULL,
    UNIQUE (transaction_id, telco_transaction_id)
) STRICT;
CREATE INDEX payer_claims_by_telco_id ON payer_claims (mode, telco_transaction_id, said_at);
CREATE INDEX payer_claims_by_age ON payer_claims (said_at);

CREATE TABLE reconciliations (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,      -- public; rec_<32 hex>
    transaction_id  TEXT NOT NULL UNIQUE REFERENCES transactions (id),  -- public
    payment_id      TEXT NOT NULL UNIQUE REFERENCES payments (id),  -- public
    claimed_minor   INTEGER,
    notes           TEXT,  -- masked, cleaned
    actor           TEXT NOT NULL,  -- public
    created_at      INTEGER NOT NULL
) STRICT;

-- Why transactions were cancelled, in the words of the person who did it.
CREATE TABLE cancellations (
    seq            INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE REFERENCES transactions (id),  -- public
    reason         TEXT NOT NULL  -- masked, cleaned
) STRICT;

-- Unknown IDs tried on a transaction, to limit guessing.
-- Who stood at a till from when to when.
CREATE TABLE shifts (
    seq       INTEGER PRIMARY KEY,
    actor     TEXT NOT NULL,  -- public; as in the journal
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT,           -- public
    CHECK ((closed_at IS NULL) = (closed_by IS NULL))
) STRICT;
CREATE UNIQUE INDEX shifts_open ON shifts (actor) WHERE closed_at IS NULL;
CREATE INDEX shifts_by_actor ON shifts (actor, seq);

CREATE TABLE reconcile_misses (
    transaction_id       TEXT NOT NULL REFERENCES transactions (id),  -- public
    telco_transaction_id TEXT NOT NULL,  -- public
    tried_at             INTEGER NOT NULL,
    PRIMARY KEY (transaction_id, telco_transaction_id)
) STRICT;

CREATE TABLE reviews (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,  -- public
    mode           TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    reason         TEXT NOT NULL,  -- public
    state          TEXT NOT NULL CHECK (state = 'open' OR state = 'approved' OR state = 'rejected' OR  -- public
                                        state = 'used_elsewhere' OR state = 'superseded' OR
                                        state = 'used_for_settlement'),
    message_id     TEXT NOT NULL REFERENCES messages (id),  -- public
    payment_id     TEXT REFERENCES payments (id),  -- public
    transaction_id TEXT REFERENCES transactions (id),  -- public
    details        TEXT NOT NULL,              -- masked, cleaned; JSON object
    created_at     INTEGER NOT NULL,
    decided_at     INTEGER,
    decided_by     TEXT,  -- public
    notes          TEXT,  -- masked, cleaned
    branch_id      TEXT,                       -- public; as in messages
    version        INTEGER
) STRICT;
-- Approvals in the dashboard that can still be undone: the review is open until the daemon carries them out.
CREATE TABLE approvals_waiting (
    seq       INTEGER PRIMARY KEY,
    review_id TEXT NOT NULL UNIQUE REFERENCES reviews (id),  -- public
    reference TEXT,                            -- public; the transaction to pay; NULL: the one of the review
    user_name TEXT NOT NULL,  -- public
    role      TEXT NOT NULL,  -- public
    confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)),  -- the password was checked
    due_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX reviews_one_open_per_message ON reviews (message_id) WHERE state = 'open';
CREATE INDEX reviews_by_state ON reviews (state, seq);
CREATE INDEX reviews_by_payment ON reviews (payment_id);
CREATE INDEX reviews_of_branch ON reviews (branch_id, seq) WHERE branch_id IS NOT NULL;
CREATE INDEX reviews_open_by_transaction ON reviews (transaction_id) WHERE state = 'open';

-- SMS to payers and the owner, and tests of modems; each is sent at most once.
CREATE TABLE sms_outbox (
    seq            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,  -- public
    transaction_id TEXT    REFERENCES transactions (id),   -- public; NULL: a notice to the owner, or a test
    kind           TEXT    NOT NULL CHECK (kind = 'code' OR kind = 'code_again' OR kind = 'receipt' OR  -- public
                                           kind = 'notice' OR kind = 'test'),
    sim_seq        INTEGER NOT NULL REFERENCES sims (seq),
    number         TEXT    NOT NULL,  -- masked, forgotten ''
    body           TEXT    NOT NULL,  -- masked, erased ''
    status         TEXT    NOT NULL CHECK (status = 'queued' OR status = 'sending' OR status = 'sent' OR  -- public
                                           status = 'failed' OR status = 'unknown' OR status = 'expired'),
    tries          INTEGER NOT NULL CHECK (tries >= 0),
    parts_sent     INTEGER NOT NULL CHECK (parts_sent >= 0),
    next_try_at    INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    ended_at       INTEGER CHECK ((ended_at IS NULL) = (status IN ('queued', 'sending'))),
    why            TEXT    NOT NULL,  -- masked, kept
    UNIQUE (transaction_id, kind)
) STRICT;
CREATE INDEX sms_outbox_due ON sms_outbox (sim_seq, next_try_at, seq) WHERE status = 'queued';
CREATE INDEX sms_outbox_overdue ON sms_outbox (expires_at) WHERE status = 'queued';
CREATE INDEX sms_outbox_sending ON sms_outbox (seq) WHERE status = 'sending';
CREATE INDEX sms_outbox_to ON sms_outbox (number, created_at);
CREATE INDEX sms_outbox_from ON sms_outbox (sim_seq, created_at);
CREATE INDEX sms_outbox_with_text ON sms_outbox (ended_at) WHERE body <> '';

CREATE TABLE sms_outbox_parts (
    sms_id    TEXT    NOT NULL REFERENCES sms_outbox (id),  -- public
    part      INTEGER NOT NULL,
    reference INTEGER CHECK (reference BETWEEN 0 AND 255),
    sent_at   INTEGER NOT NULL,
    outcome   TEXT    CHECK (outcome = 'delivered' OR outcome = 'trying' OR outcome = 'failed'),  -- public
    PRIMARY KEY (sms_id, part)
) STRICT;
CREATE INDEX sms_outbox_parts_reference ON sms_outbox_parts (reference, sent_at);


-- Webhooks

CREATE TABLE endpoints (
    seq                  INTEGER PRIMARY KEY,
    id                   TEXT NOT NULL UNIQUE,  -- public
    kind                 TEXT NOT NULL CHECK (kind IN ('endpoint', 'implicit')),  -- public
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),   -- public; test = sandbox
    url                  TEXT NOT NULL,  -- masked, kept
    url_normalised       TEXT NOT NULL,  -- masked, kept
    description          TEXT NOT NULL,  -- masked, kept
    events               TEXT NOT NULL,        -- public; JSON array
    catch_all            INTEGER NOT NULL CHECK (catch_all IN (0, 1)),
    include_raw          INTEGER NOT NULL CHECK (include_raw IN (0, 1)),
    is_active            INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    auto_paused_at       INTEGER,
    last_success_at      INTEGER,
    last_failure_at      INTEGER,
    consecutive_failures INTEGER NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
    link_failures        INTEGER NOT NULL DEFAULT 0,  -- caused by our own link, since the last 2xx
    deleted_at           INTEGER,
    backlog_seq          INTEGER NOT NULL DEFAULT 0,  -- deliveries up to this one waited for the end of an outage or a pause
    headers              TEXT NOT NULL DEFAULT '{}'   -- hidden, kept; JSON: name to sealed value
) STRICT;
CREATE UNIQUE INDEX endpoints_one_implicit ON endpoints (mode, url_normalised) WHERE kind = 'implicit';
CREATE INDEX endpoints_in_use ON endpoints (mode, seq) WHERE kind = 'endpoint' AND deleted_at IS NULL;

CREATE TABLE webhook_secrets (
    seq        INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,                  -- public; an endpoint's id, or 'account' for all implicit endpoints
    sealed     TEXT NOT NULL,  -- hidden, kept
    created_at INTEGER NOT NULL,
    expires_at INTEGER                         -- NULL: the current secret
) STRICT;
CREATE UNIQUE INDEX webhook_secrets_one_current ON webhook_secrets (owner) WHERE expires_at IS NULL;

-- Versions of the rules; earlier decisions refer to old ones.
CREATE TABLE rules (
    seq         INTEGER PRIMARY KEY,       -- one version
    id          TEXT NOT NULL,  -- public
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id),  -- public
    name        TEXT NOT NULL,  -- masked, kept
    position    INTEGER NOT NULL,
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    filter      TEXT NOT NULL,             -- masked, kept; compact JSON of an object
    created_at  INTEGER NOT NULL,          -- of the first version
    updated_at  INTEGER NOT NULL,
    replaced_at INTEGER                    -- NULL: the rule as it is now
) STRICT;
CREATE UNIQUE INDEX rules_one_now ON rules (id) WHERE replaced_at IS NULL;
CREATE INDEX rules_of_endpoint ON rules (endpoint_id, position, seq) WHERE replaced_at IS NULL;

-- Routing decisions about payments.
CREATE TABLE routings (
    seq             INTEGER PRIMARY KEY,
    payment_seq     INTEGER NOT NULL REFERENCES payments (seq),
    transaction_seq INTEGER NOT NULL,      -- at that time
    mode            TEXT NOT NULL CHECK (mode IN ('live', 'test')),  -- public
    decided_at      INTEGER NOT NULL,
    claims          INTEGER NOT NULL CHECK (claims >= 0),  -- number of endpoints that claim it
    decision        TEXT NOT NULL          -- masked, cleaned; JSON: the endpoints and rules considered, and the claims (daemon/core/webhooks/routing.py)
) STRICT;
CREATE INDEX routings_by_payment ON routings (payment_seq, seq);
CREATE INDEX routings_unclaimed ON routings (mode, decided_at) WHERE claims = 0;

-- The last revision of each recurring event.
CREATE TABLE event_revisions (
    kind    TEXT NOT NULL,  -- public
    subject TEXT NOT NULL,  -- public
    last    INTEGER NOT NULL CHECK (last >= 0),
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- The webhook outbox: one event for one endpoint.
CREATE TABLE deliveries (
    seq                  INTEGER PRIMARY KEY,  -- X-Svc-Sequence
    id                   TEXT NOT NULL UNIQUE,  -- public
    webhook_id           TEXT NOT NULL,  -- public
    endpoint_seq         INTEGER NOT NULL REFERENCES endpoints (seq),
    event                TEXT NOT NULL,  -- public
    subject              INTEGER NOT NULL CHECK (subject <> 0),  -- the payment's number, or minus the transaction's if there is no payment
    revision             INTEGER NOT NULL CHECK (revision >= 0),
    transaction_seq      INTEGER NOT NULL REFERENCES transactions (seq),
    test                 INTEGER NOT NULL CHECK (test IN (0, 1)),
    status               TEXT NOT NULL CHECK (status = 'pending' OR status = 'retrying' OR status = 'delivered' OR  -- public
                                              status = 'failed'),
    attempt_count        INTEGER NOT NULL CHECK (attempt_count >= 0),
    run                  INTEGER NOT NULL CHECK (run >= 1),
    next_attempt_at      INTEGER,
    leased_until         INTEGER,
    waiting              TEXT,                 -- public; why it is held back; NULL also for a paused endpoint
    extra                INTEGER NOT NULL DEFAULT 0 CHECK (extra IN (0, 1)),  -- a retry brought forward: its failure uses up no step
    response_status_code INTEGER,
    response_body        TEXT,  -- masked, erased NULL
    error_code           TEXT,  -- public
    error_message        TEXT,  -- masked, kept
    created_at           INTEGER NOT NULL,
    delivered_at         INTEGER,              -- the first 2xx; never overwritten
    failed_at            INTEGER,
    bulk                 INTEGER NOT NULL DEFAULT 0 CHECK (bulk IN (0, 1)),   -- sent after live deliveries
    tried                INTEGER NOT NULL DEFAULT 0,  -- seq of the last failed attempt of this run; 0: none
    clock_waits          INTEGER NOT NULL DEFAULT 0 CHECK (clock_waits >= 0),  -- how often this run waited for the right time
    UNIQUE (endpoint_seq, event, subject, revision),  -- invariant 5
    CHECK ((status IN ('pending', 'retrying')) = (next_attempt_at IS NOT NULL)),
    CHECK ((status = 'failed') = (failed_at IS NOT NULL))
) STRICT;
CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint_seq, seq);
CREATE INDEX deliveries_by_transaction ON deliveries (transaction_seq);
CREATE INDEX deliveries_by_webhook_id ON deliveries (SUBSTR(webhook_id, 5, 10));   -- enough to find one
CREATE INDEX deliveries_by_age ON deliveries (created_at);
CREATE INDEX deliveries_with_response ON deliveries (created_at) WHERE response_body IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (endpoint_seq, bulk, status, next_attempt_at, seq)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_tried ON deliveries (endpoint_seq, tried, bulk, next_attempt_at, seq)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_retrying ON deliveries (endpoint_seq, seq) WHERE status = 'retrying';
CREATE INDEX deliveries_failed ON deliveries (seq) WHERE status = 'failed';
CREATE INDEX deliveries_rare ON deliveries (event, seq)
    WHERE event NOT IN ('transaction.forwarded', 'transaction.completed');
CREATE TRIGGER deliveries_counted_in AFTER INSERT ON deliveries
BEGIN
    INSERT INTO delivery_counts (mode, endpoint, event, status, count)
    SELECT e.mode, CASE e.kind WHEN 'endpoint' THEN e.id ELSE 'implicit' END, NEW.event, NEW.status, 1
    FROM endpoints e WHERE e.seq = NEW.endpoint_seq
    ON CONFLICT (mode, endpoint, event, status) DO UPDATE SET count = delivery_counts.count + 1;
END;
CREATE TRIGGER deliveries_counted_over AFTER UPDATE OF status ON deliveries WHEN NEW.status <> OLD.status
BEGIN
    UPDATE delivery_counts SET count = count - 1
    WHERE event = OLD.event AND status = OLD.status AND (mode, endpoint) =
        (SELECT e.mode, CASE e.kind WHEN 'endpoint' THEN e.id ELSE 'implicit' END FROM endpoints e WHERE e.seq = OLD.endpoint_seq);
    INSERT INTO delivery_counts (mode, endpoint, event, status, count)
    SELECT e.mode, CASE e.kind WHEN 'endpoint' THEN e.id ELSE 'implicit' END, NEW.event, NEW.status, 1
    FROM endpoints e WHERE e.seq = NEW.endpoint_seq
    ON CONFLICT (mode, endpoint, event, status) DO UPDATE SET count = delivery_counts.count + 1;
END;
CREATE TRIGGER deliveries_counted_out AFTER DELETE ON deliveries
BEGIN
    UPDATE delivery_counts SET count = count - 1
    WHERE event = OLD.event AND status = OLD.status AND (mode, endpoint) =
        (SELECT e.mode, CASE e.kind WHEN 'endpoint' THEN e.id ELSE 'implicit' END FROM endpoints e WHERE e.seq = OLD.endpoint_seq);
END;

-- Totals of the deliveries in lists, kept by the triggers above. Implicit endpoints, of which there may be many, share one.
CREATE TABLE delivery_counts (
    mode     TEXT NOT NULL,  -- public
    endpoint TEXT NOT NULL,                -- public; id of the endpoint, or `implicit`
    event    TEXT NOT NULL,  -- public
    status   TEXT NOT NULL,  -- public
    count    INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (mode, endpoint, event, status)
) STRICT, WITHOUT ROWID;

-- The bodies of deliveries, sent byte for byte and never serialised again.
CREATE TABLE delivery_bodies (
    delivery_seq INTEGER PRIMARY KEY REFERENCES deliveries (seq),
    deflated     BLOB NOT NULL             -- hidden, own; RFC 1951
) STRICT;

CREATE TABLE attempts (
    seq           INTEGER PRIMARY KEY,
    delivery_seq  INTEGER NOT NULL REFERENCES deliveries (seq),
    run           INTEGER NOT NULL,
    number        INTEGER NOT NULL,            -- within the run
    started_at    INTEGER NOT NULL,
    finished_at   INTEGER,                     -- NULL: in flight, or cut off by a crash
    duration_us   INTEGER,
    status_code   INTEGER,
    error_code    TEXT,  -- public
    error_message TEXT,  -- masked, kept
    counted       INTEGER CHECK (counted IN (0, 1))
) STRICT;
CREATE INDEX attempts_by_delivery ON attempts (delivery_seq, seq);
CREATE INDEX attempts_by_age ON attempts (started_at);

CREATE TABLE dead_letters (
    seq                INTEGER PRIMARY KEY,
    id                 TEXT NOT NULL UNIQUE,  -- public
    delivery_id        TEXT NOT NULL UNIQUE REFERENCES deliveries (id),  -- public
    endpoint_id        TEXT NOT NULL,      -- public; of the delivery
    reason             TEXT NOT NULL,  -- public
    created_at         INTEGER NOT NULL,
    replayed_at        INTEGER,
    replay_count       INTEGER NOT NULL CHECK (replay_count >= 0),
    resolved_at        INTEGER,            -- when the delivery arrived in the end
    failed_at          INTEGER NOT NULL DEFAULT 0,
    failing_since      INTEGER,            -- first attempt of the failed run
    error_code         TEXT,  -- public
    error_message      TEXT,  -- masked, kept
    last_status_code   INTEGER,
    last_response_body TEXT,  -- masked, erased NULL
    attempt_count      INTEGER NOT NULL DEFAULT 0,
    clock_waits        INTEGER NOT NULL DEFAULT 0,
    mode               TEXT NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),  -- public; of the endpoint
    dismissed_at       INTEGER,            -- when an operator closed it without sending it again
    dismissed_by       TEXT,  -- public
    notes              TEXT  -- masked, cleaned
) STRICT;
CREATE INDEX dead_letters_by_failure ON dead_letters (failed_at, seq);
CREATE INDEX dead_letters_open ON dead_letters (failed_at, seq)
    WHERE replayed_at IS NULL AND resolved_at IS NULL AND dismissed_at IS NULL;
CREATE INDEX dead_letters_open_by_mode ON dead_letters (mode, failed_at, seq)
    WHERE replayed_at IS NULL AND resolved_at IS NULL AND dismissed_at IS NULL;
-- Has what distinguishes faults, so that they are counted without the rows.
CREATE INDEX dead_letters_open_by_kind
    ON dead_letters (mode, endpoint_id, reason, error_code, last_status_code, clock_waits, failed_at, seq)
    WHERE replayed_at IS NULL AND resolved_at IS NULL AND dismissed_at IS NULL;
CREATE INDEX dead_letters_with_response ON dead_letters (failed_at) WHERE last_response_body IS NOT NULL;

-- Endpoints whose outage has ended while some of their retries have no new time yet.
CREATE TABLE flushes (
    endpoint_id TEXT PRIMARY KEY REFERENCES endpoints (id),  -- public
    after_seq   INTEGER NOT NULL,          -- retries up to this one have a new time
    next_at     INTEGER NOT NULL           -- the time for the next one
) STRICT;


-- Journal and notices

-- The journal: append-only. Transactions, payments, complete messages and endpoints are named by number: they are never deleted.
CREATE TABLE events (
    seq             INTEGER PRIMARY KEY,
    type            TEXT NOT NULL,  -- public
    mode            TEXT NOT NULL,  -- public
    at              INTEGER NOT NULL,
    actor           TEXT NOT NULL,             -- public; momo, socket:<uid>, key:<id>, session
    transaction_seq INTEGER,
    payment_seq     INTEGER,
    message_seq     INTEGER,
    message_id      TEXT,                      -- public; instead of the number: of a message that lacks parts
    endpoint_seq    INTEGER,
    data            TEXT NOT NULL              -- masked, kept; JSON object
) STRICT;
CREATE INDEX events_by_transaction ON events (transaction_seq, seq) WHERE transaction_seq IS NOT NULL;
CREATE INDEX events_of_people ON events (seq) WHERE actor <> 'momo';
CREATE INDEX events_of_doubles ON events (payment_seq) WHERE type IN ('notice.id_conflict', 'notice.paid_twice');
CREATE INDEX events_of_lost_orders ON events (payment_seq) WHERE type = 'notice.order_lost';
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE notice_cursor (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL                   -- the last journal entry that was read
) STRICT;

-- Notices to the owner, one per cause and hour.
CREATE TABLE notices (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,  -- public
    cause        TEXT NOT NULL,            -- masked, kept; kind, and the endpoint, phone or SIM
    kind         TEXT NOT NULL,            -- public; type of the journal entry
    urgent       INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    text         TEXT NOT NULL,            -- masked, kept; one sentence about the latest occurrence
    words        TEXT,                     -- masked, kept; key and values of that sentence as JSON, for other languages
    next         TEXT NOT NULL,            -- masked, kept; the command to type; empty if there is none
    count        INTEGER NOT NULL CHECK (count >= 1),
    told         INTEGER NOT NULL,         -- occurrences that were sent
    first_at     INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    seen_at      INTEGER,                  -- when an operator looked; NULL again after another occurrence
    recovered_at INTEGER
) STRICT;
CREATE INDEX notices_by_cause ON notices (cause, seq);
CREATE INDEX notices_unseen ON notices (seq) WHERE seen_at IS NULL;
CREATE INDEX notices_untold ON notices (first_at) WHERE told < count;

-- Messages to the owner about notices.
CREATE TABLE notice_sends (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,  -- public
    channel   TEXT NOT NULL CHECK (channel = 'email' OR channel = 'desktop' OR channel = 'sms'),  -- public
    subject   TEXT NOT NULL,  -- masked, kept
    body      TEXT NOT NULL,  -- masked, kept
    tries     INTEGER NOT NULL,
    due_at    INTEGER,                     -- NULL: ended
    ended_at  INTEGER,
    error     TEXT,                        -- masked, kept; of the last try; NULL once it is sent
    queued_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notice_sends_due ON notice_sends (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notice_sends_ended ON notice_sends (queued_at) WHERE due_at IS NULL;


-- A branch: what it sends to its hub

-- The hub of this shop, if it is a branch.
CREATE TABLE hub_link (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    branch_id  TEXT NOT NULL,  -- public
    name       TEXT NOT NULL,              -- public; of this branch at the hub
    url        TEXT NOT NULL,  -- public
    spki       TEXT NOT NULL,              -- public; SHA-256 of the hub's public key, hex; '': its certificate is checked as any other
    key_sealed TEXT NOT NULL,  -- hidden, kept
    decides    TEXT NOT NULL CHECK (decides IN ('all', 'nothing')),  -- public
    epoch      INTEGER NOT NULL,           -- grows when this shop is restored
    turn       INTEGER NOT NULL,           -- of the last request; grows with each
    acked_seq  INTEGER NOT NULL,           -- the hub has the feed up to here
    sent_seq   INTEGER NOT NULL,           -- the end of the last request
    heard_at   INTEGER,                    -- when the hub last answered
    problem    TEXT NOT NULL,              -- public; why the hub did not take the last request; '': it did
    begin_seq  INTEGER,                    -- the feed of this epoch begins behind it
    must_renew INTEGER NOT NULL DEFAULT 0  -- 1: restored from a copy; nothing is sent until it has the hub's rows and a new epoch
) STRICT;

-- How far hubs had got when this shop left them.
CREATE TABLE hub_left (
    branch_id TEXT PRIMARY KEY,  -- public
    epoch     INTEGER NOT NULL,
    acked_seq INTEGER NOT NULL             -- the hub had the feed up to here
) STRICT;

-- Which rows changed, in the order of the commits. Written by triggers that only a branch has (daemon/store/branches/feed.py).
CREATE TABLE feed (
    seq  INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,  -- public
    id   TEXT NOT NULL  -- public
) STRICT;
CREATE INDEX feed_by_row ON feed (id, kind, seq);

-- Commands of the hub and what came of them, and decisions about payments that were handed up.
CREATE TABLE hub_commands (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,  -- public
    kind    TEXT NOT NULL,  -- public
    subject TEXT NOT NULL,                 -- public; the payment or review
    body    TEXT NOT NULL,                 -- hidden, kept; JSON object
    outcome TEXT NOT NULL,                 -- hidden, kept; JSON object
    done_at INTEGER NOT NULL
) STRICT;
CREATE INDEX hub_commands_by_subject ON hub_commands (subject, seq);


-- A hub: its branches

CREATE TABLE branches (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,  -- public
    name          TEXT NOT NULL UNIQUE,  -- public
    decides       TEXT NOT NULL CHECK (decides IN ('all', 'nothing')),  -- public
    status        TEXT NOT NULL CHECK (status = 'invited' OR status = 'joined' OR status = 'disputed' OR  -- public
                                       status = 'leaving' OR status = 'left'),
    key_id        TEXT,                    -- public; of its API key
    invite_sha256 TEXT,                    -- hidden, kept; NULL: no invitation is open
    invite_until  INTEGER,
    epoch         INTEGER NOT NULL,
    turn          INTEGER NOT NULL,
    turn_sha256   TEXT,                    -- public; of the body of the request with this number
    turn_answer   TEXT,                    -- hidden, kept; JSON: the answer to it, given again to a repeated request; NULL: not finished
    acked_seq     INTEGER NOT NULL,
    last_heard_at INTEGER,
    version       TEXT,                    -- public; of its momo
    clock_off_us  INTEGER,                 -- its clock minus ours, when it was last heard
    unconfirmed_day INTEGER NOT NULL DEFAULT 0,  -- our last day with payments on a new SIM or number, and what was counted of them
    unconfirmed_minor INTEGER NOT NULL DEFAULT 0,
    told_at       INTEGER,                 -- when people were told that two machines send as it
    brings_at     INTEGER,                 -- when it began to send what had waited
    brings        TEXT NOT NULL DEFAULT '[]',  -- public; JSON: number and sum of that by the network's day
    created_at    INTEGER NOT NULL
) STRICT;

-- How far the copies of a branch had come, once an hour while it sends: this says which rows came since a time.
CREATE TABLE branch_marks (
    branch_id TEXT NOT NULL REFERENCES branches (id),  -- public
    at        INTEGER NOT NULL,
    version   INTEGER NOT NULL,            -- every copy up to it had come
    PRIMARY KEY (branch_id, at)
) STRICT;

-- Copies that came with a stolen key: they count for nothing and are not given back to the branch.
CREATE TABLE branch_doubts (
    seq       INTEGER PRIMARY KEY,
    branch_id TEXT NOT NULL REFERENCES branches (id),  -- public
    after_version INTEGER NOT NULL,        -- the versions between these two
    until_version INTEGER NOT NULL,
    since     INTEGER NOT NULL,            -- what the person typed
    made_by   TEXT NOT NULL,  -- public
    made_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX branch_doubts_of_branch ON branch_doubts (branch_id);

-- The SIMs and numbers of a branch, and since when: of several payments with one network ID that of a known SIM counts.
CREATE TABLE branch_sims (
    branch_id TEXT NOT NULL REFERENCES branches (id),  -- public
    sim_key   TEXT NOT NULL,  -- public
    payment_method_seq INTEGER NOT NULL CHECK (payment_method_seq > 0),
    since     INTEGER NOT NULL,
    PRIMARY KEY (branch_id, sim_key, payment_method_seq)
) STRICT;

-- How many payments of a branch came, by the network's day, counted from 1970-01-01.
CREATE TABLE branch_days (
    branch_id TEXT NOT NULL REFERENCES branches (id),  -- public
    day       INTEGER NOT NULL,
    payments  INTEGER NOT NULL,
    PRIMARY KEY (branch_id, day)
) STRICT;

-- What the hub asks of a branch. A row is sent until the branch has answered it.
CREATE TABLE branch_commands (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,  -- public
    branch_id TEXT NOT NULL REFERENCES branches (id),  -- public
    kind      TEXT NOT NULL,  -- public
    subject   TEXT NOT NULL,  -- public
    body      TEXT NOT NULL,               -- hidden, kept; JSON object
    made_by   TEXT NOT NULL,  -- public
    made_at   INTEGER NOT NULL,
    sent_at   INTEGER,
    done_at   INTEGER,
    outcome   TEXT                         -- hidden, kept; JSON object
) STRICT;
CREATE INDEX branch_commands_open ON branch_commands (branch_id, seq) WHERE done_at IS NULL;
CREATE INDEX branch_commands_decided ON branch_commands (branch_id, seq) WHERE kind = 'decided';
CREATE INDEX branch_commands_by_subject ON branch_commands (subject, seq);

-- Facts that could not be stored; the feed goes on behind them.
CREATE TABLE facts_refused (
    branch_id  TEXT NOT NULL REFERENCES branches (id),  -- public
    version    INTEGER NOT NULL,
    kind       TEXT NOT NULL,  -- public
    id         TEXT NOT NULL,  -- public
    why        TEXT NOT NULL,  -- hidden, kept
    body       TEXT NOT NULL,              -- hidden, kept; JSON object
    at         INTEGER NOT NULL,
    tried_with TEXT NOT NULL,              -- public; version of the program that could not store it; another one tries again
    PRIMARY KEY (branch_id, version)
) STRICT;

-- Facts that are only shown: phones, SIMs, journal entries, and kinds that this version does not know yet.
CREATE TABLE branch_facts (
    branch_id TEXT NOT NULL REFERENCES branches (id),  -- public
    kind      TEXT NOT NULL,  -- public
    id        TEXT NOT NULL,  -- public
    version   INTEGER NOT NULL,
    body      TEXT NOT NULL,               -- hidden, kept; JSON object, or null: the row is gone
    message   TEXT,                        -- hidden, kept; JSON object: the message that came with the row
    PRIMARY KEY (branch_id, kind, id)
) STRICT;
