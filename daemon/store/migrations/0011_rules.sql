-- Which payments an endpoint claims, and why each payment went where it went.

-- A rule is never changed in place: a new version takes its place, so that a decision can always be shown with the very
-- filters that it was made by.
CREATE TABLE rules (
    seq         INTEGER PRIMARY KEY,       -- one version
    id          TEXT NOT NULL,
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
    name        TEXT NOT NULL,
    position    INTEGER NOT NULL,
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    filter      TEXT NOT NULL,             -- compact JSON of an object
    created_at  INTEGER NOT NULL,          -- of the first version
    updated_at  INTEGER NOT NULL,
    replaced_at INTEGER                    -- NULL: the rule as it is now
) STRICT;
CREATE UNIQUE INDEX rules_one_now ON rules (id) WHERE replaced_at IS NULL;
CREATE INDEX rules_of_endpoint ON rules (endpoint_id, position, seq) WHERE replaced_at IS NULL;

-- The endpoints in use are looked up at every payment, and requests may have made thousands of implicit ones.
CREATE INDEX endpoints_in_use ON endpoints (mode, seq) WHERE kind = 'endpoint' AND deleted_at IS NULL;

-- One row for each time that it was decided where a payment goes: when it came, and again when its money went from a
-- holder to a request. Only ever added to.
CREATE TABLE routings (
    seq            INTEGER PRIMARY KEY,
    payment_seq    INTEGER NOT NULL REFERENCES payments (seq),
    transaction_id TEXT NOT NULL,          -- as it was then
    mode           TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    decided_at     INTEGER NOT NULL,
    claims         INTEGER NOT NULL CHECK (claims >= 0),   -- how many endpoints claim it
    decision       TEXT NOT NULL           -- JSON: what was looked at, by which rules, and who claims it
) STRICT;
CREATE INDEX routings_by_payment ON routings (payment_seq, seq);
CREATE INDEX routings_unclaimed ON routings (mode, decided_at) WHERE claims = 0;

-- Events that may come about more than once for one payment are counted here, whoever hears of them: a webhook id must
-- not come again for another event, also not at an endpoint that was deleted and made anew.
CREATE TABLE event_revisions (
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    last    INTEGER NOT NULL CHECK (last >= 0),
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
