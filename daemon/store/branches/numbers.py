"""The rows of facts as their tables have them: a row that one names by its id is stored by its number."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.store.engine import Reader
from daemon.store.rows import by_number, numbered

_UNKNOWN: Final = 0
"""In place of the number of a row that is not stored; no column takes it."""
Row = Mapping[str, Any]


class Numbers:
    """The numbers of rows by table and id, each looked up once, those of a table together."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, dict[str, int]] = {}

    def learn(self, table: str, found: Iterable[tuple[str, int]]) -> None:
        """Remember numbers that were read already."""
        self._known.setdefault(table, {}).update(found)

    def stored(self, model: type[Struct], rows: Sequence[Row]) -> list[Row]:
        """Return rows with the columns of their table in place of the fields of a model."""
        referred = by_number(model)
        for table in set(referred.values()):
            names = [name for name, of in referred.items() if of == table]
            self._look_up(table, {row[name] for row in rows for name in names if row.get(name)})
        return [self._stored(referred, row) for row in rows]

    def _look_up(self, table: str, ids: set[str]) -> None:
        known = self._known.setdefault(table, {})
        if missing := ids - known.keys():
            known.update(
                self._reader.all_among(
                    f"SELECT id, seq FROM {table} WHERE id IN (members)", missing
                )
            )

    def _stored(self, referred: Mapping[str, str], row: Row) -> dict[str, Any]:
        found = dict[str, Any]()
        for name, value in row.items():
            if name not in referred:
                found[name] = value
            elif value is None:
                found[numbered(name)] = None
            else:
                found[numbered(name)] = self._known[referred[name]].get(value, _UNKNOWN)
        return found
