"""A database with sound pages and a wrong index, as after a page write that never reached the disk."""

import sqlite3
from pathlib import Path


def corrupt(path: Path, index: str, change: str) -> None:
    """Make a change that the index misses; `quick_check` does not find it, `integrity_check` does."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA writable_schema = ON")
    hidden = base.execute("SELECT * FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    with base:
        base.execute("DELETE FROM sqlite_master WHERE name = ?", (index,))
    base.close()
    base = sqlite3.connect(path)
    with base:
        assert base.execute(change).rowcount > 0
    base.execute("PRAGMA writable_schema = ON")
    with base:
        base.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", hidden)
    base.close()
