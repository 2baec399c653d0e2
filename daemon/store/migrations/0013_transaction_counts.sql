-- Lists of transactions cost as much in a big shop as in a small one: totals are kept, not counted, and every page of an
-- unfiltered list or one by status is read from an index alone. A holder whose payment went to a request is in no list.

DROP INDEX transactions_by_created;
CREATE INDEX transactions_by_created ON transactions (mode, origin, created_at, seq) WHERE merged_into IS NULL;
CREATE INDEX transactions_by_status ON transactions (mode, origin, status, created_at, seq) WHERE merged_into IS NULL;
CREATE INDEX transactions_by_completed ON transactions (completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE transaction_counts (
    mode   TEXT NOT NULL,
    origin TEXT NOT NULL,
    status TEXT NOT NULL,
    count  INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (mode, origin, status)
) STRICT, WITHOUT ROWID;

INSERT INTO transaction_counts (mode, origin, status, count)
SELECT mode, origin, status, COUNT(*) FROM transactions WHERE merged_into IS NULL GROUP BY mode, origin, status;

CREATE TRIGGER transactions_counted_in AFTER INSERT ON transactions WHEN NEW.merged_into IS NULL
BEGIN
    INSERT INTO transaction_counts (mode, origin, status, count) VALUES (NEW.mode, NEW.origin, NEW.status, 1)
    ON CONFLICT (mode, origin, status) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER transactions_counted_out AFTER UPDATE OF status, merged_into ON transactions
WHEN OLD.merged_into IS NULL AND (NEW.merged_into IS NOT NULL OR NEW.status <> OLD.status)
BEGIN
    UPDATE transaction_counts SET count = count - 1
    WHERE mode = OLD.mode AND origin = OLD.origin AND status = OLD.status;
END;

CREATE TRIGGER transactions_counted_over AFTER UPDATE OF status, merged_into ON transactions
WHEN NEW.merged_into IS NULL AND (OLD.merged_into IS NOT NULL OR NEW.status <> OLD.status)
BEGIN
    INSERT INTO transaction_counts (mode, origin, status, count) VALUES (NEW.mode, NEW.origin, NEW.status, 1)
    ON CONFLICT (mode, origin, status) DO UPDATE SET count = count + 1;
END;
