-- What the shop has confirmed of wordings that no genuine message had confirmed yet (decisions.md section 4; docs/templates.md).
-- One genuine message is the proof: of this wording, as it stands, from this sender. A changed wording has another name.
CREATE TABLE confirmed_wordings (
    seq          INTEGER PRIMARY KEY,
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    network      TEXT NOT NULL,                -- short name
    wording      TEXT NOT NULL,
    sender       TEXT NOT NULL,                -- alphanumeric, to the byte
    message_id   TEXT NOT NULL REFERENCES messages (id),
    confirmed_by TEXT NOT NULL,
    confirmed_at INTEGER NOT NULL,
    UNIQUE (mode, network, wording, sender)
) STRICT;
