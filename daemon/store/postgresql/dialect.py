"""The store's SQL in PostgreSQL's words: the schema, converted by rule, and the parameters of statements.

The statements themselves are written in the subset that both databases share. The differences are:

| SQLite | PostgreSQL |
|---|---|
| `INTEGER` of 64 bits, `BLOB` | `BIGINT`, `BYTEA` |
| `seq INTEGER PRIMARY KEY` | an identity column |
| `STRICT`, `WITHOUT ROWID` | left out |
| `REFERENCES` to a table that comes later | added when all tables are there |
| a trigger with its statements | a function in PL/pgSQL, and a trigger that calls it, both made last |
| `DROP TRIGGER` | the function is dropped, and the trigger with it |
| `DROP TABLE` of a table that others refer to, to make it anew | `CASCADE`; `server.py` restores the references |
| the FTS5 table `search` | trigram indexes (`pg_trgm`) on the texts themselves |
| `:name`, `?` | `%(name)s`, `%s` |
| `LIKE`, which ignores the case of ASCII letters | `ILIKE` |
| `json_each`, `json_group_array` | `jsonb_array_elements`, `jsonb_agg` |
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_SEARCHED: Final = {
    "transactions": (
        "svc_code",
        "customer_name",
        "client_reference",
        "description",
        "phone_number",
    ),
    "payments": ("telco_transaction_id", "payer_name", "payer_phone"),
}
_SEARCH: Final = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    *(
        f"CREATE INDEX IF NOT EXISTS {table}_text_{one} ON {table} "
        f"USING gin ({one} gin_trgm_ops) WITH (gin_pending_list_limit = 256) WHERE {one} IS NOT NULL"
        for table, columns in _SEARCHED.items()
        for one in columns
    ),
)
"""In place of the FTS5 table, which `daemon/store/payments/search_index.py` fills.

An index each, because one of several columns has an entry for each NULL, and most rows of a branch are NULL in all of them.
"""
_COMMENT: Final = re.compile(r"--[^\n]*")
_REFERENCE: Final = re.compile(
    r"^(?P<before>\s*(?P<column>\w+)\s.*?)\s*\b(?P<clause>REFERENCES \w+ \(\w+\)(?: DEFERRABLE INITIALLY DEFERRED)?)(?P<after>.*)$",
    re.MULTILINE,
)
_TRIGGER: Final = re.compile(
    r"CREATE TRIGGER (?P<name>\w+) (?P<event>(?:AFTER|BEFORE) .*? ON \w+)(?:\s+WHEN (?P<when>.*?))?\s+BEGIN\s(?P<body>.*)END$",
    re.DOTALL,
)
_TOKEN: Final = re.compile(
    r"'(?:[^']|'')*'|--[^\n]*|::|:(?P<name>[a-z_]\w*)|(?P<mark>\?)|(?P<percent>%)|\b(?:LIKE|json_each|json_group_array)\b"
)
_WORDS: Final = {
    "LIKE": "ILIKE",
    "json_each": "jsonb_array_elements",
    "json_group_array": "jsonb_agg",
}
_RENAME: Final = re.compile(r"ALTER TABLE (\w+) RENAME TO (\w+)")
_DROP_TRIGGER: Final = re.compile(r"DROP TRIGGER (?:IF EXISTS )?(\w+)")
RECORD: Final = (
    "CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, "
    "applied_at BIGINT NOT NULL, sha256 TEXT NOT NULL)"
)
"""The table of the applied steps."""


def schema(sql: str) -> list[str]:
    """Return the statements of a step of the schema in PostgreSQL, from a file of the folder `migrations`."""
    made, later, renamed = list[str](), list[str](), dict[str, str]()
    for statement in _statements(_COMMENT.sub("", sql)):
        if statement.startswith("CREATE VIRTUAL TABLE"):
            later += _SEARCH
        elif statement.startswith("CREATE TRIGGER"):
            later += _trigger(statement)
        elif statement.startswith("CREATE TABLE"):
            table, references = _table(statement)
            made.append(table)
            later += references
        elif match := _RENAME.fullmatch(statement):
            made.append(statement)
            renamed[match[1]] = match[2]
        elif match := _DROP_TRIGGER.fullmatch(statement):
            made.append(f"DROP FUNCTION {match[1]}() CASCADE")
        elif statement.startswith("ALTER TABLE"):
            made.append(_typed(statement))
        else:
            made.append(statement)
    if set(renamed.values()) & _SEARCHED.keys():
        later += _SEARCH  # the table made anew has no such index yet
    return [*made, *(_with_new_names(statement, renamed) for statement in later)]


def _with_new_names(statement: str, renamed: dict[str, str]) -> str:
    for old, new in renamed.items():
        statement = re.sub(rf"\b{old}\b", new, statement)
    return statement


@lru_cache(maxsize=4096)
def statement(sql: str) -> str:
    """Return a statement with psycopg's placeholders; a `%` is doubled, as psycopg wants it."""

    def replaced(match: re.Match[str]) -> str:
        if match["name"]:
            return f"%({match['name']})s"
        if match["mark"]:
            return "%s"
        return _WORDS.get(match[0]) or match[0].replace("%", "%%")

    return _TOKEN.sub(replaced, sql)


def _statements(sql: str) -> Iterator[str]:
    """Yield each statement; a trigger's own statements are a part of it."""
    kept = ""
    for piece in sql.split(";"):
        kept = f"{kept};{piece}" if kept else piece
        plain = kept.strip()
        if plain.startswith("CREATE TRIGGER") and not plain.endswith("END"):
            continue
        if plain:
            yield plain
        kept = ""


def _table(statement: str) -> tuple[str, list[str]]:
    name = statement.split()[2]
    plain = re.sub(r"\)\s*STRICT(, WITHOUT ROWID)?$", ")", statement)
    counted = re.sub(
        r"\bseq(\s+)INTEGER PRIMARY KEY(?! CHECK)",
        r"seq\1BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        plain,
    )
    typed = _typed(counted)
    later = [
        f"ALTER TABLE {name} ADD FOREIGN KEY ({match['column']}) {match['clause']}"
        for match in _REFERENCE.finditer(typed)
    ]
    if counted != plain:
        # Rows that were copied into it brought their own numbers.
        last = f"(SELECT MAX(seq) FROM {name})"
        later.append(f"SELECT setval(pg_get_serial_sequence('{name}', 'seq'), {last})")
    return _REFERENCE.sub(r"\g<before>\g<after>", typed), later


def _typed(statement: str) -> str:
    return re.sub(r"\bBLOB\b", "BYTEA", re.sub(r"\bINTEGER\b", "BIGINT", statement))


def _trigger(statement: str) -> list[str]:
    match = _TRIGGER.fullmatch(statement)
    assert match is not None, statement
    body = re.sub(r"SELECT RAISE\(ABORT, ('[^']*')\)", r"RAISE EXCEPTION \1", match["body"])
    when = f" WHEN ({match['when']})" if match["when"] else ""
    return [
        f"CREATE OR REPLACE FUNCTION {match['name']}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$",
        f"CREATE TRIGGER {match['name']} {match['event']} FOR EACH ROW{when} EXECUTE FUNCTION {match['name']}()",
    ]
