-- What the end of an outage asks of a long queue (decisions.md section 7). First attempts and retries are looked up apart,
-- so that neither is gone through for the other; a probe is the delivery that was tried least recently, by an index; retries
-- are brought forward a piece at a time, and where that stands is on record. A first attempt costs no more index than before.

ALTER TABLE deliveries ADD COLUMN tried INTEGER;  -- the last attempt of this run that came to nothing, by its seq; NULL: none
UPDATE deliveries SET tried = (SELECT MAX(a.seq) FROM attempts a WHERE a.delivery_id = deliveries.id AND a.run = deliveries.run)
    WHERE next_attempt_at IS NOT NULL;

DROP INDEX deliveries_waiting;
CREATE INDEX deliveries_waiting ON deliveries (endpoint_id, bulk, status, next_attempt_at, seq)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_tried ON deliveries (endpoint_id, tried, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL AND tried IS NOT NULL;
CREATE INDEX deliveries_retrying ON deliveries (endpoint_id, seq) WHERE status = 'retrying';

CREATE TABLE flushes (                     -- of endpoints whose outage has ended and whose retries have no new time yet
    endpoint_id TEXT PRIMARY KEY REFERENCES endpoints (id),
    after_seq   INTEGER NOT NULL,          -- deliveries up to this one have
    next_at     INTEGER NOT NULL           -- the time that the next one gets
) STRICT;

-- Up to this delivery all that it is owed waited for the end of its last outage or pause, and is not live any more.
ALTER TABLE endpoints ADD COLUMN backlog_seq INTEGER NOT NULL DEFAULT 0;
