"""One shape for every list that people look at: what it is narrowed to, how many there are in all, and one page."""

from dataclasses import dataclass, field
from typing import Any

from daemon.store.engine import Reader

Row = tuple[Any, ...]


@dataclass(slots=True)
class Narrowed:
    """The conditions of a list, all of which must hold, and their parameters."""

    tests: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)

    def always(self, test: str) -> None:
        """Add a condition that has no parameter of its own."""
        self.tests.append(test)

    def by(self, test: str, **given: object) -> None:
        """Add a condition with one parameter, unless what was given is None: then nothing was asked."""
        ((name, value),) = given.items()
        if value is not None:
            self.tests.append(test)
            self.params[name] = value

    @property
    def where(self) -> str:
        """Return the condition as SQL."""
        return " AND ".join(self.tests) or "1 = 1"


def page(
    reader: Reader,
    narrowed: Narrowed,
    *,
    columns: str,
    source: str,
    order: str,
    limit: int,
    offset: int,
) -> tuple[list[Row], int]:
    """Return one page of rows, and how many rows there are in all.

    Args:
        reader: The view.
        narrowed: What the list is narrowed to.
        columns: What is selected.
        source: The tables, without `FROM`.
        order: Without `ORDER BY`; it must leave no two rows in doubt.
        limit: Rows on a page.
        offset: Rows before it.
    """
    where, params = narrowed.where, narrowed.params
    total = int(reader.value(f"SELECT COUNT(*) FROM {source} WHERE {where}", params))
    rows = reader.all(
        f"SELECT {columns} FROM {source} WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :offset",
        {**params, "limit": limit, "offset": offset},
    )
    return rows, total
