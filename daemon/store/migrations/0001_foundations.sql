-- The first schema: everything one shop knows.
--
-- Money is an integer of minor units. Times are integers, microseconds since 1970 in UTC. Booleans are 0 or 1.
-- JSON stands in TEXT and is never queried inside. `seq` gives the order of things; the clock never does.

CREATE TABLE shop (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    name          TEXT NOT NULL,
    timezone      TEXT NOT NULL,
    owner_email   TEXT,
    password_hash TEXT NOT NULL,
    account_key   TEXT NOT NULL,   -- hex; keys the HMAC that makes webhook ids
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    kind         TEXT NOT NULL CHECK (kind IN ('secret', 'publishable')),
    hint         TEXT NOT NULL,            -- prefix and last four, for lists
    sha256       TEXT NOT NULL UNIQUE,
    scopes       TEXT NOT NULL,            -- JSON array
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT;

-- Phones and SIMs -----------------------------------------------------------------------------------

CREATE TABLE devices (
    device_id     TEXT PRIMARY KEY,        -- UUIDv5 of the IMEI
    imei          TEXT,
    name          TEXT NOT NULL,
    manufacturer  TEXT,
    model         TEXT,
    port          TEXT,
    present       INTEGER NOT NULL CHECK (present IN (0, 1)),
    first_seen_at INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL,
    forgotten_at  INTEGER
) STRICT;

CREATE TABLE sims (
    seq             INTEGER PRIMARY KEY,
    sim_key         TEXT NOT NULL UNIQUE,  -- ICCID, else imsi:<IMSI>, else slot:<device>:<slot>
    iccid           TEXT,
    imsi            TEXT,
    network         TEXT,                  -- short name, NULL when the IMSI is of no network we know
    device_id       TEXT NOT NULL REFERENCES devices (device_id),
    slot_index      INTEGER NOT NULL CHECK (slot_index >= 0),
    present         INTEGER NOT NULL CHECK (present IN (0, 1)),
    first_seen_at   INTEGER NOT NULL,
    last_seen_at    INTEGER NOT NULL,
    read_payment_at INTEGER                -- when a payment message was last read from it
) STRICT;
CREATE UNIQUE INDEX sims_one_per_slot ON sims (device_id, slot_index) WHERE present = 1;

CREATE TABLE payment_methods (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,
    provider        TEXT NOT NULL,
    phone_number    TEXT NOT NULL,         -- E.164
    account_name    TEXT NOT NULL,
    merchant_code   TEXT,
    sim_seq         INTEGER REFERENCES sims (seq),
    is_active       INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    line_created_at INTEGER,               -- when the number came onto its SIM; older messages are history
    last_payment_at INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    deleted_at      INTEGER
) STRICT;
CREATE UNIQUE INDEX payment_methods_one_per_number ON payment_methods (provider, phone_number)
    WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX payment_methods_one_per_sim ON payment_methods (sim_seq)
    WHERE sim_seq IS NOT NULL AND deleted_at IS NULL;

-- Messages --------------------------------------------------------------------------------------------

CREATE TABLE messages (
    seq               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    mode              TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    sim_key           TEXT NOT NULL,
    device_id         TEXT NOT NULL,
    slot_index        INTEGER NOT NULL,
    payment_method_id TEXT,
    sender            TEXT,
    sender_type       TEXT,
    smsc              TEXT,
    sent_at           INTEGER,             -- SMSC time of the first part
    parts_total       INTEGER NOT NULL CHECK (parts_total >= 1),
    parts_seen        INTEGER NOT NULL CHECK (parts_seen >= 1 AND parts_seen <= parts_total),
    reference_width   INTEGER,             -- 8 or 16; NULL for a message of one part
    reference         INTEGER,
    body              TEXT,                -- NULL until the last part is in
    state             TEXT NOT NULL CHECK (state IN ('payment', 'not_payment', 'unparsed', 'incomplete',
                                                     'held', 'historical', 'duplicate')),
    kind              TEXT,
    provider          TEXT,
    wording           TEXT,
    fields            TEXT NOT NULL,       -- JSON object, the words of the corpus
    trusted           INTEGER CHECK (trusted IN (0, 1)),
    reasons           TEXT NOT NULL,       -- JSON array
    payment_id        TEXT,
    received_at       INTEGER NOT NULL,    -- when the part that made it whole (or the first one) was stored
    created_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_part_key ON messages (sim_key, sender, reference_width, reference, parts_total, seq)
    WHERE reference IS NOT NULL;
CREATE INDEX messages_by_state ON messages (state, seq);

CREATE TABLE sms_parts (
    seq         INTEGER PRIMARY KEY,
    sim_key     TEXT NOT NULL,
    sha256      TEXT NOT NULL,             -- of the PDU's octets
    pdu         TEXT NOT NULL,             -- hex, as the phone gave it
    message_id  TEXT NOT NULL REFERENCES messages (id),
    position    INTEGER NOT NULL CHECK (position >= 1),
    sent_at     INTEGER,
    storage     TEXT NOT NULL,
    slot        INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    UNIQUE (sim_key, sha256),              -- one SMS is stored once (invariant 2)
    UNIQUE (message_id, position)
) STRICT;

-- Money that came in -------------------------------------------------------------------------------------

CREATE TABLE payments (
    seq                  INTEGER PRIMARY KEY,
    id                   TEXT NOT NULL UNIQUE,
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    provider             TEXT NOT NULL,
    telco_transaction_id TEXT NOT NULL,    -- trimmed, upper case: what is compared
    telco_id_as_read     TEXT NOT NULL,
    message_id           TEXT NOT NULL REFERENCES messages (id),
    payment_method_id    TEXT,             -- NULL: unplaced
    sim_key              TEXT NOT NULL,
    device_id            TEXT NOT NULL,
    slot_index           INTEGER NOT NULL,
    kind                 TEXT NOT NULL,
    amount_minor         INTEGER NOT NULL CHECK (amount_minor >= 0),
    currency             TEXT NOT NULL,
    fee_minor            INTEGER,
    balance_minor        INTEGER,
    payer_name           TEXT,
    payer_phone          TEXT,             -- E.164
    reference_text       TEXT,
    telco_at             INTEGER NOT NULL, -- printed time, else SMSC time, else when stored
    stored_at            INTEGER NOT NULL,
    historical           INTEGER NOT NULL CHECK (historical IN (0, 1)),
    standing             TEXT NOT NULL CHECK (standing IN ('used', 'open', 'review')),
    reversed_at          INTEGER,
    UNIQUE (mode, provider, telco_transaction_id)   -- one transaction of the network is one payment (invariant 2)
) STRICT;
CREATE INDEX payments_by_telco_id ON payments (telco_transaction_id);
CREATE INDEX payments_unplaced ON payments (stored_at) WHERE payment_method_id IS NULL;
CREATE INDEX payments_by_line ON payments (payment_method_id, stored_at);

-- Requests and holders -------------------------------------------------------------------------------------

CREATE TABLE transactions (
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
    payment_id                    TEXT UNIQUE REFERENCES payments (id),  -- a payment verifies one (invariant 3)
    held_payment_id               TEXT UNIQUE REFERENCES payments (id),
    matched_by                    TEXT CHECK (matched_by IN ('code', 'telco_id', 'reconcile', 'review', 'none')),
    processing_at                 INTEGER,
    completed_at                  INTEGER,
    late                          INTEGER NOT NULL CHECK (late IN (0, 1)),
    rejected                      INTEGER NOT NULL CHECK (rejected IN (0, 1)),
    merged_into                   TEXT,                   -- id of the transaction that took this holder's payment
    supersedes                    TEXT,                   -- id of the holder whose payment this one took
    reversed_at                   INTEGER,
    CHECK (origin = 'open' OR (svc_code IS NOT NULL AND expected_minor IS NOT NULL AND expires_at IS NOT NULL)),
    CHECK ((status IN ('SUCCESS', 'PARTIAL', 'OVERPAID')) = (payment_id IS NOT NULL OR merged_into IS NOT NULL))
) STRICT;
CREATE INDEX transactions_by_created ON transactions (mode, origin, created_at, seq);
CREATE INDEX transactions_by_client_reference ON transactions (client_reference)
    WHERE client_reference IS NOT NULL;
CREATE INDEX transactions_expiring ON transactions (expires_at) WHERE status = 'PENDING';
CREATE INDEX transactions_expecting ON transactions (mode, expected_telco_transaction_id, seq)
    WHERE expected_telco_transaction_id IS NOT NULL;
CREATE UNIQUE INDEX transactions_one_per_expected_id ON transactions (mode, expected_telco_transaction_id)
    WHERE expected_telco_transaction_id IS NOT NULL AND status = 'PENDING';

-- Who holds a payment code. A code is in use until `free_at` (decisions.md section 2).
CREATE TABLE svc_codes (
    mode           TEXT NOT NULL,
    code           TEXT NOT NULL,
    transaction_id TEXT NOT NULL REFERENCES transactions (id),
    free_at        INTEGER NOT NULL,
    PRIMARY KEY (mode, code)
) STRICT;
CREATE INDEX transactions_by_code ON transactions (mode, svc_code, seq) WHERE svc_code IS NOT NULL;

CREATE TABLE reconciliations (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,      -- rec_<32 hex>
    transaction_id  TEXT NOT NULL UNIQUE REFERENCES transactions (id),
    payment_id      TEXT NOT NULL UNIQUE REFERENCES payments (id),
    claimed_minor   INTEGER,
    notes           TEXT,
    actor           TEXT NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;

-- The guess guard of reconcile: distinct unknown IDs tried on one request.
CREATE TABLE reconcile_misses (
    transaction_id       TEXT NOT NULL REFERENCES transactions (id),
    telco_transaction_id TEXT NOT NULL,
    tried_at             INTEGER NOT NULL,
    PRIMARY KEY (transaction_id, telco_transaction_id)
) STRICT;

CREATE TABLE reviews (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    mode           TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    reason         TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'used_elsewhere', 'superseded')),
    message_id     TEXT NOT NULL REFERENCES messages (id),
    payment_id     TEXT REFERENCES payments (id),
    transaction_id TEXT REFERENCES transactions (id),
    details        TEXT NOT NULL,              -- JSON object
    created_at     INTEGER NOT NULL,
    decided_at     INTEGER,
    decided_by     TEXT,
    notes          TEXT
) STRICT;
CREATE UNIQUE INDEX reviews_one_open_per_message ON reviews (message_id) WHERE state = 'open';
CREATE INDEX reviews_by_state ON reviews (state, seq);
CREATE INDEX reviews_by_payment ON reviews (payment_id);

-- Webhooks ----------------------------------------------------------------------------------------------------

CREATE TABLE endpoints (
    seq                  INTEGER PRIMARY KEY,
    id                   TEXT NOT NULL UNIQUE,
    kind                 TEXT NOT NULL CHECK (kind IN ('endpoint', 'implicit')),
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),   -- test = sandbox
    url                  TEXT NOT NULL,
    url_normalised       TEXT NOT NULL,
    description          TEXT NOT NULL,
    events               TEXT NOT NULL,        -- JSON array
    catch_all            INTEGER NOT NULL CHECK (catch_all IN (0, 1)),
    include_raw          INTEGER NOT NULL CHECK (include_raw IN (0, 1)),
    is_active            INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    auto_paused_at       INTEGER,
    last_success_at      INTEGER,
    last_failure_at      INTEGER,
    consecutive_failures INTEGER NOT NULL CHECK (consecutive_failures >= 0),
    link_failures        INTEGER NOT NULL DEFAULT 0,  -- since its last 2xx, and our own link's
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    deleted_at           INTEGER
) STRICT;
CREATE UNIQUE INDEX endpoints_one_implicit ON endpoints (mode, url_normalised) WHERE kind = 'implicit';

CREATE TABLE webhook_secrets (
    seq        INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,                  -- an endpoint's id, or 'account' for all implicit endpoints
    sealed     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER                         -- NULL: the current one
) STRICT;
CREATE UNIQUE INDEX webhook_secrets_one_current ON webhook_secrets (owner) WHERE expires_at IS NULL;

CREATE TABLE deliveries (
    seq                  INTEGER PRIMARY KEY,  -- X-Svc-Sequence
    id                   TEXT NOT NULL UNIQUE,
    webhook_id           TEXT NOT NULL,
    endpoint_id          TEXT NOT NULL REFERENCES endpoints (id),
    event                TEXT NOT NULL,
    subject              TEXT NOT NULL,        -- the payment's id, or the transaction's where there is none
    revision             INTEGER NOT NULL CHECK (revision >= 0),
    transaction_id       TEXT NOT NULL REFERENCES transactions (id),
    test                 INTEGER NOT NULL CHECK (test IN (0, 1)),
    body                 TEXT NOT NULL,        -- sent byte for byte, never serialised again
    status               TEXT NOT NULL CHECK (status IN ('pending', 'retrying', 'delivered', 'failed')),
    attempt_count        INTEGER NOT NULL CHECK (attempt_count >= 0),
    run                  INTEGER NOT NULL CHECK (run >= 1),
    next_attempt_at      INTEGER,
    leased_until         INTEGER,
    waiting              TEXT,                 -- why it is held back, other than a paused endpoint
    extra                INTEGER NOT NULL DEFAULT 0 CHECK (extra IN (0, 1)),  -- the next attempt is the flush's
    response_status_code INTEGER,
    response_body        TEXT,
    error_code           TEXT,
    error_message        TEXT,
    created_at           INTEGER NOT NULL,
    delivered_at         INTEGER,              -- the first 2xx, kept for ever
    failed_at            INTEGER,
    UNIQUE (endpoint_id, event, subject, revision),   -- invariant 5
    CHECK ((status IN ('pending', 'retrying')) = (next_attempt_at IS NOT NULL)),
    CHECK ((status = 'failed') = (failed_at IS NOT NULL))
) STRICT;
CREATE INDEX deliveries_due ON deliveries (next_attempt_at, seq) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_waiting_by_endpoint ON deliveries (endpoint_id, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint_id, seq);
CREATE INDEX deliveries_by_transaction ON deliveries (transaction_id);

CREATE TABLE attempts (
    seq           INTEGER PRIMARY KEY,
    delivery_id   TEXT NOT NULL REFERENCES deliveries (id),
    run           INTEGER NOT NULL,
    number        INTEGER NOT NULL,            -- within the run
    started_at    INTEGER NOT NULL,
    finished_at   INTEGER,                     -- NULL: in flight, or cut off by a crash
    duration_us   INTEGER,
    status_code   INTEGER,
    error_code    TEXT,
    error_message TEXT,
    counted       INTEGER CHECK (counted IN (0, 1))
) STRICT;
CREATE INDEX attempts_by_delivery ON attempts (delivery_id, seq);

CREATE TABLE dead_letters (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    delivery_id  TEXT NOT NULL UNIQUE REFERENCES deliveries (id),
    reason       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    replayed_at  INTEGER,
    replay_count INTEGER NOT NULL CHECK (replay_count >= 0),
    resolved_at  INTEGER
) STRICT;

-- Care -----------------------------------------------------------------------------------------------------------

CREATE TABLE idempotency_keys (
    scope       TEXT NOT NULL,                 -- mode, caller, method and path
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status      INTEGER NOT NULL,
    body        TEXT NOT NULL,
    sealed      INTEGER NOT NULL CHECK (sealed IN (0, 1)),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- The append-only journal: what the stream, the audit and the timeline read.
CREATE TABLE events (
    seq            INTEGER PRIMARY KEY,
    type           TEXT NOT NULL,
    mode           TEXT NOT NULL,
    at             INTEGER NOT NULL,
    actor          TEXT NOT NULL,              -- momo, socket:<uid>, key:<id>, session
    transaction_id TEXT,
    payment_id     TEXT,
    message_id     TEXT,
    endpoint_id    TEXT,
    data           TEXT NOT NULL               -- JSON object
) STRICT;
CREATE INDEX events_by_transaction ON events (transaction_id, seq) WHERE transaction_id IS NOT NULL;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
