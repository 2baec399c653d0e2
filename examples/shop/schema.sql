CREATE TABLE IF NOT EXISTS orders (
    id         TEXT PRIMARY KEY,
    reference  TEXT NOT NULL UNIQUE,
    code       TEXT NOT NULL,
    paid       TEXT,
    payer      TEXT,
    taken_back TEXT
);
CREATE TABLE IF NOT EXISTS seen (webhook_id TEXT PRIMARY KEY);
