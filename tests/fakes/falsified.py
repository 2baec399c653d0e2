"""A database whose pages are sound and whose index lies: what a page that was lost on its way to the disk leaves."""

import sqlite3
from pathlib import Path


def falsify(path: Path, index: str, change: str) -> None:
    """Make a change behind the back of an index that it is in; `quick_check` finds nothing, `integrity_check` does."""
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
