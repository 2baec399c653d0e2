"""A quick new database: the migrations run once per test process, and each shop gets a copy of the result."""

import pickle
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from daemon.store.engine import Store
from daemon.store.upkeep import backup
from tests.fakes import kept_files
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


_ON_POSTGRESQL = False


def on_postgresql() -> bool:
    """Return whether the tests' shops are on PostgreSQL now, as a hub's are."""
    return _ON_POSTGRESQL


def use_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the shops of one test on the tests' server."""
    monkeypatch.setattr(f"{__name__}._ON_POSTGRESQL", True)


def put_shops_on_server(*, on: bool) -> None:
    """Put the shops that are made from now on, on the tests' server, or in files again; for a benchmark."""
    global _ON_POSTGRESQL  # noqa: PLW0603 -- a program of its own
    _ON_POSTGRESQL = on


@contextmanager
def in_files() -> Iterator[None]:
    """Put the shops that are made inside the block in files, as those of branches are."""
    before = on_postgresql()
    put_shops_on_server(on=False)
    try:
        yield
    finally:
        put_shops_on_server(on=before)


def open_store(path: Path, now_us: int) -> Store:
    """Return the open store of a new shop: the file at `path`, or a database of the tests' server."""
    if _ON_POSTGRESQL:
        from tests.fakes import postgresql

        return postgresql.empty_store(now_us, str(path), keep=True)
    if _OWN_FILES:
        lay(path)
    elif not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        kept_files.lead(path, _new_file)
    # Not `Store.open`: that checks the whole file, which nobody has damaged.
    store = Store(str(path), kept_files.Link(str(path)))
    store.connect(now_us)
    # No test of one process cuts the power, and waiting for the disk takes half of the tests' time.
    writer(store).execute("PRAGMA synchronous = OFF")
    return store


_OWN_FILES = False


def use_own_files(*, on: bool) -> None:
    """Give the shops that are made from now on files of their own, which a test may damage, move and read, or kept ones."""
    global _OWN_FILES  # noqa: PLW0603 -- for a test and its fixtures of any scope
    _OWN_FILES = on


def _new_file() -> Path:
    path = Path(tempfile.mkdtemp(), "momo.db").resolve()  # inside `_own_home` of tests/conftest.py
    lay(path)
    return path


def keep(store: Store, path: Path) -> Path:
    """Write a backup of a shop, on either engine, to `path`, and return that."""
    if _ON_POSTGRESQL:
        from tests.fakes import postgresql

        path.write_bytes(pickle.dumps(postgresql.keep(store.path)))
    else:
        backup.copy(store.path, path)
    return path


def put_back(store: Store, kept: Path, now_us: int) -> None:
    """Replace a shop's database by a backup, as after a failed disk; the store is open again afterwards."""
    store.disconnect()
    if _ON_POSTGRESQL:
        from tests.fakes import postgresql

        postgresql.put_back(store.path, pickle.loads(kept.read_bytes()))
    else:
        for end in ("", "-wal", "-shm"):  # at first a link to a kept file
            Path(f"{store.path}{end}").unlink(missing_ok=True)
        Path(store.path).write_bytes(kept.read_bytes())
    store.connect(now_us)


def writer(store: Store) -> sqlite3.Connection:
    """Return the writing connection of an open store."""
    writing: sqlite3.Connection | None = store._writer
    assert writing is not None, "it is open"
    return writing
