"""What starting this program would do to a shop's database: nothing, a migration, or a refusal. Looks and changes nothing."""

import contextlib
import shutil
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

from daemon.store.backup import entries
from daemon.store.migrate import DatabaseDamaged, check_sound, migrations
from daemon.wire import Places


def check(places: Places, now: datetime) -> dict[str, Any]:
    """Compare the database with what this program knows.

    Returns:
        `state`: `current`, `migrates`, `newer` (written by a later program, which is refused) or `damaged`; `schema`,
        `program_schema`; `steps`, the migrations to come; `bytes`, `free_bytes` and `room`: whether the copy that is
        made before a migration fits; `latest_backup`: `{id, age_s}` or None; `why` when it is damaged.
    """
    path = Path(places.database)
    known = migrations()
    found: dict[str, Any] = {"state": "current", "schema": 0, "program_schema": len(known)}
    why = ""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            (found["schema"],) = base.execute("PRAGMA user_version").fetchone()
            check_sound(base, str(path))
    except (sqlite3.Error, DatabaseDamaged) as error:
        found["state"], why = "damaged", str(error)
    if not why and found["schema"] > len(known):
        found["state"] = "newer"
    elif not why and found["schema"] < len(known):
        found["state"] = "migrates"
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
