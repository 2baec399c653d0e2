-- PINs of SIMs, sealed. One is tried once: the try is written down before it is made, and it is tried again only after
-- the SIM has opened with it.

CREATE TABLE sim_pins (
    owner     TEXT PRIMARY KEY,           -- the SIM's ICCID; the phone's IMEI where it names no SIM before it is open
    sealed    TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    tried_at  INTEGER,                    -- NULL: never
    outcome   TEXT CHECK (outcome IN ('opened', 'wrong'))  -- of the last try; NULL: none, or it was never heard
) STRICT;

-- SIMs that ask for a PIN or PUK now. A phone tells of its SIM's number and messages only when that is open.
CREATE TABLE locked_sims (
    device_id  TEXT NOT NULL REFERENCES devices (device_id),
    slot_index INTEGER NOT NULL CHECK (slot_index >= 0),
    owner      TEXT,                      -- as in sim_pins; NULL when the phone names neither
    wants      TEXT NOT NULL,             -- in the phone's words: SIM PIN, SIM PUK
    since      INTEGER NOT NULL,
    PRIMARY KEY (device_id, slot_index)
) STRICT;
