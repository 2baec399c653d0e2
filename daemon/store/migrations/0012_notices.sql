-- What the owner has to be told, gathered from the journal: one row for each cause and hour, and what goes out about it.

CREATE TABLE notice_cursor (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL                   -- the journal was read up to here
) STRICT;

CREATE TABLE notices (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    cause        TEXT NOT NULL,            -- what it is about: kind, and the endpoint, phone or SIM
    kind         TEXT NOT NULL,            -- the journal's type
    urgent       INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    text         TEXT NOT NULL,            -- one sentence, of the first time
    next         TEXT NOT NULL,            -- what to type, empty when there is nothing
    count        INTEGER NOT NULL CHECK (count >= 1),
    told         INTEGER NOT NULL,         -- how many of them have gone out
    first_at     INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    seen_at      INTEGER,                  -- a person looked; NULL again when it happens once more
    recovered_at INTEGER
) STRICT;
CREATE INDEX notices_by_cause ON notices (cause, seq);
CREATE INDEX notices_unseen ON notices (seq) WHERE seen_at IS NULL;
CREATE INDEX notices_untold ON notices (first_at) WHERE told < count;

CREATE TABLE notice_sends (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    channel   TEXT NOT NULL CHECK (channel IN ('email', 'desktop', 'sms')),
    subject   TEXT NOT NULL,
    body      TEXT NOT NULL,
    tries     INTEGER NOT NULL,
    due_at    INTEGER,                     -- NULL: ended
    ended_at  INTEGER,
    error     TEXT,                        -- of the last try; NULL once it is out
    queued_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notice_sends_due ON notice_sends (due_at) WHERE due_at IS NOT NULL;

-- Passwords of other services that momo logs in to, such as the mail server, sealed.
CREATE TABLE sealed_secrets (
    name   TEXT PRIMARY KEY,
    sealed TEXT NOT NULL,
    set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
