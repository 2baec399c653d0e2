CREATE TABLE IF NOT EXISTS orders (
    id           TEXT PRIMARY KEY,
    reference    TEXT NOT NULL UNIQUE,
    checkout_url TEXT NOT NULL,
    delivered    INTEGER NOT NULL DEFAULT 0,
    reversed     INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS seen (webhook_id TEXT PRIMARY KEY);
