-- Every time somebody gave the account password. Only the last minutes are kept: five in fifteen are the limit, also
-- over a restart.

CREATE TABLE password_attempts (
    seq INTEGER PRIMARY KEY,
    at  INTEGER NOT NULL
) STRICT;
