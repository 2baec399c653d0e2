"""A quick new database: the migrations run once per test process, and each shop gets a copy of the result."""

import tempfile
from functools import cache
from pathlib import Path

from daemon.store.engine import Store
from tests.fakes.clock import FakeClock


def lay(path: Path) -> None:
    """Copy a database as `Store.open` makes it to `path`, unless one exists."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_migrated())


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "momo.db")
        Store.open(str(path), now_us=FakeClock().now_us()).close()
        return path.read_bytes()
