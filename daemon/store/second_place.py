"""What copies are called in the second place, which shops may share (docs/decisions/0042)."""

import contextlib
import hashlib
import sqlite3
from pathlib import Path

from daemon.store.backup import BackupBad, Entry, entries_in, id_of
from daemon.store.engine import BUSY_MS


def mark_of(database: str) -> str | None:
    """Return the eight characters by which a shop's copies are known among those of others; None when it cannot be read.

    They are made of the account's key, which no two shops share and a restored one keeps, and do not tell it.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as base:
            base.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            row = base.execute("SELECT account_key FROM shop").fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else hashlib.sha256(f"backup:{row[0]}".encode()).hexdigest()[:8]


def place_for(made: Path, folder: Path) -> Path:
    """Return where a copy of a copy goes.

    Raises:
        BackupBad: There is no shop in it.
    """
    mark = mark_of(str(made))
    if mark is None:
        raise BackupBad(f"{made} holds no shop")
    return folder / f"momo-{mark}-{id_of(made)}.db"


def entries_of(database: str, folder: str) -> list[Entry]:
    """List a shop's own copies there, newest first; none where nobody can say which are its own."""
    mark = mark_of(database) if folder else None
    return [] if mark is None else entries_in(Path(folder), mark)
