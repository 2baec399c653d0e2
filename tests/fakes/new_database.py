"""A new database in no time: every migration is run once in a test process, and its result copied for each shop."""

import tempfile
from functools import cache
from pathlib import Path

from daemon.store.engine import Store
from tests.fakes.clock import FakeClock


def lay(path: Path) -> None:
    """Put a database as `Store.open` makes it where there is none yet."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_migrated())


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "momo.db")
        Store.open(str(path), now_us=FakeClock().now_us()).close()
        return path.read_bytes()
