"""The store's interface to a database: connections, the meaning of its errors, and the state of its file or server."""

from typing import Any, Protocol

from msgspec import Struct

from daemon.core.errors import MomoError


class Database(Protocol):
    """A database of one engine. Its connections have `execute`, `in_transaction` and `close`, as sqlite3's have.

    Attributes:
        errors: The exceptions of its connections.
        row_errors: Those about the values of one row: the job that met one is their cause, and no other job.
        server: The server and the database for people, without a password; empty for a file.
    """

    errors: tuple[type[Exception], ...]
    row_errors: tuple[type[Exception], ...]
    server: str

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        """Return the writing connection and, besides `readers` reading ones, a last one that never waits.

        It makes or migrates the schema as needed.

        Raises:
            Unavailable: It cannot be used now.
        """

    def was_left_open(self) -> bool:
        """Return whether the last process did not close it."""

    def check_sound(self) -> None:
        """Check all of it for damage; blocking.

        Raises:
            Unavailable: With the damage.
        """

    def check_in_place(self) -> None:
        """Refuse to write if the open database is no longer the one at its address; before each commit.

        Raises:
            Unavailable: With the cause.
        """

    def changes(self, connection: Any) -> int:
        """Return a number that grows with each change of a row through the connection."""

    def as_unavailable(self, error: Exception) -> Exception:
        """Return the fault for the operator if the database cannot be used; other errors as they are."""

    def is_cut_off(self, connection: Any) -> bool:
        """Return whether the connection has ended, so that only a new one helps."""

    def broken_constraint(self, error: Exception) -> str:
        """Return the name of the unique index or the columns that refused a row; empty for another error."""

    def is_forbidden_write(self, error: Exception) -> bool:
        """Return whether a reading connection was asked to write."""


class NotCopied(MomoError):
    """Nothing was copied to a server; the text is the reason.

    Attributes:
        next_step: The command to type next.
    """

    def __init__(self, why: str, next_step: str = "momo hub init --help") -> None:
        super().__init__(why)
        self.next_step = next_step


class Copied(Struct, frozen=True):
    """The result of a copy: the number of rows, of payments, and the payments' sum in minor units."""

    rows: int
    payments: int
    amount_minor: int
