"""Inspection of a shop's database from outside, whether the daemon runs or not, and of the effect of an upgrade. Read-only."""

import asyncio
import contextlib
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from daemon.core.errors import MomoError, Unavailable
from daemon.store import migrate
from daemon.store.engine import Reader, Store
from daemon.store.sqlite_file import BUSY_MS, file_uri
from daemon.store.upkeep.backup import entries
from daemon.wire import Places

FIXED_SQLITE: Final = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
"""SQLite without the WAL-reset bug (sqlite.org/wal.html): the first fixed version, and the fixed older branches."""
PAUSE_S_MAX: Final = 10.0
FULL_CHECK_EVENT: Final = "db.looked_through"
"""The journal entry of a complete check that found no damage."""
_COUNTS: Final = """
SELECT 'messages', COUNT(*) FROM messages UNION ALL SELECT 'payments', COUNT(*) FROM payments
UNION ALL SELECT 'transactions', COUNT(*) FROM transactions UNION ALL SELECT 'deliveries', COUNT(*) FROM deliveries
UNION ALL SELECT 'events', COUNT(*) FROM events UNION ALL SELECT 'attempts', COUNT(*) FROM attempts
UNION ALL SELECT 'dead_letters', COUNT(*) FROM dead_letters UNION ALL SELECT 'reviews', COUNT(*) FROM reviews
UNION ALL SELECT 'notices', COUNT(*) FROM notices UNION ALL SELECT 'sms_parts', COUNT(*) FROM sms_parts
"""


class UnreadableShop(MomoError):
    """The file cannot be read as a shop's database; the text says why.

    Attributes:
        is_damage: The file itself is at fault. Otherwise it may be sound: the disk is full or does not answer, another
            program has locked it, or the process lacks memory or descriptors.
    """

    def __init__(self, why: str, *, is_damage: bool = False) -> None:
        self.is_damage = is_damage
        super().__init__(why)


class SimLine(Struct, frozen=True):
    """A SIM that is in a phone, its network, and whether it has a line and is silent."""

    device: str
    slot_index: int
    network: str
    has_line: bool
    silent: bool


class PaidText(Struct, frozen=True):
    """A payment with the text of its message."""

    seq: int
    id: str
    telco_id: str
    amount_minor: int
    currency: str
    provider: str
    message_id: str
    sender: str | None
    body: str
    wording: str | None


def paid_texts(reader: Reader, after: int, limit: int) -> list[PaidText]:
    """Return payments after a sequence number with the texts of their messages, without erased texts."""
    rows = reader.all(
        "SELECT p.seq, p.id, p.telco_transaction_id, p.amount_minor, p.currency, p.provider, m.id, m.sender, m.body, "
        "m.wording FROM payments p JOIN messages m ON m.seq = p.message_seq "
        "WHERE p.seq > :after AND m.body <> '' ORDER BY p.seq LIMIT :limit",
        {"after": after, "limit": limit},
    )
    return [PaidText(*row) for row in rows]


@contextlib.contextmanager
def rested(pause: Callable[[float], None]) -> Iterator[None]:
    """Pause afterwards for as long as the block took, so that payments get half of the disk's time."""
    began = time.monotonic()  # noqa: TID251 -- a duration
    yield
    pause(min(time.monotonic() - began, PAUSE_S_MAX))  # noqa: TID251 -- the same


@contextlib.contextmanager
def open_readonly(path: str) -> Iterator[Reader]:
    """Open a snapshot of a database.

    Raises:
        Unreadable: It cannot be opened or read, also within the `with` block.
    """
    try:
        base = sqlite3.connect(
            file_uri(path, "mode=ro"), uri=True, isolation_level=None, check_same_thread=False, cached_statements=0
        )
        with contextlib.closing(base):
            base.execute("PRAGMA query_only = ON")
            base.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            base.execute("PRAGMA cell_size_check = ON")
            # Each page and statement is mostly used once; keeping them took 2 MB, which the daemon then had for ever.
            base.execute("PRAGMA cache_size = -256")
            base.execute("BEGIN")
            yield Reader(base)
    except sqlite3.Error as error:
        raise UnreadableShop(f"{path}: {error}", is_damage=migrate.is_damage(error)) from error


def damage(reader: Reader, *, whole: bool = False, pause: Callable[[float], None] | None = None) -> str:
    """Return the damage that a check of the file finds, "" if it is sound.

    With `whole` also compare every index with its table, and every reference (1.6 s for a million messages, not 0.4 s).
    `pause` is called with the seconds that each table took, so that payments get half of the disk's time.

    Raises:
        Unreadable: A page could not be read. Then other findings say nothing: they may come from what was not read.
    """
    check = f"PRAGMA {'integrity' if whole else 'quick'}_check"
    if pause is None:
        rows = reader.all(f"{check}(3)")
    else:
        rows = [("ok",)]
        names = reader.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        for (name,) in [("sqlite_schema",), *names]:
            begun = time.monotonic()  # noqa: TID251 -- only paces the check
            rows = reader.all(f"{check}('{name}')")
            if rows != [("ok",)]:
                break
            pause(min(time.monotonic() - begun, PAUSE_S_MAX))  # noqa: TID251 -- the same
    if rows == [("ok",)] and whole:
        rows = [
            (f"a row of {row[0]} refers to a row of {row[2]} that does not exist",)
            for row in reader.all("SELECT * FROM pragma_foreign_key_check LIMIT 3")
        ] or rows
    if rows == [("ok",)]:
        return ""
    found = "; ".join(str(row[0]) for row in rows)
    if migrate.is_unread(found):
        raise UnreadableShop(found)
    return "; ".join(str(row[0]) for row in rows[:3])


async def database_bytes(store: Store) -> int | None:
    """Return the size of the database, with its write-ahead log if it is a file; None if it cannot be read now."""
    if store.server:
        try:
            return await store.read(lambda reader: reader.count("SELECT pg_database_size(current_database())"))
        except Unavailable:
            return None
    files = [Path(store.path), Path(f"{store.path}-wal")]
    return await asyncio.to_thread(lambda: sum(file.stat().st_size for file in files if file.exists()))


def last_full_check(reader: Reader) -> int | None:
    """Return the time of the last complete check without damage, according to the journal."""
    at: int | None = reader.value("SELECT MAX(at) FROM events WHERE type = :type", {"type": FULL_CHECK_EVENT})
    return at


def schema(reader: Reader) -> tuple[int, int]:
    """Return the schema version of the file, and the version of this program.

    Raises:
        DatabaseNewer: The file has a later schema.
        DatabaseForeign: The file has another schema.
    """
    if reader.is_postgresql:
        found = reader.count("SELECT MAX(version) FROM schema_migrations")
        return found, len(migrate.migrations())
    return migrate.schema_version(reader.all), len(migrate.migrations())


def tables(reader: Reader) -> list[str]:
    """Return the SQL that created the schema, one statement per entry; for a server the names of the tables."""
    if reader.is_postgresql:
        names = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        return [f"-- {name}" for (name,) in reader.all(f"{names} ORDER BY relname")]
    return [str(row[0]) for row in reader.all("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")]


def counts(reader: Reader) -> dict[str, int]:
    """Return the number of rows of the tables that grow."""
    return dict(reader.all(_COUNTS))


def sims(reader: Reader) -> list[SimLine]:
    """Return the real SIMs for payments that are in a phone."""
    rows = reader.all(
        "SELECT d.name, s.slot_index, COALESCE(s.network, ''), m.id IS NOT NULL, r.silent_since IS NOT NULL "
        "FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "LEFT JOIN payment_methods m ON m.sim_seq = s.seq AND m.deleted_at IS NULL AND m.is_active = 1 "
        "LEFT JOIN sim_rhythms r ON r.sim_key = s.sim_key "
        "WHERE s.present = 1 AND s.ignored_at IS NULL AND d.mode = 'live' ORDER BY d.name, s.slot_index"
    )
    return [SimLine(str(row[0]), int(row[1]), str(row[2]), bool(row[3]), bool(row[4])) for row in rows]


def unread_since(reader: Reader, since: int) -> tuple[int, int]:
    """Return the number of live messages read by phones since then, and how many of them no wording could read."""
    row = reader.one(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN state = 'unparsed' THEN 1 ELSE 0 END), 0) FROM messages "
        "WHERE mode = 'live' AND created_at >= :since AND imported = 0",
        {"since": since},
    )
    assert row is not None, "an aggregate has a row"
    return int(row[0]), int(row[1])


def current_secrets(reader: Reader) -> list[str]:
    """Return the sealed signing secrets in use; those that were rotated or whose endpoint was deleted are not needed."""
    return reader.column(
        "SELECT w.sealed FROM webhook_secrets w LEFT JOIN endpoints e ON e.id = w.owner "
        "WHERE w.expires_at IS NULL AND e.deleted_at IS NULL ORDER BY w.seq"
    )


def names(reader: Reader, limit: int) -> list[str]:
    """Return names of people and of the shop that the database contains, so that the caller can mask them."""
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
    fixed = parts >= FIXED_SQLITE[0] or any(parts[:2] == line[:2] and parts >= line for line in FIXED_SQLITE[1:])
    return sqlite3.sqlite_version, fixed


def check_upgrade(places: Places, now: datetime) -> dict[str, Any]:
    """Compare the database with this program.

    Returns:
        `state`: `current`, `migrates`, `newer` (written by a later program), `incompatible` (made by a pre-release or
        another program) or `damaged`, the last three of which are refused; `schema`, `program_schema`; `steps`, the
        pending migrations; `bytes`, `free_bytes` and `room`: whether there is space for the copy made before a
        migration; `latest_backup`: `{id, age_s}` or None; `why` if it is damaged or incompatible.

    Raises:
        Unreadable: It cannot be read now, which is no damage.
    """
    path = Path(places.database)
    known = migrate.migrations()
    found: dict[str, Any] = {"state": "current", "schema": 0, "program_schema": len(known)}
    why = ""
    try:
        with contextlib.closing(sqlite3.connect(file_uri(path, "mode=ro"), uri=True)) as base:
            (found["schema"],) = base.execute("PRAGMA user_version").fetchone()
            migrate.check_sound(base, str(path))
            if migrate.schema_version(lambda sql: base.execute(sql).fetchall()) < len(known):
                found["state"] = "migrates"
    except (sqlite3.Error, Unavailable) as error:
        if not migrate.is_damage(error):
            raise UnreadableShop(f"{path} cannot be read now: {error}") from error
        found["state"], why = "damaged", str(error)
    except migrate.DatabaseForeign as error:
        found["state"], why = "incompatible", str(error)
    except migrate.DatabaseNewer:
        found["state"] = "newer"
    size, free = path.stat().st_size, shutil.disk_usage(path.parent).free
    copies = entries(places)
    latest = None
    if copies:
        latest = {"id": copies[0].id, "age_s": round((now - copies[0].made_at).total_seconds())}
    steps = known[found["schema"] :] if found["state"] == "migrates" else []
    return {
        **found,
        "steps": [step.name for step in steps],
        "bytes": size,
        "free_bytes": free,
        "room": free > 2 * size,
        "latest_backup": latest,
        "why": why or None,
    }


def server_setting(reader: Reader, name: str) -> str:
    """Return a setting of the PostgreSQL server, such as `fsync`."""
    return str(reader.value("SELECT current_setting(:name)", {"name": name}))


def commit_waits_s(reader: Reader) -> float:
    """Return for how long a commit of this user has waited for the standby of the PostgreSQL server, in seconds; 0: none waits."""
    waited = reader.value(
        "SELECT MAX(EXTRACT(EPOCH FROM clock_timestamp() - query_start)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event = 'SyncRep'"
    )
    return float(waited or 0)
