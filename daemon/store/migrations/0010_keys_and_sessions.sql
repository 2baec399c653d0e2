-- Dashboard sessions are signed with one sealed key. A new password makes a new key, which ends every session.
-- Password attempts are counted for whoever makes them: the account's own (reveal, rotate, reviews), the socket's
-- logins, and the logins of each client address.

CREATE TABLE session_keys (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    sealed  TEXT NOT NULL,
    made_at INTEGER NOT NULL
) STRICT;

ALTER TABLE password_attempts ADD COLUMN who TEXT NOT NULL DEFAULT 'account';

CREATE INDEX password_attempts_by_who ON password_attempts (who, at);
