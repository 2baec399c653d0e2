-- How often messages come to each SIM, by hour of the week, so that a silence can be told from a quiet hour.

CREATE TABLE sim_rhythms (
    sim_key        TEXT PRIMARY KEY,
    watched_since  INTEGER NOT NULL,
    week           INTEGER NOT NULL,           -- the newest week in counts: local hours since 1970, divided by 168
    counts         TEXT NOT NULL,              -- hex: 8 weeks of 168 hours, a byte each; ff where nobody watched
    messages       INTEGER NOT NULL CHECK (messages >= 0),
    last_at        INTEGER,                    -- when the last message was received
    longest_gap_us INTEGER NOT NULL,
    silent_since   INTEGER                     -- NULL: no alarm
) STRICT;

-- Up to which message the rhythms have been learned. What was there before is not a rhythm we watched.
CREATE TABLE rhythm_cursor (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    message_seq INTEGER NOT NULL
) STRICT;
INSERT INTO rhythm_cursor (id, message_seq) SELECT 1, COALESCE(MAX(seq), 0) FROM messages;
