"""What a user or an API key of one branch sees of a hub: each table that a statement names has only the rows of that branch.

A statement is run behind common table expressions that have the names of the tables, so no list, sum, count, search or look-up needs
a condition of its own. A table without a rule here is empty, so a new one shows nothing until it has one.
"""

import functools
import re
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar, cast

from daemon.core.access.callers import Caller
from daemon.store.engine import Params, Reader, Store
from daemon.store.migrate import migrations

_USERS: Final = "SELECT id FROM main.users WHERE branch_id = '{branch}'"
_COPY: Final = "branch_id = '{branch}'"
_ORDERS: Final = "made_for = '{branch}'"
_ORDER: Final = f"{_COPY} OR {_ORDERS}"
_RULES: Final = {
    **dict.fromkeys(("messages", "payment_methods", "reversals", "reviews", "users"), _COPY),
    **dict.fromkeys(("shop", "search_cursor", "idempotency_keys"), "TRUE"),
    **dict.fromkeys(
        ("events", "svc_codes"),
        f"EXISTS (SELECT 1 FROM main.transactions o WHERE o.seq = transaction_seq AND ({_ORDER}))",
    ),
    "transactions": _ORDER,
    # Also the money that paid an order of the branch at the hub, whoever received it.
    "payments": f"{_COPY} OR seq IN (SELECT payment_seq FROM main.transactions WHERE {_ORDERS})",
    "branches": "id = '{branch}'",
    "browser_sessions": f"user_id IN ({_USERS})",
    "recovery_codes": f"user_id IN ({_USERS})",
}
"""Table -> the condition of the rows that are seen. An answer to a repeated call is found by its caller's key."""
_COUNTED: Final = (
    f"SELECT mode, origin, status, COUNT(*) AS count FROM main.transactions WHERE merged_into IS NULL AND ({_ORDER}) "
    "GROUP BY mode, origin, status"
)
_BRANCH: Final = re.compile(r"[\w-]+", re.ASCII)
T = TypeVar("T")


@functools.cache
def tables() -> frozenset[str]:
    """Return every table of the schema."""
    return frozenset(re.findall(r"CREATE TABLE (\w+)", "".join(step.sql for step in migrations())))


@functools.lru_cache(maxsize=4096)
def scoped(sql: str, branch_id: str) -> str:
    """Return a SELECT that sees the rows of a branch only; `main.` names a table itself."""
    assert _BRANCH.fullmatch(branch_id), "the hub made it"
    named = sorted(tables().intersection(re.findall(r"\w+", sql)))
    parts = []
    for table in named:
        rows = (
            _COUNTED
            if table == "transaction_counts"
            else f"SELECT * FROM main.{table} WHERE {_RULES.get(table, 'FALSE')}"
        )
        parts.append(f"{table} AS NOT MATERIALIZED ({rows.format(branch=branch_id)})")
    if not parts:
        return sql
    whole = sql.lstrip()
    rest = f", {whole[5:]}" if whole.startswith("WITH ") else f" {whole}"
    return f"WITH {', '.join(parts)}{rest}"


class BranchReader(Reader):
    """A snapshot as a user or an API key of one branch sees it."""

    __slots__ = ("_branch_id",)

    def __init__(self, reader: Reader, branch_id: str) -> None:
        super().__init__(reader._connection)  # noqa: SLF001 -- it is a reader too
        self._branch_id = branch_id

    def one(self, sql: str, params: Params | None = None) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        return super().one(self._scoped(sql), params)

    def all(self, sql: str, params: Params | None = None) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return super().all(self._scoped(sql), params)

    def all_among(self, sql: str, members: Collection[str], *params: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a statement with `IN (members)`; in SQLite it is run by `all`."""
        return super().all_among(self._scoped(sql) if self.is_postgresql else sql, members, *params)

    def _scoped(self, sql: str) -> str:
        return scoped(sql, self._branch_id)


class _BranchStore:
    """The database for a caller of one branch: it reads what the branch has; jobs that write see all, as constraints do."""

    def __init__(self, store: Store, branch_id: str) -> None:
        self._store, self._branch_id = store, branch_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, job: Callable[[Reader], T]) -> T:
        return await self._store.read(lambda reader: job(BranchReader(reader, self._branch_id)))

    async def look(self, job: Callable[[Reader], T]) -> T:
        return await self._store.look(lambda reader: job(BranchReader(reader, self._branch_id)))


def store_of(store: Store, caller: Caller) -> Store:
    """Return the database as a caller sees it."""
    return store if caller.branch_id is None else cast(Store, _BranchStore(store, caller.branch_id))


def seen_by(reader: Reader, caller: Caller) -> Reader:
    """Return the snapshot as a caller sees it, in which a job that writes looks up what the caller named."""
    return reader if caller.branch_id is None else BranchReader(reader, caller.branch_id)
