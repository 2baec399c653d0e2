"""The feed of a branch: which rows changed, written in the commit of the change, and read as they are now.

Triggers write it (`daemon/store/feed_triggers.py`).
"""

import json
from dataclasses import replace
from typing import Any, Final

from daemon.core.branches.facts import BYTES_MAX, FACTS_MAX, KEYS, MESSAGE, TABLES, Fact
from daemon.store.engine import Reader, Tx
from daemon.store.feed_triggers import WATCHED
from daemon.store.rows import listed

TOPIC = "hub_link"
"""Woken when this shop joins or leaves a hub."""
KEPT: Final = 100_000
"""Entries that are kept behind what the hub acknowledged, so that a hub that was restored can ask for them again."""
_SHOWN: Final = {
    "sim": (
        "sims",
        "sim_key",
        "network device_id slot_index present ignored_at not_receiving_since served_by",
    ),
    "device": ("devices", "device_id", "mode name manufacturer model present forgotten_at"),
    "event": ("events", "seq", "type mode at actor transaction_id payment_id message_id data"),
}
"""Kind -> table, key and columns of facts that are only shown."""
_HISTORY: Final = ("method", "payment", "transaction", "review", "reversal", "sim", "device")
"""The kinds of rows of a shop that joins, in the order in which they refer to each other."""


def start(tx: Tx) -> None:
    """Begin to write the feed, for a shop that joins."""
    tx.write_feed(on=True)


def stop(tx: Tx) -> None:
    """Write it no longer, and empty it."""
    tx.write_feed(on=False)
    tx.run("DELETE FROM feed")


def add_everything(tx: Tx) -> None:
    """Add every row, for a hub that knows none."""
    for kind in _HISTORY:
        table, key = _table_of(kind)
        order = key if kind == "device" else "seq"
        tx.run(f"INSERT INTO feed (kind, id) SELECT '{kind}', {key} FROM {table} ORDER BY {order}")


def bounds(reader: Reader) -> tuple[int, int]:
    """Return the first and last number, (0, 0) if it is empty."""
    row = reader.one("SELECT MIN(seq), MAX(seq) FROM feed")
    assert row is not None, "an aggregate has one row"
    return row[0] or 0, row[1] or 0


def prune(tx: Tx, acked_seq: int) -> None:
    """Drop what was acknowledged long ago, but never the last entry: its number must not be used again."""
    tx.run(
        "DELETE FROM feed WHERE seq <= :upto AND seq < (SELECT MAX(seq) FROM feed)",
        {"upto": acked_seq - KEPT},
    )


def first_entry(reader: Reader, kind: str, row_id: str, after: int) -> int | None:
    """Return the number of the first entry of a row behind `after`; None if there is none."""
    seq: int | None = reader.value(
        "SELECT MIN(seq) FROM feed WHERE seq > :after AND kind = :kind AND id = :id",
        {"after": after, "kind": kind, "id": row_id},
    )
    return seq


def batch(reader: Reader, after: int, *, texts: bool) -> tuple[list[Fact], int]:
    """Return the next facts, each row as it is now, and the number up to which they cover the feed.

    Args:
        reader: One snapshot.
        after: What the hub has.
        texts: Send the texts of SMS too.
    """
    entries = reader.all(
        "SELECT seq, kind, id FROM feed WHERE seq > :after ORDER BY seq LIMIT :limit",
        {"after": after, "limit": FACTS_MAX},
    )
    facts, upto, size = list[Fact](), after, 0
    rows = _rows(reader, {(kind, row_id) for _seq, kind, row_id in entries})
    texts_of = _messages(reader, rows, texts=texts)
    seen = dict[tuple[str, str], int]()
    for seq, kind, row_id in entries:
        place = seen.get((kind, row_id))
        if place is not None:
            # The later number: the hub may have the row as it was at the earlier one.
            facts[place] = replace(facts[place], seq=seq)
            upto = seq
            continue
        row = rows.get((kind, row_id))
        message = None if row is None else texts_of.get(row.get("message_id", ""))
        size += len(json.dumps((row, message)))
        if facts and size > BYTES_MAX:
            break
        seen[kind, row_id] = len(facts)
        facts.append(Fact(seq, kind, row_id, row, message))
        upto = seq
    return facts, upto


def _table_of(kind: str) -> tuple[str, str]:
    return next((table, key) for name, table, key, _columns in WATCHED if name == kind)


def _rows(reader: Reader, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
    found = {}
    for kind in {kind for kind, _id in wanted}:
        ids = sorted(row_id for each, row_id in wanted if each == kind)
        if kind in TABLES:
            (table, names), key = TABLES[kind], KEYS.get(kind, "id")
        else:
            table, key, columns = _SHOWN[kind]
            names = tuple(columns.split())
        given = list(map(int, ids)) if kind == "event" else ids
        for key_value, *values in reader.all(
            f"SELECT {key}, {', '.join(names)} FROM {table} WHERE {key} IN ({listed(given)})", given
        ):
            found[kind, str(key_value)] = dict(zip(names, values, strict=True))
    return found


def _messages(
    reader: Reader, rows: dict[tuple[str, str], dict[str, Any]], *, texts: bool
) -> dict[str, dict[str, Any]]:
    ids = sorted(
        {
            str(row["message_id"])
            for (kind, _id), row in rows.items()
            if kind != "event" and row.get("message_id")
        }
    )
    if not ids:
        return {}
    found = {}
    for values in reader.all(
        f"SELECT {', '.join(MESSAGE)} FROM messages WHERE id IN ({listed(ids)})", ids
    ):
        row = dict(zip(MESSAGE, values, strict=True))
        if not texts:
            row["body"] = None if row["body"] is None else ""
        found[row["id"]] = row
    return found
