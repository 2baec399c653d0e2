"""Looking at a shop's database from outside: read only, whether the daemon runs or not. Changes nothing."""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import MomoError
from daemon.store import backup, ledger
from daemon.store.engine import BUSY_MS, Reader
from daemon.store.migrate import migrations

FIXED: Final = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
"""SQLite without the WAL-reset bug (sqlite.org/wal.html): this and later, and later ones of the two older lines."""
WHOLE: Final = "db.looked_through"
"""The journal's word for a look at all of the file that found nothing."""
COUNTED: Final = (*backup.TABLES, "attempts", "dead_letters", "reviews", "notices", "sms_parts")


class Unreadable(MomoError):
    """The file cannot be read as a shop's database; the text says why."""


@dataclass(frozen=True, slots=True)
class Sim:
    """A SIM that is in a phone: its network, and the line that it holds or None."""

    device: str
    slot_index: int
    network: str
    has_line: bool
    silent: bool


@contextlib.contextmanager
def opened(path: str) -> Iterator[Reader]:
    """Read a database as it is at one moment.

    Raises:
        Unreadable: It cannot be opened or read, also by what is done with it inside.
    """
    try:
        base = sqlite3.connect(
            f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        with contextlib.closing(base):
            base.execute("PRAGMA query_only = ON")
            base.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            base.execute("PRAGMA cell_size_check = ON")
            base.execute("BEGIN")
            yield Reader(base)
    except sqlite3.Error as error:
        raise Unreadable(f"{path}: {error}") from error


def damage(reader: Reader, *, whole: bool = False) -> str:
    """Return what a look through the file finds, "" when it is sound.

    Args:
        reader: Of the file.
        whole: Compare every index with its table too, and every reference (1.6 s for a million messages, not 0.4 s).
    """
    rows = reader.all(f"PRAGMA {'integrity' if whole else 'quick'}_check(3)")
    if rows == [("ok",)] and whole:
        rows = [
            (f"a row of {row[0]} names none of {row[2]}",)
            for row in reader.all("SELECT * FROM pragma_foreign_key_check LIMIT 3")
        ] or rows
    return "" if rows == [("ok",)] else "; ".join(str(row[0]) for row in rows)


def last_whole_look(reader: Reader) -> int | None:
    """Return when a look at all of the file last found nothing, by the journal."""
    at: int | None = reader.value("SELECT MAX(at) FROM events WHERE type = :type", {"type": WHOLE})
    return at


def schema(reader: Reader) -> tuple[int, int]:
    """Return the schema of the file, and the one that this program knows."""
    return int(reader.value("PRAGMA user_version")), len(migrations())


def tables(reader: Reader) -> list[str]:
    """Return the SQL that made it, one statement an entry."""
    return [
        str(row[0])
        for row in reader.all("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    ]


def counts(reader: Reader) -> dict[str, int]:
    """Return how many rows the tables have that a person may want to know of."""
    return {name: int(reader.value(f"SELECT COUNT(*) FROM {name}")) for name in COUNTED}


def findings(reader: Reader) -> list[tuple[str, str, int]]:
    """Return (id, what should always hold, how many rows break it) for what does not hold."""
    found = []
    for name, (sentence, sql) in ledger.QUESTIONS.items():
        if count := int(reader.value(sql)):
            found.append((name, sentence, count))
    return found


def sims(reader: Reader) -> list[Sim]:
    """Return the SIMs that are in a phone."""
    rows = reader.all(
        "SELECT d.name, s.slot_index, COALESCE(s.network, ''), m.id IS NOT NULL, r.silent_since IS NOT NULL "
        "FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "LEFT JOIN payment_methods m ON m.sim_seq = s.seq AND m.deleted_at IS NULL AND m.is_active = 1 "
        "LEFT JOIN sim_rhythms r ON r.sim_key = s.sim_key WHERE s.present = 1 ORDER BY d.name, s.slot_index"
    )
    return [Sim(str(row[0]), int(row[1]), str(row[2]), bool(row[3]), bool(row[4])) for row in rows]


def unread_since(reader: Reader, since: int) -> tuple[int, int]:
    """Return how many live messages phones read since then, and how many of those nothing could read."""
    row = reader.one(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN state = 'unparsed' THEN 1 ELSE 0 END), 0) FROM messages "
        "WHERE mode = 'live' AND created_at >= :since AND reasons NOT LIKE '[\"imported\"%'",
        {"since": since},
    )
    assert row is not None, "an aggregate has a row"
    return int(row[0]), int(row[1])


def a_sealed_secret(reader: Reader) -> str | None:
    """Return one sealed signing secret, None when there is none."""
    found: str | None = reader.value("SELECT sealed FROM webhook_secrets ORDER BY seq LIMIT 1")
    return found


def names(reader: Reader, limit: int) -> list[str]:
    """Return names of people and of the shop that the database knows, for whoever must not show them."""
    rows = reader.all(
        "SELECT name FROM shop UNION SELECT account_name FROM payment_methods "
        "UNION SELECT owner_email FROM shop WHERE owner_email IS NOT NULL "
        "UNION SELECT payer_name FROM (SELECT payer_name FROM payments WHERE payer_name IS NOT NULL "
        "ORDER BY seq DESC LIMIT :limit) newest "
        "UNION SELECT customer_name FROM (SELECT customer_name FROM transactions WHERE customer_name IS NOT NULL "
        "ORDER BY seq DESC LIMIT :limit) newest",
        {"limit": limit},
    )
    return [str(row[0]) for row in rows if row[0]]


def sqlite_version() -> tuple[str, bool]:
    """Return SQLite's version, and whether it is free of the WAL-reset bug."""
    parts = sqlite3.sqlite_version_info
    fixed = parts >= FIXED[0] or any(parts[:2] == line[:2] and parts >= line for line in FIXED[1:])
    return sqlite3.sqlite_version, fixed
