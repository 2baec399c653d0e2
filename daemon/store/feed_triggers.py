"""The triggers that write the feed of a branch (`daemon/store/branches/feed.py`).

They are temporary: they belong to the writing connection of a branch, and a shop without a hub has none. So no change of
a row can be missed, and the database of a branch is always SQLite.
"""

from collections.abc import Iterator
from typing import Any, Final, Protocol

WATCHED: Final = (
    ("method", "payment_methods", "id", "provider, phone_number, account_name, merchant_code, sim_seq, is_active, deleted_at"),
    ("payment", "payments", "id", ""),
    ("transaction", "transactions", "id", ""),
    ("review", "reviews", "id", ""),
    ("reversal", "reversals", "message_id", ""),
    ("sim", "sims", "sim_key", "sim_key, network, device_id, slot_index, present, ignored_at, not_receiving_since, served_by"),
    ("device", "devices", "device_id", "name, present, forgotten_at"),
)  # fmt: skip
"""Kind, table, key, and the columns whose change is a fact: all if empty. The journal stays at the branch."""


class SqlConnection(Protocol):
    """A connection to the file."""

    def execute(self, sql: str, /) -> Any:
        """Run one statement."""


def create_if_branch(connection: SqlConnection) -> None:
    """Create the triggers on a new writing connection, if the shop is a branch."""
    if connection.execute("SELECT 1 FROM hub_link").fetchone() is not None:
        create(connection)


def create(connection: SqlConnection) -> None:
    """Create the triggers."""
    for sql in _triggers():
        connection.execute(sql)


def drop(connection: SqlConnection) -> None:
    """Drop the triggers."""
    for kind, _table, _key, _columns in WATCHED:
        for event in ("insert", "update"):
            connection.execute(f"DROP TRIGGER IF EXISTS temp.feed_{kind}_{event}")


def _triggers() -> Iterator[str]:
    for kind, table, key, columns in WATCHED:
        entry = f"INSERT INTO feed (kind, id) VALUES ('{kind}', CAST(NEW.{key} AS TEXT))"
        update = f"UPDATE OF {columns}" if columns else "UPDATE"
        for name, event in (("insert", "INSERT"), ("update", update)):
            yield (
                f"CREATE TEMP TRIGGER IF NOT EXISTS feed_{kind}_{name} AFTER {event} ON main.{table} "
                f"BEGIN {entry}; END"
            )
