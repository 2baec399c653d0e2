-- What a dead letter says of its failure is kept with it: a later run changes its delivery, not why it failed before.

ALTER TABLE dead_letters ADD COLUMN failed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dead_letters ADD COLUMN failing_since INTEGER;            -- the first attempt of the run that failed
ALTER TABLE dead_letters ADD COLUMN error_code TEXT;
ALTER TABLE dead_letters ADD COLUMN error_message TEXT;
ALTER TABLE dead_letters ADD COLUMN last_status_code INTEGER;
ALTER TABLE dead_letters ADD COLUMN last_response_body TEXT;
ALTER TABLE dead_letters ADD COLUMN attempt_count INTEGER NOT NULL DEFAULT 0;

UPDATE dead_letters SET
    failed_at = created_at,
    failing_since = (SELECT MIN(a.started_at) FROM attempts a WHERE a.delivery_id = dead_letters.delivery_id),
    error_code = (SELECT d.error_code FROM deliveries d WHERE d.id = dead_letters.delivery_id),
    error_message = (SELECT d.error_message FROM deliveries d WHERE d.id = dead_letters.delivery_id),
    last_status_code = (SELECT d.response_status_code FROM deliveries d WHERE d.id = dead_letters.delivery_id),
    last_response_body = (SELECT d.response_body FROM deliveries d WHERE d.id = dead_letters.delivery_id),
    attempt_count = (SELECT d.attempt_count FROM deliveries d WHERE d.id = dead_letters.delivery_id);

CREATE INDEX dead_letters_by_failure ON dead_letters (failed_at, seq);
CREATE INDEX dead_letters_open ON dead_letters (failed_at, seq) WHERE replayed_at IS NULL AND resolved_at IS NULL;

-- What is sent again in bulk waits behind what is live, of its own endpoint and of all others.
ALTER TABLE deliveries ADD COLUMN bulk INTEGER NOT NULL DEFAULT 0 CHECK (bulk IN (0, 1));
DROP INDEX deliveries_waiting_by_endpoint;
CREATE INDEX deliveries_waiting ON deliveries (endpoint_id, bulk, next_attempt_at, seq)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_by_webhook_id ON deliveries (webhook_id);

-- A replay looks at a window of payments, by when they were stored or by the network's own time.
CREATE INDEX payments_by_storage ON payments (mode, stored_at);
CREATE INDEX payments_by_telco_time ON payments (mode, telco_at);
