"""The store of a shop: the file in its folder, or a database on a PostgreSQL server (`[store] url`)."""

import contextlib
from collections.abc import Iterator
from typing import Final

from daemon.core.errors import MomoError
from daemon.store.engine import Reader, Store
from daemon.store.migrate import Copied, NotCopied
from daemon.store.upkeep import inspect

__all__ = ["IN_POSTGRESQL", "Copied", "DriverMissing", "NotCopied", "copy_to_server", "new_store", "open_readonly"]

IN_POSTGRESQL: Final = "this shop is stored in PostgreSQL"
"""Begins the answer of each command that reads or writes the file of a shop."""


class DriverMissing(MomoError):
    """The setting names a PostgreSQL server, and psycopg is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "store.url names a PostgreSQL server, and the package psycopg is not installed: pip install 'momo-shop[postgresql]'"
        )


def new_store(path: str, url: str) -> Store:
    """Return the store of a shop, which is not open yet; `path` is its file, `url` its server, empty for none.

    Raises:
        DriverMissing: There is no driver for the server.
    """
    if not url:
        return Store(path)
    try:
        from daemon.store.postgresql.server import Server  # noqa: PLC0415 -- an optional package
    except ImportError as error:
        raise DriverMissing from error
    return Store(path, Server(url))


def copy_to_server(path: str, url: str, now_us: int) -> Copied:
    """Copy every row of the shop's file at `path` to the empty database at `url`, as a hub; the file stays as it is.

    Raises:
        DriverMissing: There is no driver for the server.
        NotCopied: The file is of another version or damaged, the shop is a branch, the database is not empty, or a row
            does not fit.
        Unavailable: Another daemon writes to the database, or the server cannot be used.
    """
    try:
        from daemon.store.postgresql import server  # noqa: PLC0415 -- an optional package
    except ImportError as error:
        raise DriverMissing from error
    return server.copy_shop(path, url, now_us)


@contextlib.contextmanager
def open_readonly(path: str, url: str) -> Iterator[Reader]:
    """Open a snapshot of the database of a shop, beside a daemon that may run.

    Raises:
        Unreadable: It cannot be opened or read, also within the `with` block.
    """
    if not url:
        with inspect.open_readonly(path) as reader:
            yield reader
        return
    try:
        from daemon.store.postgresql import server  # noqa: PLC0415 -- an optional package
    except ImportError as error:
        raise inspect.UnreadableShop(str(DriverMissing())) from error
    with server.open_readonly(url) as reader:
        yield reader
